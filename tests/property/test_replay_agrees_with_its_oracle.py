"""The fast replay counts what the slow one counts, to the last digit."""

from __future__ import annotations

from histories import histories, setups
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_replay import Slow
from vq.admission import Policy, Run, Setup, simulate


@settings(max_examples=250, deadline=None)
@given(setups(), histories(), st.sampled_from(Policy))
def test_the_fast_replay_is_the_slow_one(setup: Setup, rows: list[Run], policy: Policy) -> None:
    assert simulate(setup, rows, policy) == Slow(setup, policy).simulate(rows)
