"""The history: one row a run, appended when the run ends and read in the order in which runs finished."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from vq.errors import UsageError
from vq.jobs.history_row import HistoryRow
from vq.store.connection import Store
from vq.store.settings import change_imports

_COLUMNS = ", ".join(HistoryRow._fields)
_BOOLEANS = frozenset(("page_cache", "oom_killed", "hit_cap", "own_cap", "succeeded", "cancelled"))
_PLACES = tuple(place for place, name in enumerate(HistoryRow._fields) if name in _BOOLEANS)
_PAGE = 1000
_SAME = (
    f"SELECT count(*) FROM history WHERE {' AND '.join(f'{name} IS ?' for name in HistoryRow._fields)}"  # noqa: S608
    " AND ordered_at = ? AND sequence <= ?"
)

MOST_IMPORTED = 100_000
"""So many rows of runs that were not this queue's its history takes, so that a daemon that starts reads them soon."""


class Imported(NamedTuple):
    """The rows that were imported from one source: how many, and the ends of the first and the last run, in ms."""

    source: str
    rows: int
    first_ms: int
    last_ms: int


def append_row(
    connection: sqlite3.Connection, row: HistoryRow, job: int | None, attempt: int | None, *, source: str | None = None
) -> None:
    """Write the row of an attempt of a job (one is all that there can be), or one that was imported from `source`."""
    connection.execute(
        f"INSERT INTO history (job, attempt, source, {_COLUMNS})"  # noqa: S608 - the names of our own columns
        f" VALUES ({', '.join('?' * (len(row) + 3))})",
        (job, attempt, source, *row),
    )


def imports(store: Store) -> list[Imported]:
    """What was imported, by source."""
    with store.reading() as connection:
        return [
            Imported(*found)
            for found in connection.execute(
                "SELECT source, count(*), min(ordered_at), max(ordered_at) FROM history"
                " WHERE source IS NOT NULL GROUP BY source"
            )
        ]


def forget_rows(store: Store, source: str) -> int:
    """Remove the rows that were imported from a source; how many they were. Rows of this queue's runs stay."""
    with store.writing() as connection:
        forgotten = connection.execute("DELETE FROM history WHERE source = ?", (source,)).rowcount
        if forgotten:
            change_imports(connection)
    return forgotten


def import_rows(store: Store, rows: Iterable[HistoryRow], source: str) -> int:
    """Add rows of runs that were not this queue's, all or none; how many they were.

    A row that the history has already is not added again: the same rows a second time add nothing. Of rows that are
    equal to the last field, as many are kept as one of the two has at most. Raises `UsageError` where all imports
    together would come to more than `MOST_IMPORTED`.
    """
    added, seen = 0, Counter[HistoryRow]()
    with store.writing() as connection:
        last = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'history'").fetchone()
        before = 0 if last is None else int(last[0])
        for row in rows:
            there = connection.execute(
                _SAME, (*row, row.queued_at if row.finished_at is None else row.finished_at, before)
            )
            if there.fetchone()[0] > seen[row]:
                seen[row] += 1
                continue
            append_row(connection, row, None, None, source=source)
            added += 1
        if added:
            change_imports(connection)
        imported = connection.execute("SELECT count(*) FROM history WHERE source IS NOT NULL").fetchone()[0]
        if imported > MOST_IMPORTED:
            raise UsageError(
                f"with these the history would have more than {MOST_IMPORTED:,} imported rows",
                hint="import the latest runs only: predictions go by the last of each job",
            )
    return added


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
