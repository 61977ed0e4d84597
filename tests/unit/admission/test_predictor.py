from __future__ import annotations

import pytest

from histories import DAY, GIB, KEY, MIB, met, run
from vq.admission import UNPREDICTABLE_FOR, Copies, CpuPrediction, Key, Prediction, Predictor, Run
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
    with_margin,
)

OTHER = Key("o/r", "w", "other")
NEW = Key("o/r", "w", "new")


def predictor(*rows: Run, min_jobs: int = 4, margin: int = 0) -> Predictor:
    made = Predictor(margin=margin, min_jobs=min_jobs, caps={"small": GIB})
    made.read(rows)
    return made


def memory(made: Predictor, key: Key = KEY, *, now: int = 2000, copies: Copies = Copies.ALONE) -> Prediction:
    return made.predict(key, "small", 2 * GIB, now=now, copies=copies)


@pytest.mark.parametrize(
    ("peak", "margin", "granules"),
    [(0, 15, 1), (256 * MIB, 0, 1), (256 * MIB + 1, 0, 2), (256 * MIB, 1, 2), (99, 1, 1), (1000 * MIB, 15, 5)],
)
def test_a_margin_rounds_up_to_granules(peak: int, margin: int, granules: int) -> None:
    assert with_margin(peak, margin) == granules * 256 * MIB


