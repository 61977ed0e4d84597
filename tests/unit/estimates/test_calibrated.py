"""A calibration applied to one estimate, and the document read back without trust."""

from __future__ import annotations

from typing import Any

import pytest

from support.documents import SHA, calibrated, calibration, changed, group, receipt, runtime_group
from vq.canonical import digest
from vq.errors import BadDataError
from vq.estimates.calibrated import apply_calibration, read_calibrated, read_estimate
from vq.estimates.calibration import read_calibration

MEMORY = ("status", "reason", "multiplier", "multiplier_is_lower_bound", "calibrated_peak_bytes")
RUNTIME = (
    "runtime_status",
    "runtime_reason",
    "runtime_multiplier",
    "runtime_multiplier_is_lower_bound",
    "calibrated_runtime_upper_seconds",
)
TOO_FEW: dict[str, Any] = {
    "status": "uncalibrated",
    "multiplier": None,
    "multiplier_is_lower_bound": None,
    "decided": 0,
    "exact": 0,
    "lower_bound": 0,
}


def refusal(document: dict[str, Any]) -> str:
    with pytest.raises(BadDataError) as caught:
        read_calibrated(document)
    return str(caught.value)


def too_few() -> dict[str, Any]:
    """A calibration whose groups both had too few cases."""
    memory, runtime = group(**TOO_FEW), runtime_group(**TOO_FEW)
    memory["unused"]["censored"] = runtime["unused"]["censored"] = 1
    return calibration(groups=[memory], runtime_groups=[runtime])


APPLIED = [
    # receipt, calibration, hardware class: the values of the memory part and of the runtime part
    (
        receipt(),
        calibration(),
        "class-a",
        ("calibrated", None, 1.25, False, 1_250_000),
        ("calibrated", None, 1.5, True, 18.75),
    ),
    (receipt(), calibration(), "class-b", "no_matching_group", "no_matching_group"),
    (receipt(), too_few(), "class-a", "too_few_cases", "too_few_cases"),
    (receipt(), calibration(runtime_method=..., runtime_groups=...), "class-a", None, "no_matching_group"),
    (receipt(figure=None, interval=None), calibration(), "class-a", "no_memory_figure", "no_interval"),
    (receipt(figure=None, interval=(0, 0)), calibration(), "class-b", "no_memory_figure", "zero_upper_bound"),
    (receipt(figure=None, interval=(0, 0.0)), too_few(), "class-a", "no_memory_figure", "zero_upper_bound"),
    (receipt(version=None), calibration(), "class-a", "no_matching_group", "no_matching_group"),
    (receipt(method=None), calibration(), "class-a", "no_matching_group", "no_matching_group"),
    (receipt(scope="rank"), calibration(), "class-a", "no_matching_group", None),
    (receipt(method="rks"), calibration(), "class-a", None, None),
    (receipt(version="0.17.4 "), calibration(), "class-a", "no_matching_group", "no_matching_group"),
]


@pytest.mark.parametrize(("inner", "fitted", "hardware", "memory", "runtime"), APPLIED)
def test_applying(inner: dict[str, Any], fitted: dict[str, Any], hardware: str, memory: Any, runtime: Any) -> None:
    document = apply_calibration(inner, read_calibration(fitted), hardware)
    assert list(document) == list(calibrated())
    assert document["estimate"] == inner
    assert document["estimate_sha256"] == digest(inner)
    assert document["calibration"] == read_calibration(fitted).document()
    if memory is None:
        memory = ("calibrated", None, 1.25, False, 1_250_000)
    if runtime is None:
        runtime = ("calibrated", None, 1.5, True, 18.75)
    for keys, expected in ((MEMORY, memory), (RUNTIME, runtime)):
        values = tuple(document[key] for key in keys)
        assert values == (("uncalibrated", expected, None, None, None) if isinstance(expected, str) else expected)
    assert read_calibrated(document).sha256 == digest(inner)


def test_an_override_is_never_multiplied() -> None:
    inner = receipt()
    inner["memory"] |= {"override": {"memory_mb": 1, "bytes": 2**20}, "effective_job_memory_bytes": 2**20}
    assert apply_calibration(inner, read_calibration(calibration()), "class-a")["calibrated_peak_bytes"] == 1_250_000


def test_an_invalid_receipt_is_not_calibrated() -> None:
    with pytest.raises(BadDataError, match=r"\$\.input_digest"):
        apply_calibration({**receipt(), "input_digest": SHA}, read_calibration(calibration()), "class-a")


def test_figures_that_do_not_fit_are_refused() -> None:
    with pytest.raises(BadDataError, match="calibrated peak of at most"):
        apply_calibration(receipt(figure=2**53 - 1), read_calibration(calibration()), "class-a")
    with pytest.raises(BadDataError, match="finite"):
        apply_calibration(receipt(interval=(0, 1.7e308)), read_calibration(calibration()), "class-a")


