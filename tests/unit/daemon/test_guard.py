from __future__ import annotations

from dataclasses import replace

from made_jobs import MIB, NOW, job, started
from vq.daemon.guard import Idleness, is_close, outgrown
from vq.jobs.events import Paused, Resumed, Stopping
from vq.jobs.lifecycle import advance
from vq.jobs.reasons import StopCause
from vq.jobs.record import Job


def running(identifier: str, reserved_mb: int, *, at_ms: int = NOW) -> Job:
    return advance(job(identifier, mem_mb=1000), started(at_ms, reserved_mb))[0]


def test_the_job_furthest_past_its_reservation_is_ended_of_several_the_youngest() -> None:
    jobs = [running("a1", 100), running("a2", 300), running("a3", 100, at_ms=NOW + 1), running("a4", 100)]
    uses = {"a1": 150 * MIB, "a2": 300 * MIB, "a3": 150 * MIB, "a4": 120 * MIB}
    assert outgrown(jobs, uses, 720 * MIB, {}) is jobs[2]


def test_below_95_percent_of_the_budget_none_is_ended() -> None:
    jobs = [running("a1", 100)]
    assert outgrown(jobs, {"a1": 949 * MIB}, 1000 * MIB, {}) is None
    assert outgrown(jobs, {"a1": 950 * MIB}, 1000 * MIB, {}) is jobs[0]


def test_no_job_inside_its_reservation_and_none_that_is_unknown_is_ended() -> None:
    jobs = [running("a1", 500), running("a2", 500)]
    assert outgrown(jobs, {"a1": 500 * MIB, "a2": None}, 500 * MIB, {}) is None


def test_what_counts_is_the_less_of_what_a_job_started_with_and_what_it_has_now() -> None:
    jobs = [running("a1", 440), running("a2", 500)]
    uses = {"a1": 450 * MIB, "a2": 450 * MIB}
    assert outgrown(jobs, uses, 900 * MIB, {"a1": 500 * MIB, "a2": 450 * MIB}) is jobs[0]
    assert outgrown(jobs, uses, 900 * MIB, {"a1": 500 * MIB, "a2": 430 * MIB}) is jobs[1]


def test_what_is_used_is_read_often_near_the_budget_and_when_a_job_is_past_its_reservation() -> None:
    jobs = [running("a1", 100)]
    assert is_close(jobs, {"a1": 100 * MIB}, 125 * MIB, {})
    assert not is_close(jobs, {"a1": 100 * MIB}, 126 * MIB, {})
    assert is_close(jobs, {"a1": 101 * MIB}, 202 * MIB, {})
    assert not is_close(jobs, {"a1": 101 * MIB}, 203 * MIB, {})


def test_while_one_is_being_ended_no_other_is() -> None:
    jobs = [running("a1", 100), running("a2", 100)]
    stopped, _ = advance(jobs[0], Stopping(at_ms=NOW, attempt=1, cause=StopCause.OUTGREW))
    assert outgrown([stopped, jobs[1]], {"a1": 500 * MIB, "a2": 500 * MIB}, 1000 * MIB, {}) is None


def test_a_job_starves_that_used_almost_no_cpu_for_the_configured_time() -> None:
    idleness, one = Idleness(10_000), running("a1", 100)
    assert idleness.matters
    assert not idleness.starved(one, 1.0, NOW)
    assert not idleness.starved(one, 1.05, NOW + 9_999)
    assert idleness.starved(one, 1.05, NOW + 10_000)
    assert not idleness.starved(one, 1.20, NOW + 11_000)
    assert not idleness.starved(one, 1.20, NOW + 20_000)
    idleness.forget(one)
    assert not idleness.starved(one, 1.20, NOW + 21_000)


def test_a_paused_job_and_one_without_a_reading_do_not_starve() -> None:
    idleness, one = Idleness(10_000), running("a1", 100)
    assert not idleness.starved(one, 0.0, NOW)
    assert not idleness.starved(one, None, NOW + 20_000)
    paused, _ = advance(one, Paused(at_ms=NOW))
    assert not idleness.starved(paused, 0.0, NOW + 20_000)
    resumed, _ = advance(paused, Resumed(at_ms=NOW + 21_000))
    assert not idleness.starved(resumed, 0.0, NOW + 29_000)
    again = replace(resumed, life=replace(resumed.life, attempt=2))
    assert not idleness.starved(again, 0.0, NOW + 40_000)
    assert not Idleness(None).matters
