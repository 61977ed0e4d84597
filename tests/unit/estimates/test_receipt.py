"""Receipts made and read back: what does not follow is refused."""

from __future__ import annotations

import copy
import json
from hashlib import sha256
from typing import Any

import pytest

from support.documents import MANIFEST, MIB, SHA, changed, evidence, other_receipt, receipt, sealed_receipt, write_json
from vq.canonical import digest
from vq.errors import BadDataError
from vq.estimates.evidence import Evidence, read_evidence
from vq.estimates.program import ProgramEstimate, Source
from vq.estimates.programs.vibe_qc import read_manifest
from vq.estimates.receipt import InputFile, make_receipt, read_receipt

LARGEST = 2**53 - 1


def refusal(document: dict[str, Any]) -> str:
    with pytest.raises(BadDataError) as caught:
        read_receipt(document)
    return str(caught.value)


def given(**changes: Any) -> Evidence:
    return read_evidence(json.dumps(evidence(**changes)).encode())


def program(**changes: Any) -> ProgramEstimate:
    """An estimate of another program, which states scope and runtime itself."""
    fields: dict[str, Any] = {
        "estimator": "other-program/1",
        "program": "other",
        "program_version": None,
        "features": {"method": "GGA", "grid": None},
        "unknown_features": frozenset({"grid"}),
        "predicted_peak_bytes": 1000,
        "safety_margin": "none",
        "scope": "rank",
        "runtime_seconds": (1.5, 2),
        "source": Source(sha256=SHA, bytes=7),
        "limitations": ("Its own.",),
    }
    return ProgramEstimate(**{**fields, **changes})


def test_a_receipt_of_a_manifest() -> None:
    inputs = [InputFile(path="a", bytes=0, sha256=SHA)]
    document = make_receipt(
        read_manifest(MANIFEST.encode()), evidence=given(), inputs=inputs, memory_mb=4096, warnings=["w"]
    )
    manifest_sha256 = sha256(MANIFEST.encode()).hexdigest()
    assert document["manifest"] == {"sha256": manifest_sha256, "bytes": len(MANIFEST)}
    assert document["evidence"] == {"sha256": document["evidence"]["sha256"], **evidence()}
    assert list(document["evidence"])[:2] == ["sha256", "schema_version"]
    assert document["input_digest"] == digest(
        {"evidence": document["evidence"]["sha256"], "inputs": [["a", 0, SHA]], "manifest": manifest_sha256}
    )
    assert document["memory"] == {
        "predicted_peak_bytes": 1_000_000,
        "scope": "job",
        "safety_margin": "included",
        "raw_bytes": None,
        "margin_factor": None,
        "override": {"memory_mb": 4096, "bytes": 4096 * MIB},
        "effective_job_memory_bytes": 4096 * MIB,
    }
    assert document["unknown"] == [
        "memory.raw_bytes",
        "memory.margin_factor",
        "runtime",
        "scratch_bytes",
        "cpu_layouts",
    ]
    assert document["warnings"] == ["w"]
    assert document["calibration"] == {"status": "uncalibrated"}
    assert read_receipt(document).sha256 == digest(document)


def test_nothing_known_is_all_listed() -> None:
    document = make_receipt(read_manifest(b'[vibeqc]\n[outputs]\nstatus = "dry_run"\n'))
    assert document["unknown"] == [
        "program_version",
        "features.method",
        "features.basis",
        "features.functional",
        "features.task_type",
        "features.options_digest",
        "features.threads",
        "nbf",
        "memory.predicted_peak_bytes",
        "memory.scope",
        "memory.raw_bytes",
        "memory.margin_factor",
        "memory.effective_job_memory_bytes",
        "runtime",
        "scratch_bytes",
        "cpu_layouts",
    ]
    assert (document["evidence"], document["inputs"]) == (None, [])
    assert document["memory"]["scope"] == "unspecified"
    assert document["memory"]["safety_margin"] is None
    said = " ".join(document["limitations"])
    for part in ("uncalibrated", "does not bind", "not modelled", "no memory estimate", "is not declared"):
        assert part in said
    assert read_receipt(document).method is None


