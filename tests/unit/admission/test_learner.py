from __future__ import annotations

from histories import KEY, MIB, run
from vq.admission import Copies, Prediction, Predictor, Run
from vq.admission.learner import Learner
from vq.admission.predictor import OwnRuns, Unpredictable

GIB = 1024 * MIB


def learner(late_runs: int = 3) -> Learner:
    return Learner(Predictor(margin=0, min_jobs=1, caps={}), late_runs=late_runs)


def ended(at: int, peak: int = 10, **more: object) -> Run:
    return run(finished_at=at, memory_peak=peak * MIB, memory_cap=GIB, **more)


def predicted(known: Learner) -> Prediction:
    return known.predictor.predict(KEY, "small", GIB, now=100, copies=Copies.ALONE)


def test_a_hold_from_before_the_rows_that_are_kept_stands_when_one_comes_late() -> None:
    known = learner()
    assert known.learn([ended(1, oom_killed=True, own_cap=True, hit_cap=True, succeeded=False)])
    assert known.learn([ended(10 * number) for number in (2, 3)])
    assert known.learn([ended(40, succeeded=False), ended(50, succeeded=False)])
    assert known.learn([ended(45, succeeded=False)])
    assert isinstance(predicted(known).basis, Unpredictable)
    assert known.learn([ended(60)])
    assert isinstance(predicted(known).basis, OwnRuns)


def test_one_that_is_later_than_all_that_is_kept_says_so() -> None:
    known = learner()
    assert known.learn([ended(number) for number in (1, 2, 3)])
    assert known.learn([ended(0)])
    assert known.learn([ended(5)])
    assert not known.learn([ended(0, 300)])
    assert known.learn([ended(6)])
    assert predicted(known).memory == 512 * MIB


def test_rows_that_say_nothing_leave_a_job_unknown() -> None:
    known = learner(1)
    assert known.learn([ended(number, page_cache=True) for number in range(4)])
    assert not list(known.predictor.known())
    assert known.learn([ended(5), ended(3, page_cache=True)])
    assert predicted(known).basis == OwnRuns(1)


def test_rows_that_say_nothing_count_for_nothing_when_one_comes_late_after_them() -> None:
    known = learner(2)
    assert known.learn([ended(number, page_cache=True) for number in range(4)])
    assert known.learn([ended(5), ended(7)])
    assert known.learn([ended(6, succeeded=False)])
    assert predicted(known).basis == OwnRuns(3)


def test_what_has_left_the_window_is_not_known_again() -> None:
    known = learner()
    assert known.learn([ended(0, 900), *(ended(number) for number in range(1, 30))])
    assert known.learn([ended(28)])
    assert predicted(known).memory == 256 * MIB