def test_a_margin_itself_rounds_down() -> None:
    assert with_margin(256 * MIB - 2, 0) == with_margin(256 * MIB - 1, 0) == 256 * MIB
    # 1 % of 99 bytes is none of them: the sum is the last that fits the granule.
    assert with_margin(256 * MIB * 100 // 101, 1) == 256 * MIB


def test_a_job_that_met_its_cap_gets_its_cap_for_seven_days() -> None:
    made = predictor(met(finished_at=1999))
    until = Unpredictable((1999 + UNPREDICTABLE_FOR) // 1000)
    assert memory(made, now=1999 + UNPREDICTABLE_FOR - 1) == Prediction(2 * GIB, until)
    assert memory(made, now=1999 + UNPREDICTABLE_FOR).basis == AtCap()
    assert made.changes_at(KEY, "small", 2000) == 1999 + UNPREDICTABLE_FOR
    assert made.changes_at(KEY, "small", 1999 + UNPREDICTABLE_FOR) is None
    assert made.changes_at(NEW, "small", 2000) is None


def test_a_row_without_its_cap_ran_under_its_profiles() -> None:
    made = predictor(run(memory_cap=None, memory_peak=GIB * 95 // 100 + 1, own_cap=None, hit_cap=None), min_jobs=1)
    assert isinstance(memory(made).basis, Unpredictable)
    assert memory(made, now=8 * DAY) == Prediction(GIB, OwnRuns(1))


def test_a_job_seen_only_cancelled_gets_its_cap_though_its_peers_say_more() -> None:
    made = predictor(*[run(name="other")] * 4, run(cancelled=True))
    assert memory(made) == Prediction(2 * GIB, AtCap())
    assert memory(made, NEW).basis == ProfileLargest(4)


def test_a_job_past_its_reservation_gets_its_largest_peak() -> None:
    rows = [run(finished_at=at) for at in range(4)]
    made = predictor(*rows, run(finished_at=5, memory_peak=700 * MIB, reserved=1), run(cancelled=True, reserved=2))
    assert memory(made) == Prediction(768 * MIB, Overran((1000 + UNPREDICTABLE_FOR) // 1000))
    assert made.changes_at(KEY, "small", 2000) == 5 + UNPREDICTABLE_FOR
    made = predictor(*rows, run(cancelled=True, memory_peak=900 * MIB, reserved=2, finished_at=9))
    assert memory(made).memory == GIB
    made = predictor(*rows, run(finished_at=4, memory_peak=600 * MIB), run(cancelled=True, reserved=2))
    assert memory(made).memory == 768 * MIB


def test_enough_runs_of_its_own_make_a_percentile() -> None:
    rows = [run(memory_peak=(place + 1) * 10 * MIB) for place in range(20)]
    made = predictor(*rows, run(memory_peak=900 * MIB), margin=40)
    assert memory(made, copies=Copies.SEVERAL) == Prediction(512 * MIB, OwnRuns(20))
    assert memory(predictor(*rows[:3])).basis == AtCap()


def test_two_runs_of_its_own_do_while_it_is_alone_and_peers_are_enough() -> None:
    peers = [run(name="other", memory_peak=700 * MIB)] * 2
    made = predictor(*peers, *[run()] * 2)
    assert memory(made) == Prediction(256 * MIB, OwnLargest(2))
    assert memory(made, copies=Copies.SEVERAL) == Prediction(768 * MIB, ProfileRuns(4))
    made = predictor(*peers, run(), run(succeeded=False))
    assert memory(made) == Prediction(768 * MIB, ProfileRuns(4))
    assert memory(predictor(*peers, run())).basis == AtCap()


def test_its_own_largest_counts_where_it_passes_its_peers() -> None:
    peers = [run(name="other")] * 30
    assert memory(predictor(*peers, run(memory_peak=900 * MIB))).memory == GIB


def test_a_job_never_seen_gets_the_largest_of_its_profile() -> None:
    made = predictor(*[run()] * 3, run(memory_peak=900 * MIB))
    assert memory(made, NEW) == Prediction(GIB, ProfileLargest(4))
    assert made.predict(NEW, "small", 300 * MIB, now=0, copies=Copies.ALONE).memory == 300 * MIB
    assert made.predict(NEW, "big", GIB, now=0, copies=Copies.ALONE) == Prediction(GIB, AtCap())


def test_cpu_goes_by_all_runs_that_say_their_average() -> None:
    rows = [run(cpu_average=average, page_cache=True) for average in (110, 120, 130)]
    made = predictor(*rows, run(cpu_average=None), run(cpu_average=9000, cancelled=True))
    assert made.predict_cpu(KEY, "small", 1000) == CpuPrediction(1000, AtCap())
    made.read([run(cpu_average=201)])
    assert made.predict_cpu(KEY, "small", 1000) == CpuPrediction(300, OwnRuns(4))
    assert made.predict_cpu(KEY, "small", 250) == CpuPrediction(250, OwnRuns(4))
    assert made.predict_cpu(NEW, "small", 1000) == CpuPrediction(300, ProfileLargest(4))
    assert made.predict_cpu(KEY, "big", 20) == CpuPrediction(100, AtCap())


def test_cpu_of_few_runs_goes_by_the_largest_or_by_the_profile() -> None:
    made = predictor(*[run(name="other", cpu_average=700)] * 3, run(cpu_average=100))
    assert made.predict_cpu(KEY, "small", 1000) == CpuPrediction(700, ProfileRuns(4))
    made.read([run(cpu_average=0)])
    assert made.predict_cpu(KEY, "small", 1000) == CpuPrediction(100, OwnLargest(2))


def test_cpu_is_never_less_than_a_granule() -> None:
    assert predictor(run(cpu_average=0), min_jobs=1).predict_cpu(KEY, "small", 1000).cpu == 100


def test_it_knows_the_jobs_it_learned_of() -> None:
    made = predictor(run(), run(name="other", cancelled=True))
    assert [(job, len(recent.peaks)) for job, recent in made.known()] == [((KEY, "small"), 1), ((OTHER, "small"), 0)]


@pytest.mark.parametrize(
    ("basis", "data"),
    [
        (AtCap(), {"kind": "cap"}),
        (Unmeasured(), {"kind": "unmeasured"}),
        (Unpredictable(7), {"kind": "unpredictable", "until": 7}),
        (Overran(7), {"kind": "overran", "until": 7}),
        (OwnRuns(4), {"kind": "job", "runs": 4}),
        (OwnLargest(2), {"kind": "job", "runs": 2, "peak": "largest"}),
        (ProfileRuns(9), {"kind": "profile", "runs": 9}),
        (ProfileLargest(9), {"kind": "profile-max", "runs": 9}),
    ],
)
def test_a_basis_is_data(basis: Basis, data: dict[str, object]) -> None:
    assert basis.as_data() == data
