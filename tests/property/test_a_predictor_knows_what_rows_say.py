"""Laws of the predictor: what it knows is what the rows say, whoever feeds them and when; no more than the cap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from histories import DAY, GIB, HOUR, KEY, MIB, PROFILES, UNHURRIED, histories, met, run
from vq.admission import Copies, CpuPrediction, Key, Prediction, Predictor, Run
from vq.admission.history import in_order
from vq.admission.learner import Learner
from vq.admission.predictor import AtCap, Overran, OwnRuns, Unpredictable
from vq.admission.recent import RECENT_RUNS

CAPS = {name: profile.memory for name, profile in PROFILES.items()}
JOBS = [Key(repository, workflow, name) for repository in ("o/a", "o/b") for workflow in (None, "w") for name in "xyz"]
MOMENTS = [0, 30 * HOUR, 6 * DAY, 9 * DAY, 30 * DAY]

Answers = list[tuple[Prediction, CpuPrediction]]


def predictor(min_jobs: int = 2) -> Predictor:
    return Predictor(margin=15, min_jobs=min_jobs, caps=CAPS)


def answers(predictor: Predictor, jobs: Sequence[Key] = JOBS) -> Answers:
    """All that it says of jobs, by any cap and at any time."""
    return [
        (predictor.predict(key, profile, cap, now=now, copies=copies), predictor.predict_cpu(key, profile, cap // MIB))
        for key in jobs
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


@settings(UNHURRIED, max_examples=80)
@given(histories(50), st.data(), st.sampled_from([2, 5, 30]))
def test_runs_that_come_late_find_their_place(rows: list[Run], data: st.DataObject, late_runs: int) -> None:
    """Batches of runs, each a few places late at most, or as late as they like: then it says so."""
    rows = [replace(row, repository="o/a", workflow=None, name="x", profile="small") for row in rows]
    most = data.draw(st.sampled_from([1, 3, 30]), "places late at most")
    lateness = data.draw(st.lists(st.integers(0, most), min_size=len(rows), max_size=len(rows)), "lateness")
    heard = [row for _, row in sorted(enumerate(in_order(rows)), key=lambda each: each[0] + lateness[each[0]])]
    learner, anew, said = Learner(predictor(), late_runs=late_runs), predictor(), []
    while heard:
        size = data.draw(st.integers(1, 4), "batch")
        said += heard[:size]
        in_place = learner.learn(heard[:size])
        del heard[:size]
        if not in_place:
            assert most >= late_runs
            return
    anew.read(said)
    assert answers(learner.predictor, JOBS[:1]) == answers(anew, JOBS[:1])
    assert peers(learner.predictor) == peers(anew)
    more = data.draw(histories(3), "more")
    for row in more:
        run = replace(row, repository="o/a", workflow=None, name="x", profile="small", reserved=1)
        learner.predictor.learn(run)
        anew.learn(run)
    assert answers(learner.predictor, JOBS[:1]) == answers(anew, JOBS[:1])


def peers(known: Predictor) -> list[int]:
    found = known._recent.peers("small")  # noqa: SLF001 - no prediction shows all of them
    return [found.percentile(percent) for percent in range(1, 101)] if len(found) else []


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


KINDS: dict[str, dict[str, object]] = {
    "clean": {},
    "failed": {"succeeded": False},
    "past its reservation": {"reserved": 50 * MIB, "memory_peak": 70 * MIB},
    "far past it": {"reserved": 50 * MIB, "memory_peak": 400 * MIB},
    "stopped past it": {"reserved": 50 * MIB, "memory_peak": 300 * MIB, "cancelled": True, "succeeded": False},
    "at its limit": {"own_cap": True, "hit_cap": True, "oom_killed": True, "succeeded": False, "memory_peak": GIB},
    "stopped": {"cancelled": True, "succeeded": False},
    "of page cache": {"page_cache": True},
}
PACES = st.sampled_from([0, 0, 1, HOUR, HOUR, 12 * HOUR])


@settings(UNHURRIED, max_examples=400)
@given(
    st.lists(st.tuples(st.sampled_from([*["clean"] * 12, *KINDS]), PACES), min_size=25, max_size=60),
    st.integers(21, 40),
    st.sampled_from([0, HOUR, 3 * DAY, 8 * DAY]),
)
def test_the_last_runs_say_what_all_do_or_that_they_do_not(
    lived: list[tuple[str, int]], last: int, later_ms: int
) -> None:
    at_ms, rows = HOUR, []
    for kind, pace_ms in lived:
        at_ms += pace_ms
        rows.append(run(finished_at=at_ms, **KINDS[kind]))
    rows, now = in_order(rows), at_ms + later_ms
    whole, few = predictor(), predictor()
    for row in rows:
        whole.learn(row)
    if not few.recall(KEY, "small", rows[-last:], now=now, is_all=last >= len(rows)):
        assert not list(few.known())
        assert few.recall(KEY, "small", rows, now=now, is_all=True)
    for copies in Copies:
        assert few.predict(KEY, "small", GIB, now=now, copies=copies) == whole.predict(
            KEY, "small", GIB, now=now, copies=copies
        )
    assert few.needs_peers(KEY, "small") == whole.needs_peers(KEY, "small")


def test_of_a_job_that_runs_well_the_last_runs_are_enough() -> None:
    rows = [run(finished_at=hour * HOUR) for hour in range(1, 100)]
    assert predictor().recall(KEY, "small", rows[-RECENT_RUNS - 1 :], now=99 * HOUR, is_all=False)
    assert not predictor().recall(KEY, "small", rows[-RECENT_RUNS:], now=99 * HOUR, is_all=False)
