from __future__ import annotations

from fractions import Fraction

import pytest

from vq.errors import BadDataError
from vq.estimates.exact import ceiling_product, decimal, exceeds, median, nearest, round_up


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (12.3, Fraction(123, 10)),
        (0.1, Fraction(1, 10)),
        (1e-7, Fraction(1, 10**7)),
        (1e22, Fraction(10**22)),
        (-0.0, Fraction(0)),
        (5, Fraction(5)),
        (Fraction(1, 3), Fraction(1, 3)),
        (5e-324, Fraction(5, 10**324)),
    ],
)
def test_a_number_stands_for_its_decimal(value: float, exact: Fraction) -> None:
    assert decimal(value) == exact


@pytest.mark.parametrize(
    ("value", "rounded"),
    [
        (Fraction(1), 1.0),
        (Fraction(1, 3), 0.333334),
        (Fraction(1_000_000, 1_000_000), 1.0),
        (Fraction(1_000_001, 1_000_000), 1.000001),
        (Fraction(10_000_001, 10_000_000), 1.000001),
        (Fraction(1, 10**20), 0.000001),
        (Fraction(0), 0.0),
        (Fraction(123456789123456, 10**6), 123456789.123456),
        (Fraction(1234567891234561, 10**7), 123456789.123457),
        (Fraction(1234567891234567, 10**6), 1234567891.23457),
        (Fraction(1234567891234560, 10**6), 1234567891.23456),
        (Fraction(9999999999999999, 10**7), 1000000000.0),
        (Fraction(9999999999999995, 10**6), 10000000000.0),
        (Fraction(10**15 + 1), 1000000000000010.0),
        (Fraction(10**300 + 1), 1.00000000000001e300),
        (Fraction(10**300), 1e300),
    ],
)
def test_rounding_up(value: Fraction, rounded: float) -> None:
    assert round_up(value) == rounded


def test_what_is_not_finite_is_refused() -> None:
    for function in (round_up, nearest):
        with pytest.raises(BadDataError, match="finite number"):
            function(Fraction(10**309))


def test_nearest_is_rounded_once() -> None:
    assert nearest(Fraction(2**53 + 1)) == 2.0**53
    assert nearest(Fraction(1, 3)) == 1 / 3


@pytest.mark.parametrize(
    ("figure", "multiplier", "product"),
    [(10, 1.1, 11), (11, 1.1, 13), (1, 1, 1), (1, 1.000001, 2), (10**6, 1.000001, 1_000_001), (3, 1.333333, 4)],
)
def test_a_product_rounds_up_to_a_byte(figure: int, multiplier: float, product: int) -> None:
    assert ceiling_product(figure, multiplier) == product


def test_exceeds() -> None:
    assert exceeds(2, 1)
    assert not exceeds(1, 1.0)
    assert exceeds(1.0000000000000002, 1)
    assert exceeds(Fraction(2, 10), 0.19999999999999998)
    assert not exceeds(Fraction(2, 10), 0.2)
    assert not exceeds(0.2, Fraction(2, 10))
    assert exceeds(2**53 - 1, 2.0**53 - 2)


def test_median() -> None:
    assert median([(1, 2)]) == Fraction(1, 2)
    assert median([(3, 1), (1, 1), (2, 1)]) == 2
    assert median([(1, 1), (2, 1)]) == Fraction(3, 2)
    near, nearer = (2**53 - 2, 2**53 - 1), (2**53 - 3, 2**53 - 2)
    assert median([near, nearer, (1, 1)]) == Fraction(*near)
