"""The history: one row a run, appended when the run ends and read in the order in which runs finished."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator

from vq.jobs.history_row import HistoryRow
from vq.store.connection import Store

_COLUMNS = ", ".join(HistoryRow._fields)
_BOOLEANS = frozenset(("page_cache", "oom_killed", "hit_cap", "own_cap", "succeeded", "cancelled"))
_PLACES = tuple(place for place, name in enumerate(HistoryRow._fields) if name in _BOOLEANS)
_PAGE = 1000


def append_row(connection: sqlite3.Connection, row: HistoryRow, job: int | None, attempt: int | None) -> None:
    """Write the row of an attempt of a job (both None: imported); one row an attempt is all that there can be."""
    connection.execute(
        f"INSERT INTO history (job, attempt, {_COLUMNS})"  # noqa: S608 - the names of our own columns
        f" VALUES ({', '.join('?' * (len(row) + 2))})",
        (job, attempt, *row),
    )


def import_rows(store: Store, rows: Iterable[HistoryRow]) -> int:
    """Add rows of runs that were not this queue's, all or none; how many they were."""
    count = 0
    with store.writing() as connection:
        for row in rows:
            append_row(connection, row, None, None)
            count += 1
    return count


def rows_in_order(store: Store) -> Iterator[HistoryRow]:
    """Every row in the order in which the runs finished, those that ended by themselves before those cancelled.

    They are read page by page, each from where the last one ended: nobody waits for a reader.
    """
    last = (-1, 0, 0)
    while True:
        with store.reading() as connection:
            page = connection.execute(
                f"SELECT ordered_at, cancelled, sequence, {_COLUMNS} FROM history"  # noqa: S608 - as above
                " WHERE (ordered_at, cancelled, sequence) > (?, ?, ?)"
                " ORDER BY ordered_at, cancelled, sequence LIMIT ?",
                (*last, _PAGE),
            ).fetchall()
        for values in page:
            yield _row(values[3:])
        if len(page) < _PAGE:
            return
        last = page[-1][:3]


def _row(values: tuple[object, ...]) -> HistoryRow:
    fields = list(values)
    for place in _PLACES:
        fields[place] = None if fields[place] is None else bool(fields[place])
    return HistoryRow._make(fields)
