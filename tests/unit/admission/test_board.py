from __future__ import annotations

from histories import GIB, HOUR, KEY
from vq.admission import Policy, Predictor
from vq.admission.board import Board
from vq.admission.lines import Job
from vq.admission.rules import Rules, Verdict


def test_a_line_met_again_for_a_barrier_behind_its_first_is_counted_once() -> None:
    rules = Rules(policy=Policy.CAPS, cpu=1000, barrier_after_ms=HOUR)
    board = Board(rules, Predictor(margin=0, min_jobs=1, caps={}), now=HOUR)
    kind = board.kind(KEY, "small", GIB, 1000)
    board.run(Job(0, kind, 0, use=0))
    for place, since in enumerate([HOUR, HOUR, 0, HOUR]):
        board.arrive(Job(place, kind, since, use=0))
    assert board.sweep() == []
    assert board.barrier.order == 2
    assert board.held == {Verdict.CPU: 3, Verdict.HIGH_WATER: 0}
