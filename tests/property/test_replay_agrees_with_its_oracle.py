"""The fast replay counts what the slow one counts, to the last digit."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from histories import GIB, MIB, UNHURRIED, histories, setups
from slow_replay import Slow
from vq.admission import Policy, Run, Setup, simulate


@settings(UNHURRIED, max_examples=200)
@given(setups(), histories(), st.sampled_from(Policy))
def test_the_fast_replay_is_the_slow_one(setup: Setup, rows: list[Run], policy: Policy) -> None:
    assert simulate(setup, rows, policy) == Slow(setup, policy).simulate(rows)


@settings(UNHURRIED, max_examples=80)
@given(setups(), histories(caps=[64 * MIB, GIB], shares=[45, 95, 102]), st.sampled_from([100, 140, 300]))
def test_so_it_is_where_high_water_holds_jobs_back(setup: Setup, rows: list[Run], spare: int) -> None:
    setup = replace(setup, memory_max=GIB + spare * MIB, mirror=0, slots={"big": 9})
    assert simulate(setup, rows, Policy.MEASURED) == Slow(setup, Policy.MEASURED).simulate(rows)
