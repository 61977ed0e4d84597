"""When a supervisor was killed: find what it left of the job, and end it.

By the attempt's control group where it had one, and by the mark in the environment of processes that began after the
supervisor did. Nobody is left to say how such an attempt ended; only that nothing of it runs any more.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass

from vq.errors import VqError
from vq.readings import cgroups, processes
from vq.readings.group import Group, GroupPaths
from vq.readings.processes import Process
from vq.supervisor.folder import read_attempt, read_result, take_lock


class SupervisedError(VqError):
    """The attempt's supervisor lives: what it runs is its own affair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """What is left of an attempt without a supervisor: its processes (None are left when empty), and its result."""

    began: bool
    has_result: bool
    processes: tuple[Process, ...]

    @property
    def clean(self) -> bool:
        """Whether nothing of it runs."""
        return not self.processes


def is_supervised(folder: str) -> bool:
    """Whether a supervisor holds the attempt in `folder`."""
    lock = take_lock(folder)
    if lock is None:
        return True
    os.close(lock)
    return False


def recover(folder: str, *, end: bool = True) -> Recovered:
    """What is left of the attempt in `folder`, killed when `end`; call again until it is `clean`.

    The attempt's lock is held meanwhile. Raises `SupervisedError` when its supervisor lives.
    """
    lock = take_lock(folder)
    if lock is None:
        raise SupervisedError("this attempt has a living supervisor", where=folder, hint="ask it to end the job")
    try:
        attempt = read_attempt(folder)
        if attempt is None:
            return Recovered(began=False, has_result=False, processes=())
        has_result = read_result(attempt.result_path, attempt.attempt) is not None
        if attempt.boot_id != processes.boot_id():
            return Recovered(began=True, has_result=has_result, processes=())
        left = _left(attempt.mark, attempt.group, attempt.since_ticks, end=end)
        return Recovered(began=True, has_result=has_result, processes=left)
    finally:
        os.close(lock)


def end(mark: str, paths: GroupPaths | None, since_ticks: int = 0) -> bool:
    """Whether nothing is left that has this mark (`NAME=value`), nor this group; what is left is killed. Ask again."""
    left = _left(mark, paths, since_ticks, end=True)
    return not left and (paths is None or not cgroups.open_group(paths).exists())


def _left(mark: str, paths: GroupPaths | None, since_ticks: int, *, end: bool) -> tuple[Process, ...]:
    group = None if paths is None else cgroups.open_group(paths)
    left = _find(mark, since_ticks, group)
    if end and left:
        if group is not None and group.exists():
            group.kill()
        for process in left:
            processes.send(process, signal.SIGKILL)
        left = _find(mark, since_ticks, group)
    if end and not left and group is not None:
        with suppress(OSError):
            group.remove()
    return left


def _find(mark: str, since_ticks: int, group: Group | None) -> tuple[Process, ...]:
    found = {process.pid: process for process in processes.marked(mark, since_ticks)}
    for pid in group.members() if group is not None else ():
        stat = processes.read_stat(pid)
        if stat is not None and not stat.ended:
            found[pid] = stat.process
    return tuple(found.values())
