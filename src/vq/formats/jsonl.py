"""The history's own form: JSON Lines, one row a line, with exactly the fields of a `Run`; unknown is null.

A field that may be null may also be missing. Any row written is read back the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from operator import attrgetter
from sys import intern
from typing import Any

from vq.admission.history import Run
from vq.canonical import parse
from vq.errors import BadDataError
from vq.formats.outcomes import LONGEST_NAME, Line, Outcome, Source, outcomes, text_of
from vq.shapes import BOOLEAN, BOOLEAN_OR_NULL, Record, integer, text

_NAME = text(most=LONGEST_NAME)
_AMOUNT_OR_NULL = integer(0, null=True)

_REQUIRED = {
    "repository": _NAME,
    "name": _NAME,
    "profile": _NAME,
    "memory_peak": integer(0),
    "page_cache": BOOLEAN,
    "queued_at": integer(0),
    "oom_killed": BOOLEAN,
    "succeeded": BOOLEAN,
    "cancelled": BOOLEAN,
}
_OPTIONAL = {
    "workflow": text(null=True, most=LONGEST_NAME),
    "memory_cap": _AMOUNT_OR_NULL,
    "cpu_cap": _AMOUNT_OR_NULL,
    "cpu_average": _AMOUNT_OR_NULL,
    "started_at": _AMOUNT_OR_NULL,
    "finished_at": _AMOUNT_OR_NULL,
    "hit_cap": BOOLEAN_OR_NULL,
    "own_cap": BOOLEAN_OR_NULL,
    "reserved": _AMOUNT_OR_NULL,
}
SHAPE = Record(_REQUIRED, _OPTIONAL)
"""The shape of a row."""

FIELDS = tuple(field.name for field in fields(Run))
"""The fields of a row, in the order in which they are written."""

_ALL_UNKNOWN: dict[str, Any] = dict.fromkeys(_OPTIONAL)
_NAMES = ("repository", "workflow", "name", "profile")
_VALUES = attrgetter(*FIELDS)
_ENCODE = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def written(run: Run) -> str:
    """The line, with its end, that a row is written as."""
    return _ENCODE(dict(zip(FIELDS, _VALUES(run), strict=True))) + "\n"


def read_row(data: bytes) -> Run:
    """The row that a line holds; raises `BadDataError`."""
    document = parse(data)
    SHAPE.check(document)
    values = {**_ALL_UNKNOWN, **document}
    for name in _NAMES:
        # Few names, many rows: one copy of each is enough.
        if values[name] is not None:
            values[name] = intern(values[name])
    return Run(**values)


def read(lines: Iterable[Line], source: Source) -> Iterator[Outcome]:
    """The rows in `lines`; blank lines are passed over."""

    def row(line: Line) -> Run:
        run = read_row(text_of(line).encode())
        if source.repository is None and source.profile is None:
            return run
        repository, profile = source.repository_of(run.repository), source.profile_of(run.profile)
        return replace(run, repository=repository, profile=profile)

    return outcomes((line for line in lines if line.data.strip()), row, source)


def rows(lines: Iterable[Line]) -> Iterator[Run]:
    """The rows in `lines`; raises the `BadDataError` of the first that is none, placed at its line."""
    for line in lines:
        if line.data.strip():
            try:
                yield read_row(text_of(line).encode())
            except BadDataError as error:
                raise error.at(f"line {line.number}")  # noqa: B904 - the same error, placed
