"""A correction of a memory figure, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from vq.errors import BadDataError
from vq.estimates.correction import Correction


@pytest.mark.parametrize(
    ("values", "figure", "corrected", "words"),
    [
        ({"multiplier": 1}, 7, 7, "× 1"),
        ({"multiplier": 1.034882}, 206_058_240, 213_245_964, "× 1.034882"),
        ({"multiplier": 1.1, "margin_percent": 10}, 100, 121, "× 1.1 + 10 %"),
        # 3 × 1.1 × 1.1 = 3.63: rounded up once, where rounding up in between would give 5.
        ({"multiplier": 1.1, "margin_percent": 10}, 3, 4, "× 1.1 + 10 %"),
        ({"offset_bytes": 0}, 7, 7, "+ 0"),
        ({"offset_bytes": 30}, 100, 130, "+ 30"),
        ({"offset_bytes": 30, "margin_percent": 12.5}, 100, 147, "+ 30 + 12.5 %"),
        ({"offset_bytes": 0, "margin_percent": 0.1}, 1000, 1001, "+ 0 + 0.1 %"),
    ],
)
def test_a_corrected_figure(values: dict[str, Any], figure: int, corrected: int, words: str) -> None:
    correction = Correction(**values)
    assert correction.applied(figure) == corrected
    assert str(correction) == words


@pytest.mark.parametrize("values", [{"multiplier": 1.5}, {"offset_bytes": 1}, {"multiplier": 1, "margin_percent": 1}])
def test_a_figure_that_does_not_fit_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(BadDataError, match=r"calibrated peak of at most 9007199254740991 bytes; \d+ [×+] [\d.]+"):
        Correction(**values).applied(2**53 - 1)
