from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from histories import GIB, HOUR, MIB, PROFILES, run
from vq.admission import Caps, CpuAdmission, Dispatch, Policy, Prediction, Profile, Replay, Run, Setup, simulate
from vq.admission.predictor import AtCap, OwnRuns, Unpredictable
from vq.admission.replay import Started, Wait, replayable

SETUP = Setup(margin=0, min_jobs=2, profiles={"small": Profile(memory=GIB, cpus=2)}, memory_max=2 * GIB)
NOTHING = Replay(
    jobs=0,
    never_started=0,
    wait=Wait(p50=0, p95=0, p99=0, max=0),
    mean_wait=0,
    most_running=0,
    worst_overlap=0,
    makespan=0,
    under_predicted=0,
    held_back=0,
    cpu_held=0,
    worst_cpu=0,
    reserved_byte_ms=0,
    peak_byte_ms=0,
)


def job(at: int, took: int, **changes: Any) -> Run:
    return run(queued_at=at, started_at=at, finished_at=at + took, **changes)


def starts(setup: Setup, rows: list[Run], policy: Policy) -> list[Started]:
    told: list[Started] = []
    simulate(setup, rows, policy, tell=told.append)
    return told


def test_of_no_rows_there_is_nothing_to_count() -> None:
    for policy in Policy:
        assert simulate(replace(SETUP, mirror=GIB), [], policy) == NOTHING


def test_a_replay_by_caps_counts_what_it_did() -> None:
    rows = [job(0, 4000), job(500, 6000, cpu_average=None), job(1000, 2000, memory_peak=2 * GIB)]
    assert simulate(replace(SETUP, mirror=1, memory_max=2 * GIB + 1), rows, Policy.CAPS) == Replay(
        jobs=3,
        never_started=0,
        wait=Wait(p50=0, p95=3, p99=3, max=3),
        mean_wait=1,
        most_running=2,
        worst_overlap=100 * MIB + GIB + 1,
        makespan=6,
        under_predicted=0,
        held_back=0,
        cpu_held=0,
        worst_cpu=500,
        reserved_byte_ms=12_000 * GIB,
        peak_byte_ms=10_000 * 100 * MIB + 2000 * GIB,
    )


def test_rows_that_cannot_be_replayed_are_left_out() -> None:
    rows = [
        job(2, 1),
        job(1, 1, cancelled=True),
        job(1, 1, profile="gone"),
        replace(job(1, 1), started_at=None),
        replace(job(1, 1), finished_at=None),
        job(1, -1),
        job(1, 0),
    ]
    assert replayable(SETUP, rows) == [rows[-1], rows[0]]


def test_a_job_has_its_rows_limits_or_always_its_profiles() -> None:
    row = job(0, 1, memory_cap=7, cpu_cap=300)
    unknown = job(0, 1, memory_cap=None, cpu_cap=None)
    assert SETUP.limits(row) == (7, 300)
    assert SETUP.limits(unknown) == (GIB, 2000)
    assert replace(SETUP, caps=Caps.PROFILE).limits(row) == (GIB, 2000)


def test_slots_of_the_setup_override_those_of_the_profile() -> None:
    rules = replace(SETUP, profiles={"a": Profile(memory=1, cpus=1, slots=3), "b": Profile(memory=1, cpus=1, slots=4)})
    assert replace(rules, slots={"a": None}).rules(Policy.CAPS).slots == {"a": None, "b": 4}


def test_measured_admission_learns_what_ended_before() -> None:
    rows = [job(0, 1000), job(10, 1000), job(999, 1000), job(1010, 1000), job(2500, 1000)]
    told = starts(SETUP, rows, Policy.MEASURED)
    assert [start.memory for start in told] == [
        *[Prediction(GIB, AtCap())] * 3,
        Prediction(256 * MIB, OwnRuns(2)),
        Prediction(256 * MIB, OwnRuns(4)),
    ]
    assert [(start.at, start.wait_ms) for start in told] == [(0, 0), (10, 0), (1000, 1), (1010, 0), (2500, 0)]


def test_a_row_finishes_in_the_replay_not_when_it_did() -> None:
    oom = {"own_cap": True, "oom_killed": True, "succeeded": False}
    rows = [job(0, 5000, memory_cap=2 * GIB), job(1, 1000, **oom), job(9000, 1)]
    told = starts(SETUP, rows, Policy.MEASURED)
    assert told[-1].memory.basis == Unpredictable(6 + 7 * 24 * 3600)


