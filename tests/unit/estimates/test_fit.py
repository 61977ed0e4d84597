"""What counts as evidence for a multiplier, row by row, and what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest

from support.documents import direct, failed_collection, other_receipt, plain_direct, receipt, scheduler
from support.observations import Row, fitted, row
from vq.canonical import digest
from vq.errors import BadDataError

FIGURE = 1_024_000
AT = FIGURE // 1024
STOPPED = ("oom_killed", "time_exceeded", "killed")


def kb(peak_rss_kb: int | None, **changes: Any) -> dict[str, Any]:
    return plain_direct(peak_rss_kb=peak_rss_kb, **changes)


def estimate(scope: str = "job", **changes: Any) -> dict[str, Any]:
    return receipt(figure=FIGURE, scope=scope, **changes)


def memory(*rows: Row, min_cases: int = 1, job_wide: bool = False) -> tuple[Any, ...]:
    """Multiplier, flag, exact, lower bound and what is unused of the one memory group."""
    (group,) = fitted(rows, min_cases=min_cases, job_wide=job_wide)["groups"]
    assert group["decided"] == group["exact"] + group["lower_bound"]
    unused = {verdict: count for verdict, count in group["unused"].items() if count}
    return group["multiplier"], group["multiplier_is_lower_bound"], group["exact"], group["lower_bound"], unused


def runtime(*rows: Row, min_cases: int = 1) -> tuple[Any, ...]:
    (group,) = fitted(rows, min_cases=min_cases)["runtime_groups"]
    unused = {verdict: count for verdict, count in group["unused"].items() if count}
    return group["multiplier"], group["multiplier_is_lower_bound"], group["exact"], group["lower_bound"], unused


EXACT: tuple[Any, ...] = (1, 0, {})
LOWER: tuple[Any, ...] = (0, 1, {})


@pytest.mark.parametrize("scope", ["rank", "node", "job", "unspecified"])
@pytest.mark.parametrize("processes", [0, 1, 2, None])
@pytest.mark.parametrize("outcome", ["completed", *STOPPED])
def test_a_measured_peak_past_the_figure(scope: str, processes: int | None, outcome: str) -> None:
    found = memory(row(estimate=estimate(scope), usage=kb(AT * 2, process_count=processes), outcome=outcome))
    if scope == "rank" or processes == 1:
        assert found == (2.0, False, *EXACT)
    elif scope == "unspecified":
        assert found == (None, None, 0, 0, {"underpredicted": 1})
    else:
        assert found == (2.0, True, *LOWER)


@pytest.mark.parametrize("scope", ["rank", "job"])
def test_within_is_exact_and_never_lowers(scope: str) -> None:
    assert memory(row(estimate=estimate(scope), usage=kb(AT // 2))) == (1.0, False, *EXACT)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"usage": kb(AT, process_count=2)}, "not_refuted"),
        ({"usage": kb(AT), "outcome": "killed"}, "censored"),
        ({"usage": None}, "unobserved"),
        ({"usage": kb(None)}, "unobserved"),
        ({"usage": kb(AT * 9), "outcome": "failed"}, "excluded"),
        ({"usage": failed_collection(direct())}, "excluded"),
        ({"usage": kb(AT), "estimate": receipt(figure=None)}, "no_prediction"),
        ({"usage": None, "outcome": "oom_killed", "memory_limit_bytes": FIGURE - 1}, "censored"),
        ({"usage": None, "outcome": "oom_killed"}, "censored"),
    ],
)
def test_what_is_counted_and_never_used(changes: dict[str, Any], verdict: str) -> None:
    assert memory(row(**{"estimate": estimate(), **changes})) == (None, None, 0, 0, {verdict: 1})


@pytest.mark.parametrize("usage", [None, kb(1), kb(1, process_count=2), scheduler(peak_rss_kb=1), kb(None)])
def test_an_oom_kill_at_a_covering_limit_is_a_lower_bound(usage: dict[str, Any] | None) -> None:
    limited = {"outcome": "oom_killed", "memory_limit_bytes": FIGURE * 3}
    assert memory(row(estimate=estimate(), usage=usage, **limited)) == (3.0, True, *LOWER)
    assert memory(row(estimate=estimate(), usage=usage, outcome="oom_killed", memory_limit_bytes=FIGURE)) == (
        1.0,
        True,
        *LOWER,
    )
    narrow = {**limited, "memory_limit_scope": "unspecified"}
    assert memory(row(estimate=estimate(), usage=usage, **narrow)) == (None, None, 0, 0, {"censored": 1})


@pytest.mark.parametrize(
    ("peak", "limit", "expected"),
    [
        (2, 3, (3.0, True, *LOWER)),
        (3, 2, (3.0, False, *EXACT)),
        (3, 3, (3.0, False, *EXACT)),  # exact wins a tie
    ],
)
def test_a_case_counts_once_by_its_larger_ratio(peak: int, limit: int, expected: tuple[Any, ...]) -> None:
    usage = kb(AT * peak)
    found = memory(row(estimate=estimate(), usage=usage, outcome="oom_killed", memory_limit_bytes=FIGURE * limit))
    assert found == expected


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    ("exact", "lower", "multiplier", "flag"), [(2, 3, 3.0, True), (3, 2, 3.0, False), (2, 2, 2.0, False)]
)
def test_the_flag_says_that_no_exact_ratio_reaches_the_worst(
    order: int,
    exact: int,
    lower: int,
    multiplier: float,
    flag: bool,  # noqa: FBT001
) -> None:
    rows = [
        row(case_id="exact", estimate=estimate(), usage=kb(AT * exact)),
        row(case_id="lower", estimate=estimate(), usage=kb(AT * lower, process_count=2)),
    ][::order]
    assert memory(*rows) == (multiplier, flag, 1, 1, {})


def test_the_flag_compares_before_rounding() -> None:
    # 1000001/1000000.5 and its like round to the same six decimals; the lower bound is still the worse.
    rows = [
        row(case_id="exact", estimate=receipt(figure=3_000_000_000), usage=kb(3_000_001)),
        row(case_id="lower", estimate=receipt(figure=2_999_999_999), usage=kb(3_000_001, process_count=2)),
    ]
    assert memory(*rows) == (1.024001, True, 1, 1, {})


def test_a_multiplier_is_rounded_up_to_six_decimals() -> None:
    assert memory(row(estimate=receipt(figure=3 * 1024), usage=kb(4)))[0] == 1.333334
    assert memory(row(estimate=receipt(figure=10**6 * 1024), usage=kb(10**6 + 1)))[0] == 1.000001
    assert memory(row(estimate=receipt(figure=10**7 * 1024), usage=kb(10**7 + 1)))[0] == 1.000001
    assert memory(row(estimate=receipt(figure=1), usage=kb(8_796_093_022_207)))[0] == 9007199254739970.0


def test_too_few_cases_leave_a_group_uncalibrated() -> None:
    rows = [row(case_id=str(number), estimate=estimate(), usage=kb(AT * 2, samples=number)) for number in range(3)]
    assert memory(*rows, min_cases=3) == (2.0, False, 3, 0, {})
    assert memory(*rows, min_cases=4) == (None, None, 3, 0, {})


JOB_WIDE = [
    # processes, peak KiB, job peak, kernel mark: unused without --job-wide, and what it makes of it
    (2, 500, FIGURE // 2, FIGURE // 2, {"not_refuted": 1}, (1.0, False, 1, 0)),
    (2, 500, FIGURE * 2, FIGURE * 3, {"not_refuted": 1}, (2.0, True, 0, 1)),
    (2, 500, FIGURE // 2, None, {"not_refuted": 1}, None),
    (2, 500, FIGURE // 2, FIGURE + 1, {"not_refuted": 1}, None),
    (2, None, FIGURE * 2, None, {"unobserved": 1}, (2.0, True, 0, 1)),
    (2, None, FIGURE, FIGURE, {"unobserved": 1}, (1.0, False, 1, 0)),
    (2, 500, None, FIGURE, {"not_refuted": 1}, None),
]


@pytest.mark.parametrize(("processes", "peak", "job", "kernel", "unused", "expected"), JOB_WIDE)
@pytest.mark.parametrize("scope", ["job", "node", "unspecified"])
def test_job_wide_evidence_only_where_asked(
    processes: int,
    peak: int | None,
    job: int | None,
    kernel: int | None,
    unused: dict[str, int],
    expected: tuple[Any, ...] | None,
    scope: str,
) -> None:
    usage = direct(process_count=processes, peak_rss_kb=peak, job_peak_bytes=job, cgroup_peak_bytes=kernel)
    one = row(estimate=estimate(scope), usage=usage)
    assert memory(one) == (None, None, 0, 0, unused)
    if expected is None or scope == "unspecified":
        assert memory(one, job_wide=True) == (None, None, 0, 0, unused)
    else:
        assert memory(one, job_wide=True) == (*expected, {})


def test_job_wide_evidence_stands_beside_the_rules() -> None:
    # A single process at half the figure; the job held twice the figure.
    usage = direct(peak_rss_kb=AT // 2, job_peak_bytes=FIGURE * 2, cgroup_peak_bytes=None)
    one = row(estimate=estimate(), usage=usage)
    assert memory(one) == (1.0, False, *EXACT)
    assert memory(one, job_wide=True) == (2.0, True, *LOWER)
    higher = direct(peak_rss_kb=AT // 2, job_peak_bytes=FIGURE // 4, cgroup_peak_bytes=FIGURE)
    assert memory(row(estimate=estimate(), usage=higher), job_wide=True) == (1.0, False, *EXACT)


def test_the_method_names_what_was_used() -> None:
    one = row()
    assert fitted([one])["method"] == "worst-observed-over-predicted-peak/1"
    assert fitted([one], job_wide=True)["method"] == "worst-observed-over-predicted-job-wide-peak/1"
    assert fitted([one], job_wide=True)["runtime_method"] == "worst-observed-over-predicted-runtime-upper/1"


def wall(seconds: float | None, **changes: Any) -> dict[str, Any]:
    return plain_direct(wall_seconds=seconds, **changes)


@pytest.mark.parametrize(
    ("seconds", "multiplier"), [(25.0, 2.0), (25, 2.0), (12.5, 1.0), (5, 1.0), (0.5, 1.0), (12.6, 1.008)]
)
def test_a_completed_run_is_exact_for_runtime(seconds: float, multiplier: float) -> None:
    assert runtime(row(usage=wall(seconds))) == (multiplier, False, *EXACT)


@pytest.mark.parametrize(
    ("outcome", "seconds", "limit", "expected"),
    [
        ("time_exceeded", 25, None, (2.0, True, *LOWER)),
        ("time_exceeded", 25, 37.5, (3.0, True, *LOWER)),
        ("time_exceeded", 50, 37.5, (4.0, True, *LOWER)),
        ("time_exceeded", None, 25, (2.0, True, *LOWER)),
        ("time_exceeded", 5, 25, (2.0, True, *LOWER)),
        ("time_exceeded", 12.5, 12.5, (None, None, 0, 0, {"censored": 1})),
        ("killed", 25, 99, (2.0, True, *LOWER)),
        ("oom_killed", 25, 99, (2.0, True, *LOWER)),
        ("killed", 12.5, 99, (None, None, 0, 0, {"censored": 1})),
        ("oom_killed", None, 99, (None, None, 0, 0, {"censored": 1})),
        ("failed", 25, 99, (None, None, 0, 0, {"excluded": 1})),
        ("completed", None, 99, (None, None, 0, 0, {"unobserved": 1})),
    ],
)
def test_runtime_evidence(outcome: str, seconds: float | None, limit: float | None, expected: tuple[Any, ...]) -> None:
    limits: dict[str, Any] = {} if limit is None else {"wall_limit_seconds": limit}
    assert runtime(row(usage=wall(seconds), outcome=outcome, **limits)) == expected


def test_runtime_without_usage_or_interval() -> None:
    assert runtime(row(usage=None, outcome="time_exceeded", wall_limit_seconds=25)) == (2.0, True, *LOWER)
    assert runtime(row(usage=None)) == (None, None, 0, 0, {"unobserved": 1})
    assert runtime(row(estimate=receipt(interval=None))) == (None, None, 0, 0, {"no_prediction": 1})
    assert runtime(row(usage=failed_collection(direct()))) == (None, None, 0, 0, {"excluded": 1})


@pytest.mark.parametrize("outcome", ["completed", "failed", "time_exceeded", "killed"])
@pytest.mark.parametrize("usage", [None, wall(99), failed_collection(direct())])
@pytest.mark.parametrize("zero", [0, 0.0, -0.0])
def test_a_zero_upper_bound_is_counted_before_all_else(outcome: str, usage: dict[str, Any] | None, zero: float) -> None:
    one = row(estimate=receipt(interval=(0, zero)), usage=usage, outcome=outcome, wall_limit_seconds=5)
    assert runtime(one) == (None, None, 0, 0, {"zero_upper": 1})


def test_runtime_is_computed_on_decimals() -> None:
    # 0.3/0.1 is 2.9999999999999996 in doubles.
    assert runtime(row(estimate=receipt(interval=(0, 0.1)), usage=wall(0.3)))[0] == 3.0
    assert runtime(row(estimate=receipt(interval=(0, 0.1)), usage=wall(0.7, paused_seconds=0.4)))[0] == 3.0


def test_a_factor_that_is_not_finite_is_refused_with_its_group() -> None:
    one = row(estimate=receipt(interval=(0, 5e-324)), usage=wall(1e300))
    with pytest.raises(
        BadDataError, match=r"group vibe-qc-dry-run/1, vibe-qc, 0\.17\.4, RKS, direct, class-a: .*finite"
    ):
        fitted([one])
    assert fitted([one], min_cases=2)["runtime_groups"][0]["multiplier"] is None


def test_a_case_without_version_or_method_belongs_to_no_group() -> None:
    rows = [
        row(case_id="a", estimate=receipt(version=None), usage=None),
        row(case_id="b", estimate=receipt(method=None), usage=None),
    ]
    document = fitted(rows)
    assert (document["groups"], document["runtime_groups"], document["unidentified"]) == ([], [], 2)
    assert [item["case_id"] for item in document["training_cases"]] == ["a", "b"]


def test_groups_are_told_apart_by_each_field_and_sorted_null_last() -> None:
    def variant(
        case_id: str, *, algorithm: str | None = "direct", scope: str = "job", hardware: str = "class-a", **changes: Any
    ) -> Row:
        inner = receipt(scope=scope, **changes)
        inner["evidence"].pop("algorithm")
        if algorithm is not None:
            inner["evidence"]["algorithm"] = algorithm
        return row(case_id=case_id, estimate=inner, usage=None, hardware_class=hardware)

    other = other_receipt()
    rows = [
        variant("a", algorithm=None),
        variant("b"),
        variant("c", algorithm="Direct"),
        variant("d", scope="rank"),
        variant("e", hardware="B"),
        variant("f", version="0.9"),
        variant("g", method="uks"),
        variant("h", method="rks"),
        row(case_id="i", estimate=other, usage=None),
    ]
    document = fitted(rows)
    keys = ("estimator", "program_version", "method", "algorithm", "memory_scope", "hardware_class")
    named = [tuple(group[key] for key in keys) for group in document["groups"]]
    assert named == [
        ("other-program/12", "0.17.4", "GGA", "direct", "rank", "class-a"),
        ("vibe-qc-dry-run/1", "0.17.4", "RKS", "Direct", "job", "class-a"),
        ("vibe-qc-dry-run/1", "0.17.4", "RKS", "direct", "job", "B"),
        ("vibe-qc-dry-run/1", "0.17.4", "RKS", "direct", "job", "class-a"),
        ("vibe-qc-dry-run/1", "0.17.4", "RKS", "direct", "rank", "class-a"),
        ("vibe-qc-dry-run/1", "0.17.4", "RKS", None, "job", "class-a"),
        ("vibe-qc-dry-run/1", "0.17.4", "UKS", "direct", "job", "class-a"),
        ("vibe-qc-dry-run/1", "0.9", "RKS", "direct", "job", "class-a"),
    ]
    assert sum(group["unused"]["unobserved"] for group in document["groups"]) == 9
    assert len(document["runtime_groups"]) == 7
    assert all("memory_scope" not in group for group in document["runtime_groups"])


def test_the_document_names_its_data() -> None:
    rows = [row(case_id="b"), row(case_id="a", usage=None), row(case_id="c", usage=failed_collection(direct()))]
    document = fitted(rows)
    assert list(document) == [
        "schema_name",
        "calibration_id",
        "method",
        "min_cases",
        "training_set",
        "training_cases",
        "groups",
        "runtime_method",
        "runtime_groups",
        "unidentified",
    ]
    content = {key: value for key, value in document.items() if key != "calibration_id"}
    assert document["calibration_id"] == digest(content)
    assert document["training_cases"] == [
        {
            "case_id": item["case_id"],
            "estimate_sha256": digest(inner),
            "usage_sha256": None if usage is None else digest(usage),
        }
        for item, inner, usage in rows
    ]


def test_contradictions_are_refused_in_training_too() -> None:
    with pytest.raises(BadDataError, match="case b, usage receipt"):
        fitted([row(case_id="a"), row(case_id="b")])
    with pytest.raises(BadDataError, match=r"\$\.command_status"):
        fitted([row(usage=kb(1, command_status="failed", command_exit_code=1))])


def offset(*rows: Row, **recipe: Any) -> tuple[Any, ...]:
    """Offset, flag, exact, lower bound of the one memory group, fitted by differences."""
    (group,) = fitted(rows, method="offset", **recipe)["groups"]
    assert group["multiplier"] is None
    return group["offset_bytes"], group["is_lower_bound"], group["exact"], group["lower_bound"]


def test_an_offset_is_the_worst_difference_and_never_below_zero() -> None:
    rows = [row(case_id=f"c{kib}", estimate=estimate(), usage=kb(kib)) for kib in (AT - 100, AT + 7, AT + 3)]
    assert offset(*rows) == (7 * 1024, False, 3, 0)
    assert offset(rows[0]) == (0, False, 1, 0)


def test_the_worst_difference_is_not_of_the_worst_ratio() -> None:
    small = row(case_id="s", estimate=receipt(figure=1024), usage=kb(5))
    large = row(case_id="l", estimate=receipt(figure=1024_000), usage=kb(1010))
    assert offset(small, large)[0] == 10 * 1024
    assert memory(small, large)[0] == 5.0


def test_an_offset_counts_lower_bounds_as_a_factor_does() -> None:
    killed = row(case_id="k", estimate=estimate(), usage=None, outcome="oom_killed", memory_limit_bytes=FIGURE + 9)
    over = row(case_id="o", estimate=estimate(), usage=kb(AT + 1))
    assert offset(killed) == (9, True, 0, 1)
    assert offset(killed, over) == (1024, False, 1, 1)
    assert offset(killed, min_cases=2) == (None, None, 0, 1)
    wide = row(
        case_id="w", estimate=estimate(), usage=direct(job_peak_bytes=FIGURE + 5, process_count=3, peak_rss_kb=1)
    )
    assert offset(wide, job_wide=True) == (5, True, 0, 1)


def test_the_documents_of_the_second_version() -> None:
    one = row(estimate=estimate(), usage=kb(AT * 2))
    by_offset, with_margin = fitted([one], method="offset"), fitted([one], margin_percent=12.5)
    assert (by_offset["method"], by_offset["margin_percent"]) == ("worst-observed-minus-predicted-peak/1", None)
    wide = fitted([one], method="offset", job_wide=True)
    assert wide["method"] == "worst-observed-minus-predicted-job-wide-peak/1"
    assert (with_margin["method"], with_margin["margin_percent"]) == ("worst-observed-over-predicted-peak/1", 12.5)
    assert with_margin["groups"][0]["multiplier"] == 2.0
    for document in (by_offset, with_margin):
        assert document["schema_name"] == "vq.estimate-calibration/2"
        assert document["runtime_groups"] == fitted([one])["runtime_groups"]
        assert list(document)[:4] == ["schema_name", "calibration_id", "method", "margin_percent"]


def test_the_document_of_the_required_method_is_what_it_was() -> None:
    rows = [row(case_id=f"c{kib}", estimate=estimate(), usage=kb(kib)) for kib in (AT - 100, AT + 7, AT + 3)]
    document = fitted(rows)
    assert list(document["groups"][0]) == [*GROUP_KEYS, "decided", "exact", "lower_bound", "unused"]
    assert document["calibration_id"] == "5fc5b245ce10629ca1ce8626d524612beb783b123ccf3b346b69356c2c5629e5"


GROUP_KEYS = (
    *("estimator", "program", "program_version", "method", "algorithm", "memory_scope", "hardware_class"),
    *("status", "multiplier", "multiplier_is_lower_bound"),
)
