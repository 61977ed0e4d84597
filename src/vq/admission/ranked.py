"""Numbers kept in order, so that the largest and any percentile are read without sorting again.

A percentile is the nearest rank: of n sorted values the ceil(n·p/100)-th, of none 0. Adding, removing and ranking
each cost about the logarithm of n.
"""

from __future__ import annotations

from collections.abc import Sequence

from sortedcontainers import SortedList


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


def percentile(ordered: Sequence[int], percent: int) -> int:
    """The nearest-rank percentile of values in ascending order, for a `percent` from 1 to 100."""
    return ordered[-(-len(ordered) * percent // 100) - 1] if ordered else 0
