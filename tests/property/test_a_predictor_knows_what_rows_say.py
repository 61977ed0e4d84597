"""Laws of the predictor: what it knows is what the rows say, whoever feeds them and when; no more than the cap."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from histories import DAY, GIB, HOUR, KEY, MIB, PROFILES, UNHURRIED, histories, met, run
from vq.admission import Copies, CpuPrediction, Key, Prediction, Predictor, Run
from vq.admission.history import in_order
from vq.admission.predictor import AtCap, Overran, OwnRuns, Unpredictable
from vq.admission.recent import RECENT_RUNS

CAPS = {name: profile.memory for name, profile in PROFILES.items()}
JOBS = [Key(repository, workflow, name) for repository in ("o/a", "o/b") for workflow in (None, "w") for name in "xyz"]
MOMENTS = [0, 30 * HOUR, 6 * DAY, 9 * DAY, 30 * DAY]

Answers = list[tuple[Prediction, CpuPrediction]]


def predictor(min_jobs: int = 2) -> Predictor:
    return Predictor(margin=15, min_jobs=min_jobs, caps=CAPS)


def answers(predictor: Predictor) -> Answers:
    """All that it says of all jobs, by any cap and at any time."""
    return [
        (predictor.predict(key, profile, cap, now=now, copies=copies), predictor.predict_cpu(key, profile, cap // MIB))
        for key in JOBS
        for profile in ("small", "big", "gone")
        for cap in (64 * MIB, GIB, 9 * GIB)
        for now in MOMENTS
        for copies in Copies
    ]


@settings(UNHURRIED, max_examples=25)
@given(histories(), st.integers(1, 4))
def test_reading_row_by_row_is_reading_at_once(rows: list[Run], min_jobs: int) -> None:
    at_once, by_row = predictor(min_jobs), predictor(min_jobs)
    at_once.read(rows)
    for row in in_order(rows):
        by_row.read([row])
    assert answers(by_row) == answers(at_once)


@settings(UNHURRIED, max_examples=25)
@given(histories(), st.integers(0, 25))
def test_a_restart_changes_nothing(rows: list[Run], when: int) -> None:
    lived, restarted = predictor(), predictor()
    ordered = in_order(rows)
    lived.read(ordered[:when])
    answers(lived)
    lived.read(ordered[when:])
    restarted.read(rows)
    assert answers(lived) == answers(restarted)


@settings(UNHURRIED, max_examples=25)
@given(histories(40))
def test_no_prediction_passes_the_cap_and_copies_never_need_less(rows: list[Run]) -> None:
    known = predictor()
    known.read(rows)
    for key in JOBS:
        for now in MOMENTS:
            for cap in (64 * MIB, GIB):
                alone, several = (known.predict(key, "small", cap, now=now, copies=copies).memory for copies in Copies)
                assert alone <= several <= cap
        assert 100 <= known.predict_cpu(key, "small", 1000).cpu <= 1000
        assert known.predict_cpu(key, "small", 10).cpu == 100


@settings(UNHURRIED, max_examples=25)
@given(histories(40), st.integers(0, 40 * DAY))
def test_nothing_changes_between_the_times_it_says(rows: list[Run], now: int) -> None:
    known = predictor()
    known.read(rows)
    for key in JOBS:
        basis = known.predict(key, "small", GIB, now=now, copies=Copies.ALONE)
        until = known.changes_at(key, "small", now)
        last = (now + 60 * DAY if until is None else until) - 1
        assert last >= now
        assert known.predict(key, "small", GIB, now=last, copies=Copies.ALONE) == basis


@settings(UNHURRIED)
@given(st.lists(st.sampled_from(["clean", "failed", "met", "overran"]), max_size=8), st.integers(0, 10 * DAY))
def test_a_hold_ends_by_three_clean_runs_or_seven_days(ends: list[str], waits: int) -> None:
    known = predictor()
    clean, held_at = 3, 0
    for place, end in enumerate(["clean"] * 4 + ends):
        finish = (place + 1) * 1000
        ended = run(finished_at=finish, succeeded=end != "failed", reserved=1 if end == "overran" else None)
        known.read([met(finished_at=finish) if end == "met" else ended])
        if end == "met":
            clean, held_at = 0, finish
        elif end == "overran":
            clean = 0
        elif end == "clean":
            clean += 1
    now = (len(ends) + 4) * 1000 + waits
    held = held_at > 0 and clean < 3 and now < held_at + 7 * DAY
    basis = known.predict(KEY, "small", GIB, now=now, copies=Copies.ALONE).basis
    assert isinstance(basis, Unpredictable) is held
    if held:
        assert basis == Unpredictable((held_at + 7 * DAY) // 1000)


@settings(UNHURRIED, max_examples=25)
@given(histories(40))
def test_a_window_reaches_back_no_further_than_its_successes(rows: list[Run]) -> None:
    known = predictor()
    filled = [run(finished_at=60 * DAY + place, memory_peak=GIB // 2) for place in range(RECENT_RUNS)]
    known.read([*(row for row in rows if row.finish < 60 * DAY), *filled])
    prediction = known.predict(KEY, "small", GIB, now=60 * DAY, copies=Copies.ALONE)
    assert prediction == Prediction(768 * MIB, OwnRuns(RECENT_RUNS))


def test_a_predictor_of_nothing_says_the_cap() -> None:
    assert answers(predictor())[0] == (Prediction(64 * MIB, AtCap()), CpuPrediction(100, AtCap()))


def test_an_overrun_counts_for_seven_days() -> None:
    known = predictor()
    known.read([run(finished_at=1500, memory_peak=600 * MIB, reserved=512 * MIB)])
    for now, basis in [(7 * DAY + 1499, Overran(7 * DAY // 1000 + 1)), (7 * DAY + 1500, AtCap())]:
        assert known.predict(KEY, "small", GIB, now=now, copies=Copies.ALONE).basis == basis