def uncalibrated(part: tuple[str, ...], reason: str | None) -> dict[str, Any]:
    return dict(zip(part, ("uncalibrated", reason, None, None, None), strict=True))


NO_FIGURE = receipt(figure=None)
UNKNOWN_VERSION = receipt(version=None)


def around(inner: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return calibrated(estimate=inner, estimate_sha256=digest(inner), **changes)


READ: list[tuple[dict[str, Any], str | None]] = [
    (calibrated(), None),
    (calibrated(**uncalibrated(MEMORY, "no_matching_group")), None),
    (calibrated(**uncalibrated(MEMORY, "too_few_cases")), None),
    (calibrated(**uncalibrated(RUNTIME, "no_matching_group")), None),
    (calibrated(**uncalibrated(RUNTIME, "too_few_cases")), None),
    (calibrated(**dict.fromkeys(RUNTIME, ...)), None),
    (calibrated(estimate_sha256=SHA), "$.estimate_sha256: expected"),
    (calibrated(**uncalibrated(MEMORY, "no_memory_figure")), "$.reason: expected no_matching_group"),
    (calibrated(**uncalibrated(MEMORY, None)), "$.reason: expected no_matching_group"),
    (calibrated(**uncalibrated(RUNTIME, "no_interval")), "$.runtime_reason: expected no_matching_group"),
    (calibrated(**uncalibrated(RUNTIME, "zero_upper_bound")), "$.runtime_reason: expected no_matching_group"),
    (calibrated(reason="too_few_cases"), "$.reason: expected null"),
    (calibrated(multiplier=None), "$.multiplier: expected a value beside status calibrated"),
    (calibrated(multiplier_is_lower_bound=None), "$.multiplier_is_lower_bound: expected a value"),
    (calibrated(multiplier=1.5), "$.calibrated_peak_bytes: expected 1500000"),
    (calibrated(multiplier=1), "$.calibrated_peak_bytes: expected 1000000"),
    (calibrated(calibrated_peak_bytes=1_250_001), "$.calibrated_peak_bytes: expected 1250000"),
    (calibrated(calibrated_peak_bytes=None), "$.calibrated_peak_bytes: expected 1250000"),
    (calibrated(runtime_multiplier=2), "$.calibrated_runtime_upper_seconds: expected 25"),
    (calibrated(calibrated_runtime_upper_seconds=18.750001), "$.calibrated_runtime_upper_seconds: expected 18.75"),
    (calibrated(calibrated_runtime_upper_seconds=None), "$.calibrated_runtime_upper_seconds: expected 18.75"),
    (calibrated(multiplier=0.9), "$.multiplier: expected a finite number of 1 or more"),
    (calibrated(**{**uncalibrated(MEMORY, "too_few_cases"), "multiplier": 1.25}), "$.multiplier: expected null"),
    (
        calibrated(**{**uncalibrated(MEMORY, "too_few_cases"), "multiplier_is_lower_bound": False}),
        "$.multiplier_is_lower_bound: expected null",
    ),
    (
        calibrated(**{**uncalibrated(MEMORY, "too_few_cases"), "calibrated_peak_bytes": 1}),
        "$.calibrated_peak_bytes: expected null",
    ),
    (around(NO_FIGURE, **uncalibrated(MEMORY, "no_memory_figure")), None),
    (around(NO_FIGURE), "$.status: expected uncalibrated"),
    (around(NO_FIGURE, **uncalibrated(MEMORY, "no_matching_group")), "$.reason: expected no_memory_figure"),
    (around(receipt(interval=None), **uncalibrated(RUNTIME, "no_interval")), None),
    (around(receipt(interval=(0, 0)), **uncalibrated(RUNTIME, "zero_upper_bound")), None),
    (around(receipt(interval=(0, 0))), "$.runtime_status: expected uncalibrated"),
    (around(UNKNOWN_VERSION), "$.status: expected no group for an unknown program version or method"),
    (
        around(
            UNKNOWN_VERSION, **uncalibrated(MEMORY, "no_matching_group"), **uncalibrated(RUNTIME, "no_matching_group")
        ),
        None,
    ),
    (
        around(UNKNOWN_VERSION, **uncalibrated(MEMORY, "too_few_cases"), **uncalibrated(RUNTIME, "no_matching_group")),
        "$.status: expected no group",
    ),
    (
        around(UNKNOWN_VERSION, **uncalibrated(MEMORY, "no_matching_group"), **uncalibrated(RUNTIME, "too_few_cases")),
        "$.runtime_status: expected no group",
    ),
    (around(changed(receipt(), input_digest=SHA)), "$.estimate.input_digest: expected"),
    (around(receipt(figure=2**53 - 1)), "expected a calibrated peak of at most"),
]


@pytest.mark.parametrize(("document", "message"), READ)
def test_reading(document: dict[str, Any], message: str | None) -> None:
    if message is None:
        assert read_calibrated(document)
    else:
        assert refusal(document).startswith(message)


@pytest.mark.parametrize("key", RUNTIME)
def test_the_runtime_keys_go_together(key: str) -> None:
    assert refusal(calibrated(**{key: ...})) == f"$.{key}: expected all runtime keys, or none; this one is missing"
    alone = {other: ... for other in RUNTIME if other != key}
    assert "expected all runtime keys, or none" in refusal(calibrated(**alone))


def test_either_document_is_an_estimate() -> None:
    assert read_estimate(calibrated()).sha256 == read_estimate(receipt()).sha256 == digest(receipt())
    for schema in ("vq.resource-estimate/2", None, 7):
        with pytest.raises(BadDataError, match=r"^\$\.schema_name: expected vq\.calibrated-estimate/1 \| vq\.cal"):
            read_estimate({"schema_name": schema})
    with pytest.raises(BadDataError, match=r"^\$\.schema_name"):
        read_estimate({})


OFFSET: dict[str, Any] = {
    "schema_name": "vq.calibrated-estimate/2",
    "calibration": {
        "calibration_id": SHA,
        "method": "worst-observed-minus-predicted-peak/1",
        "margin_percent": 10,
        "training_set": {"set_id": "training", "sha256": SHA},
    },
    "multiplier": None,
    "multiplier_is_lower_bound": ...,
    "offset_bytes": 5,
    "is_lower_bound": True,
    "calibrated_peak_bytes": 1_100_006,
}


def newer(**changes: Any) -> dict[str, Any]:
    """A calibrated estimate by an offset of 5 bytes and a margin of 10 %: ⌈1,000,005 × 1.1⌉."""
    return calibrated(**{**OFFSET, **changes})


def named(**changes: Any) -> dict[str, Any]:
    return {**OFFSET["calibration"], **changes}


NOTHING = {
    "status": "uncalibrated",
    "reason": "too_few_cases",
    "offset_bytes": None,
    "is_lower_bound": None,
    "calibrated_peak_bytes": None,
}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (newer(), None),
        (newer(calibration=named(margin_percent=None), calibrated_peak_bytes=1_000_005), None),
        (newer(calibration=named(margin_percent=0.1), calibrated_peak_bytes=1_001_006), None),
        (newer(**NOTHING), None),
        (newer(**{**NOTHING, "reason": "no_matching_group"}), None),
        (newer(**{**NOTHING, "offset_bytes": 5}), "$.offset_bytes: expected null"),
        (newer(calibrated_peak_bytes=1_100_005), "$.calibrated_peak_bytes: expected 1100006"),
        (newer(offset_bytes=4), "$.calibrated_peak_bytes: expected 1100005"),
        (newer(offset_bytes=None), "$.offset_bytes: expected a value beside status calibrated"),
        (newer(is_lower_bound=None), "$.is_lower_bound: expected a value beside status calibrated"),
        (newer(multiplier=1.5), "$.multiplier: expected null"),
        (newer(calibration=named(margin_percent=...)), "$.calibration.margin_percent: expected"),
        (newer(calibration=named(margin_percent=11)), "$.calibrated_peak_bytes: expected 1110006"),
        (
            newer(
                calibration=named(method="worst-observed-over-predicted-peak/1"),
                multiplier=1.25,
                offset_bytes=None,
                calibrated_peak_bytes=1_375_000,
            ),
            None,
        ),
        (
            newer(
                calibration=named(method="worst-observed-over-predicted-peak/1", margin_percent=None),
                multiplier=1.25,
                offset_bytes=None,
            ),
            "$.calibration.margin_percent: expected a margin beside a factor",
        ),
        (newer(runtime_multiplier=...), "$.runtime_multiplier: expected this key, which is missing"),
        (newer(schema_name="vq.calibrated-estimate/1"), "$.offset_bytes: expected no such key"),
        (calibrated(calibration=named(margin_percent=...)), "$.calibration.method: expected"),
        (calibrated(offset_bytes=5), "$.offset_bytes: expected no such key"),
    ],
)
def test_the_second_version_is_read_as_strictly(document: dict[str, Any], message: str | None) -> None:
    document["calibration"] = {key: value for key, value in document["calibration"].items() if value is not ...}
    if message is None:
        assert read_calibrated(document)
        assert read_estimate(document).sha256 == digest(receipt())
    else:
        assert refusal(document).startswith(message)
