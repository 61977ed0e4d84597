"""Exact arithmetic on the numbers of JSON documents.

A JSON number stands for the decimal that RFC 8785 writes for it: 12.3 is 123/10 and not the nearest binary fraction.
Ratios, multipliers and sums are computed on those decimals exactly and rounded once, at the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

from vq.errors import BadDataError
from vq.estimates.program import Number

Quantity = Number | Fraction
"""A number of a document, or one computed exactly from several."""

_DECIMALS = 6
_SIGNIFICANT = 15


def decimal(value: Quantity) -> Fraction:
    """The decimal that `value` stands for, exactly: Python's `repr` and RFC 8785 write the same digits."""
    return Fraction(Decimal(repr(value))) if isinstance(value, float) else Fraction(value)


def exceeds(value: Quantity, bound: Quantity) -> bool:
    """Whether `value` > `bound`, as decimals.

    Two doubles, or a double and an integer below 2^53, are in the order of their shortest decimals.
    """
    if isinstance(value, Fraction) or isinstance(bound, Fraction):
        return decimal(value) > decimal(bound)
    return value > bound


def ceiling_product(figure: int, multiplier: Quantity) -> int:
    """`figure` times the recorded decimal of `multiplier`, rounded up to a whole number."""
    numerator, denominator = decimal(multiplier).as_integer_ratio()
    return -(-figure * numerator // denominator)


def round_up(value: Fraction) -> float:
    """`value` rounded up to 6 decimals, or to 15 significant digits where 6 decimals need more.

    So few digits survive a double unchanged: the number that a document shows is the number meant. Raises
    `BadDataError` when it is not finite.
    """
    scaled = _ceiling(value * 10**_DECIMALS)
    excess = len(str(scaled)) - _SIGNIFICANT
    if excess > 0:
        scaled = _ceiling(value * 10**_DECIMALS / 10**excess) * 10**excess
    return nearest(Fraction(scaled, 10**_DECIMALS))


def nearest(value: Fraction) -> float:
    """The double nearest to `value`; raises `BadDataError` when there is no finite one."""
    try:
        return value.numerator / value.denominator
    except OverflowError:
        raise BadDataError("figures whose ratio is a finite number") from None


def median(pairs: Iterable[tuple[int, int]]) -> Fraction:
    """The exact median of ratios of integers below 2^53, given as (numerator, denominator); at least one.

    Of an even number it is the exact mean of the middle two. Two different such ratios are at least 2^-106 apart, so
    whole multiples of that order them without a division of fractions.
    """
    ordered = sorted(pairs, key=lambda pair: (pair[0] << 106) // pair[1])
    middle = len(ordered) // 2
    high = Fraction(*ordered[middle])
    return high if len(ordered) % 2 else (Fraction(*ordered[middle - 1]) + high) / 2


def _ceiling(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)
