"""What of ended jobs may be removed, and the removal of their records; history rows and idempotency keys stay."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vq.jobs.ids import sequence_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A job that ended long ago: how many attempts it had, its payload, and the workspace that it was given."""

    job: str
    attempts: int
    payload_sha256: str | None
    workspace: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The payloads and workspaces that other jobs still need."""

    payloads: frozenset[str]
    workspaces: frozenset[str]


def ended_before(connection: sqlite3.Connection, at_ms: int) -> list[Candidate]:
    """The jobs whose end was recorded before `at_ms`, in that order."""
    rows = connection.execute("SELECT record FROM jobs WHERE settled_at < ? ORDER BY settled_at", (at_ms,)).fetchall()
    records: list[dict[str, Any]] = [json.loads(record) for (record,) in rows]
    return [
        Candidate(
            job=record["id"],
            attempts=record["attempt"],
            payload_sha256=record["payload_sha256"],
            workspace=None if record["here"] else record["workspace"],
        )
        for record in records
    ]


def needed_since(connection: sqlite3.Connection, at_ms: int) -> Kept:
    """What the jobs need that have not ended, or not before `at_ms`."""
    rows = connection.execute(
        "SELECT DISTINCT json_extract(record, '$.payload_sha256'), json_extract(record, '$.workspace') FROM jobs"
        " WHERE settled_at IS NULL OR settled_at >= ?",
        (at_ms,),
    ).fetchall()
    return Kept(
        payloads=frozenset(payload for payload, _ in rows if payload is not None),
        workspaces=frozenset(workspace for _, workspace in rows if workspace is not None),
    )


def delete_records(connection: sqlite3.Connection, jobs: Sequence[str]) -> None:
    """Remove the records of ended jobs, and the documents that no other job has."""
    for job in jobs:
        sequence = sequence_of(job)
        connection.execute("DELETE FROM tags WHERE job = ?", (sequence,))
        connection.execute("DELETE FROM jobs WHERE sequence = ?", (sequence,))
    connection.execute(
        "DELETE FROM documents WHERE sha256 NOT IN (SELECT environment_sha256 FROM jobs"
        " WHERE environment_sha256 IS NOT NULL UNION SELECT estimate_sha256 FROM jobs WHERE estimate_sha256 IS NOT NULL"
        " UNION SELECT calibration_sha256 FROM jobs WHERE calibration_sha256 IS NOT NULL)"
    )
