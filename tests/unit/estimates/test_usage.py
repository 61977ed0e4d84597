"""Usage receipts: what a shape cannot say."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from support.documents import MEASUREMENTS, OURS, changed, direct, failed_collection, plain_direct, scheduler
from vq.errors import BadDataError
from vq.estimates.usage import read_usage

KEPT = "invalid_gnu_time_output"


def refusal(document: dict[str, Any]) -> str:
    with pytest.raises(BadDataError) as caught:
        read_usage(document)
    return str(caught.value)


@pytest.mark.parametrize("schema", [None, "vq.direct-resource-usage.v2", 7, ["vq.direct-resource-usage.v1"]])
def test_an_unknown_schema(schema: Any) -> None:
    assert refusal({"schema": schema}).startswith(
        "$.schema: expected vq.direct-resource-usage.v1 | vq.scheduler-resource-usage.v1"
    )


def test_what_a_direct_receipt_says() -> None:
    usage = read_usage(direct())
    assert (usage.ok, usage.direct, usage.failed, usage.single_process) == (True, True, False, True)
    assert usage.peak_bytes == 500 * 1024
    assert usage.wall_seconds == Fraction(10)
    assert (usage.job_low_bytes, usage.job_high_bytes) == (600_000, 700_000)


def test_what_a_scheduler_receipt_says() -> None:
    usage = read_usage(scheduler(command_status="failed", command_exit_code=137))
    assert (usage.ok, usage.direct, usage.failed, usage.single_process) == (True, False, True, False)
    assert (usage.job_low_bytes, usage.job_high_bytes) == (None, None)


@pytest.mark.parametrize("key", OURS)
def test_our_keys_are_of_direct_receipts_only(key: str) -> None:
    assert refusal(scheduler(**{key: direct()[key]})).startswith(f"$.{key}: expected no such key")
    assert read_usage(plain_direct(**{key: direct()[key]}))


@pytest.mark.parametrize("key", ["process_count", "metric_sources", "aggregation_semantics"])
def test_a_direct_receipt_needs_what_a_scheduler_receipt_has_not(key: str) -> None:
    assert refusal(direct(**{key: ...})).startswith(f"$.{key}: expected this key, which is missing")
    assert refusal(scheduler(**{key: direct()[key]})).startswith(f"$.{key}: expected no such key")


@pytest.mark.parametrize("kind", [direct, scheduler])
@pytest.mark.parametrize(
    ("status", "code", "valid"),
    [
        ("succeeded", 0, True),
        ("failed", 1, True),
        ("failed", 255, True),
        ("failed", 137, True),
        ("failed", -9, True),
        ("failed", 2**53 - 1, True),
        ("succeeded", 1, False),
        ("failed", 0, False),
        ("not_run", 0, False),
        ("not_run", 1, False),
        ("not_run", None, False),
        ("succeeded", None, False),
        ("failed", None, False),
        ("failed", 2**53, False),
    ],
)
def test_status_and_exit_code_agree(kind: Any, status: str, code: int | None, valid: bool) -> None:  # noqa: FBT001
    document = kind(command_status=status, command_exit_code=code)
    if valid:
        assert read_usage(document).failed is (status == "failed")
    else:
        assert refusal(document).startswith("$.command_")


@pytest.mark.parametrize("kind", [direct, scheduler])
def test_an_ok_receipt_has_no_error(kind: Any) -> None:
    assert refusal(kind(error="x")).startswith('$.error: expected no such key with status "ok"')


@pytest.mark.parametrize("kind", [direct, scheduler])
@pytest.mark.parametrize("key", MEASUREMENTS)
@pytest.mark.parametrize("value", [0, 1])
def test_an_error_receipt_has_no_measurement(kind: Any, key: str, value: int) -> None:
    assert refusal(failed_collection(kind(), **{key: value})).startswith(
        f'$.{key}: expected null beside status "error"'
    )


def test_only_a_direct_error_receipt_may_lack_the_error() -> None:
    assert not read_usage(failed_collection(direct(), error=...)).ok
    assert refusal(failed_collection(scheduler(), error=...)).startswith("$.error: expected this key, which is missing")


@pytest.mark.parametrize("kind", [direct, scheduler])
@pytest.mark.parametrize(
    ("error", "status", "code", "message"),
    [
        ("x", "not_run", None, None),
        (KEPT, "not_run", None, None),
        (KEPT, "failed", 3, None),
        (KEPT, "succeeded", 0, None),
        (KEPT, "failed", 0, "$.command_status"),
        (KEPT, "succeeded", 3, "$.command_status"),
        (KEPT, "not_run", 3, "$.command_status"),
        (KEPT, "failed", None, "$.command_status"),
        (KEPT + " ", "failed", 3, "$.command_exit_code: expected null"),
        ("x", "failed", 3, "$.command_exit_code: expected null"),
        ("x", "not_run", 3, "$.command_exit_code: expected null"),
        ("x", "failed", None, "$.command_status"),
        ("x", "succeeded", None, "$.command_status"),
    ],
)
def test_only_an_unreadable_time_output_keeps_the_exit_code(
    kind: Any, error: str, status: str, code: int | None, message: str | None
) -> None:
    document = failed_collection(kind(), error=error, command_status=status, command_exit_code=code)
    if message is None:
        assert not read_usage(document).ok
    else:
        assert refusal(document).startswith(message)


@pytest.mark.parametrize(("wall", "paused"), [(1, 1.0000000001), (0, 5e-324), (0.3, 0.30000000000000004)])
def test_paused_longer_than_it_ran_is_a_contradiction(wall: float, paused: float) -> None:
    assert refusal(direct(wall_seconds=wall, paused_seconds=paused)).startswith("$.paused_seconds: expected at most")


def test_the_largest_peak_fits_2_53() -> None:
    assert read_usage(direct(peak_rss_kb=(2**53 - 1) // 1024)).peak_bytes == 9007199254739968
    assert refusal(direct(peak_rss_kb=(2**53 - 1) // 1024 + 1)).startswith("$.peak_rss_kb")


def test_a_failed_collection_measures_nothing_job_wide() -> None:
    usage = read_usage(failed_collection(direct()))
    assert (usage.job_low_bytes, usage.job_high_bytes, usage.peak_bytes, usage.wall_seconds) == (None,) * 4


def test_what_the_field_rounds_differently_is_not_checked() -> None:
    assert read_usage(direct(active_cpu_seconds=0, peak_rss_mb=99))


@pytest.mark.parametrize("count", [0, 1, 2, None])
def test_one_process_is_a_single_process(count: int | None) -> None:
    assert read_usage(direct(process_count=count)).single_process is (count == 1)


def test_job_wide_bounds() -> None:
    def bounds(**changes: Any) -> tuple[int | None, int | None]:
        usage = read_usage(changed(direct(), **changes))
        return usage.job_low_bytes, usage.job_high_bytes

    assert bounds(peak_rss_kb=1000, job_peak_bytes=1, cgroup_peak_bytes=1) == (1_024_000, 1_024_000)
    assert bounds(peak_rss_kb=None, job_peak_bytes=7, cgroup_peak_bytes=None) == (7, None)
    assert bounds(job_peak_bytes=None) == (None, None)
    assert bounds(job_peak_bytes=...) == (None, None)
