"""Both kinds of ranks say what sorting would."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from vq.admission.ranked import Counted, Ranked, percentile


@settings(deadline=None)
@given(st.lists(st.integers(0, 9)), st.integers(1, 100), st.integers(0, 20))
def test_ranks_are_those_of_sorted_values(values: list[int], percent: int, removed: int) -> None:
    ranked, counted = Ranked(), Counted()
    for value in values:
        ranked.add(value)
        counted.add(value)
    ordered = sorted(values)
    for ranks in (ranked, counted):
        assert len(ranks) == len(values)
        assert ranks.largest() == max(values, default=0)
        assert ranks.percentile(percent) == percentile(ordered, percent)
    for value in values[:removed]:
        ranked.remove(value)
    assert ranked.percentile(percent) == percentile(sorted(values[removed:]), percent)