@pytest.mark.parametrize(
    ("scope", "memory_mb", "effective"),
    [
        ("job", None, 1_000_000),
        ("node", None, None),
        ("rank", None, None),
        (None, None, None),
        ("job", 1, MIB),
        ("rank", 1, MIB),
        (None, 1, MIB),
    ],
)
def test_effective_memory(scope: str | None, memory_mb: int | None, effective: int | None) -> None:
    told = given(memory_scope=... if scope is None else scope)
    document = make_receipt(read_manifest(MANIFEST.encode()), evidence=told, memory_mb=memory_mb)
    assert document["memory"]["effective_job_memory_bytes"] == effective
    assert document["memory"]["predicted_peak_bytes"] == 1_000_000


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"method": "UKS"}, "method"),
        ({"basis": "sto-3g"}, "basis"),
        ({"task_type": "gradient"}, "task_type"),
        ({"method": "rKs"}, None),
        ({"basis": "6-31g*"}, None),
        ({"task_type": "MOLECULAR_SCF"}, None),
    ],
)
def test_evidence_may_not_contradict_the_program(changes: dict[str, Any], key: str | None) -> None:
    estimate = read_manifest(MANIFEST.encode())
    if key is None:
        assert make_receipt(estimate, evidence=given(**changes))
        return
    with pytest.raises(BadDataError, match=rf"^\$\.{key}: expected no contradiction"):
        make_receipt(estimate, evidence=given(**changes))


def test_letters_beyond_ascii_are_compared_as_they_are() -> None:
    text = MANIFEST.replace('method = "RKS"', 'method = "ÄKS"')
    assert make_receipt(read_manifest(text.encode()), evidence=given(method="Äks"))
    with pytest.raises(BadDataError, match="no contradiction"):
        make_receipt(read_manifest(text.encode()), evidence=given(method="äks"))


def test_a_calculation_without_basis_contradicts_evidence_that_names_one() -> None:
    text = MANIFEST.replace('basis = "6-31g*"', 'basis = "(none)"')
    with pytest.raises(BadDataError, match="what the program reported, none"):
        make_receipt(read_manifest(text.encode()), evidence=given())
    assert make_receipt(read_manifest(text.encode()), evidence=given(basis=...))


def test_evidence_fills_what_is_unknown_and_never_the_features() -> None:
    text = MANIFEST.replace('method = "RKS"', "").replace('basis = "6-31g*"', "")
    document = make_receipt(read_manifest(text.encode()), evidence=given())
    assert document["features"]["method"] is None
    assert document["evidence"]["method"] == "rks"
    assert "features.method" in document["unknown"]
    assert read_receipt(document).method == "RKS"


def test_another_program_may_state_scope_and_runtime() -> None:
    document = make_receipt(program())
    assert document["runtime"] == {"lower_seconds": 1.5, "upper_seconds": 2}
    assert document["memory"]["scope"] == "rank"
    assert document["unknown"][:3] == ["program_version", "features.grid", "nbf"]
    assert "runtime" not in document["unknown"]
    found = read_receipt(document)
    assert (found.interval, found.scope) == ((1.5, 2), "rank")
    told = given(method="gga", basis=..., task_type=..., memory_scope="rank")
    assert make_receipt(program(), evidence=told)["memory"]["scope"] == "rank"
    with pytest.raises(BadDataError, match=r"\$\.memory_scope: expected no contradiction of the program's own scope"):
        make_receipt(program(), evidence=given(method="gga", basis=..., task_type=...))


def remembered(**changes: Any) -> dict[str, Any]:
    """A receipt with changes inside its memory."""
    document = receipt()
    document["memory"] |= changes
    return document


OVERRIDE = {"memory_mb": 2, "bytes": 2 * MIB}

