"""One interface for what commands show: a table, JSON or the bare result (`--quiet`); talk goes to stderr.

What comes from files is escaped before it reaches a terminal. A table wider than the page goes on below, its first
columns repeated, so that 80 columns are enough in a terminal and in a pipe.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TextIO

import click

from vq.wording import broken_up, display_width, escape, wrap

PAGE = 80
WHOLE = ("Written to", "picture", "File")
"""The labels of paths that are to be copied, and so stay in one line."""
_NARROW = 18
_LONGEST = 32
"""The columns of a cell in a table that is too wide for the page otherwise: four of them fit."""
_LAST_COLUMN = 24
_SHORT_NAME = 12
"""The columns that the last column of a listing gets from that of the names, and those that names keep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """How one command shows its result: `json`, `quiet` or as text."""

    json: bool = False
    quiet: bool = False

    def document(self, pieces: Iterable[str]) -> None:
        """A JSON document to stdout, piece by piece."""
        for piece in pieces:
            sys.stdout.write(piece)

    def line(self, text: str = "", **style: bool | str) -> None:
        """One escaped line to stdout; styled where that is a terminal with colour."""
        click.echo(styled(escape(text), **style))

    def paragraph(self, text: str, **style: bool | str) -> None:
        """Escaped text, wrapped to the page."""
        for line in _lines(text, page_width()):
            click.echo(styled(line, **style))

    def fields(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Lines `Label:  text`, aligned, each wrapped to the page under itself; an empty label goes on above."""
        width = max(display_width(label) for label, _ in pairs) + 2
        for label, text in pairs:
            head = f"{label}:".ljust(width) if label else " " * width
            first, *rest = [escape(text)] if label in WHOLE else _lines(text, max(page_width() - width, 20))
            click.echo(styled(head, bold=True) + first)
            for line in rest:
                click.echo(" " * width + line)

    def entries(self, groups: Sequence[Sequence[tuple[str, str]]], *, whole: frozenset[str]) -> None:
        """Lines `key: text`, an empty line between groups; wrapped to the page, but not those of the `whole` keys."""
        for number, group in enumerate(filter(None, groups)):
            if number:
                click.echo()
            for key, text in group:
                head, indent = f"{key}:", "  "
                entry = f"{head} {escape(text)}"
                first, *rest = [entry] if key in whole else _lines(entry, page_width() - len(indent))
                click.echo(styled(head, bold=True) + first[len(head) :])
                for line in rest:
                    click.echo(indent + line)

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]], *, keys: int, text_columns: int) -> None:
        """Aligned rows; the first `keys` columns are repeated where the rest does not fit on the page.

        The first `text_columns` columns stand left, the others right.
        """
        cells = [[escape(cell) for cell in row] for row in [headings, *rows]]
        widths = [max(display_width(row[column]) for row in cells) for column in range(len(headings))]
        if sum(widths[:keys]) + 2 * keys + max(widths[keys:]) > page_width():
            widths = [min(width, _NARROW) for width in widths]
        for number, block in enumerate(_blocks(widths, keys)):
            if number:
                click.echo()
            for row_number, row in enumerate(cells):
                broken = [broken_up(row[column], widths[column]) for column in block]
                for line in zip_longest(*broken, fillvalue=""):
                    padded = (
                        _pad(cell, widths[column], left=column < text_columns)
                        for column, cell in zip(block, line, strict=True)
                    )
                    click.echo(styled("  ".join(padded).rstrip(), bold=row_number == 0))

    def listing(
        self, headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: frozenset[int], names: int
    ) -> None:
        """One line a row, never wider than the page: the last column is cut to what is left of it.

        The columns `right` stand right, the others left. The column `names` is cut first, where the last has no room.
        """
        cells = [
            [shortened(escape(cell), _LONGEST) for cell in row[:-1]] + [escape(row[-1])] for row in [headings, *rows]
        ]
        widths = [max(display_width(row[column]) for row in cells) for column in range(len(headings) - 1)]
        room = page_width() - sum(widths) - 2 * len(widths)
        lacks = max(min(max(display_width(row[-1]) for row in cells), _LAST_COLUMN) - room, 0)
        given = min(lacks, max(widths[names] - _SHORT_NAME, 0))
        widths[names] -= given
        room = max(room + given, 0)
        for number, row in enumerate(cells):
            shown = [shortened(row[column], width) for column, width in enumerate(widths)]
            padded = [_pad(shown[column], width, left=column not in right) for column, width in enumerate(widths)]
            line = "  ".join([*padded, shortened(row[-1], room)]).rstrip()
            click.echo(styled(line, bold=number == 0))


def shortened(text: str, columns: int) -> str:
    """Escaped text of at most so many columns, its end cut off where it is longer."""
    if display_width(text) <= columns:
        return text
    mark = "…" if _writes("…") else "~"
    while text and display_width(text) >= columns:
        text = text[:-1]
    return f"{text}{mark}" if columns else ""


def note(text: str) -> None:
    """One escaped line of talk to stderr."""
    click.echo(escape(text), err=True)


def warn(text: str) -> None:
    """A warning to stderr."""
    note(f"vq: warning: {text}")


def styled(text: str, **style: bool | str) -> str:
    """`text` in a style where stdout is a terminal that wants colour (NO_COLOR is respected)."""
    if not style or os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return text
    return click.style(text, **style)  # type: ignore[arg-type]  # click's own keyword names


def page_width() -> int:
    """The width to lay text out for: the terminal's, or 80 columns in a pipe."""
    return columns_of(sys.stdout) or PAGE


def columns_of(stream: TextIO) -> int | None:
    """The columns of the terminal that a stream goes to, unless COLUMNS says another number; None for no terminal."""
    if not stream.isatty():
        return None
    said = os.environ.get("COLUMNS", "")
    try:
        return (int(said) if said.isdecimal() else 0) or os.get_terminal_size(stream.fileno()).columns or PAGE
    except (OSError, ValueError):
        return PAGE


def dash() -> str:
    """The sign between the two ends of a range, in what stdout can write."""
    return "–" if _writes("–") else "-"


def _writes(sign: str) -> bool:
    try:
        sign.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _lines(text: str, width: int) -> list[str]:
    """Escaped text in lines of at most `width` columns: broken between words, and inside those that are longer."""
    return wrap(" ".join(piece for word in escape(text).split(" ") for piece in broken_up(word, width)), width)


def _pad(cell: str, width: int, *, left: bool) -> str:
    space = " " * (width - display_width(cell))
    return cell + space if left else space + cell


def _blocks(widths: Sequence[int], keys: int) -> list[list[int]]:
    """The columns of each block: the keys, and as many others as the page has room for (at least one)."""
    page = page_width()
    fixed = list(range(keys))
    blocks: list[list[int]] = []
    block: list[int] = []
    for column in range(keys, len(widths)):
        if block and sum(widths[shown] + 2 for shown in [*fixed, *block, column]) - 2 > page:
            blocks.append(fixed + block)
            block = []
        block.append(column)
    return [*blocks, fixed + block]
