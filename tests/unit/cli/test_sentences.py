from __future__ import annotations

import time
from dataclasses import replace

import pytest

from made_jobs import job
from vq.admission import CpuPrediction, Prediction, Profile, Replay, Setup
from vq.admission.predictor import (
    AtCap,
    Basis,
    Overran,
    OwnLargest,
    OwnRuns,
    ProfileLargest,
    ProfileRuns,
    Unmeasured,
    Unpredictable,
    read_basis,
)
from vq.admission.replay import Wait
from vq.cli.host import fields_of_host
from vq.cli.sentences import (
    comparison,
    cpu_sentence,
    memory_sentence,
    reserved_cpus_sentence,
    reserved_sentence,
    waits_sentence,
    without_cpus,
)
from vq.jobs.reasons import Kind, Reason
from vq.jobs.record import Reserve

GIB = 1 << 30
NOON = 1_796_040_000

CAPS = Replay(
    jobs=200,
    never_started=0,
    wait=Wait(p50=0, p95=0, p99=0, max=0),
    mean_wait=120,
    most_running=4,
    worst_overlap=GIB,
    makespan=7200,
    under_predicted=0,
    held_back=0,
    cpu_held=0,
    worst_cpu=0,
    reserved_byte_ms=0,
    peak_byte_ms=0,
)
SETUP = Setup(margin=15, min_jobs=10, profiles={"p": Profile(memory=GIB, cpus=1)}, memory_max=4 * GIB)


