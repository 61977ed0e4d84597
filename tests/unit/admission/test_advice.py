from __future__ import annotations

import pytest

from histories import DAY, GIB, KEY, MIB, met, run
from vq.admission import Run
from vq.admission.advice import Advice, advise, enough


def advice(*rows: Run, min_jobs: int = 3) -> Advice:
    (found,) = advise(rows, margin=15, min_jobs=min_jobs, caps={"small": 8 * GIB})
    return found


@pytest.mark.parametrize(
    ("peak", "granules"), [(0, 4), (1, 5), (256 * MIB, 5), (8 * GIB, 37), (20 * GIB, 92), (20 * GIB + 1, 93)]
)
def test_enough_is_the_peak_with_its_margin_or_a_gib_for_page_cache(peak: int, granules: int) -> None:
    assert enough(peak, 15) == granules * 256 * MIB


def test_advice_stands_beside_what_was_asked_for() -> None:
    rows = [run(memory_peak=peak * MIB, memory_cap=4 * GIB, finished_at=1000 - peak) for peak in (100, 300, 200)]
    assert advice(*rows) == Advice(
        key=KEY, profile="small", runs=3, peak=300 * MIB, asked=4 * GIB, enough=1536 * MIB, held=False
    )
    assert advice(*rows, run(memory_cap=None)).asked == 8 * GIB
    assert advice(*rows, run(memory_cap=None, profile="small", page_cache=True)).asked == 8 * GIB


def test_few_runs_or_a_hold_that_no_time_ends_give_no_figure() -> None:
    assert advice(run(), run()).enough is None
    rows = [met(finished_at=1), *(run(finished_at=at * 30 * DAY) for at in (1, 2))]
    held = advice(*rows)
    assert (held.enough, held.held, held.peak) == (None, True, GIB)
    assert advice(*rows, run(finished_at=99 * DAY)).enough == 2 * GIB


def test_advice_looks_back_three_windows() -> None:
    rows = [run(finished_at=at) for at in range(1, 60)]
    assert advice(run(finished_at=0, memory_peak=GIB), *rows).peak == GIB
    assert advice(run(finished_at=0, memory_peak=GIB), *rows, run(finished_at=60)).peak == 100 * MIB


def test_each_job_has_its_own_and_one_of_which_nothing_is_known_has_none() -> None:
    rows = [run(name="b"), run(name="a"), run(name="c", page_cache=True), run(profile="gone", memory_cap=None)]
    found = advise(rows, margin=15, min_jobs=1, caps={})
    assert [(one.key.name, one.profile, one.asked) for one in found] == [
        ("b", "small", GIB),
        ("a", "small", GIB),
        ("job", "gone", None),
    ]
