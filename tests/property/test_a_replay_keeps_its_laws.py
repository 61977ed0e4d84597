"""Laws of a replay: jobs are conserved, the same rows give the same, nothing is known before it happened."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from histories import GIB, UNHURRIED, histories, setups
from vq.admission import CpuAdmission, Policy, Replay, Run, Setup, simulate
from vq.admission.replay import Started

policies = st.sampled_from(Policy)


def told(setup: Setup, rows: list[Run], policy: Policy) -> tuple[Replay, list[Started]]:
    started: list[Started] = []
    return simulate(setup, rows, policy, tell=started.append), started


@settings(UNHURRIED, max_examples=40)
@given(setups(), histories(), policies)
def test_every_job_starts_once_or_never(setup: Setup, rows: list[Run], policy: Policy) -> None:
    replay, started = told(setup, rows, policy)
    assert len(started) + replay.never_started == replay.jobs
    ids = [id(start.run) for start in started]
    assert len(set(ids)) == len(ids)
    assert set(ids) <= {id(row) for row in rows}
    assert all(start.wait_ms == start.at - start.run.queued_at >= 0 for start in started)


@settings(UNHURRIED, max_examples=30)
@given(setups(), histories(), policies)
def test_the_same_rows_give_the_same(setup: Setup, rows: list[Run], policy: Policy) -> None:
    assert told(setup, rows, policy) == told(setup, list(rows), policy)


@settings(UNHURRIED, max_examples=40)
@given(setups(), histories(), st.integers(0))
def test_what_a_run_says_changes_nothing_before_it_ended(setup: Setup, rows: list[Run], which: int) -> None:
    _, before = told(setup, rows, Policy.MEASURED)
    assume(before)
    start = before[which % len(before)]
    row = start.run
    end = start.at + (row.finished_at or 0) - (row.started_at or 0)
    other = replace(row, own_cap=not row.own_cap, succeeded=not row.succeeded, page_cache=not row.page_cache)
    rows[next(place for place, found in enumerate(rows) if found is row)] = other
    _, after = told(setup, rows, Policy.MEASURED)

    def by_then(starts: list[Started]) -> list[Started]:
        return [replace(start, run=row if start.run is other else start.run) for start in starts if start.at < end]

    assert by_then(after) == by_then(before)


@settings(UNHURRIED, max_examples=40)
@given(setups(), histories(), st.integers(0, 8 * GIB))
def test_by_caps_more_memory_leaves_no_more_jobs_behind(setup: Setup, rows: list[Run], more: int) -> None:
    assume(setup.memory_max is not None)
    setup = replace(setup, barrier_after_ms=None)
    larger = replace(setup, memory_max=(setup.memory_max or 0) + more)
    less, most = (simulate(one, rows, Policy.CAPS).never_started for one in (setup, larger))
    assert most <= less


@settings(UNHURRIED, max_examples=30)
@given(setups(), histories(), st.sampled_from([None, 1000 * GIB]))
def test_with_room_for_all_nobody_waits_by_either_policy(setup: Setup, rows: list[Run], room: int | None) -> None:
    slots = dict.fromkeys(setup.profiles)
    setup = replace(setup, memory_max=room, slots=slots, cpu_admission=CpuAdmission.OFF)
    for policy in Policy:
        replay = simulate(setup, rows, policy)
        assert (replay.never_started, replay.wait.max, replay.mean_wait) == (0, 0, 0)
        assert (replay.held_back, replay.cpu_held) == (0, 0)
