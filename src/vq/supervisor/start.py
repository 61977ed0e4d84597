"""What the start of a command needs, and what it comes to."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vq.readings.processes import Process

NOT_FOUND = 127
NOT_RUNNABLE = 126

Logs = tuple[int, int, int]
"""Open descriptors of what the command has as standard input, output and errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What to start: the command, where, with which environment and logs, in which groups.

    `join` are the descriptors of these; with `joined_by_thread` one thread of a process can be in them alone.
    """

    command: Sequence[str]
    cwd: str
    environment: Mapping[str, str]
    stdout_path: str
    stderr_path: str
    umask: int | None
    oom_score_adj: int
    join: tuple[int, ...]
    joined_by_thread: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Inherited:
    """What a program that we start has of us, and a job shall not: the signals we ignore, and our score."""

    ignored: tuple[int, ...]
    oom_score_adj: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The command runs, or has run: a child of ours now."""

    process: Process


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Nothing runs. `exit_code` is 126 or 127 when the program is at fault, None when something else is."""

    text: str
    exit_code: int | None = None


def not_forked(error: OSError) -> Refused:
    """That there is no process to be had now: for want of memory, or by a limit on processes."""
    return Refused(text=reason_of("the job could not be forked", error))


def reason_of(step: str, error: OSError) -> str:
    """Why nothing runs, where `error` came of `step`."""
    return f"{step}: {os.strerror(error.errno or 0).lower()}"
