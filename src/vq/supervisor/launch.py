"""Start a job from something tiny.

The high-water mark of a process (`ru_maxrss`) never falls below what the process that forked it held, so a job that
this interpreter forked would read some 9 MB whatever it did. Hence two steps: the forked child prepares itself (own
session, files, groups) and becomes `setsid --fork` of util-linux, which holds less than a megabyte, forks the job and
ends; the job, an orphan, comes to us, as we are its subreaper. Where there is no such program the child becomes the
job itself, and the floor stays.

Whether the program could be run at all is asked of the zombie: a process that never executed anything says so.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from vq.readings import processes
from vq.readings.kernel import read_number, write_text
from vq.readings.processes import Process, Stat

_LAUNCHERS = ("/usr/bin/setsid", "/bin/setsid")
_USUAL_PATH = "/usr/local/bin:/usr/bin:/bin"
_PIECE = 4096

NOT_FOUND = 127
NOT_RUNNABLE = 126
_NOT_PREPARED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What to start: the command, where, with which environment and logs, in which groups (`join` descriptors)."""

    command: Sequence[str]
    cwd: str
    environment: Mapping[str, str]
    stdout_path: str
    stderr_path: str
    umask: int | None
    oom_score_adj: int
    join: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The command runs, or has run: a child of ours now."""

    process: Process


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Nothing runs. `exit_code` is 126 or 127 when the program is at fault, None when something else is."""

    text: str
    exit_code: int | None = None


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
    launcher, inherited = _tiny_launcher(), _inherited()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become_job(plan, logs, launcher, inherited, writing)
    for descriptor in {*logs, writing}:
        os.close(descriptor)
    text = _read_to_end(reading).decode(errors="replace")
    if text:
        _, status = os.waitpid(pid, 0)
        code = status >> 8
        return Refused(text=text, exit_code=None if code == _NOT_PREPARED else code)
    if launcher is None:
        stat = processes.read_stat(pid)
        return Started(process=Process(pid=pid, start_ticks=stat.start_ticks if stat else 0))
    _, status = os.waitpid(pid, 0)
    return _adopted(pid, status)


class _Inherited(NamedTuple):
    """What a program that we start has of us, and a job shall not: the signals we ignore, and our score."""

    ignored: tuple[int, ...]
    oom_score: int


@cache
def _inherited() -> _Inherited:
    # Once for all jobs, and not in the forked child: whatever it touches is a page to copy.
    ignored = [number for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN]
    return _Inherited(tuple(ignored), read_number("/proc/self/oom_score_adj") or 0)


def _read_to_end(descriptor: int) -> bytes:
    data = b""
    while piece := os.read(descriptor, _PIECE):
        data += piece
    os.close(descriptor)
    return data


def _open_logs(plan: Launch) -> tuple[int, int, int]:
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


def _become_job(
    plan: Launch, logs: tuple[int, int, int], launcher: str | None, inherited: _Inherited, trouble: int
) -> None:
    """Never returns. Runs in the forked child; whatever goes wrong is written to `trouble`."""
    code = _NOT_PREPARED
    step = "cannot prepare the job"
    try:
        _prepare(logs, plan.umask, inherited.ignored)
        step = f"cannot enter the folder {plan.cwd}"
        os.chdir(plan.cwd)
        step = "cannot raise oom_score_adj"
        write_text("/proc/self/oom_score_adj", str(max(plan.oom_score_adj, inherited.oom_score)))
        # Last, so that little of this interpreter is charged to the job.
        step = "cannot join the control group"
        for descriptor in plan.join:
            os.write(descriptor, b"0")
        step, code = f"{plan.command[0]}: cannot be run", NOT_RUNNABLE
        if launcher is None:
            os.execvpe(plan.command[0], list(plan.command), plan.environment)  # noqa: S606 - no shell is the point
        os.execve(launcher, [launcher, "--fork", "--", *plan.command], plan.environment)  # noqa: S606 - the same
    except FileNotFoundError as error:
        code = NOT_FOUND if code == NOT_RUNNABLE else code
        _say(trouble, step, error)
    except OSError as error:
        _say(trouble, step, error)
    finally:
        os._exit(code)


def _prepare(logs: tuple[int, int, int], umask: int | None, ignored: tuple[int, ...]) -> None:
    os.setsid()
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    for target, descriptor in enumerate(logs):
        os.dup2(descriptor, target)
    if umask is not None:
        os.umask(umask)


def _say(trouble: int, step: str, error: OSError) -> None:
    os.write(trouble, f"{step}: {os.strerror(error.errno or 0).lower()}".encode())


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
