"""What follows an attempt that ended: another one of the same job, or another job in its place.

An attempt is followed by another one in these cases only: a plain failure, up to `retry` times, after
min(10·2^(n−1), 600) s; the first time its own memory limit fired, with the larger limit of `--oom-retry`; the first
time the host's fired, with its whole limit reserved.
"""

from __future__ import annotations

from dataclasses import replace

from vq.jobs.events import Ended
from vq.jobs.outcome import Outcome
from vq.jobs.reasons import Kind, Reason
from vq.jobs.record import Job, Life, Limit, MemorySource, Reserve, State, Work, new_job
from vq.jobs.waiting import backoff_ms


def next_attempt(job: Job, how: Outcome, event: Ended) -> Job | None:
    """The job as it waits for its next attempt; None where none follows.

    `job` is as the attempt left it, which ended as `how` says.
    """
    work, attempts, at_ms = job.work, job.life.attempts, event.at_ms
    if how.state is State.FAILED and how.reason is None:
        failures = sum(attempt.state is State.FAILED for attempt in attempts)
        return _waiting(job, work, "failed", at_ms + backoff_ms(failures)) if failures <= work.retry else None
    if how.limit_fired is Limit.JOB and sum(attempt.limit_fired is Limit.JOB for attempt in attempts) == 1:
        if work.oom_retry_mb is None or work.oom_retry_mb <= work.mem_mb:
            return None
        larger = replace(work, mem_mb=work.oom_retry_mb, mem_mb_source=MemorySource.OOM_RETRY)
        return _waiting(job, larger, "oom", at_ms)
    host_fired = sum(attempt.limit_fired is Limit.HOST for attempt in attempts)
    if how.limit_fired is Limit.HOST and event.requeue_outgrown and host_fired == 1:
        details = {"reserved": job.life.reserved_bytes or 0, "cap": work.cap_bytes}
        return _pending(job, work, Reason(kind=Kind.OUTGREW, details=details), at_ms)
    return None


def back_off(life: Life) -> Reason | None:
    """Why a waiting job whose last attempt failed is not to start yet, whatever stood over that; None for any other."""
    failed = bool(life.attempts) and life.attempts[-1].state is State.FAILED
    return _retry(life.attempt, "failed", life.eligible_at_ms) if failed and life.eligible_at_ms is not None else None


def _waiting(job: Job, work: Work, cause: str, eligible_at_ms: int) -> Job:
    return _pending(job, work, _retry(job.life.attempt, cause, eligible_at_ms), eligible_at_ms)


def _retry(attempt: int, cause: str, at_ms: int) -> Reason:
    return Reason(kind=Kind.RETRY, details={"attempt": attempt, "cause": cause, "at": at_ms})


def _pending(job: Job, work: Work, reason: Reason, eligible_at_ms: int) -> Job:
    """The job as it waits for its next attempt: nothing is reserved, and what the last one used stays to be seen."""
    life = replace(
        job.life,
        state=State.PENDING,
        reason=reason,
        limit_fired=None,
        eligible_at_ms=eligible_at_ms,
        started_at_ms=None,
        finished_at_ms=None,
        exit_code=None,
        signal=None,
        boot_id=None,
        reserved_bytes=None,
        basis=None,
        cpu_reserved_millicores=None,
        cpu_basis=None,
    )
    return replace(job, work=work, life=life)


def successor(job: Job, at_ms: int) -> Job:
    """The job that goes on where an interrupted one stopped: its workspace, limits and remaining retries.

    Its id is still to be given.
    """
    failures = sum(attempt.state is State.FAILED for attempt in job.life.attempts)
    oom_retried = any(attempt.limit_fired is Limit.JOB for attempt in job.life.attempts)
    work = replace(
        job.work,
        retry=job.work.retry - failures,
        oom_retry_mb=None if oom_retried else job.work.oom_retry_mb,
        reserve=Reserve.CAP if job.life.outgrew else job.work.reserve,
        depends_on=(),
        not_before_ms=None,
    )
    return new_job(job.identity, work, at_ms, parent=job.id)
