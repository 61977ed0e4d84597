from __future__ import annotations

import signal

import pytest

from vq.readings.group import Counters
from vq.readings.processes import Stat
from vq.supervisor.decisions import (
    End,
    Evidence,
    Timer,
    end_of,
    exit_code_of,
    fired,
    millicores,
    next_interval_seconds,
    process_count,
)
from vq.supervisor.launch import first_after


@pytest.mark.parametrize(
    ("elapsed", "cost", "enforcing", "expected"),
    [
        (0.0, 0.0, False, 0.02),
        (1.99, 0.0001, False, 0.02),
        (50.0, 0.0001, False, 0.5),
        (1e6, 0.0001, False, 1.0),
        (1e6, 0.0001, True, 0.1),
        (0.0, 0.08, False, 4.0),
        (1e6, 0.08, True, 4.0),
    ],
)
def test_intervals_grow_with_time_and_with_cost(
    elapsed: float,
    cost: float,
    enforcing: bool,  # noqa: FBT001
    expected: float,
) -> None:
    assert next_interval_seconds(elapsed, cost, enforcing=enforcing) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("cause", "counters", "expected"),
    [
        (None, None, End(kind="ended")),
        ("killed", None, End(kind="killed")),
        ("wall_limit", Counters(oom_kills=0, own_ooms=0), End(kind="wall_limit")),
        ("outgrew", Counters(oom_kills=0, own_ooms=0), End(kind="out_of_memory", limit_fired="host")),
        ("out_of_memory", None, End(kind="out_of_memory", limit_fired="job")),
        (None, Counters(oom_kills=1, own_ooms=1, outer_ooms=0), End(kind="out_of_memory", limit_fired="job")),
        (None, Counters(oom_kills=1, own_ooms=0, outer_ooms=1), End(kind="out_of_memory", limit_fired="host")),
        (None, Counters(oom_kills=1, own_ooms=0, outer_ooms=0), End(kind="out_of_memory", limit_fired="host")),
        (None, Counters(oom_kills=1), End(kind="out_of_memory")),
        (None, Counters(oom_kills=0, limit_hits=165, own_ooms=0), End(kind="ended")),
        ("killed", Counters(oom_kills=1, own_ooms=1), End(kind="out_of_memory", limit_fired="job")),
    ],
)
def test_an_end_is_what_the_evidence_says(cause: str | None, counters: Counters | None, expected: End) -> None:
    assert end_of(cause, counters) == expected  # type: ignore[arg-type]


def test_a_limit_that_others_ran_into_did_not_fire_here() -> None:
    assert fired(Counters(oom_kills=0, own_ooms=0, outer_ooms=3)) is None


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (Evidence(child_faults=0), 1),
        (Evidence(child_faults=50), None),
        (Evidence(child_faults=None), None),
        (Evidence(child_faults=0, orphans=1), None),
        (Evidence(child_faults=0, others_seen=True), None),
        (Evidence(child_faults=0, ignored_children=True), None),
    ],
)
def test_one_process_is_said_only_when_certain(evidence: Evidence, expected: int | None) -> None:
    assert process_count(evidence) == expected


def test_exit_codes_and_signals() -> None:
    assert exit_code_of(3 << 8) == (3, None)
    assert exit_code_of(signal.SIGKILL) == (137, 9)
    assert exit_code_of(signal.SIGSEGV | 0x80) == (139, 11)


def test_millicores_need_time() -> None:
    assert millicores(1.5, 3.0) == 500
    assert millicores(1.5, 0.0) is None
    assert millicores(None, 3.0) is None


def test_a_timer_stands_still_while_paused() -> None:
    timer = Timer(started_seconds=10.0)
    assert timer.seconds_left(12.0, 5.0) == 3.0
    paused = timer.pause(12.0)
    assert paused.pause(15.0) == paused
    assert paused.running_seconds(100.0) == 2.0
    assert paused.seconds_left(100.0, 5.0) is None
    resumed = paused.resume(20.0)
    assert resumed.paused_seconds(50.0) == 8.0
    assert resumed.seconds_left(21.0, 5.0) == 2.0
    assert resumed.seconds_left(1000.0, 5.0) == 0.0
    assert resumed.seconds_left(21.0, None) is None


def _stat(pid: int, start_ticks: int) -> Stat:
    return Stat(
        pid=pid, name="x", state="S", parent=1, session=pid, executed=True, child_faults=0, start_ticks=start_ticks
    )


def test_the_command_is_older_than_its_orphans_also_when_ids_begin_anew() -> None:
    assert first_after(100, [_stat(103, 7), _stat(101, 7)], 32768).pid == 101
    assert first_after(32766, [_stat(300, 7), _stat(32767, 7)], 32768).pid == 32767
    assert first_after(32767, [_stat(301, 7), _stat(300, 7)], 32768).pid == 300
    assert first_after(100, [_stat(101, 8), _stat(5000, 7)], None).pid == 5000
