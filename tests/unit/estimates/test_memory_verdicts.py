"""The requirement's table of memory verdicts, row by row; the figure is 1,000,000 bytes throughout."""

from __future__ import annotations

from typing import Any

import pytest

from support.documents import direct, evaluation_set, failed_collection, other_receipt, plain_direct, receipt, scheduler
from support.observations import judged, observe, report, row
from vq.errors import BadDataError
from vq.estimates.cases import read_set
from vq.estimates.evaluation import evaluate

SCOPES = ("rank", "node", "job", "unspecified")
STOPPED = ("oom_killed", "time_exceeded", "killed")
FIGURE = 1_024_000
AT = FIGURE // 1024


def kb(peak_rss_kb: int | None, **changes: Any) -> dict[str, Any]:
    return plain_direct(peak_rss_kb=peak_rss_kb, **changes)


def estimate(scope: str = "job") -> dict[str, Any]:
    return receipt(figure=FIGURE, scope=scope)


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("processes", [0, 1, 2, None])
def test_a_completed_run_at_the_figure(scope: str, processes: int | None) -> None:
    compares = scope == "rank" or processes == 1
    found = judged(row(estimate=estimate(scope), usage=kb(AT, process_count=processes)))
    assert found["memory"] == ("within" if compares else "not_refuted")
    assert found["ratio"] == 1.0


@pytest.mark.parametrize("scope", SCOPES)
def test_a_scheduler_receipt_is_never_a_single_process(scope: str) -> None:
    found = judged(row(estimate=estimate(scope), usage=scheduler(peak_rss_kb=AT)))
    assert found["memory"] == ("within" if scope == "rank" else "not_refuted")


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("processes", [0, 1, 2, None])
@pytest.mark.parametrize("outcome", ["completed", *STOPPED])
def test_a_measured_peak_past_the_figure(scope: str, processes: int | None, outcome: str) -> None:
    found = judged(row(estimate=estimate(scope), usage=kb(AT + 1, process_count=processes), outcome=outcome))
    assert found["memory"] == "underpredicted"
    assert found["ratio"] == (AT + 1) / AT


def test_one_byte_decides() -> None:
    usage = kb(1000)
    assert judged(row(estimate=receipt(figure=1_024_001), usage=usage))["memory"] == "within"
    assert judged(row(estimate=receipt(figure=1_024_000), usage=usage))["memory"] == "within"
    assert judged(row(estimate=receipt(figure=1_023_999), usage=usage))["memory"] == "underpredicted"


COVERS = {
    ("rank", "rank"),
    ("rank", "node"),
    ("rank", "job"),
    ("node", "node"),
    ("node", "job"),
    ("job", "job"),
}
"""(scope of the limit, scope of the estimate): same or narrower."""


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("limit_scope", SCOPES)
@pytest.mark.parametrize("above", [-1, 0, 1])
@pytest.mark.parametrize("usage", [None, kb(10), kb(10, process_count=2), kb(None)])
def test_an_oom_kill_refutes_at_a_covering_limit(
    scope: str, limit_scope: str, above: int, usage: dict[str, Any] | None
) -> None:
    limited = {"memory_limit_bytes": FIGURE + above, "memory_limit_scope": limit_scope}
    found = judged(row(estimate=estimate(scope), usage=usage, outcome="oom_killed", **limited))
    refuted = above >= 0 and (limit_scope, scope) in COVERS
    assert found["memory"] == ("underpredicted" if refuted else "censored")
    assert found["ratio"] is None


def test_a_limit_without_a_scope_is_the_jobs() -> None:
    for scope in SCOPES:
        found = judged(row(estimate=estimate(scope), usage=None, outcome="oom_killed", memory_limit_bytes=FIGURE))
        assert found["memory"] == ("underpredicted" if scope == "job" else "censored")


def test_a_scope_without_a_limit_says_nothing() -> None:
    found = judged(row(usage=None, outcome="oom_killed", memory_limit_scope="rank"))
    assert found["memory"] == "censored"


@pytest.mark.parametrize("outcome", ["completed", "time_exceeded", "killed"])
def test_a_limit_counts_only_for_an_oom_kill(outcome: str) -> None:
    found = judged(row(estimate=estimate(), usage=kb(AT), outcome=outcome, memory_limit_bytes=FIGURE))
    assert found["memory"] == ("within" if outcome == "completed" else "censored")


@pytest.mark.parametrize("outcome", STOPPED)
@pytest.mark.parametrize("usage", [None, kb(None), kb(AT), scheduler(peak_rss_kb=AT)])
def test_a_stopped_run_that_does_not_decide_is_censored(outcome: str, usage: dict[str, Any] | None) -> None:
    found = judged(row(estimate=estimate("rank"), usage=usage, outcome=outcome))
    assert (found["memory"], found["ratio"]) == ("censored", None)


@pytest.mark.parametrize("usage", [None, kb(None), kb(None, process_count=1)])
def test_a_completed_run_without_a_measured_peak_is_unobserved(usage: dict[str, Any] | None) -> None:
    assert judged(row(usage=usage))["memory"] == "unobserved"


