"""Look at jobs: one with all that is known of it, those that a person wants to see, those that the daemon works on."""

from __future__ import annotations

import heapq
import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from vq.jobs.ids import job_id, sequence_of
from vq.jobs.record import ACTIVE, Job, State
from vq.store.connection import Store
from vq.store.documents import fetch_document
from vq.store.rows import decoded, fetch_job, fetch_state, no_such_job

PENDING_SHOWN = 50
ENDED_SHOWN = 50
RECENT_MS = 3_600_000

_NO_END = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """Records without usage and estimates, and how many jobs are in each state that has any."""

    jobs: tuple[dict[str, Any], ...]
    counts: dict[State, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Jobs that have all that is given: one of the states (none given: any), a name, a tag, an array's group."""

    states: tuple[State, ...] = ()
    name: str | None = None
    tag: str | None = None
    array_group: str | None = None


_EVERY = Selection()


def read(store: Store, identifier: str) -> Job:
    """The job of an id; raises `UsageError` where there is none."""
    with store.reading() as connection:
        return fetch_job(connection, identifier)


def full_record(store: Store, identifier: str) -> dict[str, Any]:
    """All that is known of a job but its environment: the record with its usage and its estimates."""
    with store.reading() as connection:
        row = connection.execute(
            "SELECT record, usage, estimate_sha256, calibration_sha256 FROM jobs WHERE sequence = ?",
            (sequence_of(identifier),),
        ).fetchone()
        if row is None:
            raise no_such_job(identifier)
        record, usage, estimate, calibration = row
        return {
            **json.loads(record),
            "usage": None if usage is None else json.loads(usage),
            "resource_estimate": fetch_document(connection, estimate),
            "resource_estimate_calibration": fetch_document(connection, calibration),
        }


def environment(store: Store, identifier: str) -> dict[str, str] | None:
    """The environment that was captured for a job; None where none was."""
    row = store.first(
        "SELECT document FROM jobs LEFT JOIN documents ON sha256 = environment_sha256 WHERE sequence = ?",
        sequence_of(identifier),
    )
    if row is None:
        raise no_such_job(identifier)
    return None if row[0] is None else json.loads(row[0])


def states(store: Store, identifiers: Iterable[str]) -> dict[str, State | None]:
    """The state of each job, all at one moment; None for an id that no job has."""
    with store.reading() as connection:
        return {identifier: fetch_state(connection, identifier) for identifier in identifiers}


def counts(store: Store, selection: Selection = _EVERY) -> dict[State, int]:
    """How many of the jobs selected, by default of all, are in each state that has any."""
    wanted = selection.states or tuple(State)
    conditions, values = _conditions(selection, None)
    with store.reading() as connection:
        if not values:
            found = _counts(connection)
        else:
            rows = connection.execute(
                f"SELECT state, COUNT(*) FROM jobs WHERE {conditions} GROUP BY state",  # noqa: S608 - as below
                values,
            ).fetchall()
            found = {State(state): jobs for state, jobs in rows}
    return {state: jobs for state, jobs in found.items() if state in wanted}


def queue(store: Store, now_ms: int) -> Queue:
    """What a person sees first: the running jobs, the first pending ones, and those that ended within the hour."""
    with store.reading() as connection:
        running = connection.execute("SELECT record FROM jobs WHERE state = 'RUNNING' ORDER BY sequence").fetchall()
        pending = connection.execute(
            "SELECT record FROM jobs INDEXED BY jobs_in_order WHERE state = 'PENDING'"
            " ORDER BY priority DESC, sequence LIMIT ?",
            (PENDING_SHOWN,),
        ).fetchall()
        ended = connection.execute(
            "SELECT record FROM jobs WHERE settled_at >= ? ORDER BY settled_at DESC LIMIT ?",
            (now_ms - RECENT_MS, ENDED_SHOWN),
        ).fetchall()
        return Queue(
            jobs=tuple(json.loads(record) for (record,) in (*running, *pending, *ended)), counts=_counts(connection)
        )


def _counts(connection: sqlite3.Connection) -> dict[State, int]:
    rows = connection.execute("SELECT state, jobs FROM counts WHERE jobs > 0").fetchall()
    return {State(state): jobs for state, jobs in rows}


def select(store: Store, selection: Selection, *, limit: int | None = None) -> list[dict[str, Any]]:
    """The records of the jobs selected, the latest submitted first, at most `limit`."""
    return [json.loads(record) for _, record in _selected(store, selection, limit)]


def select_active(store: Store, selection: Selection) -> list[str]:
    """The ids of the jobs selected that have not ended, in the order of submission."""
    chosen = Selection(states=ACTIVE, name=selection.name, tag=selection.tag, array_group=selection.array_group)
    return [job_id(sequence) for sequence, _ in reversed(list(_selected(store, chosen, None)))]


def _selected(store: Store, selection: Selection, limit: int | None) -> Iterator[tuple[int, str]]:
    """Number and record, the latest first: each state has an order of its own, and they are merged."""
    most = _NO_END if limit is None else limit
    with store.reading():
        each = [_of_state(store, selection, state, most) for state in selection.states or (None,)]
    merged = heapq.merge(*each, key=lambda row: -row[0])
    return (row for _, row in zip(range(most), merged, strict=False))


def _of_state(store: Store, selection: Selection, state: State | None, limit: int) -> list[tuple[int, str]]:
    conditions, values = _conditions(selection, state)
    return store.connection.execute(
        f"SELECT sequence, record FROM jobs WHERE {conditions} ORDER BY sequence DESC LIMIT ?",  # noqa: S608 - as below
        (*values, limit),
    ).fetchall()


def _conditions(selection: Selection, state: State | None) -> tuple[str, list[str | int]]:
    """What a statement asks of a job to be selected, in its one state or in any, and the values for it."""
    conditions: list[str] = ["sequence > 0"]
    values: list[str | int] = []
    if selection.tag is not None:
        conditions.append("sequence IN (SELECT job FROM tags WHERE tag = ?)")
        values.append(selection.tag)
    # A plus keeps an index from being used: the one that says most is then the only one that can be.
    narrowed = "+" if selection.tag is not None else ""
    if selection.array_group is not None:
        conditions.append(f"{narrowed}array_group = ?")
        values.append(sequence_of(selection.array_group))
        narrowed = "+"
    if selection.name is not None:
        conditions.append(f"{narrowed}name = ?")
        values.append(selection.name)
        narrowed = "+"
    if state is not None:
        conditions.append(f"{narrowed}state = ?")
        values.append(state.value)
    return " AND ".join(conditions), values


def active(store: Store) -> list[Job]:
    """Every job that has not ended, in the order of submission: where a daemon begins."""
    with store.reading() as connection:
        rows = connection.execute(
            "SELECT record, usage FROM jobs WHERE state = 'RUNNING' OR state = 'PENDING' ORDER BY sequence"
        ).fetchall()
    return [decoded(record, usage) for record, usage in rows]


def submitted_after(store: Store, identifier: str | None) -> list[Job]:
    """The jobs submitted after that one (None: all) that have not ended: what is new to a daemon that looks."""
    with store.reading() as connection:
        rows = connection.execute(
            "SELECT record, usage FROM jobs WHERE sequence > ? AND +settled_at IS NULL ORDER BY sequence",
            (0 if identifier is None else sequence_of(identifier),),
        ).fetchall()
    return [decoded(record, usage) for record, usage in rows]


def array_at_once(store: Store, group: str) -> int | None:
    """How many jobs of an array may run at once; None for any number."""
    with store.reading() as connection:
        row = connection.execute("SELECT at_once FROM arrays WHERE array_group = ?", (sequence_of(group),)).fetchone()
    return None if row is None else int(row[0])


def hooks_due(store: Store) -> list[str]:
    """The ids of the ended jobs whose end hook has still to run."""
    with store.reading() as connection:
        rows = connection.execute("SELECT sequence FROM jobs WHERE hook_due = 1 ORDER BY sequence").fetchall()
    return [job_id(sequence) for (sequence,) in rows]


def hook_ran(store: Store, identifiers: Iterable[str]) -> None:
    """Remember that the end hooks of these jobs have run."""
    with store.writing() as connection:
        for identifier in identifiers:
            connection.execute("UPDATE jobs SET hook_due = 0 WHERE sequence = ?", (sequence_of(identifier),))
