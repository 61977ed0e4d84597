"""What a calibration did to a figure, in words: one place for all commands that show a calibrated figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vq.wording import human_bytes


def margin_words(margin_percent: float | None) -> str:
    """`margin 10 %`, or that there is none."""
    return "no margin" if margin_percent is None else f"margin {margin_percent} %"


def short(calibration: Mapping[str, Any]) -> str:
    """`x1.034882`, `+30.4 MiB`, and either with its margin: of a calibrated estimate, with its receipt or without."""
    multiplier, margin_percent = calibration["multiplier"], calibration["calibration"].get("margin_percent")
    margin = "" if margin_percent is None else f" +{margin_percent} %"
    return (f"+{human_bytes(calibration['offset_bytes'])}" if multiplier is None else f"x{multiplier}") + margin


def long(document: Mapping[str, Any]) -> str:
    """By what the calibrated figure of memory came about, where it came from, and whether that may be too little."""
    calibration, multiplier = document["calibration"], document["multiplier"]
    at_least = "at least " if document.get("is_lower_bound") or document.get("multiplier_is_lower_bound") else ""
    if multiplier is None:
        offset_bytes = document["offset_bytes"]
        step, worst = f"+ {at_least}{human_bytes(offset_bytes)} ({offset_bytes} bytes)", "difference"
    else:
        step, worst = f"x {at_least}{multiplier}", "ratio"
    margin_percent = calibration.get("margin_percent")
    margin = "" if margin_percent is None else f", and a margin of {margin_percent} %"
    return f"the figure {step}, the worst {worst} in {calibration['training_set']['set_id']}{margin}"
