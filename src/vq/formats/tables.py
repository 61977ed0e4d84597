"""Tables with a header line: cells by the names of their columns, one record at a time.

Cells separated by commas or semicolons may be quoted, also across lines, as spreadsheets write them (RFC 4180); those
separated by tabs or bars are taken as they stand, as the tools that write them do.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from vq.errors import BadDataError
from vq.formats.outcomes import LONGEST_LINE, Line, Unread, text_of
from vq.formats.quantities import Quantity

_QUOTING = ",;"


@dataclass(frozen=True, slots=True)
class Record:
    """One record: the number of the line it begins at, and its cells by column."""

    number: int
    cells: dict[str, str]

    def read(self, column: str, quantity: Quantity) -> int | None:
        """The quantity in a column; None where it is unknown or there is no such column."""
        text = self.cells.get(column)
        return None if text is None else quantity.read(text, column)


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its header, the line that it stands on, and the records below it, read as they are asked for."""

    header: Sequence[str]
    line: int
    records: Iterator[Record | Unread]

    def require(self, *columns: str) -> None:
        """Nothing, or the `BadDataError` that none of `columns` is there."""
        if not any(column in self.header for column in columns):
            wanted = " or ".join(columns)
            raise BadDataError(f"a column {wanted} in the header", found=", ".join(self.header)).at(f"line {self.line}")


def read_table(lines: Iterable[Line], *, separators: str, lower: bool = False) -> Table:
    """The table in `lines`, whose header is the first that is not blank and says which of `separators` it uses.

    `lower` makes the names of columns lowercase. Raises `BadDataError` for a file without a header, or with one that
    names a column twice.
    """
    rest = iter(lines)
    for line in rest:
        try:
            text = text_of(line)
        except BadDataError as error:
            raise error.at(f"line {line.number}")  # noqa: B904 - the same error, placed
        if text.strip():
            return _table(text.lower() if lower else text, line.number, rest, separators)
    raise BadDataError("a table with a header line; the file is empty")


def _table(text: str, number: int, rest: Iterator[Line], separators: str) -> Table:
    separator = next((sign for sign in separators if sign in text), separators[0])
    try:
        header = [name.strip() for name in _cells(text, separator)]
    except BadDataError as error:
        raise error.at(f"line {number}")  # noqa: B904 - the same error, placed
    if header[-1] == "" and len(header) > 1:
        header.pop()  # a separator ends each line
    if len(set(header)) < len(header):
        twice = Counter(header).most_common(1)[0][0]
        raise BadDataError("each column once in the header", found=twice).at(f"line {number}")
    return Table(header, number, _records(rest, header, separator))


def _records(lines: Iterator[Line], header: Sequence[str], separator: str) -> Iterator[Record | Unread]:
    for line in lines:
        try:
            text = text_of(line)
            if not text.strip():
                continue
            cells = _cells(_whole(text, lines) if separator in _QUOTING else text, separator)
            record = Record(line.number, _by_column(cells, header))
        except BadDataError as error:
            yield Unread(line.number, error)
        else:
            yield record


def _by_column(cells: list[str], header: Sequence[str]) -> dict[str, str]:
    if len(cells) == len(header) + 1 and cells[-1] == "":
        cells.pop()
    if len(cells) != len(header):
        raise BadDataError(f"{len(header)} cells, as in the header", found=len(cells))
    return dict(zip(header, cells, strict=True))


def _whole(text: str, lines: Iterator[Line]) -> str:
    """The record that begins with `text`: as long as a quote is open, the lines that follow belong to it."""
    pieces, quotes, size = [text], text.count('"'), len(text)
    while quotes % 2:
        line = next(lines, None)
        if line is None or size > LONGEST_LINE:
            raise BadDataError("a closing quote", found=text)
        more = text_of(line)
        pieces.append(more)
        quotes += more.count('"')
        size += len(more)
    return "\n".join(pieces)


def _cells(text: str, separator: str) -> list[str]:
    if separator not in _QUOTING or '"' not in text:
        return text.split(separator)
    try:
        return list(chain.from_iterable(csv.reader([text], delimiter=separator, strict=True)))
    except csv.Error as error:
        raise BadDataError(f"cells with quotes around them or none; {error}") from error
