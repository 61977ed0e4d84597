"""What a program printed for people to read, taken up without trust: each thing once, and by the line that it is in.

A value is looked for by the label that its line begins with. A label without the value that belongs behind it, or two
lines that say different things, are refused; a label that is nowhere leaves the value unknown, and so do the asterisks
that Fortran prints in place of a number too long for its field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from vq.errors import BadDataError, shown

_CONTROL = bytes(byte for byte in (*range(32), 127) if chr(byte) not in "\t\n\f\r")
_GARBLED = re.compile(b"[" + re.escape(_CONTROL) + b"]")
_GZIP = b"\x1f\x8b"
_TOO_LONG = "***"


class Line(NamedTuple):
    """One line of a text: where it begins, and its words without the spaces around them."""

    start: int
    words: str


class Printed:
    """A text, and the refusals that name its lines.

    Bytes beyond ASCII may be anything: they stand in titles and names, and no value is taken from them.
    """

    __slots__ = ("text",)

    def __init__(self, data: bytes) -> None:
        if data.startswith(_GZIP):
            raise BadDataError("the text itself; this file is compressed, unpack it first")
        if len(data.translate(None, _CONTROL)) != len(data):
            bad = _GARBLED.search(data)
            line = data.count(b"\n", 0, bad.start() if bad else 0) + 1
            raise BadDataError("text; this line holds bytes that no program prints").at(f"line {line}")
        self.text = data.decode("latin-1")

    def refusal(self, line: Line, expected: str) -> BadDataError:
        """The refusal of a line, by its number and what stands there."""
        error = BadDataError(expected, found=line.words)
        error.at(f"line {self._number(line.start)}")
        return error

    def cut_off(self, expected: str) -> BadDataError:
        """The refusal of a text that ends too early, by the number of its last line."""
        error = BadDataError(f"{expected}; the file is cut off, or its run was")
        error.at(f"line {self._number(len(self.text.rstrip()))}")
        return error

    def _number(self, position: int) -> int:
        return self.text.count("\n", 0, position) + 1

    def lines(self, label: str, start: int = 0, end: int | None = None) -> Iterator[Line]:
        """The lines between two places whose words begin with `label`, one after another."""
        end = len(self.text) if end is None else end
        position = self.text.find(label, start, end)
        while position >= 0:
            line = self.line_at(position)
            if line.words.startswith(label):
                yield line
            position = self.text.find(label, self._end(position), end)

    def line_at(self, position: int) -> Line:
        """The line at a place of the text."""
        start = self.text.rfind("\n", 0, position) + 1
        return Line(start, self.text[start : self._end(position)].strip())

    def _end(self, position: int) -> int:
        end = self.text.find("\n", position)
        return len(self.text) if end < 0 else end

    def after(self, line: Line) -> int:
        """The place where the line behind `line` begins."""
        return self._end(line.start) + 1

    def below(self, line: Line) -> Line:
        """The line below `line`; behind the last one it is empty and begins at the end of the text."""
        start = self.after(line)
        return self.line_at(start) if start < len(self.text) else Line(len(self.text), "")

    def value(self, label: str, pattern: str, expected: str, *, start: int = 0, end: int | None = None) -> str | None:
        """What `pattern` catches behind `label`, the same wherever it stands; None where no line has the label."""
        found: str | None = None
        for line in self.lines(label, start, end):
            match = re.fullmatch(pattern, line.words[len(label) :])
            if match is None and _TOO_LONG in line.words:
                continue
            if match is None:
                raise self.refusal(line, f"{expected} behind {shown(label)}")
            if found not in (None, match[1]):
                raise self.refusal(line, f"{shown(label)} to say the same as before, {found}")
            found = match[1]
        return found


def whole(text: str | None) -> int | None:
    """The whole number in digits, or None of none."""
    return None if text is None else int(text)


def rounded_up(decimal: str, unit: int) -> int:
    """The bytes of a printed decimal in units of so many bytes, rounded up."""
    return -(Fraction(decimal) * -unit // 1)