def test_the_running_are_predicted_again_at_each_moment() -> None:
    rows = [job(0, 1000), job(0, 1000), job(500, 10_000), job(600, 10_000)]
    replay = simulate(replace(SETUP, memory_max=None), rows, Policy.MEASURED)
    at_caps = (2 * 1000 + 500 + 400) * GIB
    assert replay.reserved_byte_ms == at_caps + (9500 + 9600) * 256 * MIB


def test_a_job_that_used_more_than_it_had_was_under_predicted() -> None:
    rows = [job(0, 10), job(0, 10), job(100, 10, memory_peak=257 * MIB), job(200, 10, memory_peak=256 * MIB)]
    assert simulate(SETUP, rows, Policy.MEASURED).under_predicted == 1
    assert simulate(SETUP, rows, Policy.CAPS).under_predicted == 0


def test_a_run_of_no_length_ends_at_a_further_moment_of_the_same_time() -> None:
    told = starts(replace(SETUP, slots={"small": 1}), [job(5, 0), job(5, 0)], Policy.CAPS)
    assert [(start.at, start.wait_ms) for start in told] == [(5, 0), (5, 0)]
    assert simulate(replace(SETUP, slots={"small": 1}), [job(5, 0), job(5, 0)], Policy.CAPS).most_running == 1


def test_a_job_that_never_fits_never_starts_and_counts_in_no_wait() -> None:
    rows = [job(0, 1000, memory_cap=3 * GIB), job(1, 1000), job(9000, 1, memory_cap=3 * GIB)]
    replay = simulate(SETUP, rows, Policy.CAPS)
    assert (replay.never_started, replay.wait.max, replay.makespan) == (2, 0, 1)


def test_high_water_and_cpu_count_each_meeting_that_they_alone_held() -> None:
    peak = {"memory_peak": GIB, "name": "large"}
    small = {"memory_cap": 64 * MIB, "memory_peak": 1}
    tight = replace(SETUP, memory_max=GIB + 100 * MIB)
    rows = [job(0, 1000, **peak), job(1, 10, **small), job(2, 10, **small)]
    assert simulate(tight, rows, Policy.MEASURED).held_back == 3
    assert simulate(tight, rows, Policy.CAPS).held_back == 0
    busy = replace(SETUP, memory_max=None, cpu_budget=2000)
    rows = [job(at, 1000) for at in range(4)]
    assert simulate(busy, rows, Policy.CAPS).cpu_held == 1 + 2 + 3 + 2 + 1
    off = replace(busy, cpu_admission=CpuAdmission.OFF)
    assert simulate(off, rows, Policy.CAPS).cpu_held == 0


def test_a_sweep_counts_those_it_met_before_what_held_them_changed() -> None:
    """Two wait for CPU on either side of one that needs none of it and takes the memory that they would need."""
    setup = replace(SETUP, memory_max=2 * GIB, cpu_budget=2000)
    first = job(0, 1000, cpu_cap=2000, memory_cap=MIB)
    waits = {"name": "waits", "cpu_cap": 1000, "memory_cap": MIB}
    rows = [first, job(1, 10, **waits), job(1, 10, cpu_cap=0, memory_cap=2 * GIB - MIB), job(1, 10, **waits)]
    assert simulate(setup, rows, Policy.CAPS).cpu_held == 1 + 2


