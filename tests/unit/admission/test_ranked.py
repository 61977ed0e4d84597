from __future__ import annotations

import pytest

from vq.admission.ranked import Ranked, percentile


@pytest.mark.parametrize(
    ("count", "percent", "rank"),
    [(1, 50, 1), (2, 50, 1), (3, 50, 2), (20, 95, 19), (21, 95, 20), (100, 99, 99), (7, 100, 7)],
)
def test_a_percentile_is_the_nearest_rank(count: int, percent: int, rank: int) -> None:
    assert percentile(range(1, count + 1), percent) == rank


def test_of_no_values_it_is_nothing() -> None:
    assert percentile([], 95) == 0
    assert Ranked().percentile(95) == 0
    assert Ranked().largest() == 0


def test_values_come_and_go_one_by_one() -> None:
    values = Ranked()
    for value in (5, 1, 5, 3):
        values.add(value)
    values.remove(5)
    assert (len(values), values.largest(), values.percentile(50)) == (3, 5, 3)
    values.remove(5)
    assert values.largest() == 3
    with pytest.raises(ValueError, match="5 not in list"):
        values.remove(5)
