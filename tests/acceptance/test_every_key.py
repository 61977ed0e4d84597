"""Every key of every document: removed, null, of another type, out of range, and an unknown key beside it.

Each is refused with exit status 1, nothing on stdout, and the JSON path of that key in the message. The few that the
formats allow stand in `ALLOWED`, and those whose refusal names another key that no longer fits in `ELSEWHERE`, each
with its reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support import documents
from support.command import Run
from support.documents import MANIFEST, SHA, at, sealed_calibration, write_json, write_set
from support.mutations import REMOVED, UNKNOWN, mutated, mutations, paths, text
from support.mutations import Path as JsonPath
from vq.errors import VqError, json_path


class Kind(NamedTuple):
    """A kind of document: a valid one with every key, and where the command finds it."""

    document: dict[str, Any]
    file: str
    arguments: tuple[str, ...]
    sealed: Callable[[dict[str, Any]], dict[str, Any]] = lambda document: document


EVALUATE = ("estimate-evaluate", "set.json", "--json")


def full_receipt() -> dict[str, Any]:
    """A receipt with every key of the evidence and an override."""
    plain = documents.receipt()
    override = {"memory_mb": 4, "bytes": 4 * 2**20}
    memory = {**plain["memory"], "override": override, "effective_job_memory_bytes": override["bytes"]}
    return documents.receipt(evidence={"sha256": SHA, **documents.evidence()}, memory=memory)


def resealed(document: dict[str, Any]) -> dict[str, Any]:
    """The calibration with its id computed anew where it can be, so that its id is not what is wrong with it."""
    whole = "calibration_id" in document and document["calibration_id"] == documents.calibration()["calibration_id"]
    try:
        return sealed_calibration(document) if whole else document
    except (ValueError, VqError):
        return document


KINDS = {
    "evidence": Kind(documents.evidence(), "f.json", ("estimate", "m.system", "--features", "f.json", "--json")),
    "set": Kind(documents.evaluation_set([documents.limited_case()]), "set.json", EVALUATE),
    "receipt": Kind(full_receipt(), "c0.estimate.json", EVALUATE),
    "other receipt": Kind(documents.other_receipt(), "c0.estimate.json", EVALUATE),
    "calibrated": Kind(documents.calibrated(), "c0.estimate.json", EVALUATE),
    "direct": Kind(documents.direct(), "c0.usage.json", EVALUATE),
    "scheduler": Kind(documents.scheduler(), "c0.usage.json", EVALUATE),
    "direct error": Kind(documents.failed_collection(documents.direct()), "c0.usage.json", EVALUATE),
    "scheduler error": Kind(documents.failed_collection(documents.scheduler()), "c0.usage.json", EVALUATE),
    "calibration": Kind(
        documents.calibration(),
        "calibration.json",
        ("estimate", "m.system", "--calibration", "calibration.json", "--hardware-class", "class-a", "--json"),
        resealed,
    ),
}

ANY = ".*"
MEASURED = r"\$\.(wall|user_cpu|system_cpu|active_cpu)_seconds|\$\.peak_rss_(kb|mb)"
OURS = r"\$\.(" + "|".join(documents.OURS) + ")"
LABELS = r"\$\.(metric_sources|aggregation_semantics)"

ALLOWED = [
    # kind, JSON path, what was done, why it is no fault
    ("evidence", r"\$\.(?!schema_version).*", "removed", "only schema_version is required"),
    ("evidence", r"\$\.(method|basis|task_type)", "nonsense", "any text; that it contradicts is said in ELSEWHERE"),
    ("set", r"\$\.cases\[0\]\.usage", "null", "a run that left no usage receipt"),
    ("set", r"\$\.cases\[0\]\.(memory_limit_bytes|memory_limit_scope|wall_limit_seconds)", "removed", "optional"),
    (
        "receipt",
        r"\$\.evidence\.(?!sha256|schema_version|memory_scope).*",
        "removed",
        "exactly the keys that were given",
    ),
    (".*receipt", r"\$\.evidence\.algorithm", "removed", "exactly the keys that were given"),
    ("other receipt", r"\$\.evidence\.memory_scope", "removed", "the estimator may state the scope itself"),
    (".*receipt", r"\$\.(program|program_version)", "nonsense", "any text"),
    (".*receipt", r"\$\.program_version", "null", "unknown"),
    ("receipt", r"\$\.features\..*", "null", "unknown, or none"),
    ("receipt", r"\$\.features\.(functional|options_digest)", "nonsense", "any text"),
    ("other receipt", r"\$\.features\.method", "null|nonsense", "unknown, or any text"),
    ("other receipt", r"\$\.features\.(?!method).*", "(?!array|object|past|overflow|NaN).*", "features of its own"),
    ("other receipt", r"\$\.features\.no_such_key", UNKNOWN, "features of its own"),
    (".*receipt", r"\$\.(unknown|limitations)\[0\]", "empty|nonsense", "the wording is the writer's"),
    ("direct|scheduler", MEASURED, "null", "not measured"),
    ("direct.*", r"\$\.process_count", "null", "not known for certain"),
    ("direct.*", LABELS, "null", "not said"),
    ("direct.*", LABELS + r"\..*", "removed|null|string|empty|nonsense", "any labels, each a text or null"),
    ("direct.*", OURS, "removed|null", "any subset of our keys; absent is null"),
    ("direct error", r"\$\.error", "removed", "required of a scheduler receipt only"),
    (".*error", r"\$\.error", "empty|nonsense", "any text"),
    ("calibration", r"\$\.training_cases\[0\]\.usage_sha256", "null", "a training case without usage"),
    ("calibration", r"\$\.(runtime_)?groups\[0\]\.(program|program_version)", "nonsense", "any text"),
    ("calibration", r"\$\.(runtime_)?groups\[0\]\.algorithm", "null", "an estimate whose algorithm is not known"),
]

ELSEWHERE = [
    # kind, JSON path, what was done, the path that the message names: the key that no longer fits
    ("evidence", r"\$\.(method|basis|task_type)", "nonsense", "$."),
    ("set", r"\$\.cases\[0\]\.(estimate|usage)", "nonsense", "case c0, "),
    (".*", r".*\.override", "object", ".override.memory_mb: expected this key"),
    ("receipt", r"\$\.features\.(method|basis|task_type)", "nonsense", "evidence."),
    (".*receipt", r"\$\.evidence", "null", "$."),
    ("receipt", r"\$\.evidence\.memory_scope", "removed", "$.memory.scope"),
    (
        "other receipt",
        r"\$\.features\.method",
        "removed",
        "$.features: expected at most 32 features, among them method",
    ),
    (".*receipt", r"\$\.inputs\[0\]\.path", "nonsense", "$.input_digest"),
    (".*receipt", r"\$\.memory\.predicted_peak_bytes", "null", "$.memory.safety_margin"),
    ("receipt", r"\$\.memory\.override", "null", "$.memory.effective_job_memory_bytes"),
    ("calibrated", r"\$\.estimate\.program", "nonsense", "$.estimate_sha256"),
    ("calibrated", r"\$\.estimate\.(features\..*|program_version)", "null|nonsense", "$.estimate_sha256"),
    ("calibrated", r"\$\.estimate\.(unknown|limitations)\[0\]", "empty|nonsense", "$.estimate_sha256"),
    ("calibrated", r"\$\.estimate\.evidence", "null", "$.estimate.memory.scope"),
    ("calibrated", r"\$\.estimate\.evidence\.algorithm", "removed", "$.estimate_sha256"),
    ("calibrated", r"\$\.estimate\.evidence\.memory_scope", "removed", "$.estimate.memory.scope"),
    ("calibrated", r"\$\.estimate\.inputs\[0\]\.path", "nonsense", "$.estimate.input_digest"),
    ("calibrated", r"\$\.estimate\.memory\.predicted_peak_bytes", "null", "$.estimate.memory.safety_margin"),
    ("direct|scheduler", r"\$\.command_exit_code", "negative", "$.command_status"),
    ("calibration", r"\$\.runtime_method", "removed", "$.runtime_groups"),
]


def rule(table: list[tuple[str, str, str, str]], kind: str, path: str, done: str) -> str | None:
    """The last word of the first row of `table` that speaks of this mutation."""
    for kinds, where, what, last in table:
        if re.fullmatch(kinds, kind) and re.fullmatch(where, path) and re.fullmatch(what, done):
            return last
    return None


def every_key() -> list[Any]:
    return [
        pytest.param(kind, path, id=f"{kind} {json_path(path)}")
        for kind, (document, *_) in KINDS.items()
        for path in paths(document)
    ]


@pytest.mark.parametrize(("kind", "path"), every_key())
def test_a_key(vq: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, path: JsonPath) -> None:
    document, file, arguments, sealed = KINDS[kind]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.system").write_text(MANIFEST)
    # A receipt of any status goes with an outcome that nothing contradicts.
    item = documents.limited_case() | {"outcome": "killed"}
    write_set(tmp_path, [(item, documents.receipt(), documents.plain_direct())])
    for mutation in mutations(at(document, path)):
        done = mutation[0]
        if done == REMOVED and isinstance(path[-1], int):
            continue
        changed = sealed(mutated(document, path, mutation))
        (tmp_path / file).write_text(text(changed), encoding="utf-8")
        result = vq(*arguments)
        where = json_path((*path, "no_such_key") if done == UNKNOWN else path)
        elsewhere = rule(ELSEWHERE, kind, where, done)
        if elsewhere is None and rule(ALLOWED, kind, where, done):
            assert result.status == 0, (where, done, result.err)
            continue
        assert (result.status, result.out) == (1, ""), (where, done, result.err)
        assert (elsewhere or f"{where}: ") in result.err, (done, result.err)
        assert "a bug in vq" not in result.err, result.err


@pytest.mark.parametrize("kind", KINDS)
def test_the_documents_themselves_are_valid(
    vq: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    document, file, arguments, _ = KINDS[kind]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.system").write_text(MANIFEST)
    write_set(tmp_path, [(documents.case(outcome="killed"), documents.receipt(), documents.plain_direct())])
    write_json(tmp_path / file, document)
    result = vq(*arguments)
    assert result.status == 0, result.err
    assert json.loads(result.out)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("top", ["[]", "7", '"x"', "null", "true", "", "{", "[[[", '{"a":1}{"a":1}'])
def test_a_document_is_an_object(vq: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, top: str) -> None:
    _, file, arguments, _ = KINDS[kind]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.system").write_text(MANIFEST)
    write_set(tmp_path, [(documents.case(), documents.receipt(), documents.plain_direct())])
    (tmp_path / file).write_text(top)
    result = vq(*arguments)
    assert (result.status, result.out) == (1, "")
    assert f"{file}: expected " in result.err


@pytest.mark.parametrize("kind", KINDS)
def test_each_key_stands_once(vq: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    document, file, arguments, _ = KINDS[kind]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.system").write_text(MANIFEST)
    write_set(tmp_path, [(documents.case(), documents.receipt(), documents.plain_direct())])
    for key in document:
        (tmp_path / file).write_text(f'{{"{key}": null, {json.dumps(document)[1:]}')
        result = vq(*arguments)
        assert (result.status, result.out) == (1, "")
        assert f"$.{key}: expected each key once" in result.err