@pytest.mark.parametrize("usage", [None, kb(AT), kb(AT + 1), failed_collection(direct())])
def test_a_failed_run_is_excluded(usage: dict[str, Any] | None) -> None:
    found = judged(row(estimate=estimate(), usage=usage, outcome="failed", memory_limit_bytes=FIGURE))
    assert (found["memory"], found["runtime"], found["ratio"]) == ("excluded", "excluded", None)
    measured = usage is not None and usage["status"] == "ok"
    assert (found["measured_peak_bytes"] is not None) is measured


@pytest.mark.parametrize("outcome", ["completed", "failed", *STOPPED])
@pytest.mark.parametrize("kind", [direct, scheduler])
def test_a_collector_error_excludes_the_case(outcome: str, kind: Any) -> None:
    found = judged(
        row(estimate=estimate(), usage=failed_collection(kind()), outcome=outcome, memory_limit_bytes=FIGURE)
    )
    assert (found["memory"], found["runtime"]) == ("excluded", "excluded")
    assert (found["measured_peak_bytes"], found["measured_wall_seconds"]) == (None, None)


@pytest.mark.parametrize("outcome", ["completed", "failed", *STOPPED])
@pytest.mark.parametrize("usage", [None, kb(AT), failed_collection(direct())])
def test_without_a_figure_there_is_no_prediction(outcome: str, usage: dict[str, Any] | None) -> None:
    found = judged(row(estimate=receipt(figure=None), usage=usage, outcome=outcome, memory_limit_bytes=FIGURE))
    assert (found["memory"], found["ratio"], found["job_wide_memory"]) == ("no_prediction", None, None)


@pytest.mark.parametrize("kind", [plain_direct, scheduler])
def test_a_completed_case_needs_a_run_that_succeeded(kind: Any) -> None:
    failed = kind(command_status="failed", command_exit_code=3)
    with pytest.raises(BadDataError) as caught:
        judged(row(usage=failed))
    assert str(caught.value).startswith("case c0, usage receipt c0.usage.json: $.command_status: expected")
    for outcome in ("failed", *STOPPED):
        assert judged(row(usage=failed, outcome=outcome))
        assert judged(row(usage=kind(), outcome=outcome))


def test_a_collector_error_contradicts_no_outcome() -> None:
    kept = failed_collection(scheduler(), error="invalid_gnu_time_output", command_status="failed", command_exit_code=9)
    assert judged(row(usage=kept))["memory"] == "excluded"


LO_HI = [
    # peak RSS in KiB, job peak, kernel's mark: verdict on 1,024,000 bytes
    (None, 1_024_001, None, "underpredicted"),
    (None, 1_024_000, None, "not_refuted"),
    (None, 1_024_000, 1_024_000, "within"),
    (None, 1_024_000, 1_024_001, "not_refuted"),
    (None, 1_024_000, 5, "within"),
    (None, 0, 0, "within"),
    (1001, 0, 0, "underpredicted"),
    (1000, 5, 7, "within"),
    (1001, 1_024_000, 1_024_000, "underpredicted"),
    (10, 1_024_001, 5, "underpredicted"),
    (1000, None, 5, None),
    (1001, None, 2_000_000, None),
]


@pytest.mark.parametrize(("rss", "job", "kernel", "verdict"), LO_HI)
@pytest.mark.parametrize("scope", SCOPES)
def test_the_job_wide_verdict(
    rss: int | None, job: int | None, kernel: int | None, verdict: str | None, scope: str
) -> None:
    usage = direct(peak_rss_kb=rss, job_peak_bytes=job, cgroup_peak_bytes=kernel, process_count=4)
    document = report([row(estimate=estimate(scope), usage=usage)])
    expected = verdict if scope in ("job", "node") else None
    assert document["cases"][0]["job_wide_memory"] == expected
    counted = document["overall"]["memory"]["job_wide"]
    assert counted["verdicts"] == {name: int(name == expected) for name in ("underpredicted", "within", "not_refuted")}
    assert counted["evaluable"] == (expected is not None)


@pytest.mark.parametrize("outcome", ["failed", *STOPPED])
def test_a_job_wide_verdict_is_of_completed_runs(outcome: str) -> None:
    assert judged(row(usage=direct(job_peak_bytes=2_000_000), outcome=outcome))["job_wide_memory"] is None


def test_without_usage_or_after_a_collector_error_there_is_none() -> None:
    assert judged(row(usage=None))["job_wide_memory"] is None
    assert judged(row(usage=failed_collection(direct())))["job_wide_memory"] is None


def test_the_job_wide_range() -> None:
    usages = [
        direct(job_peak_bytes=1_500_000, samples=1),
        direct(job_peak_bytes=900_000, cgroup_peak_bytes=None),
        direct(job_peak_bytes=900_000, cgroup_peak_bytes=900_000),
    ]
    rows = [row(case_id=f"c{number}", usage=usage) for number, usage in enumerate(usages)]
    counted = report([*rows, row(case_id="c9", usage=None)])["overall"]["memory"]["job_wide"]
    assert counted == {
        "verdicts": {"underpredicted": 1, "within": 1, "not_refuted": 1},
        "evaluable": 3,
        "underprediction_lower": 1 / 3,
        "underprediction_upper": 2 / 3,
    }


