from __future__ import annotations

import pytest

from histories import run
from vq.errors import BadDataError
from vq.formats.outcomes import LeftOut, Unread
from vq.formats.tally import Tally


def test_records_are_counted_by_reason_with_the_first_line() -> None:
    tally = Tally()
    for outcome in (
        run(),
        LeftOut(3, "cached"),
        LeftOut(4, "cached"),
        Unread(5, BadDataError("a size", found="x")),
        Unread(6, BadDataError("a size", found="y")),
    ):
        tally.count(outcome)
    assert tally.records == 5
    assert tally.document() == {
        "rows": 1,
        "left_out": [{"reason": "cached", "count": 2, "first_line": 3}],
        "unread": [{"reason": "expected a size", "count": 2, "first_line": 5}],
        "likely_unit_error": False,
    }


def test_reasons_without_end_take_bounded_memory() -> None:
    tally = Tally()
    for number in range(1000):
        tally.count(LeftOut(number, f"reason {number}"))
    assert len(tally.left_out) == 51
    assert tally.left_out["other reasons"].count == 950
    assert tally.records == 1000


def test_the_first_few_repositories_are_kept() -> None:
    tally = Tally()
    for number in (0, 0, *range(1000)):
        tally.count(run(repository=f"r{number}"))
    assert list(tally.repositories) == ["r0", "r1", "r2", "r3"]


@pytest.mark.parametrize(
    ("far", "near", "uncapped", "likely"), [(2, 1, 5, True), (1, 1, 0, False), (1, 2, 0, False), (0, 0, 3, False)]
)
def test_peaks_of_which_most_lie_far_over_their_caps_are_a_likely_unit_error(
    far: int, near: int, uncapped: int, *, likely: bool
) -> None:
    tally = Tally()
    for peak, cap, count in ((501, 1, far), (500, 1, near), (501, None, uncapped)):
        for _ in range(count):
            tally.count(run(memory_peak=peak, memory_cap=cap))
    assert tally.likely_unit_error is likely
