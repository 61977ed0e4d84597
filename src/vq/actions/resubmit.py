"""Submit jobs anew: from their original payload, with their environment, estimate, limits and where these came from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from vq.actions.limits import refuse_cpus, refuse_memory
from vq.actions.place import Place
from vq.actions.requesting import now_ms
from vq.config.values import Config
from vq.errors import VqError
from vq.files.snapshots import has_snapshot
from vq.jobs.record import Job, MemorySource, State, WallSource, Work, new_job
from vq.store import jobs as stored
from vq.store import submitting
from vq.store.submitting import Submission


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """What the new jobs have instead; None keeps the old one, of a limit with its source."""

    cpus: int | None = None
    mem_mb: int | None = None
    wall_time_seconds: int | None = None
    priority: int | None = None


def resubmit(
    place: Place, identifiers: Sequence[str], overrides: Overrides, config: Config
) -> tuple[tuple[str, State | None], ...]:
    """The ids and states of the new jobs, one for each, all or none; raises `VqError`."""
    jobs = [stored.read(place.store, identifier) for identifier in identifiers]
    submissions = [_again(place, job, overrides) for job in jobs]
    for submission in submissions:
        refuse_cpus(submission.job.work.cpus, "--cpus", config)
        refuse_memory(submission.job.work.mem_mb, "--mem-mb", config)

    def check() -> None:
        for job in jobs:
            _refuse_gone(place, job)

    return submitting.submit(place.store, submissions, publish=check).jobs


def _again(place: Place, job: Job, overrides: Overrides) -> Submission:
    record = stored.full_record(place.store, job.id)
    environment = dict(stored.environment(place.store, job.id) or {})
    if job.work.array is not None:
        # It is no longer one of an array, but its command may go by its index.
        environment["VQ_ARRAY_INDEX"] = str(job.work.array.index)
        environment["VQ_ARRAY_TOTAL"] = str(job.work.array.total)
    return Submission(
        job=new_job(job.identity, _work(job.work, overrides), now_ms(), parent=job.id),
        environment=environment,
        estimate=record["resource_estimate"],
        calibration=record["resource_estimate_calibration"],
    )


def _work(work: Work, overrides: Overrides) -> Work:
    work = replace(
        work,
        workspace=None,
        cwd=work.cwd if work.here else None,
        depends_on=(),
        array=None,
        not_before_ms=None,
        cpus=work.cpus if overrides.cpus is None else overrides.cpus,
        priority=work.priority if overrides.priority is None else overrides.priority,
    )
    if overrides.mem_mb is not None:
        work = replace(work, mem_mb=overrides.mem_mb, mem_mb_source=MemorySource.EXPLICIT)
    if overrides.wall_time_seconds is not None:
        seconds = overrides.wall_time_seconds
        work = replace(work, wall_time_seconds=seconds, wall_time_source=WallSource.EXPLICIT)
    return work


def _refuse_gone(place: Place, job: Job) -> None:
    """Nothing, or the `VqError` that what the job starts from is not there any more."""
    payload = job.work.payload_sha256
    if payload is not None and not (os.path.isdir(place.snapshots) and has_snapshot(payload, place.snapshots)):
        raise VqError(
            f"the payload of {job.id} was purged, and nothing can start from it", hint="submit its files again"
        )
