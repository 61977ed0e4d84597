"""What became of a job that did not complete or is kept, and the command that a person would give next."""

from __future__ import annotations

import os

from vq.actions.place import Place, config_in_force
from vq.actions.waiting import Waited
from vq.cli.output import note
from vq.errors import VqError
from vq.jobs.reasons import Kind, Reason
from vq.jobs.record import Job, Limit, State
from vq.jobs.times import shown_seconds
from vq.store import jobs as stored
from vq.wording import MIB

_MOST_TOLD = 5


def tell_ends(place: Place, waited: Waited, *, streamed: bool = False) -> None:
    """Say on stderr of the jobs that were waited for why they did not complete.

    Where all that they wrote was `streamed`, nothing is said of one that ended by itself: it had its say.
    """
    bad = [job for job, state, _ in waited.jobs if state.ended and state is not State.COMPLETED]
    budget_bytes = budget_of(place) if bad else None
    for identifier in bad[:_MOST_TOLD]:
        job = stored.read(place.store, identifier)
        if streamed and job.state is State.FAILED and job.life.reason is None:
            continue
        note(f"{job.id} {job.state}: {what_became(job)}")
        step = next_step(job, budget_bytes)
        if step is not None:
            note(f"  next: {step}")
    if len(bad) > _MOST_TOLD:
        note(f"and {len(bad) - _MOST_TOLD:,} more did not complete: vq queue")


def budget_of(place: Place) -> int | None:
    """What all jobs together have, in bytes; None where the configuration cannot be read, which is no job's matter."""
    try:
        return config_in_force(place, os.environ).host.memory_max_bytes
    except VqError:
        return None


def next_step(job: Job, budget_bytes: int | None) -> str | None:
    """The command that helps a job that did not complete or is kept, if any; all jobs together have `budget_bytes`."""
    work, reason = job.work, job.life.reason
    if not job.state.ended and (job.life.held or job.life.paused):
        return f"vq resume {job.id}"
    if job.state is State.OOM_KILLED and job.life.limit_fired is Limit.JOB:
        larger_mb = 2 * work.mem_mb if budget_bytes is None else min(2 * work.mem_mb, budget_bytes // MIB)
        return f"vq resubmit {job.id} --mem-mb {larger_mb}" if larger_mb > work.mem_mb else None
    if job.state is State.TIME_EXCEEDED and work.wall_time_seconds is not None:
        return f"vq resubmit {job.id} --time {shown_seconds(2 * work.wall_time_seconds)}"
    if job.state is State.FAILED and (reason is None or reason.kind is not Kind.EXEC):
        return f"vq logs {job.id}"
    again = job.state is State.OOM_KILLED or (job.state is State.INTERRUPTED and not work.auto_resume)
    return f"vq resubmit {job.id}" if again else None


def what_became(job: Job) -> str:
    """Why a job did not complete, without what helps."""
    reason: Reason | None = job.life.reason
    if reason is not None:
        return reason.what
    return f"exit code {job.life.exit_code}"
