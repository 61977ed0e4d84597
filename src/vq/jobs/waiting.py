"""What of its own keeps a pending job from starting, whatever room there is: a hold, a time, a dependency, a retry."""

from __future__ import annotations

from vq.jobs.reasons import Kind, Reason
from vq.jobs.record import Job

FIRST_BACKOFF_MS = 10_000
LONGEST_BACKOFF_MS = 600_000


def waits_for(job: Job, now_ms: int) -> Reason | None:
    """What keeps a pending job from being started, whatever room there is; None where nothing does.

    In the order of admission: held, not_before, dependency, retry.
    """
    life, reason, not_before_ms = job.life, job.life.reason, job.work.not_before_ms
    if life.held:
        return Reason(kind=Kind.HELD)
    if not_before_ms is not None and not_before_ms > now_ms:
        return Reason(kind=Kind.NOT_BEFORE, details={"at": not_before_ms})
    if life.waiting_for:
        return Reason(kind=Kind.DEPENDENCY, details={"job": life.waiting_for[0], "state": None})
    if reason is not None and reason.kind is Kind.RETRY and backs_off(reason.details["at"], now_ms):
        return reason
    return None


def backoff_ms(failures: int) -> int:
    """How long a job waits after its n-th plain failure: min(10·2^(n−1), 600) s."""
    doublings = min(failures - 1, LONGEST_BACKOFF_MS.bit_length())
    return min(FIRST_BACKOFF_MS << doublings, LONGEST_BACKOFF_MS)


def backs_off(retry_at_ms: int, now_ms: int) -> bool:
    """Whether a retry at that moment is still waited for.

    A clock that was set back holds up none: what seems further away than any back-off is not waited for.
    """
    return 0 < retry_at_ms - now_ms <= LONGEST_BACKOFF_MS
