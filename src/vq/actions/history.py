"""Import a history from somebody else's records, and read one back. Files in, rows out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module

from vq.admission.history import Run
from vq.errors import BadDataError, UsageError, placed
from vq.files.documents import write_new
from vq.files.lines import read_lines
from vq.formats import jsonl
from vq.formats.outcomes import LONGEST_LINE, LONGEST_NAME, Importer, Line, Outcome, Source, Unread
from vq.formats.tally import Tally

FORMATS = ("nextflow", "sacct", "swf", "csv", "jsonl")

Tick = Callable[[], None]
"""Called once for each record, so that the caller can show how far it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What `vq history import` was asked: paths as given; `rules` are the texts of `--map`."""

    path: str
    format: str
    target: str
    rules: Sequence[str] = ()
    repository: str | None = None
    profile: str | None = None
    skip_bad: bool = False


def import_history(request: ImportRequest, tick: Tick) -> Tally:
    """Write the rows that a file holds to a new file, whole or not at all, and say what became of its records.

    Raises `VqError`: for the first record that cannot be read, unless those are to be skipped, and if no row is left.
    """
    for option, name in (("--repository", request.repository), ("--profile", request.profile)):
        if name is not None and not _is_name(name):
            raise UsageError(f"{option}: expected 1 to {LONGEST_NAME} characters that UTF-8 can hold")
    importer = _importer(request.format, request.rules)
    stem = os.path.splitext(os.path.basename(request.path))[0] or request.path
    source = Source(
        stem=os.fsencode(stem).decode("utf-8", "backslashreplace"),
        repository=request.repository,
        profile=request.profile,
    )
    tally = Tally()
    with placed(request.path):
        outcomes = importer(_lines(request.path), source)
    write_new(request.target, _rows(request, outcomes, tally, tick))
    return tally


def load_rows(path: str, tick: Tick) -> list[Run]:
    """The rows in a file of JSON Lines; raises `VqError` for the first line that is none."""
    rows = []
    with placed(path):
        for row in jsonl.rows(_lines(path)):
            tick()
            rows.append(row)
    return rows


def _is_name(text: str) -> bool:
    return 0 < len(text) <= LONGEST_NAME and text == text.encode("utf-8", "replace").decode()


def _importer(name: str, rules: Sequence[str]) -> Importer:
    if (name == "csv") != bool(rules):
        raise UsageError("--map and --format csv go together: a table says nothing of what its columns mean")
    if name == "csv":
        from vq.formats.mapped import Rule, importer  # noqa: PLC0415 - each import needs one format

        return importer([Rule.of(text) for text in rules])
    importer_of_format: Importer = import_module(f"vq.formats.{name}").read
    return importer_of_format


def _lines(path: str) -> Iterator[Line]:
    return (Line(number, data) for number, data in read_lines(path, LONGEST_LINE))


def _rows(request: ImportRequest, outcomes: Iterable[Outcome], tally: Tally, tick: Tick) -> Iterator[str]:
    with placed(request.path):
        for outcome in outcomes:
            tick()
            if isinstance(outcome, Unread) and not request.skip_bad:
                raise _bad(outcome)
            tally.count(outcome)
            if isinstance(outcome, Run):
                yield jsonl.written(outcome)
        if not tally.rows:
            reasons = {**tally.left_out, **tally.unread}
            found = "; ".join(f"{why}: {reason.count:,}" for why, reason in reasons.items()) or "no record at all"
            raise BadDataError(f"a record of a run that ended, with its peak; {found}")


def _bad(outcome: Unread) -> BadDataError:
    error = outcome.error
    error.at(f"line {outcome.line}")
    error.hint = "--skip-bad counts such records and goes on"
    return error
