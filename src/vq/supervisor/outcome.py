"""How an attempt ended, as a value, and the two documents made of it: the result and the usage receipt in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vq.estimates.usage import DIRECT, KIB
from vq.readings.group import Counters
from vq.supervisor.decisions import EndKind, LimitFired, millicores
from vq.supervisor.folder import RESULT_SCHEMA

_NO_RUN: dict[str, Any] = {
    "command_exit_code": None,
    "wall_seconds": None,
    "user_cpu_seconds": None,
    "system_cpu_seconds": None,
    "active_cpu_seconds": None,
    "peak_rss_kb": None,
    "peak_rss_mb": None,
    "process_count": None,
    "metric_sources": None,
    "aggregation_semantics": None,
    "job_peak_bytes": None,
    "job_peak_source": None,
    "cgroup_peak_bytes": None,
    "limit_bytes": None,
    "limit_fired": None,
    "oom_kills": None,
    "limit_hits": None,
    "average_cpu_millicores": None,
    "paused_seconds": None,
    "samples": None,
}
_PLACES = 6
_LONGEST_TEXT = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a command that ran used; sizes in bytes (`peak_rss_kb` as the kernel says it), times in seconds."""

    exit_code: int
    wall_seconds: float
    user_cpu_seconds: float
    system_cpu_seconds: float
    peak_rss_kb: int
    process_count: int | None
    job_peak_bytes: int | None
    job_peak_source: str
    group_peak_bytes: int | None
    group_cpu_seconds: float | None
    limit_bytes: int | None
    limit_fired: LimitFired | None
    counters: Counters | None
    paused_seconds: float
    samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The end of an attempt. `exit_code` is the attempt's, also 126 and 127; `measured` is None when nothing ran.

    `why` is what a kill request gave as its reason; `left_over` counts the processes that outlived the command.
    """

    attempt: str
    boot_id: str
    enforcement: str
    kind: EndKind
    exit_code: int | None
    signal: int | None
    text: str | None
    why: str | None
    started_at_ms: int
    finished_at_ms: int
    left_over: int
    measured: Measured | None


def result_document(outcome: Outcome) -> dict[str, Any]:
    """The result, `vq.attempt-result.v1`."""
    measured = outcome.measured
    counters = None if measured is None else measured.counters
    text = None if outcome.text is None else _cut(outcome.text)
    return {
        "schema": RESULT_SCHEMA,
        "attempt": outcome.attempt,
        "boot_id": outcome.boot_id,
        "enforcement": outcome.enforcement,
        "end": outcome.kind,
        "exit_code": outcome.exit_code,
        "signal": outcome.signal,
        "limit_fired": None if measured is None else measured.limit_fired,
        "oom_kills": None if counters is None else counters.oom_kills,
        "own_ooms": None if counters is None else counters.own_ooms,
        "text": text,
        "why": outcome.why,
        "started_at_ms": outcome.started_at_ms,
        "finished_at_ms": outcome.finished_at_ms,
        "paused_seconds": 0 if measured is None else round(measured.paused_seconds, _PLACES),
        "left_over": outcome.left_over,
        "usage": error_receipt(text or outcome.kind) if measured is None else receipt(measured),
    }


def _cut(text: str) -> str:
    """A text without its middle where it is long: it may name a program by more than a receipt may hold."""
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT // 2]}…{text[-_LONGEST_TEXT // 2 :]}"


def error_receipt(text: str) -> dict[str, Any]:
    """The receipt of a command that never ran."""
    return {
        "schema": DIRECT,
        "status": "error",
        "collector": "posix-wait4",
        "scope": "effective-command",
        "command_status": "not_run",
        **_NO_RUN,
        "error": text,
    }


def receipt(measured: Measured) -> dict[str, Any]:
    """The receipt of a command that ran, `vq.direct-resource-usage.v1`."""
    wall = round(measured.wall_seconds, _PLACES)
    paused = min(round(measured.paused_seconds, _PLACES), wall)
    active = measured.user_cpu_seconds + measured.system_cpu_seconds
    counters = measured.counters or Counters()
    cpu = active if measured.group_cpu_seconds is None else measured.group_cpu_seconds
    average = millicores(cpu, wall - paused)
    return {
        "schema": DIRECT,
        "status": "ok",
        "collector": "posix-wait4",
        "scope": "effective-command",
        "command_status": "failed" if measured.exit_code else "succeeded",
        "command_exit_code": measured.exit_code,
        "wall_seconds": wall,
        "user_cpu_seconds": round(measured.user_cpu_seconds, _PLACES),
        "system_cpu_seconds": round(measured.system_cpu_seconds, _PLACES),
        "active_cpu_seconds": round(active, _PLACES),
        "peak_rss_kb": measured.peak_rss_kb,
        "peak_rss_mb": measured.peak_rss_kb / KIB,
        "process_count": measured.process_count,
        "metric_sources": _sources(measured),
        "aggregation_semantics": {
            "peak_rss_kb": "largest single process",
            "job_peak_bytes": "sum over the job at one time",
            "active_cpu_seconds": "sum over the processes waited for",
            "average_cpu_millicores": "over unpaused wall time",
        },
        "job_peak_bytes": measured.job_peak_bytes,
        "job_peak_source": None if measured.job_peak_bytes is None else measured.job_peak_source,
        "cgroup_peak_bytes": measured.group_peak_bytes,
        "limit_bytes": measured.limit_bytes,
        "limit_fired": measured.limit_fired,
        "oom_kills": counters.oom_kills,
        "limit_hits": counters.limit_hits,
        "average_cpu_millicores": None if average is None else round(average, _PLACES),
        "paused_seconds": paused,
        "samples": measured.samples,
    }


def _sources(measured: Measured) -> dict[str, str | None]:
    return {
        "wall_seconds": "CLOCK_MONOTONIC",
        "user_cpu_seconds": "wait4",
        "system_cpu_seconds": "wait4",
        "peak_rss_kb": "wait4 ru_maxrss",
        "job_peak_bytes": None if measured.job_peak_bytes is None else measured.job_peak_source,
        "cgroup_peak_bytes": None if measured.group_peak_bytes is None else measured.job_peak_source,
        "average_cpu_millicores": "wait4" if measured.group_cpu_seconds is None else measured.job_peak_source,
        "process_count": "child subreaper, and the faults of the command's zombie",
    }
