"""What follows from a step of a job's life, as data.

*Records* are written in the very transaction that writes the job: a row of the history, what its dependents learn, a
job that takes its place. *Acts* are done after it, and may be done again: each names the attempt it is about.
"""

from __future__ import annotations

from dataclasses import dataclass

from vq.jobs.history_row import HistoryRow
from vq.jobs.record import Job, State


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteHistoryRow:
    """Record: what the attempt used, one row an attempt."""

    job: str
    attempt: int
    row: HistoryRow


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleDependents:
    """Record: jobs that depend on this one learn how it ended."""

    job: str
    state: State
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TakePlace:
    """Record: a new job takes the place of `of`, its dependents included; its id is still to be given."""

    of: str
    successor: Job
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StartAttempt:
    """Act: start this attempt, unless it has been started."""

    job: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StopAttempt:
    """Act: end every process of this attempt, thawed if frozen: with grace, or at once."""

    job: str
    attempt: int
    at_once: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezeAttempt:
    """Act: stop this attempt in the middle of its run."""

    job: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThawAttempt:
    """Act: let this attempt go on."""

    job: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEndHook:
    """Act: tell the end hook of this job's end."""

    job: str


Recorded = WriteHistoryRow | SettleDependents | TakePlace
Act = StartAttempt | StopAttempt | FreezeAttempt | ThawAttempt | RunEndHook
Effect = Recorded | Act
