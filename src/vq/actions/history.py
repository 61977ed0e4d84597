"""Import a history from somebody else's records, into a file or into the queue's own, and read one back."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from operator import attrgetter

from vq.actions.place import Place
from vq.admission.history import Run
from vq.daemon.learning import run_of
from vq.errors import BadDataError, UsageError, placed, shown
from vq.files.documents import write_new
from vq.files.lines import read_lines
from vq.formats import jsonl
from vq.formats.outcomes import LONGEST_LINE, LONGEST_NAME, Importer, Line, Outcome, Source, Unread
from vq.formats.tally import Tally
from vq.jobs.history_row import HistoryRow
from vq.store.history import MOST_IMPORTED, forget_rows, import_rows, imports, rows_in_order

FORMATS = ("nextflow", "sacct", "swf", "csv", "jsonl")

_VALUES = attrgetter(*HistoryRow._fields)

Tick = Callable[[], None]
"""Called once for each record, so that the caller can show how far it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What `vq history import` was asked: paths as given; `rules` are the texts of `--map`.

    Without a `target` the rows are for the queue's own history.
    """

    path: str
    format: str
    target: str | None = None
    rules: Sequence[str] = ()
    repository: str | None = None
    profile: str | None = None
    skip_bad: bool = False

    @property
    def source(self) -> str:
        """What the rows of the file are known by: its name."""
        return _as_text(os.path.basename(self.path) or self.path)

    @property
    def stem(self) -> str:
        """The repository of rows that name none: the file's name without its ending."""
        return _as_text(os.path.splitext(os.path.basename(self.path))[0] or self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taught:
    """What became of the records of a file, how many rows were new to the history, and of what profiles they are."""

    tally: Tally
    added: int
    profiles: frozenset[str]


def import_history(request: ImportRequest, tick: Tick) -> Tally:
    """Write the rows that a file holds to a new file, whole or not at all, and say what became of its records.

    Raises `VqError`: for the first record that cannot be read, unless those are to be skipped, and if no row is left.
    """
    outcomes, tally = _outcomes(request), Tally()
    write_new(request.target or "", map(jsonl.written, _rows(request, outcomes, tally, tick)))
    return tally


def teach_history(place: Place, request: ImportRequest, now_ms: int, tick: Tick) -> Taught:
    """Add the rows that a file holds to the queue's own history, all or none; those that it has already add nothing.

    A daemon that runs learns them within a second. A record of a run that ended after `now_ms` cannot be read. Raises
    `VqError` as `import_history` does, and for more rows than a history takes.
    """
    outcomes, tally = _outcomes(request, now_ms), Tally()
    rows: list[HistoryRow] = []
    for run in _rows(request, outcomes, tally, tick):
        rows.append(HistoryRow._make(_VALUES(run)))
        if len(rows) > MOST_IMPORTED:
            raise BadDataError(f"at most {MOST_IMPORTED:,} rows; import the latest runs only").at(request.path)
    added = import_rows(place.store, rows, request.source)
    return Taught(tally=tally, added=added, profiles=frozenset(row.profile for row in rows))


def forget_history(place: Place, source: str) -> int:
    """Remove the rows that were imported from a source, and say how many they were; a daemon that runs forgets them.

    Raises `UsageError` for a source that nothing was imported from.
    """
    forgotten = forget_rows(place.store, source)
    if not forgotten:
        known = ", ".join(shown(found.source) for found in imports(place.store))
        raise UsageError(
            f"nothing was imported from {shown(source)}",
            hint=f"imported were {known}" if known else "no import is in the history, and own runs are never forgotten",
        )
    return forgotten


def own_rows(place: Place, tick: Tick) -> list[Run]:
    """The rows of the queue's own history, imported ones among them, in the order in which the runs finished."""
    rows = []
    for row in rows_in_order(place.store):
        tick()
        rows.append(run_of(row))
    return rows


def _outcomes(request: ImportRequest, latest_ms: int | None = None) -> Iterator[Outcome]:
    """What the records of a file are, read as they are asked for; no run may have ended after `latest_ms`."""
    for option, name in (("--repository", request.repository), ("--profile", request.profile)):
        if name is not None and not _is_name(name):
            raise UsageError(f"{option}: expected 1 to {LONGEST_NAME} characters that UTF-8 can hold")
    importer = _importer(request.format, request.rules)
    source = Source(
        stem=request.stem,
        repository=request.repository,
        profile=request.profile,
        latest_ms=latest_ms,
    )
    with placed(request.path):
        return importer(_lines(request.path), source)


def load_rows(path: str, tick: Tick) -> list[Run]:
    """The rows in a file of JSON Lines; raises `VqError` for the first line that is none."""
    rows: list[Run] = []
    try:
        with placed(path):
            for row in jsonl.rows(_lines(path)):
                tick()
                rows.append(row)
    except BadDataError as error:
        if not rows:
            error.hint = "another tool's records become rows by: vq history import FILE --format FORMAT -o rows.jsonl"
        raise
    return rows


def _as_text(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _is_name(text: str) -> bool:
    return 0 < len(text) <= LONGEST_NAME and text == text.encode("utf-8", "replace").decode()


def _importer(name: str, rules: Sequence[str]) -> Importer:
    if (name == "csv") != bool(rules):
        raise UsageError(
            "--map and --format csv go together: a table says nothing of what its columns mean",
            hint="vq history import --help has an example",
        )
    if name == "csv":
        from vq.formats.mapped import Rule, importer  # noqa: PLC0415 - each import needs one format

        return importer([Rule.of(text) for text in rules])
    importer_of_format: Importer = import_module(f"vq.formats.{name}").read
    return importer_of_format


def _lines(path: str) -> Iterator[Line]:
    return (Line(number, data) for number, data in read_lines(path, LONGEST_LINE))


def _rows(request: ImportRequest, outcomes: Iterable[Outcome], tally: Tally, tick: Tick) -> Iterator[Run]:
    with placed(request.path):
        for outcome in outcomes:
            tick()
            if isinstance(outcome, Unread) and not request.skip_bad:
                raise _bad(outcome)
            tally.count(outcome)
            if isinstance(outcome, Run):
                yield outcome
        if not tally.rows:
            reasons = {**tally.left_out, **tally.unread}
            found = "; ".join(f"{why}: {reason.count:,}" for why, reason in reasons.items()) or "no record at all"
            raise BadDataError(f"a record of a run that ended, with its peak; {found}")


def _bad(outcome: Unread) -> BadDataError:
    error = outcome.error
    error.at(f"line {outcome.line}")
    error.hint = "--skip-bad counts such records and goes on"
    return error
