"""A job as a row of the store: the record as JSON, and beside it what queries ask for. One place writes them."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from vq.errors import UsageError
from vq.jobs.document import job_document, read_job
from vq.jobs.ids import job_id, sequence_of
from vq.jobs.record import Job, State

_ENCODE = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def insert_job(
    connection: sqlite3.Connection,
    job: Job,
    documents: tuple[str | None, str | None, str | None],
    *,
    hook_due: bool = False,
) -> None:
    """Write a new job; `documents` are the digests of its environment, estimate and calibration."""
    sequence, array = sequence_of(job.id), job.work.array
    record, usage = encoded(job)
    connection.execute(
        "INSERT INTO jobs (sequence, state, priority, name, array_group, settled_at, hook_due,"
        " environment_sha256, estimate_sha256, calibration_sha256, record, usage)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            sequence,
            job.state.value,
            job.work.priority,
            job.identity.name,
            None if array is None else sequence_of(array.group),
            job.life.settled_at_ms,
            int(hook_due),
            *documents,
            record,
            usage,
        ),
    )
    _insert_tags(connection, sequence, job.identity.tags)


def update_job(connection: sqlite3.Connection, before: Job, after: Job, *, hook_due: bool) -> None:
    """Write a job anew as a step of its life has left it."""
    sequence = sequence_of(after.id)
    record, usage = encoded(after)
    connection.execute(
        "UPDATE jobs SET state = ?, priority = ?, name = ?, settled_at = ?, hook_due = ?, record = ?, usage = ?"
        " WHERE sequence = ?",
        (
            after.state.value,
            after.work.priority,
            after.identity.name,
            after.life.settled_at_ms,
            int(hook_due),
            record,
            usage,
            sequence,
        ),
    )
    if after.identity.tags != before.identity.tags:
        _delete_tags(connection, sequence)
        _insert_tags(connection, sequence, after.identity.tags)


def fetch_job(connection: sqlite3.Connection, identifier: str) -> Job:
    """The job of an id; raises `UsageError` where there is none."""
    row = connection.execute("SELECT record, usage FROM jobs WHERE sequence = ?", (sequence_of(identifier),)).fetchone()
    if row is None:
        raise no_such_job(identifier)
    return decoded(*row)


def fetch_state(connection: sqlite3.Connection, identifier: str) -> State | None:
    """The state of the job of an id; None where there is none."""
    row = connection.execute("SELECT state FROM jobs WHERE sequence = ?", (sequence_of(identifier),)).fetchone()
    return None if row is None else State(row[0])


def next_sequence(connection: sqlite3.Connection) -> int:
    """The number of the next job; only meaningful while writing."""
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'jobs'").fetchone()
    return 1 if row is None else int(row[0]) + 1


def insert_dependency(connection: sqlite3.Connection, waited_for: str, job: str) -> None:
    """Remember that `job` waits for the end of `waited_for`."""
    connection.execute(
        "INSERT INTO dependencies (waited_for, job) VALUES (?, ?)", (sequence_of(waited_for), sequence_of(job))
    )


def take_dependents(connection: sqlite3.Connection, waited_for: str) -> list[str]:
    """The jobs that wait for the end of a job, in their order; they are not remembered any longer."""
    rows = connection.execute(
        "DELETE FROM dependencies WHERE waited_for = ? RETURNING job", (sequence_of(waited_for),)
    ).fetchall()
    return [job_id(sequence) for (sequence,) in sorted(rows)]


def encoded(job: Job) -> tuple[str, str | None]:
    """The record without its usage, and the usage, as JSON text."""
    document = job_document(job)
    usage = document.pop("usage")
    return _ENCODE(document), None if usage is None else _ENCODE(usage)


def decoded(record: str, usage: str | None) -> Job:
    """The job of a row; raises `BadDataError` for a record that this version would not have written."""
    document: dict[str, Any] = json.loads(record)
    document["usage"] = None if usage is None else json.loads(usage)
    return read_job(document)


def no_such_job(identifier: str) -> UsageError:
    """The refusal of an id that no job has."""
    return UsageError(f"there is no job {identifier}", hint="vq queue --all shows every job")


def _insert_tags(connection: sqlite3.Connection, sequence: int, tags: tuple[str, ...]) -> None:
    for tag in tags:
        connection.execute("INSERT OR IGNORE INTO tags (tag, job) VALUES (?, ?)", (tag, sequence))


def _delete_tags(connection: sqlite3.Connection, sequence: int) -> None:
    connection.execute("DELETE FROM tags WHERE job = ?", (sequence,))
