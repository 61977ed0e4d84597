"""Quantities as tools write them for people, read exactly: sizes, durations, clock times, moments, shares.

All come out as whole numbers, rounded down: bytes, milliseconds, milliseconds since the epoch, millicores. Sizes are
powers of 1024, as the tools that write such tables mean them; where one does not, memory is overstated, which is safe.
Times without a zone are read as UTC: only their differences count.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from vq.errors import BadDataError
from vq.shapes import LARGEST
from vq.sizes import EXPECTED, NUMBER, scaled, size_bytes

_WHOLE = re.compile(r"[0-9]{1,20}")
_PLAIN = re.compile(NUMBER)
_PERCENT = re.compile(rf"({NUMBER})[ \t]*%?")
_PART = re.compile(rf"({NUMBER})[ \t]*([a-z]+)[ \t]*", re.IGNORECASE | re.ASCII)
_CLOCK = re.compile(r"(?:(?:([0-9]{1,6})-)?([0-9]{1,6}):)?([0-9]{1,6}):([0-9]{1,2})(?:\.([0-9]{1,6}))?")
_DAY_CLOCK = re.compile(r"([0-9]{1,6})-([0-9]{1,2})")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_SECOND, _MINUTE, _HOUR, _DAY = 1000, 60_000, 3_600_000, 86_400_000

_DURATIONS = {
    name: ms
    for names, ms in (
        ("ms milli millis", 1),
        ("s sec second seconds", _SECOND),
        ("m min minute minutes", _MINUTE),
        ("h hour hours", _HOUR),
        ("d day days", _DAY),
    )
    for name in names.split()
}

_NO_LIMIT = {"max", "unlimited", "UNLIMITED", str((1 << 63) - 4096)}
UNKNOWN = frozenset({"", "-", "Unknown", "None", "None assigned", "N/A", "NA", "null"} | _NO_LIMIT)
"""How tools write that they do not know, and the kernel that a control group has no limit."""


class Quantity(NamedTuple):
    """A kind of quantity: what a text of it is expected to be, and its value, None for any other text."""

    expected: str
    parse: Callable[[str], int | None]

    def read(self, text: str, column: str) -> int | None:
        """The value that a cell of `column` ("" for none) holds, None where it is unknown; raises `BadDataError`."""
        text = text.strip()
        if text in UNKNOWN:
            return None
        value = self.parse(text)
        if value is None or not 0 <= value <= LARGEST:
            raise BadDataError(f"{self.expected} in column {column}" if column else self.expected, found=text)
        return value


def plain(expected: str, factor: int) -> Quantity:
    """Plain decimal numbers of a unit of which one is `factor`."""
    return Quantity(expected, lambda text: scaled(text, factor) if _PLAIN.fullmatch(text) else None)


def size_in(unit: int) -> Quantity:
    """Sizes with a unit, and plain numbers of `unit` bytes."""
    return Quantity(EXPECTED, lambda text: size_bytes(text, unit))


def _percent(text: str) -> int | None:
    found = _PERCENT.fullmatch(text)
    return int(Decimal(found[1]) * 10) if found else None


def duration_in(unit_ms: int) -> Quantity:
    """Durations in parts, such as `1h 2m 3s`, and plain numbers of `unit_ms` milliseconds."""

    def parse(text: str) -> int | None:
        if _PLAIN.fullmatch(text):
            return scaled(text, unit_ms)
        total, at = Decimal(0), 0
        while at < len(text):
            part = _PART.match(text, at)
            ms = _DURATIONS.get(part[2].lower()) if part else None
            if part is None or ms is None:
                return None
            total += Decimal(part[1]) * ms
            at = part.end()
        return int(total)

    return Quantity("a duration such as 1h 2m 3s or 350ms", parse)


def _clock(text: str) -> int | None:
    found = _CLOCK.fullmatch(text)
    if found is None:
        whole_hours = _DAY_CLOCK.fullmatch(text)
        return int(whole_hours[1]) * _DAY + int(whole_hours[2]) * _HOUR if whole_hours else None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[:4])
    fraction = (found[5] or "").ljust(3, "0")[:3]
    return days * _DAY + hours * _HOUR + minutes * _MINUTE + seconds * _SECOND + int(fraction)


def moment_in(unit_ms: int) -> Quantity:
    """Moments as dates with times, and as plain numbers of `unit_ms` milliseconds since the epoch."""

    def parse(text: str) -> int | None:
        if _PLAIN.fullmatch(text):
            return scaled(text, unit_ms)
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return None
        return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // _MS

    return Quantity("a moment such as 2026-11-30T12:00:00, or since the epoch", parse)


SIZE = size_in(1)
DURATION = duration_in(1)
MOMENT = moment_in(1)
CLOCK = Quantity("a time such as 1-02:03:04 or 02:03.500", _clock)
PERCENT = Quantity("a percentage such as 187.5%", _percent)
CPUS = plain("a number of CPUs", 1000)
COUNT = Quantity("a whole number", lambda text: int(text) if _WHOLE.fullmatch(text) else None)
