"""Laws: every reader of a written document accepts it, and a one-character change of what a digest binds is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from support import documents
from support.observations import Row, fitted, observe
from support.strategies import calibrations, features, manifests, receipts, recipes, sets
from vq.canonical import digest, parse, pretty
from vq.errors import BadDataError
from vq.estimates.calibrated import apply_calibration, read_estimate
from vq.estimates.calibration import read_calibration
from vq.estimates.cases import read_set
from vq.estimates.evidence import read_evidence
from vq.estimates.programs.vibe_qc import read_manifest
from vq.estimates.receipt import InputFile, make_receipt

SHA = documents.SHA


@given(manifests(), st.none() | features(), st.none() | st.integers(1, 2**33 - 1))
def test_a_receipt(manifest: str, evidence: dict[str, Any] | None, memory_mb: int | None) -> None:
    given_evidence = None if evidence is None else read_evidence(json.dumps(evidence).encode())
    try:
        document = make_receipt(
            read_manifest(manifest.encode()),
            evidence=given_evidence,
            inputs=[InputFile(path="a", bytes=0, sha256=SHA)],
            memory_mb=memory_mb,
            warnings=["w"],
        )
    except BadDataError as error:
        assume("no contradiction" in str(error))
        return
    read_back = parse(pretty(document).encode())
    assert read_back == document
    found = read_estimate(read_back)
    assert found.sha256 == digest(document)
    assert found.predicted_peak_bytes == document["memory"]["predicted_peak_bytes"]
    listed = {path for path in document["unknown"] if path.startswith("features.")}
    assert all(document["features"][path.removeprefix("features.")] is None for path in listed)


@given(sets(), st.integers(1, 3), recipes)
def test_a_calibration(rows: list[Row], min_cases: int, recipe: dict[str, Any]) -> None:
    document = fitted(rows, min_cases=min_cases, **recipe)
    found = read_calibration(parse(pretty(document).encode()))
    corrections = found.corrections()
    key = "offset_bytes" if recipe["method"] == "offset" else "multiplier"
    assert sorted(getattr(correction, key) for correction in corrections.memory.values()) == sorted(
        group[key] for group in document["groups"] if group["status"] == "calibrated"
    )
    assert {correction.margin_percent for correction in corrections.memory.values()} <= {recipe["margin_percent"]}


@given(receipts(), calibrations(), st.sampled_from(["class-a", "B_2:x+y.z", "other"]))
def test_a_calibrated_estimate(receipt: dict[str, Any], calibration: dict[str, Any], hardware: str) -> None:
    try:
        document = apply_calibration(receipt, read_calibration(calibration), hardware)
    except BadDataError as error:
        assume("calibrated peak of at most" in str(error))
        return
    assert read_estimate(parse(pretty(document).encode())) == read_estimate(receipt)


@given(sets())
def test_a_set(rows: list[Row]) -> None:
    document = documents.evaluation_set([item for item, _, _ in rows])
    assert read_set(parse(pretty(document).encode())).sha256 == digest(document)
    assert len(observe(rows)) == len(rows)


def one_character(data: st.DataObject, document: dict[str, Any]) -> dict[str, Any] | None:
    """The document after a change of one character of its text, where it is another document then."""
    text = json.dumps(document)
    place = data.draw(st.integers(1, len(text) - 2))
    new = data.draw(st.sampled_from('0123456789abcdefRz.-"e \\,'))
    try:
        other = parse((text[:place] + new + text[place + 1 :]).encode())
        return None if digest(other) == digest(document) else other
    except BadDataError:
        return None


def refused(read: Callable[[dict[str, Any]], Any], document: dict[str, Any]) -> bool:
    try:
        read(document)
    except BadDataError:
        return True
    return False


@given(st.data(), calibrations())
def test_all_of_a_calibration_is_bound(data: st.DataObject, document: dict[str, Any]) -> None:
    other = one_character(data, document)
    assert other is None or refused(read_calibration, other)


@given(st.data(), receipts())
def test_the_receipt_in_a_calibrated_estimate_is_bound(data: st.DataObject, receipt: dict[str, Any]) -> None:
    document = documents.calibrated(
        estimate=receipt, estimate_sha256=digest(receipt), status="uncalibrated", reason="no_matching_group"
    )
    other = one_character(data, receipt)
    assert other is None or refused(read_estimate, {**document, "estimate": other})


BOUND = [
    ("manifest", "sha256"),
    ("inputs", 0, "path"),
    ("inputs", 0, "bytes"),
    ("inputs", 0, "sha256"),
    ("evidence", "sha256"),
    ("input_digest",),
]


@given(st.data(), st.sampled_from(BOUND))
def test_the_fingerprints_of_a_receipt_are_bound(data: st.DataObject, path: tuple[str | int, ...]) -> None:
    document = documents.receipt(inputs=[{"path": "calc/a.py", "bytes": 412, "sha256": SHA}])
    place = documents.at(document, path[:-1])
    text = json.dumps(place[path[-1]])
    where = data.draw(st.integers(0, len(text) - 1))
    new = data.draw(st.sampled_from("0123456789abcdef"))
    try:
        value = json.loads(text[:where] + new + text[where + 1 :])
    except ValueError:
        return
    assume(value != place[path[-1]])
    place[path[-1]] = value
    assert refused(read_estimate, document)
