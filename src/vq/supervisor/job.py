"""The processes of the job: its control group together with everything below this supervisor.

As the supervisor is a subreaper, whoever leaves its parents comes to it: without a child and without a member of the
group, nothing of the job is left.
"""

from __future__ import annotations

import os
import signal

from vq.readings import processes
from vq.readings.group import Group
from vq.readings.processes import Process, Stat

_SWEEPS = 200


def below_us() -> tuple[Stat, ...]:
    """Everything that descends from this process, without zombies."""
    return processes.descendants(os.getpid())


def everyone(group: Group | None) -> tuple[Process, ...]:
    """Every process of the job that runs."""
    found = {stat.pid: stat.process for stat in below_us()}
    for pid in group.members() if group is not None else ():
        if pid not in found:
            stat = processes.read_stat(pid)
            if stat is not None and not stat.ended:
                found[pid] = stat.process
    return tuple(found.values())


def ask_to_end(group: Group | None) -> None:
    """TERM to every process; one that a signal stopped is continued, so that it can hear it."""
    everybody = everyone(group)
    for number in (signal.SIGTERM, signal.SIGCONT):
        for process in everybody:
            processes.send(process, number)


def kill(group: Group | None) -> None:
    """KILL to every process, also to those that are born meanwhile."""
    if group is not None:
        group.kill()
    for process in stop(frozenset()):
        processes.send(process, signal.SIGKILL)


def stop(known: frozenset[Process]) -> frozenset[Process]:
    """STOP to everything below this process that is not in `known`, and all that are stopped then.

    What is stopped cannot fork, so the sweep ends when two looks in a row find nobody new.
    """
    stopped = set(known)
    quiet = 0
    for _ in range(_SWEEPS):
        new = [stat.process for stat in below_us() if stat.process not in stopped]
        for process in new:
            processes.send(process, signal.SIGSTOP)
        stopped.update(new)
        quiet = 0 if new else quiet + 1
        if quiet > 1:
            break
    return frozenset(stopped)


def go_on(stopped: frozenset[Process]) -> None:
    """CONT to those whom `stop` stopped."""
    for process in stopped:
        processes.send(process, signal.SIGCONT)
