"""What a supervisor says of an attempt's end, as the evidence that the life of a job goes by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vq.jobs.events import Result
from vq.jobs.reasons import StopCause
from vq.jobs.record import Limit

_MS = 1000
_NEAR_PERCENT = 95
_CAUSES = {"starved": StopCause.STARVED, "outgrew": StopCause.OUTGREW}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """An attempt that left a result: when its command ended, and the evidence; `error` where nothing could be run.

    `no_receipt` says why no receipt was left in its workspace, where one was to be.
    """

    at_ms: int
    result: Result
    error: str | None = None
    no_receipt: str | None = None


def finished(document: Mapping[str, Any]) -> Finished:
    """What a result document (`vq.attempt-result.v1`) says."""
    kind, code = document["end"], document["exit_code"]
    error = (document["text"] or kind) if kind == "not_started" else None
    result = Result(
        exit_code=1 if code is None else code,
        signal=document["signal"],
        stopped_by=_stopped_by(kind, document["why"]),
        limit_fired=_limit(document) if kind == "out_of_memory" else None,
        exec_error=(document["text"] or kind) if kind == "cannot_run" else None,
        own_cap=_happened(document.get("own_ooms")),
        hit_cap=_happened(document.get("own_ooms")),
        paused_ms=round(document["paused_seconds"] * _MS),
        usage=document["usage"],
    )
    no_receipt = document.get("no_receipt")
    return Finished(at_ms=document["finished_at_ms"], result=result, error=error, no_receipt=no_receipt)


def _stopped_by(kind: str, why: str | None) -> StopCause | None:
    if kind == "wall_limit":
        return StopCause.WALL_LIMIT
    return _CAUSES.get(why or "", StopCause.KILL) if kind == "killed" else None


def _limit(document: Mapping[str, Any]) -> Limit:
    """Whose limit killed; where the kernel does not say, the job's own exactly if it was seen near it."""
    if document["limit_fired"] is not None:
        return Limit(document["limit_fired"])
    usage = document["usage"]
    peak, cap = usage.get("job_peak_bytes"), usage.get("limit_bytes")
    near = peak is None or (cap is not None and peak * 100 >= cap * _NEAR_PERCENT)
    return Limit.JOB if near else Limit.HOST


def _happened(times: int | None) -> bool | None:
    return None if times is None else times > 0
