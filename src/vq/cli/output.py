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

import click

PAGE = 80
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
_STEP = 1024
_FOUR_DIGITS = 1000
_WIDE = "WF"


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

    def fields(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Lines `Label:  text`, aligned, each wrapped to the page under itself; an empty label goes on above."""
        width = max(display_width(label) for label, _ in pairs) + 2
        for label, text in pairs:
            head = f"{label}:".ljust(width) if label else " " * width
            first, *rest = wrap(escape(text), max(page_width() - width, 20))
            click.echo(styled(head, bold=True) + first)
            for line in rest:
                click.echo(" " * width + line)

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]], *, keys: int, text_columns: int) -> None:
        """Aligned rows; the first `keys` columns are repeated where the rest does not fit on the page.

        The first `text_columns` columns stand left, the others right.
        """
        cells = [[escape(cell) for cell in row] for row in [headings, *rows]]
        widths = [max(display_width(row[column]) for row in cells) for column in range(len(headings))]
        for number, block in enumerate(_blocks(widths, keys)):
            if number:
                click.echo()
            for row_number, row in enumerate(cells):
                padded = (_pad(row[column], widths[column], left=column < text_columns) for column in block)
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
    """`text` in lines of at most `width` columns, broken between words; at least one line."""
    lines, line = [], ""
    for word in text.split(" "):
        if line and display_width(line) + 1 + display_width(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


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
