"""A calibration read back without trust, kept off its training cases, and judged on others."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from support.documents import (
    SHA,
    calibration,
    changed,
    direct,
    evaluation_set,
    failed_collection,
    group,
    plain_direct,
    receipt,
    runtime_group,
    scheduler,
    sealed_calibration,
)
from support.observations import Row, fitted, observe, report, row
from vq.canonical import digest
from vq.errors import BadDataError
from vq.estimates.calibration import Calibration, read_calibration, refuse_overlap, refuse_training_set
from vq.estimates.cases import Corrections, Identity, RuntimeIdentity, read_set
from vq.estimates.correction import Correction
from vq.estimates.evaluation import evaluate

UNUSED = group()["unused"]
RUNTIME_UNUSED = runtime_group()["unused"]
IDENTITY = Identity("vibe-qc-dry-run/1", "vibe-qc", "0.17.4", "RKS", "direct", "job", "class-a")


def refusal(document: dict[str, Any]) -> str:
    with pytest.raises(BadDataError) as caught:
        read_calibration(document)
    return str(caught.value)


def test_a_calibration() -> None:
    found = read_calibration(calibration())
    assert found.corrections() == Corrections(
        memory={IDENTITY: Correction(multiplier=1.25)}, runtime={IDENTITY.runtime(): 1.5}
    )
    assert found.document() == {
        "calibration_id": calibration()["calibration_id"],
        "method": "worst-observed-over-predicted-peak/1",
        "training_set": {"set_id": "training", "sha256": SHA},
    }


def test_its_id_binds_every_other_key() -> None:
    for key, value in {
        "min_cases": 2,
        "unidentified": 1,
        "groups": [],
        "method": "worst-observed-over-predicted-job-wide-peak/1",
    }.items():
        document = {**calibration(), key: value}
        assert refusal(document).startswith("$.calibration_id: expected ")
    assert refusal({**calibration(), "calibration_id": SHA}).startswith("$.calibration_id: expected ")


def test_runtime_groups_may_be_absent_as_a_whole() -> None:
    old = calibration(runtime_method=..., runtime_groups=...)
    assert read_calibration(old).corrections().runtime == {}
    for key in ("runtime_method", "runtime_groups"):
        assert "runtime_method and runtime_groups together" in refusal(calibration(**{key: ...}))
    assert "$.runtime_groups: expected groups and unidentified that add up" in refusal(calibration(runtime_groups=[]))


CASES = [{"case_id": f"t{number}", "estimate_sha256": SHA, "usage_sha256": None} for number in range(3)]
TOO_FEW = {"status": "uncalibrated", "multiplier": None, "multiplier_is_lower_bound": None}

GROUPS = [
    # changes to the group, to the document, and the refusal; None where it is valid
    ({}, {}, None),
    ({"multiplier": 1}, {}, None),
    ({"multiplier": 1.0}, {}, None),
    ({"multiplier": 1e300}, {}, None),
    ({"multiplier": 0.9999999999999999}, {}, "multiplier: expected a finite number of 1 or more"),
    ({"decided": 2}, {}, "decided: expected exact + lower_bound"),
    ({"exact": 0}, {}, "decided: expected exact + lower_bound"),
    (
        {"decided": 2, "exact": 2},
        {},
        "groups: expected groups and unidentified that add up to the 1 training cases, found 2",
    ),
    ({"unused": {**UNUSED, "censored": 1}}, {}, "groups: expected groups and unidentified that add up"),
    ({}, {"unidentified": 1}, "groups: expected groups and unidentified that add up"),
    ({}, {"min_cases": 2}, 'status: expected "uncalibrated" with 1 decided cases and min_cases 2'),
    (TOO_FEW, {"min_cases": 2}, None),
    (TOO_FEW, {}, 'status: expected "calibrated" with 1 decided cases and min_cases 1'),
    ({**TOO_FEW, "multiplier": 1.5}, {"min_cases": 2}, "multiplier: expected null exactly when uncalibrated"),
    ({**TOO_FEW, "multiplier_is_lower_bound": False}, {"min_cases": 2}, "multiplier_is_lower_bound: expected null"),
    ({"multiplier": None}, {}, "multiplier: expected null exactly when uncalibrated, here calibrated"),
    ({"multiplier_is_lower_bound": None}, {}, "multiplier_is_lower_bound: expected null exactly when"),
    ({"multiplier_is_lower_bound": True}, {}, "multiplier_is_lower_bound: expected no such flag without lower-bound"),
    ({"exact": 0, "lower_bound": 1}, {}, "multiplier_is_lower_bound: expected no such flag without exact evidence"),
    ({"exact": 0, "lower_bound": 1, "multiplier_is_lower_bound": True}, {}, None),
    ({"method": "rks"}, {}, "method: expected a method in upper case"),
    ({"method": "Ärks"}, {}, "method: expected a method in upper case"),
    ({"method": "äRKS"}, {}, None),
    ({"estimator": "vibe-qc-dry-run"}, {}, "estimator: expected an estimator such as"),
    ({"estimator": "a/0"}, {}, "estimator: expected an estimator such as"),
    ({"hardware_class": "x" * 65}, {}, "hardware_class: expected 1 to 64 characters"),
    ({"algorithm": "x" * 65}, {}, "algorithm: expected 1 to 64 characters"),
]


@pytest.mark.parametrize(("changes", "document_changes", "message"), GROUPS)
@pytest.mark.parametrize("key", ["groups", "runtime_groups"])
def test_a_group_bears_out_its_own_figures(
    changes: dict[str, Any], document_changes: dict[str, Any], message: str | None, key: str
) -> None:
    runtime = key == "runtime_groups"
    if runtime and "unused" in changes:
        changes = {**changes, "unused": {**RUNTIME_UNUSED, "censored": 1}}
    if document_changes.get("min_cases") == 2 or "unidentified" in document_changes:
        # Only the group in question is to be at fault.
        document_changes = {**document_changes, "groups" if runtime else "runtime_groups": []}
        if "unidentified" not in document_changes:
            document_changes["runtime_groups" if not runtime else "groups"] = []
            other = runtime_group(**TOO_FEW) if not runtime else group(**TOO_FEW)
            document_changes["runtime_groups" if not runtime else "groups"] = [other]
    base = runtime_group(multiplier_is_lower_bound=False, exact=1, lower_bound=0) if runtime else group()
    document = calibration(**document_changes)
    document[key] = [changed(base, **changes)]
    sealed_calibration(document)
    if message is None:
        assert read_calibration(document)
        return
    found = refusal(document)
    found_key = "groups" if message.startswith("groups") else f"{key}[0]"
    if message.startswith("groups"):
        assert re.search(r"\$\.(runtime_)?groups: " + re.escape(message.removeprefix("groups: ")), found)
    else:
        assert found.startswith(f"$.{found_key}.{message}")


def test_a_group_stands_once() -> None:
    document = calibration(groups=[group(), group(decided=0, exact=0, **TOO_FEW)])
    assert refusal(document) == "$.groups[1]: expected each group once"
    twice = [runtime_group(), runtime_group(decided=0, lower_bound=0, **TOO_FEW)]
    assert refusal(calibration(runtime_groups=twice)) == "$.runtime_groups[1]: expected each group once"


def test_a_training_case_stands_once() -> None:
    cases = calibration()["training_cases"] * 2
    groups = {"groups": [group(decided=2, exact=2)], "runtime_groups": [runtime_group(decided=2, lower_bound=2)]}
    assert refusal(calibration(training_cases=cases, **groups)) == "$.training_cases: expected each case_id once"


def test_what_is_fitted_is_accepted() -> None:
    rows = [row(case_id="a"), row(case_id="b", usage=None), row(case_id="c", estimate=receipt(method=None), usage=None)]
    for min_cases in (1, 2, 5):
        assert read_calibration(fitted(rows, min_cases=min_cases)).training_set_id == "training"


def judged(one: Row, document: dict[str, Any]) -> dict[str, Any]:
    found = report([one], read_calibration(document).corrections())
    return {key: found["cases"][0][key] for key in found["cases"][0] if "calibra" in key}


NOTHING = {
    "calibrated_memory": "uncalibrated",
    "calibrated_peak_bytes": None,
    "calibration_multiplier": None,
    "calibrated_runtime": "uncalibrated",
    "calibrated_runtime_upper_seconds": None,
    "runtime_calibration_multiplier": None,
}

JUDGED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    # the case, and what differs from: within at 1,250,000 x 1.25, covered at 12.5 s x 1.5
    ({}, {}),
    ({"usage": plain_direct(peak_rss_kb=1220, wall_seconds=18.75)}, {}),
    ({"usage": plain_direct(peak_rss_kb=1221)}, {"calibrated_memory": "underpredicted"}),
    ({"usage": plain_direct(process_count=2)}, {"calibrated_memory": "not_refuted"}),
    ({"usage": plain_direct(wall_seconds=18.76)}, {"calibrated_runtime": "above"}),
    ({"usage": plain_direct(wall_seconds=1.4)}, {"calibrated_runtime": "below"}),
    ({"usage": None}, {"calibrated_memory": "unobserved", "calibrated_runtime": "unobserved"}),
    (
        {"usage": None, "outcome": "oom_killed", "memory_limit_bytes": 1_250_000},
        {"calibrated_memory": "underpredicted", "calibrated_runtime": "censored"},
    ),
    (
        {"usage": None, "outcome": "oom_killed", "memory_limit_bytes": 1_249_999},
        {"calibrated_memory": "censored", "calibrated_runtime": "censored"},
    ),
    (
        {"usage": None, "outcome": "time_exceeded", "wall_limit_seconds": 18.75},
        {"calibrated_memory": "censored", "calibrated_runtime": "censored"},
    ),
    (
        {"usage": None, "outcome": "time_exceeded", "wall_limit_seconds": 18.7500001},
        {"calibrated_memory": "censored", "calibrated_runtime": "above"},
    ),
    ({"outcome": "failed"}, {"calibrated_memory": "excluded", "calibrated_runtime": "excluded"}),
    (
        {"estimate": receipt(figure=None)},
        {"calibrated_memory": "no_prediction", "calibrated_peak_bytes": None, "calibration_multiplier": None},
    ),
    (
        {"estimate": receipt(interval=None)},
        {
            "calibrated_runtime": "no_prediction",
            "calibrated_runtime_upper_seconds": None,
            "runtime_calibration_multiplier": None,
        },
    ),
    (
        {"estimate": receipt(interval=(0, 0))},
        {
            "calibrated_runtime": "uncalibrated",
            "calibrated_runtime_upper_seconds": None,
            "runtime_calibration_multiplier": None,
        },
    ),
    ({"hardware_class": "class-b"}, NOTHING),
    ({"estimate": receipt(version=None)}, NOTHING),
    ({"estimate": receipt(method=None)}, NOTHING),
    ({"estimate": receipt(method="UKS")}, NOTHING),
    ({"estimate": receipt(method="rks")}, {}),
    (
        {"estimate": receipt(scope="node")},
        {"calibrated_memory": "uncalibrated", "calibrated_peak_bytes": None, "calibration_multiplier": None},
    ),
]


@pytest.mark.parametrize(("case", "difference"), JUDGED)
def test_judging_a_case(case: dict[str, Any], difference: dict[str, Any]) -> None:
    plain = {
        "calibrated_memory": "within",
        "calibrated_peak_bytes": 1_250_000,
        "calibration_multiplier": 1.25,
        "calibrated_runtime": "covered",
        "calibrated_runtime_upper_seconds": 18.75,
        "runtime_calibration_multiplier": 1.5,
    }
    assert judged(row(**case), calibration()) == {**plain, **difference}


def test_the_recorded_decimal_is_the_multiplier_and_rounds_up() -> None:
    document = calibration(groups=[group(multiplier=1.1)], runtime_groups=[runtime_group(multiplier=1.1)])
    found = judged(row(estimate=receipt(figure=10, interval=(0, 3)), usage=None), document)
    assert (found["calibrated_peak_bytes"], found["calibrated_runtime_upper_seconds"]) == (11, 3.3)
    found = judged(row(estimate=receipt(figure=11, interval=(0, 0.0000001)), usage=None), document)
    assert (found["calibrated_peak_bytes"], found["calibrated_runtime_upper_seconds"]) == (13, 0.000001)


def test_a_calibrated_peak_past_2_53_names_its_case() -> None:
    one = row(estimate=receipt(figure=2**53 - 1), usage=None)
    with pytest.raises(BadDataError, match=r"^case c0: .*calibrated peak of at most 9007199254740991"):
        judged(one, calibration())


def test_a_calibrated_peak_may_be_the_largest_integer() -> None:
    document = calibration(groups=[group(multiplier=1)])
    found = judged(row(estimate=receipt(figure=2**53 - 1), usage=None), document)
    assert found["calibrated_peak_bytes"] == 2**53 - 1


def test_a_calibrated_bound_that_is_not_finite_names_its_case() -> None:
    one = row(estimate=receipt(interval=(0, 1.7e308)), usage=None)
    with pytest.raises(BadDataError, match=r"^case c0: .*finite"):
        judged(one, calibration())


def test_the_summary_counts_the_calibrated_cases() -> None:
    rows = [
        row(case_id="a"),
        row(case_id="b", usage=plain_direct(peak_rss_kb=1221, wall_seconds=99)),
        row(case_id="c", usage=plain_direct(process_count=3)),
        row(case_id="d", hardware_class="other", usage=None),
        row(case_id="e", estimate=receipt(figure=None, interval=(0, 0)), usage=None),
    ]
    overall = report(rows, read_calibration(calibration()).corrections())["overall"]
    memory, runtime = overall["memory"]["calibrated"], overall["runtime"]["calibrated"]
    assert memory["verdicts"] == {
        "underpredicted": 1,
        "within": 1,
        "not_refuted": 1,
        "censored": 0,
        "unobserved": 0,
        "excluded": 0,
        "no_prediction": 1,
    }
    assert (memory["evaluable"], memory["uncalibrated"]) == (3, 1)
    assert (memory["underprediction_lower"], memory["underprediction_upper"]) == (1 / 3, 2 / 3)
    assert (runtime["evaluable"], runtime["uncalibrated"]) == (3, 2)
    assert (runtime["coverage_lower"], runtime["coverage_upper"]) == (2 / 3, 2 / 3)
    assert list(memory)[-1] == "uncalibrated"


def test_a_calibration_adds_keys_and_changes_none() -> None:
    rows = [row(), row(case_id="b", usage=None)]
    plain, with_it = report(rows), report(rows, read_calibration(calibration()).corrections())
    for case, more in zip(plain["cases"], with_it["cases"], strict=True):
        assert {key: more[key] for key in case} == case
    stripped = copy.deepcopy(with_it)
    for part in ("memory", "runtime"):
        del stripped["overall"][part]["calibrated"]
    assert stripped["overall"] == plain["overall"]


def fitted_on(*rows: Row) -> Calibration:
    return read_calibration(fitted(rows))


def refused(calibrated_on: Calibration, *rows: Row) -> str | None:
    found = evaluate(read_set(evaluation_set([item for item, _, _ in rows])), observe(rows))
    try:
        refuse_overlap(calibrated_on, found.rows)
    except BadDataError as error:
        return str(error)
    return None


OTHER = receipt(figure=2_000_000)

OVERLAPS: list[tuple[Row, Row, str | None]] = [
    # training case, held-out case, why they overlap
    (row(), row(estimate=OTHER), "c0 (same usage receipt)"),
    (row(usage=scheduler()), row(usage=scheduler()), "c0 (same usage receipt)"),
    (row(), row(usage=direct()), None),
    (row(), row(usage=None), None),
    (row(usage=None), row(), None),
    (row(usage=None), row(usage=None), "c0 (same estimate, both without usage)"),
    (row(usage=None), row(usage=None, estimate=OTHER), None),
    # A failed collection in the held-out set counts as no usage ...
    (row(usage=None), row(usage=failed_collection(direct())), "c0 (same estimate, both without usage)"),
    # ... but a training case keeps the digest of its receipt, whatever it says.
    (row(usage=failed_collection(direct())), row(usage=None), None),
    (row(usage=failed_collection(direct())), row(usage=failed_collection(direct())), None),
]


@pytest.mark.parametrize(("training", "held_out", "why"), OVERLAPS)
def test_a_training_case_is_no_held_out_case(training: Row, held_out: Row, why: str | None) -> None:
    found = refused(fitted_on(training), held_out)
    assert found is None if why is None else found is not None and found.endswith(why)


def test_every_shared_case_is_listed() -> None:
    usages = [plain_direct(process_count=number) for number in range(4)]
    rows = [row(case_id=f"c{number}", usage=usage) for number, usage in enumerate(usages)]
    found = refused(fitted_on(*rows[:3]), *rows)
    assert found is not None
    assert "3 stood in its training set: c0 (same usage receipt), c1 (same" in found
    assert "c3" not in found


def test_the_training_set_itself_is_refused() -> None:
    calibrated_on = fitted_on(row())
    training = evaluation_set([row()[0]], "training")
    with pytest.raises(BadDataError, match="training, the set that the calibration was fitted on"):
        refuse_training_set(calibrated_on, read_set(training))
    refuse_training_set(calibrated_on, read_set({**training, "set_id": "other"}))


def test_identities() -> None:
    assert IDENTITY.runtime() == RuntimeIdentity(*IDENTITY[:5], "class-a")
    assert observe([row(usage=None)])[0].identity == IDENTITY
    assert digest(calibration()) == digest(dict(reversed(calibration().items())))


def newer(**changes: Any) -> dict[str, Any]:
    """A calibration of the second version, by an offset with a margin."""
    own = {"multiplier": None, "multiplier_is_lower_bound": ..., "offset_bytes": 4096, "is_lower_bound": False}
    document = calibration(
        schema_name="vq.estimate-calibration/2",
        method="worst-observed-minus-predicted-peak/1",
        margin_percent=10,
        groups=[group(**own)],
    )
    return sealed_calibration(changed(document, **changes))


def newer_group(**changes: Any) -> dict[str, Any]:
    return newer(groups=[changed(newer()["groups"][0], **changes)])


FACTOR = "worst-observed-over-predicted-peak/1"


def test_a_calibration_of_the_second_version() -> None:
    found = read_calibration(newer())
    memory = {IDENTITY: Correction(offset_bytes=4096, margin_percent=10)}
    assert found.corrections() == Corrections(memory=memory, runtime={IDENTITY.runtime(): 1.5}, newer=True)
    assert found.document() == {
        "calibration_id": newer()["calibration_id"],
        "method": "worst-observed-minus-predicted-peak/1",
        "margin_percent": 10,
        "training_set": {"set_id": "training", "sha256": SHA},
    }
    factor = newer(method=FACTOR, groups=[changed(newer()["groups"][0], multiplier=1.25, offset_bytes=None)])
    assert read_calibration(factor).corrections().memory == {IDENTITY: Correction(multiplier=1.25, margin_percent=10)}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (newer(margin_percent=None), None),
        (newer(margin_percent=0.5), None),
        (newer(margin_percent=0), "$.margin_percent: expected a percentage above 0"),
        (newer(margin_percent=1000.5), "$.margin_percent: expected a percentage above 0"),
        (newer(margin_percent=-1), "$.margin_percent: expected a percentage above 0"),
        (newer(margin_percent=True), "$.margin_percent: expected a percentage above 0"),
        (newer(margin_percent=...), "$.margin_percent: expected this key, which is missing"),
        (newer(method=FACTOR, margin_percent=None), "$.margin_percent: expected a margin beside a factor"),
        (newer(method=FACTOR), "$.groups[0].multiplier: expected null exactly when uncalibrated"),
        (newer(schema_name="vq.estimate-calibration/1"), "$.method: expected"),
        (newer(schema_name="vq.estimate-calibration/3"), "$.schema_name: expected vq.estimate-calibration/1 | vq."),
        (newer(schema_name=...), "$.schema_name: expected vq.estimate-calibration/1 | vq."),
        (calibration(margin_percent=10), "$.margin_percent: expected no such key"),
        (calibration(method="worst-observed-minus-predicted-peak/1"), "$.method: expected"),
        (newer_group(offset_bytes=0), None),
        (newer_group(is_lower_bound=True, exact=0, lower_bound=1), None),
        (newer_group(offset_bytes=-1), "$.groups[0].offset_bytes: expected an integer from 0"),
        (newer_group(offset_bytes=1.0), "$.groups[0].offset_bytes: expected an integer from 0"),
        (newer_group(offset_bytes=None), "$.groups[0].offset_bytes: expected null exactly when uncalibrated"),
        (newer_group(is_lower_bound=None), "$.groups[0].is_lower_bound: expected null exactly when"),
        (newer_group(is_lower_bound=True), "$.groups[0].is_lower_bound: expected no such flag"),
        (newer_group(multiplier=1.25), "$.groups[0].multiplier: expected null with this method"),
        (newer_group(multiplier_is_lower_bound=False), "$.groups[0].multiplier_is_lower_bound: expected no such key"),
    ],
)
def test_the_second_version_is_read_as_strictly(document: dict[str, Any], message: str | None) -> None:
    if message is None:
        assert read_calibration(document)
    else:
        assert refusal(document).startswith(message)


def test_a_report_with_an_offset_is_one_of_the_second_version() -> None:
    rows = [row(), row(case_id="c1", estimate=receipt(version=None), usage=plain_direct(peak_rss_kb=1))]
    found = report(rows, read_calibration(newer()).corrections())
    assert found["schema_name"] == "vq.estimate-evaluation-report/2"
    first, second = found["cases"]
    # (1,000,000 + 4096) × 1.1
    assert (first["calibrated_peak_bytes"], first["calibration_offset_bytes"]) == (1_104_506, 4096)
    assert first["calibration_multiplier"] is second["calibration_multiplier"] is None
    assert (second["calibrated_memory"], second["calibration_offset_bytes"]) == ("uncalibrated", None)
    plain = report(rows, read_calibration(calibration()).corrections())
    assert plain["schema_name"] == "vq.estimate-evaluation-report/1"
    assert "calibration_offset_bytes" not in plain["cases"][0]
