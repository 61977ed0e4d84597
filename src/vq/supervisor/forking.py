"""Start a program in a forked child, which prepares itself: what works for groups of either version."""

from __future__ import annotations

import os
import signal

from vq.readings.kernel import write_text
from vq.supervisor.start import NOT_FOUND, NOT_RUNNABLE, Inherited, Launch, Logs, Refused, not_forked, reason_of

_PIECE = 4096
_NOT_PREPARED = 1


def fork(plan: Launch, logs: Logs, launcher: str | None, inherited: Inherited) -> int | Refused:
    """The process that has become `launcher`, or without one the command itself."""
    reading, writing = os.pipe()
    try:
        pid = os.fork()
    except OSError as error:
        os.close(reading)
        os.close(writing)
        return not_forked(error)
    if pid == 0:
        _become_job(plan, logs, launcher, inherited, writing)
    os.close(writing)
    text = _read_to_end(reading).decode(errors="replace")
    if not text:
        return pid
    _, status = os.waitpid(pid, 0)
    code = status >> 8
    return Refused(text=text, exit_code=None if code == _NOT_PREPARED else code)


def _read_to_end(descriptor: int) -> bytes:
    data = b""
    while piece := os.read(descriptor, _PIECE):
        data += piece
    os.close(descriptor)
    return data


def _become_job(plan: Launch, logs: Logs, launcher: str | None, inherited: Inherited, trouble: int) -> None:
    """Never returns. Runs in the forked child; whatever goes wrong is written to `trouble`."""
    code = _NOT_PREPARED
    step = "cannot prepare the job"
    try:
        _prepare(logs, plan.umask, inherited.ignored)
        step = f"cannot enter the folder {plan.cwd}"
        os.chdir(plan.cwd)
        step = "cannot raise oom_score_adj"
        write_text("/proc/self/oom_score_adj", str(max(plan.oom_score_adj, inherited.oom_score_adj)))
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
        os.write(trouble, reason_of(step, error).encode())
    except OSError as error:
        os.write(trouble, reason_of(step, error).encode())
    finally:
        os._exit(code)


def _prepare(logs: Logs, umask: int | None, ignored: tuple[int, ...]) -> None:
    os.setsid()
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    for target, descriptor in enumerate(logs):
        os.dup2(descriptor, target)
    if umask is not None:
        os.umask(umask)
