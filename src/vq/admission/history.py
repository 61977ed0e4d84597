"""A row of the history: one run of a job, what it used, and what it says of the limit it ran under.

Memory is in bytes, CPU in millicores, times in milliseconds since the epoch. None is unknown, never zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

NEAR_PERCENT = 95
"""From this percent of its cap on, a peak is near it."""


class Key(NamedTuple):
    """A job as admission tells jobs apart: its repository, workflow and name."""

    repository: str
    workflow: str | None
    name: str


class Capped(Enum):
    """What a run says of the memory limit it ran under."""

    CLEAR = "clear"
    KILLED = "killed"
    ASSUMED = "assumed"
    MET = "met"

    @property
    def meets(self) -> bool:
        """Whether the run needed its whole cap or more: its true peak is not known."""
        return self in (Capped.MET, Capped.ASSUMED)

    @property
    def holds(self) -> bool:
        """Whether the next runs of the job are admitted at their caps."""
        return self is not Capped.CLEAR


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One ended run, with the fields and names of an exported history.

    `cancelled` is a run stopped on request, whose peak may be cut short; neither `succeeded` nor `cancelled` is a run
    that failed or was lost. `hit_cap`: its own limit or one below it failed to reclaim; `own_cap`: its own did.
    `reserved` is what measured admission had reserved for it.
    """

    repository: str
    workflow: str | None
    name: str
    profile: str
    memory_cap: int | None
    cpu_cap: int | None
    memory_peak: int
    page_cache: bool
    cpu_average: int | None
    queued_at: int
    started_at: int | None
    finished_at: int | None
    oom_killed: bool
    hit_cap: bool | None
    own_cap: bool | None
    succeeded: bool
    cancelled: bool
    reserved: int | None

    @property
    def key(self) -> Key:
        """The job it is a run of."""
        return Key(self.repository, self.workflow, self.name)

    @property
    def finish(self) -> int:
        """When it finished; where that is not known, when it was queued."""
        return self.queued_at if self.finished_at is None else self.finished_at

    @property
    def overran(self) -> bool:
        """Whether it used more than was reserved for it."""
        return self.reserved is not None and self.memory_peak > self.reserved


def capped(run: Run, cap: int | None) -> Capped:
    """What `run` says of the memory `cap` it ran under, in bytes.

    A peak near the cap with counters that say no is clear: a JVM fills the room it has, page cache fills any. Without
    a known cap nothing can be met; what would have met one still holds, as a kill does.
    """
    verdict = _by_its_own_counter(run, cap) if run.own_cap is not None else _without_counter(run, cap)
    return Capped.KILLED if cap is None and verdict.meets else verdict


def _by_its_own_counter(run: Run, cap: int | None) -> Capped:
    if run.own_cap:
        return Capped.MET
    if not run.oom_killed or run.hit_cap:
        return Capped.CLEAR  # without a kill, or with a limit below its own that explains it
    killed_between_samples = run.hit_cap is False and _near(run.memory_peak, cap)
    return Capped.MET if killed_between_samples else Capped.KILLED


def _without_counter(run: Run, cap: int | None) -> Capped:
    if run.oom_killed or run.hit_cap or (run.hit_cap is None and _near(run.memory_peak, cap)):
        return Capped.ASSUMED
    return Capped.CLEAR


def _near(peak: int, cap: int | None) -> bool:
    return cap is not None and peak * 100 >= cap * NEAR_PERCENT


def in_order(runs: Iterable[Run]) -> list[Run]:
    """`runs` as they finished; at the same moment in the order given, those that ended by themselves first."""
    return sorted(runs, key=lambda run: (run.finish, run.cancelled))
