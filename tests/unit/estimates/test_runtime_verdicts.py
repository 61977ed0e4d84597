"""The table of runtime verdicts, row by row; the interval is 1.5 to 12.5 seconds unless a test says otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from support.documents import direct, failed_collection, plain_direct, receipt, scheduler
from support.observations import judged, report, row

STOPPED = ("oom_killed", "time_exceeded", "killed")


def wall(seconds: float | None, **changes: Any) -> dict[str, Any]:
    return plain_direct(wall_seconds=seconds, **changes)


@pytest.mark.parametrize(
    ("seconds", "verdict"),
    [
        (1.5, "covered"),
        (12.5, "covered"),
        (5, "covered"),
        (1.4999999999999998, "below"),
        (0, "below"),
        (-0.0, "below"),
        (12.500000000000002, "above"),
        (1e300, "above"),
        (None, "unobserved"),
    ],
)
def test_a_completed_run(seconds: float | None, verdict: str) -> None:
    found = judged(row(usage=wall(seconds)))
    assert found["runtime"] == verdict
    assert found["measured_wall_seconds"] == seconds
    assert found["runtime_interval_seconds"] == (1.5, 12.5)


def test_a_completed_run_without_usage_is_unobserved() -> None:
    assert judged(row(usage=None))["runtime"] == "unobserved"


@pytest.mark.parametrize(("interval", "verdict"), [((0, 0), "covered"), ((0.0, 0), "covered"), ((3, 3), "above")])
@pytest.mark.parametrize("seconds", [0, 0.0])
def test_bounds_may_be_equal_and_zero(interval: tuple[float, float], verdict: str, seconds: float) -> None:
    expected = "below" if interval == (3, 3) else verdict
    assert judged(row(estimate=receipt(interval=interval), usage=wall(seconds)))["runtime"] == expected


@pytest.mark.parametrize("outcome", STOPPED)
@pytest.mark.parametrize(
    ("seconds", "limit", "verdict"),
    [
        (12.5, None, "censored"),
        (12.6, None, "above"),
        (None, None, "censored"),
        (None, 12.5, "censored"),
        (1.0, 12.5, "censored"),
        (13, 1.0, "above"),
    ],
)
def test_a_stopped_run(outcome: str, seconds: float | None, limit: float | None, verdict: str) -> None:
    changes: dict[str, Any] = {} if limit is None else {"wall_limit_seconds": limit}
    assert judged(row(usage=wall(seconds), outcome=outcome, **changes))["runtime"] == verdict


@pytest.mark.parametrize("outcome", STOPPED)
@pytest.mark.parametrize("usage", [None, wall(None), wall(2.0)])
def test_a_limit_past_the_bound_counts_for_a_time_limited_run_only(outcome: str, usage: dict[str, Any] | None) -> None:
    found = judged(row(usage=usage, outcome=outcome, wall_limit_seconds=12.6))
    assert found["runtime"] == ("above" if outcome == "time_exceeded" else "censored")


@pytest.mark.parametrize("outcome", ["completed", "failed", *STOPPED])
def test_without_an_interval_there_is_no_prediction(outcome: str) -> None:
    found = judged(row(estimate=receipt(interval=None), usage=failed_collection(direct()), outcome=outcome))
    assert (found["runtime"], found["runtime_interval_seconds"]) == ("no_prediction", None)


def test_a_failed_run_is_excluded_and_its_measurement_still_shown() -> None:
    found = judged(row(usage=wall(99), outcome="failed"))
    assert (found["runtime"], found["measured_wall_seconds"]) == ("excluded", 99)


@pytest.mark.parametrize(
    ("seconds", "paused", "shown", "verdict"),
    [
        (12.6, 0.1, 12.5, "covered"),
        (12.6, 0.05, 12.55, "above"),
        (0.3, 0.1, 0.2, "below"),  # 0.3 - 0.1 in doubles is not 0.2
        (1.6, 0.1, 1.5, "covered"),
        (5, 5, 0.0, "below"),
        (12.6, None, 12.6, "above"),
        (12.6, 0, 12.6, "above"),
        (12.6, 0.0, 12.6, "above"),
        (None, 3.0, None, "unobserved"),
    ],
)
def test_time_paused_does_not_count(
    seconds: float | None, paused: float | None, shown: float | None, verdict: str
) -> None:
    found = judged(row(usage=wall(seconds, paused_seconds=paused)))
    assert (found["measured_wall_seconds"], found["runtime"]) == (shown, verdict)


def test_the_exact_difference_decides() -> None:
    # 0.3 - 0.1 is 0.19999999999999998 in doubles: below an interval that begins at 0.2.
    estimate = receipt(interval=(0.2, 0.2))
    assert judged(row(estimate=estimate, usage=wall(0.3, paused_seconds=0.1)))["runtime"] == "covered"


def test_a_scheduler_receipt_has_a_wall_time() -> None:
    assert judged(row(usage=scheduler(wall_seconds=13)))["runtime"] == "above"


def test_the_range_of_coverage() -> None:
    rows = [
        row(case_id="covered", usage=wall(5)),
        row(case_id="below", usage=wall(1)),
        row(case_id="above", usage=wall(20)),
        row(case_id="killed", usage=None, outcome="killed"),
        row(case_id="blind", usage=None),
        row(case_id="failed", usage=None, outcome="failed"),
        row(case_id="none", estimate=receipt(interval=None), usage=None),
    ]
    runtime = report(rows)["overall"]["runtime"]
    assert runtime == {
        "verdicts": {
            "covered": 1,
            "above": 1,
            "below": 1,
            "censored": 1,
            "unobserved": 1,
            "excluded": 1,
            "no_prediction": 1,
        },
        "evaluable": 5,
        "coverage_lower": 1 / 5,
        "coverage_upper": 3 / 5,
    }
