from __future__ import annotations

import pytest

from histories import GIB, KEY, run
from vq.admission.history import Capped, capped, in_order

NEAR = GIB * 95 // 100 + 1
UNDER = GIB * 95 // 100


@pytest.mark.parametrize(
    ("own_cap", "oom_killed", "hit_cap", "memory_peak", "verdict"),
    [
        (True, False, None, 0, Capped.MET),
        (True, True, False, 0, Capped.MET),
        (False, True, False, NEAR, Capped.MET),
        (False, True, False, UNDER, Capped.KILLED),
        (False, True, None, NEAR, Capped.KILLED),
        (False, True, True, NEAR, Capped.CLEAR),
        (False, False, False, GIB, Capped.CLEAR),
        (False, False, None, GIB, Capped.CLEAR),
        (False, False, True, GIB, Capped.CLEAR),
        (None, True, False, 0, Capped.ASSUMED),
        (None, True, None, 0, Capped.ASSUMED),
        (None, False, True, 0, Capped.ASSUMED),
        (None, False, None, NEAR, Capped.ASSUMED),
        (None, False, None, UNDER, Capped.CLEAR),
        (None, False, False, GIB, Capped.CLEAR),
    ],
)
def test_what_a_run_says_of_its_cap(
    *, own_cap: bool | None, oom_killed: bool, hit_cap: bool | None, memory_peak: int, verdict: Capped
) -> None:
    row = run(own_cap=own_cap, oom_killed=oom_killed, hit_cap=hit_cap, memory_peak=memory_peak)
    assert capped(row, GIB) is verdict


def test_a_peak_of_exactly_95_percent_is_near() -> None:
    assert capped(run(own_cap=None, hit_cap=None, memory_peak=95), 100) is Capped.ASSUMED
    assert capped(run(own_cap=None, hit_cap=None, memory_peak=94), 100) is Capped.CLEAR


def test_without_a_known_cap_none_is_met_but_a_kill_still_holds() -> None:
    assert capped(run(own_cap=True), None) is Capped.KILLED
    assert capped(run(own_cap=None, oom_killed=True), None) is Capped.KILLED
    assert capped(run(own_cap=None, hit_cap=None, memory_peak=GIB), None) is Capped.CLEAR


def test_met_and_assumed_meet_a_cap_and_all_but_clear_hold() -> None:
    assert {verdict for verdict in Capped if verdict.meets} == {Capped.MET, Capped.ASSUMED}
    assert {verdict for verdict in Capped if verdict.holds} == {Capped.MET, Capped.ASSUMED, Capped.KILLED}


def test_a_run_knows_its_job_its_finish_and_whether_it_overran() -> None:
    assert run().key == KEY
    assert run(finished_at=7).finish == 7
    assert run(finished_at=None, queued_at=3).finish == 3
    assert run(reserved=99, memory_peak=100).overran
    assert not run(reserved=100, memory_peak=100).overran
    assert not run(reserved=None).overran


def test_runs_are_read_as_they_finished_and_at_one_moment_the_cancelled_last() -> None:
    cancelled = run(finished_at=5, cancelled=True)
    first, second = run(finished_at=5), run(finished_at=5, memory_peak=1)
    lost = run(finished_at=None, queued_at=4)
    assert in_order([cancelled, first, second, lost]) == [lost, first, second, cancelled]
