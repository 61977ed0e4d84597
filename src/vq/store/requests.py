"""The mailbox: what commands ask of jobs, in the order they asked, until the daemon has answered it.

A request is the event that it becomes when the daemon reads it. It is recorded while no daemon runs, too.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from vq.jobs.events import Edited, KillRequested, Paused, Resumed
from vq.jobs.ids import job_id, sequence_of
from vq.jobs.lifecycle import TABLE
from vq.jobs.record import State
from vq.store.connection import Store
from vq.store.rows import fetch_state, no_such_job

Request = KillRequested | Paused | Resumed | Edited

_KINDS: dict[str, type[Request]] = {"kill": KillRequested, "pause": Paused, "resume": Resumed, "edit": Edited}
_NAMES = {kind: name for name, kind in _KINDS.items()}


MOST_AT_ONCE = 1000
"""So many requests are read in one turn of the daemon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """The jobs that something was recorded for, and those whose state does not take it, with their states."""

    recorded: tuple[tuple[str, State], ...]
    refused: tuple[tuple[str, State], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A request that waits for the daemon; `sequence` names it in the answer."""

    sequence: int
    job: str
    event: Request


def post(store: Store, identifiers: Sequence[str], request: Request) -> Posted:
    """Record a request for each of the jobs whose state now takes it; on disk when this returns.

    Raises `UsageError` for an id that no job has, and `StoreError`; nothing is recorded then.
    """
    recorded: list[tuple[str, State]] = []
    refused: list[tuple[str, State]] = []
    text = json.dumps({"kind": _NAMES[type(request)], **asdict(request)})
    with store.writing() as connection:
        for identifier in identifiers:
            state = fetch_state(connection, identifier)
            if state is None:
                raise no_such_job(identifier)
            takes = type(request) in TABLE.get(state, {})
            (recorded if takes else refused).append((identifier, state))
            if takes:
                _insert_request(connection, identifier, text)
    return Posted(recorded=tuple(recorded), refused=tuple(refused))


def waiting_requests(store: Store, limit: int = MOST_AT_ONCE) -> list[Waiting]:
    """The first requests that the daemon has not answered, in the order they were made."""
    with store.reading() as connection:
        rows = connection.execute(
            "SELECT sequence, job, request FROM requests WHERE sequence > 0 ORDER BY sequence LIMIT ?", (limit,)
        ).fetchall()
    return [Waiting(sequence=sequence, job=job_id(job), event=_read(text)) for sequence, job, text in rows]


def delete_request(connection: sqlite3.Connection, sequence: int) -> None:
    """Forget a request that is answered."""
    connection.execute("DELETE FROM requests WHERE sequence = ?", (sequence,))


def _insert_request(connection: sqlite3.Connection, identifier: str, text: str) -> None:
    connection.execute("INSERT INTO requests (job, request) VALUES (?, ?)", (sequence_of(identifier), text))


def _read(text: str) -> Request:
    document: dict[str, Any] = json.loads(text)
    kind = _KINDS[document.pop("kind")]
    if document.get("tags") is not None:
        document["tags"] = tuple(document["tags"])
    return kind(**document)
