"""Accept jobs: one or many in one transaction, on disk when it returns, once for each idempotency key."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vq.errors import VqError
from vq.jobs.ids import job_id
from vq.jobs.record import Array, Job, State
from vq.store.connection import Store
from vq.store.documents import Keeper
from vq.store.rows import fetch_state, insert_dependency, insert_job, next_sequence, no_such_job


class ConflictError(VqError):
    """An idempotency key that stands for another submission."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A job to accept, as `new_job` makes it, with any id and array group: the store gives both.

    An array is its jobs in the order of their indexes, one after another; `array_at_once` stands with its first.
    """

    job: Job
    environment: Mapping[str, str] | None = None
    estimate: Mapping[str, Any] | None = None
    calibration: Mapping[str, Any] | None = None
    array_at_once: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """An idempotency key and the digest of what is asked under it."""

    key: str
    intent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The ids of the jobs and their states; a state is None where the record of an existing job was purged."""

    jobs: tuple[tuple[str, State | None], ...]
    existing: bool = False


def submit(
    store: Store,
    submissions: Sequence[Submission],
    claim: Claim | None = None,
    *,
    publish: Callable[[], object] | None = None,
    hooks: bool = False,
) -> Accepted:
    """Accept all of them or none; on disk when this returns.

    `publish` is called in the transaction once they are recorded, and only where they are new: what they start from
    is there before anybody sees them. With `hooks` the end of a job that a dependency ends at once is remembered until
    its hook ran.
    With a claim (of one submission), the job that was accepted under its key before is returned instead. Raises
    `ConflictError` where something else was asked under the key, `UsageError` for a dependency that is no job, and
    `StoreError`; nothing is written then.
    """
    with store.writing() as connection:
        if claim is not None and (before := _claimed(connection, claim)) is not None:
            return Accepted(jobs=((before, fetch_state(connection, before)),), existing=True)
        first = next_sequence(connection)
        keeper, group = Keeper(connection), ""
        jobs = []
        for sequence, submission in enumerate(submissions, start=first):
            job = submission.job
            array = job.work.array
            if array is not None:
                group = job_id(sequence) if array.index == 0 else group
            job = _settled(connection, _named(job, job_id(sequence), array and replace(array, group=group)))
            digests = (
                keeper.keep(submission.environment),
                keeper.keep(submission.estimate),
                keeper.keep(submission.calibration),
            )
            insert_job(connection, job, digests, hook_due=hooks and job.state.ended)
            for waited_for in job.life.waiting_for:
                insert_dependency(connection, waited_for, job.id)
            if submission.array_at_once is not None:
                _limit_array(connection, sequence, submission.array_at_once)
            jobs.append((job.id, job.state))
        if claim is not None:
            _claim(connection, claim, first)
        if publish is not None:
            publish()
    return Accepted(jobs=tuple(jobs))


def _named(job: Job, identifier: str, array: Array | None) -> Job:
    identity = replace(job.identity, id=identifier)
    return replace(job, identity=identity, work=job.work if array is None else replace(job.work, array=array))


def _settled(connection: sqlite3.Connection, job: Job) -> Job:
    """The job after it has learnt how those it depends on have ended, where they have."""
    if not job.life.waiting_for:
        return job
    from vq.jobs.lifecycle import advance, dependency_event  # noqa: PLC0415 - most submissions need no life to load

    for waited_for in job.life.waiting_for:
        state = fetch_state(connection, waited_for)
        if state is None:
            raise no_such_job(waited_for)
        if state.ended and not job.state.ended:
            job, _ = advance(job, dependency_event(job, waited_for, state, job.life.queued_at_ms))
    return job


def _claimed(connection: sqlite3.Connection, claim: Claim) -> str | None:
    """The id of the job that was accepted under the key; None where there is none."""
    row = connection.execute("SELECT intent, job FROM keys WHERE key = ?", (claim.key,)).fetchone()
    if row is None:
        return None
    intent, sequence = row
    if intent != claim.intent:
        message = f"the idempotency key {claim.key} stands for another submission, {job_id(sequence)}"
        raise ConflictError(message, hint="give a new key to what is not the same; nothing was submitted")
    return job_id(sequence)


def _claim(connection: sqlite3.Connection, claim: Claim, sequence: int) -> None:
    connection.execute("INSERT INTO keys (key, intent, job) VALUES (?, ?, ?)", (claim.key, claim.intent, sequence))


def _limit_array(connection: sqlite3.Connection, group: int, at_once: int) -> None:
    connection.execute("INSERT INTO arrays (array_group, at_once) VALUES (?, ?)", (group, at_once))
