"""Laws of what a calibration does to a figure: exact, never less, and more with a larger margin."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from support.observations import Row, fitted
from support.strategies import LARGEST, margins, receipts, recipes, sets
from vq.canonical import pretty
from vq.errors import BadDataError
from vq.estimates.calibrated import apply_calibration
from vq.estimates.calibration import read_calibration
from vq.estimates.correction import Correction

figures = st.one_of(st.integers(1, 5000), st.integers(1, LARGEST))
multipliers = st.one_of(st.integers(1, 50), st.decimals(1, 50, places=6).map(float))
corrections = st.one_of(
    st.builds(Correction, multiplier=multipliers, margin_percent=margins),
    st.builds(Correction, offset_bytes=st.one_of(st.integers(0, 5000), figures), margin_percent=margins),
)


def applied(correction: Correction, figure: int) -> int:
    """The corrected figure, of examples in which it fits."""
    try:
        return correction.applied(figure)
    except BadDataError as error:
        assume("calibrated peak of at most" not in str(error))
        raise


@given(corrections, figures)
def test_it_is_the_exact_figure_rounded_up_once(correction: Correction, figure: int) -> None:
    factor, margin = (
        Fraction(Decimal(repr(value or 0))) for value in (correction.multiplier, correction.margin_percent)
    )
    base = figure + correction.offset_bytes if correction.offset_bytes is not None else figure * factor
    assert applied(correction, figure) == ceil(base * (100 + margin) / 100)


@given(corrections, figures)
def test_it_never_lowers(correction: Correction, figure: int) -> None:
    assert applied(correction, figure) >= figure


@given(corrections, figures, margins, margins)
def test_a_larger_margin_gives_no_less(correction: Correction, figure: int, one: Any, two: Any) -> None:
    low, high = sorted((one, two), key=lambda margin: margin or 0)
    results = [
        applied(
            Correction(multiplier=correction.multiplier, offset_bytes=correction.offset_bytes, margin_percent=margin),
            figure,
        )
        for margin in (low, high)
    ]
    assert results[0] <= results[1]


@given(sets(), recipes, receipts(), margins)
def test_a_margin_changes_what_is_applied_and_not_what_is_fitted(
    rows: list[Row], recipe: dict[str, Any], receipt: dict[str, Any], margin: Any
) -> None:
    plain, margined = (fitted(rows, **{**recipe, "margin_percent": percent}) for percent in (None, margin))
    for one, two in zip(plain["groups"], margined["groups"], strict=True):
        for key in ("status", "multiplier", "decided", "exact", "lower_bound", "unused"):
            assert one[key] == two[key]
        assert one.get("offset_bytes") == two.get("offset_bytes")
    assert plain["runtime_groups"] == margined["runtime_groups"]
    try:
        found = [apply_calibration(receipt, read_calibration(doc), "class-a") for doc in (plain, margined)]
    except BadDataError as error:
        assume("at most" in str(error))
        return
    peaks = [document["calibrated_peak_bytes"] or 0 for document in found]
    assert peaks[0] <= peaks[1]
    assert found[1]["calibration"].get("margin_percent") == margin


@given(sets(), st.integers(1, 3), st.booleans())
def test_a_factor_without_margin_is_a_document_of_the_first_version(
    rows: list[Row],
    min_cases: int,
    job_wide: bool,  # noqa: FBT001
) -> None:
    document = fitted(rows, min_cases=min_cases, job_wide=job_wide)
    assert pretty(document) == pretty(
        fitted(rows, min_cases=min_cases, job_wide=job_wide, method="factor", margin_percent=None)
    )
    assert document["schema_name"] == "vq.estimate-calibration/1"
    assert "margin_percent" not in document
    assert not any("offset_bytes" in group or "is_lower_bound" in group for group in document["groups"])


@given(sets(), recipes)
def test_the_other_methods_have_names_and_a_version_of_their_own(rows: list[Row], recipe: dict[str, Any]) -> None:
    document = fitted(rows, **recipe)
    newer = recipe["method"] == "offset" or recipe["margin_percent"] is not None
    assert document["schema_name"] == f"vq.estimate-calibration/{2 if newer else 1}"
    assert ("minus" in document["method"]) == (recipe["method"] == "offset")
    assert ("job-wide" in document["method"]) == recipe["job_wide"]
