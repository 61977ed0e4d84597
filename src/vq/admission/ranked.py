"""Numbers kept in order, so that the largest and any percentile are read without sorting again.

A percentile is the nearest rank: of n sorted values the ceil(n·p/100)-th, of none 0. In `Ranked`, adding, removing and
ranking cost about the logarithm of n. `Counted` is for many numbers of few values: what it costs goes by the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sortedcontainers import SortedList


class Ranks(Protocol):
    """Numbers of which the largest and percentiles can be told, of none 0."""

    def __len__(self) -> int: ...

    def largest(self) -> int:
        """The largest."""

    def percentile(self, percent: int) -> int:
        """The nearest-rank percentile for a `percent` from 1 to 100."""


class Ranked:
    """A multiset of integers."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values = SortedList()

    def __len__(self) -> int:
        return len(self._values)

    def add(self, value: int) -> None:
        """One `value` more."""
        self._values.add(value)

    def remove(self, value: int) -> None:
        """One `value` less; raises `ValueError` if there is none."""
        self._values.remove(value)

    def largest(self) -> int:
        """The largest value, of none 0."""
        return self._values[-1] if self._values else 0

    def percentile(self, percent: int) -> int:
        """The nearest-rank percentile for a `percent` from 1 to 100."""
        return percentile(self._values, percent)


class Counted:
    """Integers of which only how often each came is kept; they only come."""

    __slots__ = ("_count", "_counts", "_values")

    def __init__(self) -> None:
        self._count = 0
        self._counts: dict[int, int] = {}
        self._values = SortedList()

    def __len__(self) -> int:
        return self._count

    def add(self, value: int) -> None:
        """One `value` more."""
        if value not in self._counts:
            self._counts[value] = 0
            self._values.add(value)
        self._counts[value] += 1
        self._count += 1

    def largest(self) -> int:
        """The largest value, of none 0."""
        return self._values[-1] if self._values else 0

    def percentile(self, percent: int) -> int:
        """The nearest-rank percentile for a `percent` from 1 to 100, the sooner found the higher it is."""
        above = self._count - _rank(self._count, percent)
        for value in reversed(self._values):
            above -= self._counts[value]
            if above < 0:
                return int(value)
        return 0


def percentile(ordered: Sequence[int], percent: int) -> int:
    """The nearest-rank percentile of values in ascending order, for a `percent` from 1 to 100."""
    return ordered[_rank(len(ordered), percent) - 1] if ordered else 0


def _rank(count: int, percent: int) -> int:
    return -(-count * percent // 100)
