"""Which running jobs the queue itself stops: one that outgrew its reservation, for the others' sake, or one that idles.

From 95 % of the memory budget on, the job furthest past its reservation is ended (of several the youngest), never one
inside it, before the kernel picks one; as long as one is being ended for that, no other is. Predictions move what a job
reserves. What counts here is the least of what it started with and what it has now: others were let in beside that, and
as long as all stay inside it they fit together; what a prediction added since has no room behind it. So there is one to
end whenever they do not fit. The kernel is told which those are, too, as it may have to pick before we do; until then
it goes by what was reserved at the start. Once a job is past it, what is in use is looked at often, and not only close
to the end.

A job starves when in the configured time it has used less than 1 % of a core. Pure: what jobs use is an argument.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from vq.jobs.reasons import Kind, StopCause
from vq.jobs.record import Job

END_PERCENT = 95
WATCH_PERCENT = 80
"""From this percent of the budget on, what jobs use is read often."""
ALERT_PERCENT = 50
"""From this percent of the budget on the same, once a job is past its reservation."""
IDLE_PERCENT = 1

_MS = 1000


def fills(uses: Mapping[str, int | None], budget_bytes: int, percent: int) -> bool:
    """Whether what jobs use is that much of the budget, or more."""
    return sum(use or 0 for use in uses.values()) * 100 >= budget_bytes * percent


def outgrown(
    jobs: Collection[Job], uses: Mapping[str, int | None], budget_bytes: int, reserved: Mapping[str, int]
) -> Job | None:
    """The running job to end before the host's limit picks one; None when there is no need, or no job at fault.

    `reserved` is what is predicted for each now, in bytes, where its reservation follows that.
    """
    if not fills(uses, budget_bytes, END_PERCENT) or any(_cause(job) == StopCause.OUTGREW for job in jobs):
        return None
    outside = [job for job in jobs if past(job, uses, reserved) > 0 and _cause(job) is None]
    return max(outside, key=lambda job: (past(job, uses, reserved), job.life.started_at_ms or 0), default=None)


def is_close(
    jobs: Collection[Job], uses: Mapping[str, int | None], budget_bytes: int, reserved: Mapping[str, int]
) -> bool:
    """Whether what jobs use is to be read often: near the budget, or half way there with one past its reservation."""
    if fills(uses, budget_bytes, WATCH_PERCENT):
        return True
    return fills(uses, budget_bytes, ALERT_PERCENT) and any(past(job, uses, reserved) > 0 for job in jobs)


def past(job: Job, uses: Mapping[str, int | None], reserved: Mapping[str, int]) -> int:
    """How many bytes a job uses beyond the least that it has had; negative inside it."""
    return (uses.get(job.id) or 0) - least_reserved(job, reserved.get(job.id))


def least_reserved(job: Job, now: int | None) -> int:
    """The less of what a job started with and what is predicted for it `now`, in bytes; None: only the first counts."""
    started = job.life.reserved_bytes or 0
    return started if now is None else min(started, now)


class Idleness:
    """Since when each running job has used almost no CPU."""

    def __init__(self, after_ms: int | None) -> None:
        self._after_ms = after_ms
        self._since: dict[str, tuple[int, float, int]] = {}

    @property
    def matters(self) -> bool:
        """Whether jobs are stopped for it at all."""
        return self._after_ms is not None

    def starved(self, job: Job, cpu_seconds: float | None, now_ms: int) -> bool:
        """Whether a job that has used `cpu_seconds` so far has starved; one that is paused or unknown has not."""
        attempt, before, since_ms = self._since.get(job.id, (0, 0.0, now_ms))
        idle_seconds = (now_ms - since_ms) / _MS
        if cpu_seconds is None or self._after_ms is None:
            return False
        busy = (cpu_seconds - before) * 100 > idle_seconds * IDLE_PERCENT
        if attempt != job.life.attempt or job.life.paused or _cause(job) is not None or busy:
            self._since[job.id] = (job.life.attempt, cpu_seconds, now_ms)
            return False
        return now_ms - since_ms >= self._after_ms

    def forget(self, job: Job) -> None:
        """Think no longer of a job whose attempt is over."""
        self._since.pop(job.id, None)


def _cause(job: Job) -> str | None:
    """What a job is being ended for; None when it is not."""
    reason = job.life.reason
    return reason.details["cause"] if reason is not None and reason.kind is Kind.ENDING else None