def test_another_estimators_rank_scope_compares() -> None:
    assert judged(row(estimate=other_receipt(), usage=scheduler()))["memory"] == "within"


def test_one_direct_measurement_is_one_case() -> None:
    rows = [row(case_id="a"), row(case_id="b")]
    with pytest.raises(BadDataError, match=r"case b, usage receipt b\.usage\.json: .*also that of case a"):
        report(rows)


def test_layout_does_not_make_a_measurement_new() -> None:
    other = dict(reversed(plain_direct(peak_rss_mb=0.48828125, wall_seconds=10.50).items()))
    with pytest.raises(BadDataError, match="also that of case a"):
        report([row(case_id="a"), row(case_id="b", usage=other)])


def test_one_scheduler_receipt_in_several_cases_is_a_warning() -> None:
    rows = [row(case_id=name, usage=scheduler()) for name in "abc"]
    assert report(rows)["warnings"] == [
        "cases a and b have the same scheduler receipt",
        "cases a and c have the same scheduler receipt",
    ]


def test_failed_collections_are_no_duplicates() -> None:
    rows = [row(case_id=name, usage=failed_collection(direct())) for name in "ab"]
    assert report(rows)["warnings"] == []


def test_a_duplicate_counts_whatever_the_outcome() -> None:
    with pytest.raises(BadDataError, match="also that of case a"):
        report([row(case_id="a", outcome="failed"), row(case_id="b", outcome="killed")])


def test_groups_are_sorted_and_the_unknown_method_is_last() -> None:
    def of(method: str | None, hardware: str, case_id: str) -> Any:
        inner = receipt(method=method)
        return row(case_id=case_id, estimate=inner, usage=None, hardware_class=hardware)

    rows = [of(None, "a", "1"), of("UKS", "b", "2"), of("uks", "a", "3"), of("rks", "z", "4"), of("Ä-rks", "a", "5")]
    groups = [(group["method"], group["hardware_class"]) for group in report(rows)["groups"]]
    assert groups == [("RKS", "z"), ("UKS", "a"), ("UKS", "b"), ("Ä-RKS", "a"), (None, "a")]


def test_upper_case_is_ascii_only() -> None:
    assert judged(row(estimate=receipt(method="ß-äks")))["method"] == "ß-äKS"


def test_the_known_method_is_the_programs_else_the_evidences() -> None:
    inner = receipt(method=None)
    inner["evidence"]["method"] = "pbe0"
    assert judged(row(estimate=inner))["method"] == "PBE0"


def test_ranges_and_ratio_of_a_mixed_set() -> None:
    rows = [
        row(case_id="within", estimate=estimate(), usage=kb(500)),
        row(case_id="open", estimate=estimate(), usage=kb(750, process_count=2)),
        row(case_id="under", estimate=estimate(), usage=kb(1500)),
        row(case_id="oom", estimate=estimate(), usage=kb(10), outcome="oom_killed", memory_limit_bytes=FIGURE),
        row(case_id="killed", estimate=estimate(), usage=None, outcome="killed"),
        row(case_id="blind", estimate=estimate(), usage=None),
        row(case_id="failed", estimate=estimate(), usage=None, outcome="failed"),
        row(case_id="none", estimate=receipt(figure=None), usage=None),
    ]
    memory = report(rows)["overall"]["memory"]
    assert memory["verdicts"] == {
        "underpredicted": 2,
        "within": 1,
        "not_refuted": 1,
        "censored": 1,
        "unobserved": 1,
        "excluded": 1,
        "no_prediction": 1,
    }
    assert memory["evaluable"] == 6
    assert memory["underprediction_lower"] == 2 / 6
    assert memory["underprediction_upper"] == 5 / 6
    assert memory["ratio"] == {"n": 3, "median": 0.75, "max": 1.5}


def test_the_median_of_two_is_their_exact_mean() -> None:
    rows = [row(case_id=str(size), estimate=receipt(figure=3072), usage=kb(size)) for size in (1, 2)]
    assert report(rows)["overall"]["memory"]["ratio"]["median"] == 0.5


def test_nothing_evaluable_has_no_range() -> None:
    memory = report([row(estimate=receipt(figure=None), usage=None)])["overall"]["memory"]
    assert (memory["evaluable"], memory["underprediction_lower"], memory["underprediction_upper"]) == (0, None, None)
    assert memory["ratio"] == {"n": 0, "median": None, "max": None}


def test_observations_are_met_one_after_another() -> None:
    rows = [row(case_id=name, usage=None) for name in "abc"]
    observations = observe(rows)
    met: list[str] = []

    def watched() -> Any:
        for item in observations:
            met.append(item.case.case_id)
            yield item

    evaluate(read_set(evaluation_set([item for item, _, _ in rows])), watched())
    assert met == ["a", "b", "c"]
