"""One interface for what commands show: a table, JSON or the bare result (`--quiet`); talk goes to stderr.

What comes from files is escaped before it reaches a terminal. A table wider than the page goes on below, its first
columns repeated, so that 80 columns are enough in a terminal and in a pipe.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import click

PAGE = 80
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
_STEP = 1024
_FOUR_DIGITS = 1000
_WIDE = "WF"
_NARROW = 18
"""The columns of a cell in a table that is too wide for the page otherwise: four of them fit."""


@dataclass(frozen=True, slots=True)
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

    def field(self, label: str, text: str) -> None:
        """`Label:  text`, wrapped to the page under its label."""
        head = f"{label}: ".ljust(13)
        first, *rest = wrap(escape(text), max(page_width() - len(head), 20))
        click.echo(styled(head, bold=True) + first)
        for line in rest:
            click.echo(" " * len(head) + line)

    def paragraph(self, text: str, **style: bool | str) -> None:
        """Escaped text, wrapped to the page."""
        for line in wrap(escape(text), page_width()):
            click.echo(styled(line, **style))

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


def note(text: str) -> None:
    """One escaped line of talk to stderr."""
    click.echo(escape(text), err=True)


def warn(text: str) -> None:
    """A warning to stderr."""
    note(f"vq: warning: {text}")


def escape(text: str) -> str:
    r"""`text` with everything that could steer a terminal (control, bidi, invisible) written as `\xNN` or `\uNNNN`."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in text
    )


def styled(text: str, **style: bool | str) -> str:
    """`text` in a style where stdout is a terminal that wants colour (NO_COLOR is respected)."""
    if not style or os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return text
    return click.style(text, **style)  # type: ignore[arg-type]  # click's own keyword names


def page_width() -> int:
    """The width to lay text out for: the terminal's, or 80 columns in a pipe."""
    return shutil.get_terminal_size((PAGE, 24)).columns if sys.stdout.isatty() else PAGE


def display_width(text: str) -> int:
    """The columns that escaped text takes in a terminal."""
    if text.isascii():
        return len(text)
    import unicodedata  # noqa: PLC0415 - only names beyond ASCII need it

    return sum(
        2 if unicodedata.east_asian_width(char) in _WIDE else 0 if unicodedata.combining(char) else 1 for char in text
    )


def wrap(text: str, width: int) -> list[str]:
    """`text` in lines of at most `width` columns, broken between words where it can be; at least one line."""
    lines, line = [], ""
    for word in (piece for whole in text.split(" ") for piece in broken_up(whole, width)):
        if line and display_width(line) + 1 + display_width(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


def broken_up(text: str, width: int) -> list[str]:
    """`text` in pieces of at most `width` columns, broken anywhere; at least one piece."""
    pieces, piece, taken = [], "", 0
    for char in text if display_width(text) > width else "":
        wide = display_width(char)
        if taken + wide > width:
            pieces.append(piece)
            piece, taken = "", 0
        piece += char
        taken += wide
    return [*pieces, piece or text]


def human_bytes(size: int) -> str:
    """A size as people read it: `196.5 MiB`, at most four significant digits, powers of 1024."""
    value, unit = float(size), 0
    while value >= _STEP and unit < len(_UNITS) - 1:
        value /= _STEP
        unit += 1
    return f"{value:.0f} {_UNITS[unit]}" if unit == 0 or value >= _FOUR_DIGITS else f"{value:.4g} {_UNITS[unit]}"


def dash() -> str:
    """The sign between the two ends of a range, in what stdout can write."""
    try:
        "–".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return "-"
    return "–"


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