@pytest.mark.parametrize(
    ("basis", "said"),
    [
        (AtCap(), "its limit, as too little is known"),
        (Unmeasured(), "its limit, as there is no fresh sample of what it uses"),
        (
            Unpredictable(NOON),
            "its limit until 2026-11-30 12:00 UTC or 3 clean runs: a run met its limit, or was killed for memory",
        ),
        (
            Overran(NOON),
            "its largest peak + 15 %, until 2026-11-30 12:00 UTC at most: a run passed what was reserved for it",
        ),
        (OwnRuns(12), "the p95 of its last 12 runs + 15 %"),
        (OwnLargest(2), "the largest of its only 2 runs + 15 %"),
        (ProfileRuns(30), "the larger of its own largest peak and the p95 of 30 runs of its profile + 15 %"),
        (ProfileLargest(30), "never seen: the largest of 30 runs of its profile + 15 %"),
    ],
)
def test_a_prediction_says_what_it_goes_by(basis: Basis, said: str) -> None:
    assert memory_sentence(Prediction(5 * GIB // 4, basis), 15) == f"1.25 GiB: {said}"


def test_a_time_past_all_calendars_is_a_second() -> None:
    assert "until second 1000000000000 of the epoch or" in memory_sentence(Prediction(GIB, Unpredictable(10**12)), 15)


def test_cpus_have_no_margin() -> None:
    assert cpu_sentence(CpuPrediction(1500, OwnRuns(12))) == "1.5 CPUs: the p95 of its last 12 runs"
    assert "own largest average" in cpu_sentence(CpuPrediction(1500, ProfileRuns(12)))


def test_measured_peaks_that_pay_say_by_how_much() -> None:
    measured = replace(CAPS, mean_wait=30, most_running=9, makespan=3600, under_predicted=2, worst_overlap=3 * GIB)
    assert comparison(CAPS, measured, SETUP) == (
        "By measured peaks, 200 jobs would have waited 30 s on average instead of 2 min (75 % less), with at most 9 "
        "running at once instead of 4, and the last would have ended after 1 h instead of 2 h (50 % less). 2 of them "
        "(1 %) would have used more than was reserved. At most 3 GiB of 4 GiB would have been in use at once, so all "
        "would have fitted."
    )


def test_measured_peaks_that_do_not_pay_say_so() -> None:
    measured = replace(CAPS, mean_wait=240, worst_overlap=5 * GIB)
    assert comparison(CAPS, measured, SETUP) == (
        "By measured peaks, 200 jobs would have waited 4 min on average instead of 2 min (100 % more), with at most 4 "
        "running at once, and the last would have ended after 2 h, as by their limits. None would have used more than "
        "was reserved for it. Up to 5 GiB would have been in use at once, beyond 4 GiB: some jobs would have been "
        "stopped."
    )


def test_jobs_that_never_start_are_named() -> None:
    said = comparison(replace(CAPS, never_started=3, mean_wait=0), CAPS, replace(SETUP, memory_max=None))
    assert "2 min on average instead of 0 s, with" in said
    assert "Never started, as they need more than there is: 3 by their limits, 0 by measured peaks" in said
    assert "Up to 1 GiB would have been in use at once, without a memory budget." in said


def test_the_share_is_of_the_jobs_that_started() -> None:
    said = comparison(CAPS, replace(CAPS, never_started=150, under_predicted=1), SETUP)
    assert "1 of them (2 %) would have used more" in said
    assert "so all that started would have fitted." in said


def test_a_budget_that_starts_nothing_is_said_first() -> None:
    nothing = replace(CAPS, never_started=CAPS.jobs)
    said = comparison(nothing, nothing, replace(SETUP, memory_max=256))
    assert said == "No job would have started by measured peaks: each needs more than 256 bytes."


def test_runs_killed_for_memory_qualify_what_peaks_say() -> None:
    said = comparison(CAPS, CAPS, SETUP, killed=1)
    assert "That is by recorded peaks; those of 1 run killed for memory may be too low." in said


@pytest.mark.parametrize(
    "basis",
    [
        AtCap(),
        Unmeasured(),
        Unpredictable(5),
        Overran(6),
        OwnRuns(7),
        OwnLargest(8),
        ProfileRuns(9),
        ProfileLargest(10),
    ],
)
def test_a_basis_is_read_back(basis: Basis) -> None:
    assert read_basis(basis.as_data()) == basis


def test_what_is_reserved_is_said_with_the_limit_and_why() -> None:
    ours = job(mem_mb=4096)
    said = reserved_sentence(ours, 5 * GIB // 4, {"kind": "job", "runs": 12}, 15)
    assert said == "1.25 GiB of its 4 GiB: the p95 of its last 12 runs + 15 %"
    assert reserved_sentence(ours, 4 * GIB, None, 15) == "4 GiB of its 4 GiB: this queue goes by limits"
    whole = reserved_sentence(job(mem_mb=4096, reserve=Reserve.CAP), 4 * GIB, {"kind": "cap"}, 15)
    assert whole == "4 GiB of its 4 GiB: all of it, as asked for with --reserve cap"
    assert reserved_cpus_sentence(1500, None) == "1.5 CPUs"
    assert reserved_cpus_sentence(100, {"kind": "job", "runs": 3}) == "0.1 CPUs: the p95 of its last 3 runs"


def test_what_a_job_waits_for_is_said_with_how_many_are_ahead() -> None:
    needs = Reason(kind=Kind.MEMORY, details={"needs": 5 * GIB // 4, "free": GIB})
    assert waits_sentence(needs, 3) == "needs 1.25 GiB of memory, 1 GiB are free; 3 jobs ahead"
    assert waits_sentence(needs, 0) == "needs 1.25 GiB of memory, 1 GiB are free; first in line"
    assert waits_sentence(None, 1) == "nothing keeps it: it starts at the daemon's next look; 1 job ahead"


def test_what_waits_for_something_of_its_own_is_not_in_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert waits_sentence(Reason(kind=Kind.HELD), 0) == "held until it is resumed"
    after = Reason(kind=Kind.DEPENDENCY, details={"job": "a1", "state": None})
    assert waits_sentence(after, 3) == "waits for a1"
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        later = Reason(kind=Kind.NOT_BEFORE, details={"at": 1_796_115_590_000})
        assert waits_sentence(later, 0) == "not to start before 2026-12-01 09:59:50 CET"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_what_the_cpus_cost_is_said() -> None:
    assert "CPUs are not what jobs wait for" in without_cpus(CAPS, CAPS)
    assert "it would have been 1 min" in without_cpus(CAPS, replace(CAPS, mean_wait=60))


def test_a_program_outside_steers_no_terminal() -> None:
    sizes = (
        "memory_total",
        "memory_available",
        "memory_max",
        "memory_reserved",
        "memory_used",
        "host_left",
        "host_limit",
    )
    found = {f"{name}_bytes": GIB for name in sizes} | {
        "memory_pressure_percent": None,
        "high_water_bytes": None,
        "host_stalled": False,
        "outside": [
            {"name": "a\x1b[31m", "processes": 1, "held_bytes": GIB},
            {"name": "b", "processes": 1234, "held_bytes": 5},
        ],
        "cpus": 2,
        "cpus_reserved_millicores": 100,
        "admission": "caps",
        "running": 0,
        "pending": 0,
    }
    fields = fields_of_host(found)
    assert ("Others hold", "1 GiB a\\x1b[31m") in fields
    assert ("", "5 bytes b (1,234 processes)") in fields
    assert ("Host leaves", "1 GiB for the next job, of 1 GiB for all of them; other programs have the rest") in fields
    stalled = fields_of_host({**found, "host_stalled": True, "high_water_bytes": GIB})
    assert ("Host leaves", "nothing while its programs wait for memory") in stalled
    assert ("Admission", "caps: a job reserves its whole limit") in fields
    assert ("Nearly full", "no job starts while jobs use 1 GiB or more") in stalled