def test_a_barrier_keeps_the_queue_for_the_one_that_waited() -> None:
    rows = [job(0, HOUR), job(1, HOUR, memory_cap=2 * GIB), *(job(at * HOUR // 2, HOUR) for at in range(1, 6))]
    waited = {
        after: max(start.wait_ms for start in starts(replace(SETUP, barrier_after_ms=after), rows, Policy.CAPS))
        for after in (None, 0)
    }
    large = [start for start in starts(replace(SETUP, barrier_after_ms=0), rows, Policy.CAPS) if start.run is rows[1]]
    assert large[0].at == HOUR
    assert waited[None] > 3 * HOUR > waited[0]


def test_a_pool_starts_nothing_that_its_largest_could_not() -> None:
    rows = [job(0, 1000), job(1, 1000, memory_cap=2 * GIB), job(2, 1000)]
    assert [start.at for start in starts(SETUP, rows, Policy.CAPS)] == [0, 2, 1002]
    pooled = replace(SETUP, dispatch=Dispatch.POOL)
    assert [start.at for start in starts(pooled, rows, Policy.CAPS)] == [0, 1000, 2000]


WEEK = 7 * 24 * HOUR
HELD_AT_100 = [
    job(1, 10, name="held"),
    job(1, 10, name="held"),
    job(20, 80, name="held", page_cache=True, oom_killed=True),
]
OVERRAN_AT_100 = [*[job(1, 10, name="overran")] * 20, job(20, 80, name="overran", memory_peak=300 * MIB)]
TICK = job(WEEK + 200, 0, name="tick", memory_cap=1, memory_peak=0)


def test_when_time_ends_a_hold_a_waiting_job_needs_less() -> None:
    blocker = job(150, 2 * WEEK, name="blocker", memory_cap=GIB + 1, memory_peak=GIB + 1)
    waits = job(200, 10, name="held")
    setup = replace(SETUP, memory_max=GIB + 1 + 512 * MIB)
    told = starts(setup, [*HELD_AT_100, blocker, waits, TICK], Policy.MEASURED)
    assert [start.at for start in told if start.run is waits] == [WEEK + 200]


@pytest.mark.parametrize(("before", "reserved"), [(HELD_AT_100, GIB), (OVERRAN_AT_100, 512 * MIB)])
def test_when_time_ends_what_counts_against_a_job_a_running_one_reserves_less(before: list[Run], reserved: int) -> None:
    runs = job(200, WEEK + 100, name=before[0].name)
    setup = replace(SETUP, memory_max=None)
    short, long = (simulate(setup, [*before, *rows, TICK], Policy.MEASURED).reserved_byte_ms for rows in ([], [runs]))
    assert long - short == WEEK * reserved + 100 * 256 * MIB


def test_a_copy_that_comes_makes_the_one_that_waits_need_more() -> None:
    """Alone it goes by its own two runs, and fits what `short` leaves; as one of two it goes by its peers, and not."""
    setup = replace(SETUP, min_jobs=4, memory_max=4 * GIB, profiles=PROFILES, caps=Caps.JOB)
    known = [*[job(0, 10, name="peer", memory_peak=GIB)] * 2, *[job(0, 10, name="copy")] * 2]
    long = job(100, 5000, name="long", profile="big", memory_cap=7 * GIB // 2, memory_peak=7 * GIB // 2)
    short = job(100, 1000, name="short", profile="big", memory_cap=GIB // 2, memory_peak=GIB // 2)
    first, second = job(101, 10, name="copy"), job(102, 10, name="copy", memory_peak=1)
    told = starts(setup, [*known, long, short, first], Policy.MEASURED)
    assert [start.at for start in told if start.run is first] == [1100]
    told = starts(setup, [*known, long, short, first, second], Policy.MEASURED)
    assert [start.at for start in told if start.run in (first, second)] == [5100, 5100]


def test_one_held_for_cpu_is_held_back_once_a_start_passes_high_water() -> None:
    """In one sweep: the second is met and held for CPU, the third starts, and the fourth is met under high water."""
    setup = replace(SETUP, memory_max=GIB, cpu_budget=2000, cpu_admission=CpuAdmission.CAPS)
    waits = {"name": "waits", "cpu_cap": 1000, "memory_cap": MIB, "memory_peak": 0}
    large = job(1, 1000, cpu_cap=0, memory_cap=GIB * 95 // 100, memory_peak=GIB * 95 // 100)
    rows = [job(0, 1000, cpu_cap=2000, memory_cap=MIB, memory_peak=0), job(1, 10, **waits), large, job(1, 10, **waits)]
    replay = simulate(setup, rows, Policy.MEASURED)
    assert (replay.cpu_held, replay.held_back) == (1, 1 + 2)


def test_what_ends_at_one_moment_ends_in_the_order_of_its_starts() -> None:
    """The second's clean run is the first of three after the hold, and would be none before it."""
    oom = {"own_cap": True, "oom_killed": True, "succeeded": False}
    clean = [job(at, 10) for at in (2000, 3000, 4000)]
    setup = replace(SETUP, memory_max=None)
    told = starts(setup, [job(0, 1000, **oom), job(1, 999), *clean], Policy.MEASURED)
    assert [type(start.memory.basis) for start in told[-2:]] == [Unpredictable, OwnRuns]
    told = starts(setup, [job(0, 1000), job(1, 999, **oom), *clean], Policy.MEASURED)
    assert [type(start.memory.basis) for start in told[-2:]] == [Unpredictable, Unpredictable]


def test_when_the_first_copy_ends_the_next_is_predicted_as_alone_though_in_another_profile() -> None:
    known = [*[job(0, 10, name="peer", memory_peak=GIB)] * 2, *[job(0, 10, name="copy")] * 2]
    setup = replace(SETUP, min_jobs=4, memory_max=None, profiles=PROFILES)
    first = job(100, 1000, name="copy", profile="big", memory_cap=4 * GIB)
    second = job(150, 5000, name="copy")
    without, with_second = (
        simulate(setup, [*known, first, *rows], Policy.MEASURED).reserved_byte_ms for rows in ([], [second])
    )
    assert with_second - without == 950 * GIB + 4050 * 256 * MIB
