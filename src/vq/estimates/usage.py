"""What a run used: the two usage receipts, `vq.direct-resource-usage.v1` and `vq.scheduler-resource-usage.v1`.

`status` is the health of the collection and not of the command. Of an `error` receipt no measurement is known; of an
`ok` one any may be null. `peak_rss_kb` is the largest single process (`ru_maxrss`), never a sum over processes.
Standard library only: the small process that supervises a job imports this module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vq.errors import BadDataError
from vq.shapes import LARGEST, NULL, Kind, Record, Table, constant, integer, number, one_of, text

if TYPE_CHECKING:
    from fractions import Fraction

DIRECT = "vq.direct-resource-usage.v1"
SCHEDULER = "vq.scheduler-resource-usage.v1"
MOST_BYTES = 64 * 1024

KIB = 1024

_MEASUREMENTS = (
    "wall_seconds",
    "user_cpu_seconds",
    "system_cpu_seconds",
    "active_cpu_seconds",
    "peak_rss_kb",
    "peak_rss_mb",
)
_KEEPS_EXIT_CODE = "invalid_gnu_time_output"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a usage receipt says; sizes in bytes, times in seconds, None where unknown.

    `wall_seconds` is less the time paused, exactly. `job_low_bytes` and `job_high_bytes` bound what the whole job
    held at once; both are None without a job-wide measurement, and the upper one without the kernel's own mark.
    """

    ok: bool
    direct: bool
    failed: bool
    single_process: bool
    peak_bytes: int | None
    wall_seconds: int | float | Fraction | None
    job_low_bytes: int | None
    job_high_bytes: int | None


_INTEGER = Kind("an integer or null", lambda v: v is None or (type(v) is int and -LARGEST <= v <= LARGEST))
_COUNT = integer(0, null=True)
_NUMBER = number(null=True)
_STRINGS = Table(text(null=True), nullable=True)

_BOTH = {
    "status": one_of(("ok", "error")),
    "scope": constant("effective-command"),
    "command_status": one_of(("succeeded", "failed", "not_run")),
    "command_exit_code": _INTEGER,
    "wall_seconds": _NUMBER,
    "user_cpu_seconds": _NUMBER,
    "system_cpu_seconds": _NUMBER,
    "active_cpu_seconds": _NUMBER,
    "peak_rss_kb": integer(0, LARGEST // KIB, null=True),
    "peak_rss_mb": _NUMBER,
}

_DIRECT_SHAPE = Record(
    {
        "schema": constant(DIRECT),
        "collector": constant("posix-wait4"),
        **_BOTH,
        "process_count": _COUNT,
        "metric_sources": _STRINGS,
        "aggregation_semantics": _STRINGS,
    },
    {
        "error": text(),
        "job_peak_bytes": _COUNT,
        "job_peak_source": one_of(("cgroup-v2", "cgroup-v1", "proc-pss"), null=True),
        "cgroup_peak_bytes": _COUNT,
        "limit_bytes": integer(1, null=True),
        "limit_fired": one_of(("job", "host"), null=True),
        "oom_kills": _COUNT,
        "limit_hits": _COUNT,
        "average_cpu_millicores": _NUMBER,
        "paused_seconds": _NUMBER,
        "samples": _COUNT,
    },
)
_SCHEDULER = {"schema": constant(SCHEDULER), "collector": constant("gnu-time"), **_BOTH}
_SCHEDULER_SHAPE = Record(_SCHEDULER, {"error": text()})
_SCHEMA = one_of((DIRECT, SCHEDULER))


def read_usage(document: dict[str, Any]) -> Usage:
    """The usage in a parsed receipt of either format; raises `BadDataError` for a contradiction in it."""
    schema = document.get("schema")
    direct = schema == DIRECT
    if not direct and schema != SCHEDULER:
        _SCHEMA.check(schema, ("schema",))
    (_DIRECT_SHAPE if direct else _SCHEDULER_SHAPE).check(document)
    ok = document["status"] == "ok"
    if ok:
        if "error" in document:
            raise BadDataError('no such key with status "ok"', path=("error",), found=document["error"])
        _check_exit_code(document)
    else:
        _check_error(document, direct=direct)
    kb, low, high = document["peak_rss_kb"], None, None
    peak = None if kb is None else kb * KIB
    job_peak, kernel_peak = document.get("job_peak_bytes"), document.get("cgroup_peak_bytes")
    if ok and job_peak is not None:
        low = max(peak or 0, job_peak)
        high = None if kernel_peak is None else max(low, kernel_peak)
    return Usage(
        ok=ok,
        direct=direct,
        failed=document["command_status"] == "failed",
        single_process=document.get("process_count") == 1,
        peak_bytes=peak,
        wall_seconds=_running_seconds(document),
        job_low_bytes=low,
        job_high_bytes=high,
    )


def _check_exit_code(document: dict[str, Any]) -> None:
    status, code = document["command_status"], document["command_exit_code"]
    if code is None:
        raise BadDataError("an integer", path=("command_exit_code",))
    expected = "succeeded" if code == 0 else "failed"
    if status != expected:
        raise BadDataError(f'"{expected}" beside command_exit_code {code}', path=("command_status",), found=status)


def _check_error(document: dict[str, Any], *, direct: bool) -> None:
    if not direct and "error" not in document:
        raise BadDataError('this key, which is missing beside status "error"', path=("error",))
    for key in _MEASUREMENTS:
        if document[key] is not None:
            raise BadDataError('null beside status "error"', path=(key,), found=document[key])
    if document["command_exit_code"] is not None:
        if document.get("error") != _KEEPS_EXIT_CODE:
            NULL.check(document["command_exit_code"], ("command_exit_code",))
        _check_exit_code(document)
    elif document["command_status"] != "not_run":
        raise BadDataError('"not_run" without an exit code', path=("command_status",), found=document["command_status"])


def _running_seconds(document: dict[str, Any]) -> int | float | Fraction | None:
    """Wall time less the time paused: the exact difference of the two decimals, where anything was paused."""
    wall, paused = document["wall_seconds"], document.get("paused_seconds")
    if wall is None or not paused:
        return wall  # type: ignore[no-any-return]  # the shape has checked it
    if paused > wall:
        raise BadDataError(f"at most wall_seconds ({wall})", path=("paused_seconds",), found=paused)
    from vq.estimates.exact import decimal  # noqa: PLC0415 - a supervisor, which must stay small, reads no receipt

    return decimal(wall) - decimal(paused)
