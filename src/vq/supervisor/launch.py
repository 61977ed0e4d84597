"""Start a job from something tiny.

The high-water mark of a process (`ru_maxrss`) never falls below what the process that forked it held, so a job that
this interpreter forked would read some 9 MB whatever it did. Hence two steps: our child, with the job's session,
files and groups, is `setsid --fork` of util-linux, which holds less than a megabyte, forks the job and ends; the job,
an orphan, comes to us, as we are its subreaper. Where there is no such program the child becomes the job itself, and
the floor stays.

Whether the program could be run at all is asked of the zombie: a process that never executed anything says so.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from functools import cache

from vq.readings import processes
from vq.readings.kernel import read_number
from vq.readings.processes import Process, Stat
from vq.supervisor.forking import fork
from vq.supervisor.spawning import spawn
from vq.supervisor.start import NOT_FOUND, NOT_RUNNABLE, Inherited, Launch, Logs, Refused, Started

_LAUNCHERS = ("/usr/bin/setsid", "/bin/setsid")
_USUAL_PATH = "/usr/local/bin:/usr/bin:/bin"


def find_program(name: str, environment: Mapping[str, str], cwd: str) -> Refused | None:
    """Nothing when `name` can be run, else why not."""
    if not name:
        return Refused(text="the name of the program is empty", exit_code=NOT_FOUND)
    folders = [""] if "/" in name else environment.get("PATH", _USUAL_PATH).split(":")
    seen = False
    for folder in folders:
        path = os.path.join(cwd, folder, name)
        if os.path.isfile(path):
            if os.access(path, os.X_OK):
                return None
            seen = True
        seen = seen or ("/" in name and os.path.exists(path))
    if seen:
        return Refused(text=f"{name}: is not an executable file (chmod +x?)", exit_code=NOT_RUNNABLE)
    where = "in the job's PATH" if "/" not in name else "there"
    return Refused(text=f"{name}: no such program {where}", exit_code=NOT_FOUND)


def launch(plan: Launch) -> Started | Refused:
    """Start the command, or say why it cannot be; the caller is a subreaper and has no other child."""
    refused = find_program(plan.command[0], plan.environment, plan.cwd) if os.path.isdir(plan.cwd) else None
    if refused is not None:
        return refused
    try:
        logs = _open_logs(plan)
    except OSError as error:
        return Refused(text=f"cannot open the job's logs: {error}")
    launcher = _tiny_launcher()
    try:
        if launcher is not None and (plan.joined_by_thread or not plan.join):
            child = spawn(plan, logs, launcher, _inherited())
        else:
            child = fork(plan, logs, launcher, _inherited())
    finally:
        for descriptor in logs:
            os.close(descriptor)
    if isinstance(child, Refused):
        return child
    if launcher is None:
        stat = processes.read_stat(child)
        return Started(process=Process(pid=child, start_ticks=stat.start_ticks if stat else 0))
    _, status = os.waitpid(child, 0)
    return _adopted(child, status)


@cache
def _inherited() -> Inherited:
    # Once for all jobs, and not in the forked child: whatever it touches is a page to copy.
    ignored = [number for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN]
    return Inherited(ignored=tuple(ignored), oom_score_adj=read_number("/proc/self/oom_score_adj") or 0)


def _open_logs(plan: Launch) -> Logs:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOCTTY
    opened = [os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)]
    try:
        opened.extend(os.open(path, flags, 0o600) for path in (plan.stdout_path, plan.stderr_path))
    except OSError:
        for descriptor in opened:
            os.close(descriptor)
        raise
    return opened[0], opened[1], opened[2]


@cache
def _tiny_launcher() -> str | None:
    for path in _LAUNCHERS:
        # The one of BusyBox waits for the job.
        if os.access(path, os.X_OK) and os.path.basename(os.path.realpath(path)) == "setsid":
            return path
    return None


def _adopted(launcher_pid: int, status: int) -> Started | Refused:
    candidates = [stat for pid in processes.children(os.getpid()) if (stat := processes.read_stat(pid))]
    if not candidates:
        how = f"signal {status & 0x7F}" if status & 0x7F else f"exit status {status >> 8}"
        return Refused(text=f"the job could not be forked ({how}); is a limit on processes too low?")
    pid_max = read_number("/proc/sys/kernel/pid_max") if len(candidates) > 1 else None
    return Started(process=first_after(launcher_pid, candidates, pid_max).process)


def first_after(launcher_pid: int, candidates: Sequence[Stat], pid_max: int | None) -> Stat:
    """The command among our children: older than any orphan that it may have left us already.

    Start times are in ticks of 10 ms; within one, ids count upwards from the launcher's own, and begin anew at the top.
    """
    top = pid_max or 1 << 22
    return min(candidates, key=lambda stat: (stat.start_ticks, (stat.pid - launcher_pid) % top))
