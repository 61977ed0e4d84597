"""The fast replay counts what the slow one counts, to the last digit."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from histories import GIB, MIB, UNHURRIED, histories, setups
from slow_replay import Slow
from vq.admission import Policy, Profile, Run, Setup, simulate

MAKE_LOAD = Path(__file__).parents[2] / "benchmarks/make_load.py"


@settings(UNHURRIED, max_examples=120)
@given(setups(), histories(), st.sampled_from(Policy))
def test_the_fast_replay_is_the_slow_one(setup: Setup, rows: list[Run], policy: Policy) -> None:
    assert simulate(setup, rows, policy) == Slow(setup, policy).simulate(rows)


@settings(UNHURRIED, max_examples=60)
@given(setups(), histories(caps=[64 * MIB, GIB], shares=[45, 95, 102]), st.sampled_from([100, 140, 300]))
def test_so_it_is_where_high_water_holds_jobs_back(setup: Setup, rows: list[Run], spare: int) -> None:
    setup = replace(setup, memory_max=GIB + spare * MIB, mirror=0, slots={"big": 9})
    assert simulate(setup, rows, Policy.MEASURED) == Slow(setup, Policy.MEASURED).simulate(rows)


@settings(UNHURRIED, max_examples=15)
@given(setups(), st.integers(0, 10**6), st.sampled_from([30, 60]), st.sampled_from([4, 10]))
def test_so_it_is_for_jobs_that_run_in_several_profiles(setup: Setup, seed: int, jobs: int, min_jobs: int) -> None:
    rows = runpy.run_path(str(MAKE_LOAD))["rows"](jobs, 1.3, seed)
    history = [replace(Run(**row), name=f"job{int(row['name'][3:]) % 2}", repository="o/r") for row in rows]
    profiles = {"small": Profile(memory=4 * GIB, cpus=2), "mid": Profile(memory=16 * GIB, cpus=8)}
    setup = replace(setup, min_jobs=min_jobs, profiles=profiles, slots={})
    setup = replace(setup, memory_max=setup.memory_max and 16 * setup.memory_max)
    assert simulate(setup, history, Policy.MEASURED) == Slow(setup, Policy.MEASURED).simulate(history)
