from __future__ import annotations

import pytest

from histories import GIB, MIB
from vq.admission.host import HostBudget, HostMemory, Remembered, budget, left, limit, margin, remember, stalls

TIGHT = HostMemory(total=16 * GIB, available=4 * GIB - 1, slice=3 * GIB, full_avg10=500)


@pytest.mark.parametrize(
    ("total", "kept"), [(2 * GIB, GIB // 2), (8 * GIB, 2 * GIB), (16 * GIB, 2 * GIB), (64 * GIB, 4 * GIB), (7, 1)]
)
def test_a_margin_is_2_gib_less_on_small_hosts_and_more_on_large_ones(total: int, kept: int) -> None:
    assert margin(total, short=False) == kept
    assert margin(total, short=True) == kept + kept // 2


@pytest.mark.parametrize(
    ("full_avg10", "before", "does"),
    [(499, False, False), (500, False, True), (100, True, True), (99, True, False), (None, True, False)],
)
def test_a_stall_ends_lower_than_it_begins(*, full_avg10: int | None, before: bool, does: bool) -> None:
    assert stalls(HostMemory(16 * GIB, 0, 0, full_avg10), before) is does


def test_a_host_with_memory_to_spare_does_not_stall() -> None:
    assert stalls(TIGHT, before=False)
    assert not stalls(HostMemory(16 * GIB, 4 * GIB, 3 * GIB, 500), before=False)


def test_runners_may_hold_what_they_do_and_what_is_available_less_the_margin() -> None:
    assert limit(HostMemory(16 * GIB, 6 * GIB, 3 * GIB, None), short=False) == 7 * GIB
    assert limit(HostMemory(16 * GIB, 6 * GIB, 3 * GIB, None), short=True) == 6 * GIB
    assert limit(HostMemory(16 * GIB, GIB, 0, None), short=False) == 0


def test_what_is_left_may_be_negative_and_is_nothing_in_a_stall() -> None:
    assert left(3, 5, stalled=False) == -2
    assert left(9, 5, stalled=True) == 0


def test_a_budget_of_a_host_that_stalls_keeps_the_larger_margin() -> None:
    assert budget(TIGHT, GIB, Remembered()) == HostBudget(limit=4 * GIB - 1, spare=0, left=0, stalled=True)
    calm = HostMemory(16 * GIB, 4 * GIB, 3 * GIB, 0)
    assert budget(calm, GIB, Remembered()) == HostBudget(limit=5 * GIB, spare=4 * GIB, left=4 * GIB, stalled=False)
    assert budget(calm, 6 * GIB, Remembered(short=True)) == HostBudget(4 * GIB, 0, -2 * GIB, stalled=False)
    pressed = HostMemory(16 * GIB, 3 * GIB, 3 * GIB, 100)
    assert budget(pressed, 0, Remembered(stalled=True)).stalled
    assert not budget(pressed, 0, Remembered(short=True)).stalled


def test_a_host_is_short_while_it_stalls_or_jobs_wait_for_it_and_something_runs() -> None:
    stalled, calm = HostBudget(0, 0, 0, stalled=True), HostBudget(MIB, MIB, MIB, stalled=False)
    assert remember(stalled, waits=False, runs=True) == Remembered(short=True, stalled=True)
    assert remember(calm, waits=True, runs=True) == Remembered(short=True)
    assert remember(calm, waits=False, runs=True) == Remembered()
    assert remember(stalled, waits=True, runs=False) == Remembered(short=False, stalled=True)
