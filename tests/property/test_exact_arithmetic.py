"""Law: arithmetic is on the decimals of the documents, exact, and rounded once."""

from __future__ import annotations

import statistics
from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from support.strategies import LARGEST
from vq.estimates.exact import ceiling_product, decimal, exceeds, median, nearest, round_up

whole = st.integers(1, LARGEST)
doubles = st.floats(0, 1e300, allow_nan=False)
numbers = st.one_of(whole, doubles, st.sampled_from([0, 0.1, 0.2, 0.3, 1e-7, 1e21, 5e-324]))
positive = st.fractions(min_value=Fraction(1, 10**9), max_value=10**20) | st.builds(Fraction, whole, whole)


@given(positive)
def test_rounding_up_loses_nothing_and_adds_little(value: Fraction) -> None:
    rounded = decimal(round_up(value))
    unit = Fraction(10) ** (len(str(int(value))) - 15)
    assert value <= rounded < value + max(Fraction(1, 10**6), unit)


@given(positive)
def test_what_is_rounded_stays_as_it_is(value: Fraction) -> None:
    rounded = round_up(value)
    assert round_up(decimal(rounded)) == rounded
    assert float(repr(rounded)) == rounded
    assert len(Decimal(repr(rounded)).normalize().as_tuple().digits) <= 15


@given(positive, positive)
def test_rounding_keeps_order(value: Fraction, other: Fraction) -> None:
    low, high = sorted((value, other))
    assert round_up(low) <= round_up(high)


@given(st.lists(st.tuples(whole | st.integers(1, 9), whole | st.integers(1, 9)), min_size=1, max_size=9))
def test_the_median_is_exact(pairs: list[tuple[int, int]]) -> None:
    assert median(pairs) == statistics.median(Fraction(*pair) for pair in pairs)


@given(st.integers(LARGEST - 4, LARGEST), st.integers(LARGEST - 4, LARGEST), st.integers(LARGEST - 4, LARGEST))
def test_the_median_tells_the_nearest_ratios_apart(one: int, two: int, three: int) -> None:
    pairs = [(one, two), (two, three), (three, one)]
    assert median(pairs) == statistics.median(Fraction(*pair) for pair in pairs)


@given(numbers | positive, numbers | positive)
def test_comparisons_are_of_decimals(value: float | Fraction, bound: float | Fraction) -> None:
    assert exceeds(value, bound) == (decimal(value) > decimal(bound))


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 9))
def test_neighbours_compare_as_decimals(value: int, other: int, places: int) -> None:
    one, two = value / 10**places, other / 10**places
    assert exceeds(one, two) == (value > other)
    assert exceeds(one, Fraction(other, 10**places)) == (value > other)


@given(whole, st.floats(1, 1e6) | st.integers(1, 1000) | st.integers(10**6, 10**7).map(lambda n: n / 10**6))
def test_a_product_is_the_next_whole_byte(figure: int, multiplier: float) -> None:
    product = ceiling_product(figure, multiplier)
    assert product - 1 < figure * decimal(multiplier) <= product
    assert product >= figure


@given(positive)
def test_the_nearest_double(value: Fraction) -> None:
    assert nearest(value) == float(value)
