"""Every document that vq writes for estimates says of what kind it is."""

from __future__ import annotations

import pytest

from vq.errors import BadDataError
from vq.estimates import calibrated, calibration, cases, evaluation, receipt, usage
from vq.estimates.kinds import CALIBRATION, ESTIMATE, REPORT, SET, USAGE, DocumentKind, kind_of, meant_as, other_kind


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        (receipt.SCHEMA, ESTIMATE),
        *((schema, ESTIMATE) for schema in calibrated.SCHEMAS),
        (cases.SET_SCHEMA, SET),
        (calibration.SCHEMA, CALIBRATION),
        (calibration.NEWER_SCHEMA, CALIBRATION),
        (evaluation.REPORT_SCHEMA, REPORT),
        (evaluation.NEWER_REPORT_SCHEMA, REPORT),
    ],
)
def test_a_schema_names_its_kind(schema: str, kind: DocumentKind) -> None:
    assert kind_of({"schema_name": schema}) is kind
    assert other_kind({"schema_name": schema}, kind) is None


@pytest.mark.parametrize("schema", [usage.DIRECT, usage.SCHEDULER])
def test_a_usage_receipt_names_its_kind_in_a_key_of_its_own(schema: str) -> None:
    assert kind_of({"schema": schema}) is USAGE


@pytest.mark.parametrize("document", [None, [], {}, {"schema_name": 1}, {"schema_name": "vq.other/1"}])
def test_what_says_nothing_known_is_of_no_kind(document: object) -> None:
    assert kind_of(document) is None
    assert other_kind(document, SET) is None


def test_what_is_wrong_with_another_document_comes_with_what_it_is_and_else_stays() -> None:
    for schema, hint in ((cases.SET_SCHEMA, "this is an evaluation set; expected is an estimate"), ("x", None)):
        error = BadDataError("something")
        with pytest.raises(BadDataError) as raised, meant_as(ESTIMATE, {"schema_name": schema}):
            raise error
        assert raised.value is error
        assert (error.hint or "").startswith(hint or "")
        assert (error.hint is None) == (hint is None)
