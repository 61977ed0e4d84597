"""Start a program without a copy of this process, which would cost more than the program itself.

`posix_spawn` lends the child our pages until it runs the program. What it cannot set, the child has of us: for the
moment of the start we stand in the job's folder, with its umask and its score for the kernel to pick by. Its groups are
joined by a thread of ours that lives as long as that takes; with those of version 1 a thread can be in another group
than its process, and what it starts is where it is itself.
"""

from __future__ import annotations

import _thread
import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from vq.readings.kernel import write_text
from vq.supervisor.start import NOT_RUNNABLE, Inherited, Launch, Logs, Refused, not_forked, reason_of

_NOT_NOW = (errno.EAGAIN, errno.ENOMEM)
_SCORE = "/proc/self/oom_score_adj"


def spawn(plan: Launch, logs: Logs, launcher: str, inherited: Inherited) -> int | Refused:
    """The process that is `launcher`."""
    here = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            os.chdir(plan.cwd)
        except OSError as error:
            return Refused(text=reason_of(f"cannot enter the folder {plan.cwd}", error))
        try:
            with _scored(plan, inherited), _masked(plan):
                return _in_groups(plan, logs, launcher, inherited)
        finally:
            os.fchdir(here)
    finally:
        os.close(here)


@contextmanager
def _scored(plan: Launch, inherited: Inherited) -> Iterator[None]:
    # Whoever raised it may lower it again, to what it was.
    score = max(plan.oom_score_adj, inherited.oom_score_adj)
    write_text(_SCORE, str(score))
    try:
        yield
    finally:
        write_text(_SCORE, str(inherited.oom_score_adj))


@contextmanager
def _masked(plan: Launch) -> Iterator[None]:
    before = None if plan.umask is None else os.umask(plan.umask)
    try:
        yield
    finally:
        if before is not None:
            os.umask(before)


def _in_groups(plan: Launch, logs: Logs, launcher: str, inherited: Inherited) -> int | Refused:
    if not plan.join:
        return _program(plan, logs, launcher, inherited)

    def start() -> int | Refused:
        try:
            for descriptor in plan.join:
                os.write(descriptor, b"0")
        except OSError as error:
            return Refused(text=reason_of("cannot join the control group", error))
        return _program(plan, logs, launcher, inherited)

    return _in_a_thread(start)


def _program(plan: Launch, logs: Logs, launcher: str, inherited: Inherited) -> int | Refused:
    try:
        return os.posix_spawn(
            launcher,
            [launcher, "--fork", "--", *plan.command],
            plan.environment,
            file_actions=[(os.POSIX_SPAWN_DUP2, descriptor, target) for target, descriptor in enumerate(logs)],
            setsigmask=(),
            setsigdef=inherited.ignored,
        )
    except OSError as error:
        if error.errno in _NOT_NOW:
            return not_forked(error)
        return Refused(text=reason_of(f"{plan.command[0]}: cannot be run", error), exit_code=NOT_RUNNABLE)


def _in_a_thread(act: Callable[[], int | Refused]) -> int | Refused:
    """What `act` comes to in a thread of its own, of which nothing is left when this returns; raises its `OSError`."""
    results: list[int | Refused] = []
    errors: list[OSError] = []
    done = _thread.allocate_lock()

    def run() -> None:
        try:
            results.append(act())
        except OSError as error:
            errors.append(error)
        finally:
            done.release()

    threads = _threads()
    done.acquire()
    try:
        _thread.start_new_thread(run, ())
    except RuntimeError:
        return not_forked(OSError(errno.EAGAIN, ""))
    done.acquire()
    # As long as it is there, we seem to be in the job's groups, and would be ended with it.
    while _threads() > threads:
        os.sched_yield()
    if errors:
        raise errors[0]
    return results[0]


def _threads() -> int:
    """How many threads this process has, and two."""
    return os.stat("/proc/self/task").st_nlink
