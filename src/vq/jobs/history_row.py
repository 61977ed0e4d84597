"""From a run that ended to a row of the history, which admission learns from.

| end | row |
|---|---|
| COMPLETED | succeeded |
| FAILED, INTERRUPTED | neither succeeded nor cancelled |
| KILLED, TIME_EXCEEDED, STARVED | cancelled |
| OOM_KILLED by its own limit | oom_killed, own_cap, hit_cap |
| OOM_KILLED by the host | oom_killed; own_cap and hit_cap false |

The peak is what the whole job held without page cache; the largest process (`ru_maxrss`) where no sample met it;
the kernel's mark, page cache included, where only that is known. A peak that is not known at all is 0 with
`page_cache`, because readers of the history ignore such a row's peak whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from vq.jobs.record import Job, Limit, State

_KIB = 1024


class HistoryRow(NamedTuple):
    """One run with the field names of an exported history; bytes, millicores, milliseconds; None is unknown."""

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


class Caps(NamedTuple):
    """The kernel's word on limits: the job's own failed to reclaim, and its own or one below it did."""

    own: bool | None
    hit: bool | None


CANCELLED = frozenset((State.KILLED, State.TIME_EXCEEDED, State.STARVED))


def history_row(job: Job, caps: Caps) -> HistoryRow:
    """The row of the attempt that has just ended: the last of `job.life.attempts`, with `job.usage` as its receipt.

    A later attempt counts as queued when the one before it finished, so that the wait of a retry is its own.
    """
    identity, work, life = job.identity, job.work, job.life
    attempt = life.attempts[-1]
    before = life.attempts[-2].finished_at_ms if len(life.attempts) > 1 else None
    peak_bytes, page_cache = _peak(job.usage or {})
    if attempt.limit_fired is not None:
        caps = Caps(attempt.limit_fired is Limit.JOB, attempt.limit_fired is Limit.JOB)
    return HistoryRow(
        repository=identity.repository,
        workflow=identity.workflow,
        name=identity.name,
        profile=identity.profile,
        memory_cap=work.cap_bytes,
        cpu_cap=work.cap_millicores,
        memory_peak=peak_bytes,
        page_cache=page_cache,
        cpu_average=_cpu_average(job.usage or {}),
        queued_at=life.queued_at_ms if before is None else before,
        started_at=attempt.started_at_ms,
        finished_at=attempt.finished_at_ms,
        oom_killed=attempt.state is State.OOM_KILLED,
        hit_cap=caps.hit,
        own_cap=caps.own,
        succeeded=attempt.state is State.COMPLETED,
        cancelled=attempt.state in CANCELLED,
        reserved=None if life.basis is None else life.reserved_bytes,
    )


def _peak(usage: Mapping[str, Any]) -> tuple[int, bool]:
    sampled, process_kb, kernel = (usage.get(key) for key in ("job_peak_bytes", "peak_rss_kb", "cgroup_peak_bytes"))
    if sampled:
        return sampled, False
    if process_kb is not None:
        return process_kb * _KIB, False
    return kernel or 0, True


def peak_bytes(usage: Mapping[str, Any] | None) -> int | None:
    """The most memory that a receipt shows, page cache apart where that is known; None when it shows none."""
    return _peak(usage or {})[0] or None


def _cpu_average(usage: Mapping[str, Any]) -> int | None:
    average = usage.get("average_cpu_millicores")
    return None if average is None else round(average)
