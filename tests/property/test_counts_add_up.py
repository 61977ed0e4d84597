"""Law: every case is counted once, in reports and in calibrations, and ranges follow from the counts."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from support.observations import Row, fitted, report
from support.strategies import sets
from vq.estimates.calibration import read_calibration

POSSIBLE = {
    "underprediction": ("underpredicted", "not_refuted", "censored", "unobserved"),
    "coverage": ("covered", "censored", "unobserved"),
}


def check_range(part: dict[str, Any], name: str) -> None:
    counts = part["verdicts"]
    evaluable = sum(count for verdict, count in counts.items() if verdict not in ("excluded", "no_prediction"))
    assert part["evaluable"] == evaluable
    first = POSSIBLE[name][0]
    if evaluable == 0:
        assert part[f"{name}_lower"] is part[f"{name}_upper"] is None
        return
    assert part[f"{name}_lower"] == counts[first] / evaluable
    assert part[f"{name}_upper"] == sum(counts.get(verdict, 0) for verdict in POSSIBLE[name]) / evaluable
    assert 0 <= part[f"{name}_lower"] <= part[f"{name}_upper"] <= 1


@given(sets(), sets(first=100))
def test_in_a_report(rows: list[Row], training: list[Row]) -> None:
    document = report(rows, read_calibration(fitted(training)).corrections())
    cases = document["cases"]
    groups = [(group["summary"], group["method"], group["hardware_class"]) for group in document["groups"]]
    for summary, method, hardware in [*groups, (document["overall"], ..., ...)]:
        own = [
            item for item in cases if method is ... or (item["method"], item["hardware_class"]) == (method, hardware)
        ]
        assert summary["cases"] == len(own) > 0
        keys = {
            "memory": ("memory", None),
            "runtime": ("runtime", None),
            "calibrated_memory": ("memory", "calibrated"),
            "calibrated_runtime": ("runtime", "calibrated"),
            "job_wide_memory": ("memory", "job_wide"),
        }
        for key, (part, inner) in keys.items():
            found = summary[part] if inner is None else summary[part][inner]
            counted = Counter(item[key] for item in own)
            uncalibrated, without = counted.pop("uncalibrated", 0), counted.pop(None, 0)
            assert {verdict: count for verdict, count in found["verdicts"].items() if count} == counted
            assert found.get("uncalibrated", 0) == uncalibrated
            assert sum(found["verdicts"].values()) + uncalibrated + without == len(own)
            check_range(found, "coverage" if part == "runtime" else "underprediction")
        ratios = [item["ratio"] for item in own if item["ratio"] is not None]
        assert summary["memory"]["ratio"]["n"] == len(ratios)
        assert summary["memory"]["ratio"]["max"] == max(ratios, default=None)
    assert sum(summary["cases"] for summary, *_ in groups) == len(cases)
    order = [(method is None, method or "", hardware) for _, method, hardware in groups]
    assert order == sorted(set(order))


@given(sets(), st.integers(1, 4), st.booleans())
def test_in_a_calibration(rows: list[Row], min_cases: int, job_wide: bool) -> None:  # noqa: FBT001
    document = fitted(rows, min_cases=min_cases, job_wide=job_wide)
    for key in ("groups", "runtime_groups"):
        counted = sum(group["decided"] + sum(group["unused"].values()) for group in document[key])
        assert counted + document["unidentified"] == len(rows) == len(document["training_cases"])
        for group in document[key]:
            assert group["decided"] == group["exact"] + group["lower_bound"]
            assert (group["status"] == "calibrated") is (group["decided"] >= min_cases)
            assert (group["multiplier"] is None) is (group["multiplier_is_lower_bound"] is None)
            assert (group["multiplier"] is None) is (group["status"] == "uncalibrated")
        identities = [tuple(group.values())[:-7] for group in document[key]]
        assert len(set(identities)) == len(identities)


@given(sets())
def test_without_a_calibration_nothing_speaks_of_one(rows: list[Row]) -> None:
    assert "calibra" not in str(report(rows)["overall"]) + str(report(rows)["cases"])
