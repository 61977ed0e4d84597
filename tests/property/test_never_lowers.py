"""Law: a calibration never lowers an estimate, and holds on the very evidence that it was fitted on."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given

from support.observations import Row, fitted, report
from support.strategies import calibrations, receipts, recipes, sets
from vq.errors import BadDataError
from vq.estimates.calibrated import apply_calibration
from vq.estimates.calibration import read_calibration


@given(calibrations())
def test_no_multiplier_is_below_one_and_no_offset_below_zero(document: dict[str, Any]) -> None:
    for group in [*document["groups"], *document.get("runtime_groups", [])]:
        assert group["multiplier"] is None or group["multiplier"] >= 1
        assert group.get("offset_bytes") is None or group["offset_bytes"] >= 0


@given(receipts(), calibrations())
def test_no_figure_is_lowered(receipt: dict[str, Any], calibration: dict[str, Any]) -> None:
    try:
        document = apply_calibration(receipt, read_calibration(calibration), "class-a")
    except BadDataError as error:
        assume("calibrated peak of at most" in str(error))
        return
    if document["status"] == "calibrated":
        assert document["calibrated_peak_bytes"] >= receipt["memory"]["predicted_peak_bytes"]
    if document["runtime_status"] == "calibrated":
        assert document["calibrated_runtime_upper_seconds"] >= receipt["runtime"]["upper_seconds"]


@given(sets(), recipes)
def test_it_holds_on_its_own_evidence(rows: list[Row], recipe: dict[str, Any]) -> None:
    calibration = read_calibration(fitted(rows, min_cases=1, **recipe))
    try:
        document = report(rows, calibration.corrections())
    except BadDataError as error:
        assume("calibrated peak of at most" in str(error) or "finite" in str(error))
        return
    for item in document["cases"]:
        peak, measured = item["calibrated_peak_bytes"], item["measured_peak_bytes"]
        told = item["memory_scope"] != "unspecified" or item["memory"] == "within"
        if peak is not None and measured is not None and told and item["memory"] != "excluded":
            assert measured <= peak
        if item["runtime"] in ("covered", "below", "above") and item["outcome"] == "completed":
            # A zero bound times anything is zero, and stays out of it.
            assert item["calibrated_runtime"] in ("covered", "below", "uncalibrated")
        raised = {"underpredicted": 0, "within": 1, "not_refuted": 1, "censored": 1}
        if item["calibrated_memory"] in raised and item["memory"] in raised:
            assert raised[item["calibrated_memory"]] >= raised[item["memory"]]
