"""How an attempt ended, by the evidence that it left.

Only evidence ends a job, and what we stopped is never recorded as the failure of the job.

First that holds: the program could not be run (FAILED, reason `exec`); a memory limit killed any process of it
(OOM_KILLED, whatever the exit code); we stopped it (TIME_EXCEEDED, STARVED, KILLED); exit code 0 (COMPLETED); FAILED.
"""

from __future__ import annotations

from dataclasses import dataclass

from vq.jobs.events import Result
from vq.jobs.history_row import peak_bytes
from vq.jobs.reasons import Kind, Reason, StopCause
from vq.jobs.record import Job, Limit, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The state that an attempt ended in, why, and which memory limit fired."""

    state: State
    reason: Reason | None = None
    limit_fired: Limit | None = None


_LIMITS = {StopCause.OOM: Limit.JOB, StopCause.OUTGREW: Limit.HOST}
_STOPPED = {
    StopCause.KILL: State.KILLED,
    StopCause.WALL_LIMIT: State.TIME_EXCEEDED,
    StopCause.STARVED: State.STARVED,
}


def outcome(job: Job, result: Result) -> Outcome:
    """How the attempt that left `result` ended."""
    if result.exec_error is not None:
        details = {"program": job.work.command[0], "error": result.exec_error}
        return Outcome(state=State.FAILED, reason=Reason(kind=Kind.EXEC, details=details))
    limit = result.limit_fired
    if result.stopped_by is not None:
        limit = limit or _LIMITS.get(result.stopped_by)
    if limit is not None:
        return Outcome(state=State.OOM_KILLED, reason=_oom(job, result, limit), limit_fired=limit)
    if result.stopped_by is not None:
        return Outcome(state=_STOPPED[result.stopped_by], reason=_stopped(job, result.stopped_by))
    return Outcome(state=State.COMPLETED if result.exit_code == 0 else State.FAILED)


def _oom(job: Job, result: Result, limit: Limit) -> Reason:
    source = job.work.mem_mb_source
    details = {
        "limit_fired": str(limit),
        "cap": job.work.cap_bytes,
        "cap_source": None if source is None else str(source),
        "peak": peak_bytes(result.usage),
    }
    return Reason(kind=Kind.OOM, details=details)


def _stopped(job: Job, cause: StopCause) -> Reason:
    if cause is StopCause.WALL_LIMIT:
        return Reason(kind=Kind.WALL_LIMIT, details={"seconds": job.work.wall_time_seconds})
    return Reason(kind=Kind.STARVED if cause is StopCause.STARVED else Kind.KILL)