ARITHMETIC: list[tuple[dict[str, Any], str | None]] = [
    (receipt(), None),
    (remembered(override=OVERRIDE, effective_job_memory_bytes=2 * MIB), None),
    (remembered(override=OVERRIDE), "$.memory.effective_job_memory_bytes: expected 2097152"),
    (
        remembered(override={**OVERRIDE, "bytes": 2}, effective_job_memory_bytes=2),
        "$.memory.override.bytes: expected 2097152",
    ),
    (remembered(override={**OVERRIDE, "memory_mb": 2**33}), "$.memory.override.bytes: expected"),
    (remembered(effective_job_memory_bytes=None), "$.memory.effective_job_memory_bytes: expected 1000000"),
    (remembered(effective_job_memory_bytes=1), "$.memory.effective_job_memory_bytes: expected 1000000"),
    (
        remembered(predicted_peak_bytes=None, effective_job_memory_bytes=None),
        "$.memory.safety_margin: expected null without",
    ),
    (remembered(safety_margin=None), '$.memory.safety_margin: expected "included"'),
    (remembered(safety_margin="none"), '$.memory.safety_margin: expected "included"'),
    (remembered(scope="rank"), '$.memory.scope: expected "job"'),
    (remembered(scope="unspecified"), '$.memory.scope: expected "job"'),
    (
        changed(receipt(figure=None), runtime={"lower_seconds": 1, "upper_seconds": None}),
        "$.runtime.upper_seconds: expected both",
    ),
    (changed(receipt(), runtime={"lower_seconds": None, "upper_seconds": 1}), "$.runtime.lower_seconds: expected both"),
    (
        changed(receipt(), runtime={"lower_seconds": 2, "upper_seconds": 1}),
        "$.runtime.lower_seconds: expected lower_seconds",
    ),
    (receipt(interval=(12.5, 12.5)), None),
    (receipt(interval=(0, 0)), None),
    (receipt(interval=(0.1, 0.10000000000000002)), None),
    (changed(receipt(), input_digest=SHA), "$.input_digest: expected"),
    (changed(receipt(), manifest={"sha256": "f" * 64, "bytes": 1}), "$.input_digest: expected"),
    (changed(receipt(), inputs=[]), "$.input_digest: expected"),
    (changed(receipt(), evidence=None), "$.memory.scope: expected"),
    (receipt(inputs=[{"path": "/a", "bytes": 0, "sha256": SHA}]), "$.inputs[0].path: expected a relative path"),
    (receipt(manifest={"sha256": SHA, "bytes": 0}), "$.manifest.bytes: expected an integer from 1"),
    (receipt(unknown=[], limitations=[], warnings=["anything"]), None),
    (other_receipt(), None),
    (other_receipt(features={"method": None}), None),
    (other_receipt(features={}), "$.features: expected at most 32 features"),
    (other_receipt(features={"method": "x", **{f"f{n}": n for n in range(31)}}), None),
    (
        other_receipt(features={"method": "x", **{f"f{n}": n for n in range(32)}}),
        "$.features: expected at most 32 features",
    ),
    (other_receipt(features={"method": "x", "Big": 1}), "$.features: expected a feature name"),
    (other_receipt(features={"method": "x", "f" * 49: 1}), "$.features: expected a feature name"),
    (other_receipt(features={"method": "x", "f" * 48: -1.5}), None),
    (other_receipt(features={"method": "x", "f": LARGEST + 1}), "$.features.f: expected"),
    (other_receipt(features={"method": "x", "f": -LARGEST}), None),
    (other_receipt(features={"method": ""}), "$.features.method: expected a non-empty string"),
    (other_receipt(estimator="other-program/01"), "$.estimator: expected"),
    (other_receipt(estimator="x" * 49 + "/1"), "$.estimator: expected"),
    (other_receipt(estimator="Other/1"), "$.estimator: expected"),
]


@pytest.mark.parametrize(("document", "message"), ARITHMETIC)
def test_what_does_not_follow_is_refused(document: dict[str, Any], message: str | None) -> None:
    if message is None:
        assert read_receipt(document)
    else:
        assert refusal(document).startswith(message)


@pytest.mark.parametrize(
    ("scope", "declared", "valid"),
    [
        ("rank", None, True),
        ("rank", "rank", True),
        ("rank", "job", False),
        ("unspecified", None, True),
        ("unspecified", "job", False),
    ],
)
def test_another_estimator_may_state_the_scope_itself(scope: str, declared: str | None, valid: bool) -> None:  # noqa: FBT001
    document = other_receipt()
    document["memory"] |= {"scope": scope, "effective_job_memory_bytes": None}
    document["evidence"].pop("memory_scope")
    if declared:
        document["evidence"]["memory_scope"] = declared
    sealed_receipt(document)
    if valid:
        assert read_receipt(document).scope == scope
    else:
        assert refusal(document).startswith(f'$.memory.scope: expected "{declared}"')


def test_another_estimators_margin_is_none_or_included() -> None:
    for margin in ("none", "included"):
        document = other_receipt()
        document["memory"]["safety_margin"] = margin
        assert read_receipt(document)
    document["memory"]["safety_margin"] = None
    assert refusal(document).startswith('$.memory.safety_margin: expected "included" or "none"')


def test_recorded_evidence_may_not_contradict_the_features() -> None:
    document = receipt()
    document["evidence"]["method"] = "uks"
    assert refusal(document).startswith("$.evidence.method: expected no contradiction")
    document["evidence"]["method"] = "rks"
    assert read_receipt(document)
    document["evidence"]["basis"] = "x"
    document["features"]["basis"] = None
    assert read_receipt(document)
    other = other_receipt(features={"method": "gga", "basis": 7})
    other["evidence"]["basis"] = "7"
    assert refusal(other).startswith("$.evidence.basis: expected no contradiction of what the program reported, 7")


def test_any_scope_goes_with_its_evidence() -> None:
    for scope in ("job", "node", "rank", "unspecified"):
        assert read_receipt(receipt(scope=scope)).scope == scope


def test_reading_changes_nothing() -> None:
    document = receipt()
    before = copy.deepcopy(document)
    read_receipt(document)
    assert document == before


def test_the_same_figures_give_the_same_receipt(tmp_path: Any) -> None:
    first = make_receipt(read_manifest(MANIFEST.encode()), evidence=given())
    assert (
        write_json(tmp_path / "x", first).read_text()
        == write_json(tmp_path / "y", make_receipt(read_manifest(MANIFEST.encode()), evidence=given())).read_text()
    )
