"""The set document, and the summary of its cases."""

from __future__ import annotations

from typing import Any

import pytest

from support.documents import case, evaluation_set, limited_case
from vq.canonical import digest
from vq.errors import BadDataError
from vq.estimates.cases import read_set
from vq.estimates.summary import Summary

VALID = "A-Za.z0_9+:-"


def test_a_set() -> None:
    document = evaluation_set([limited_case("a"), case("b", usage=None)])
    found = read_set(document)
    assert (found.set_id, found.sha256, len(found.cases)) == ("held-out", digest(document), 2)
    assert found.cases[0].memory_limit_scope == "node"
    assert found.cases[1].memory_limit_scope == "job"
    assert found.cases[1].usage is None


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (evaluation_set([]), "$.cases: expected an array of 1 or more, found an array"),
        (
            evaluation_set([case("a"), case("b"), case("a")]),
            '$.cases[2].case_id: expected each case_id once, found "a"',
        ),
        (evaluation_set([case("a b")]), "$.cases[0].case_id: expected 1 to 128 characters"),
        (evaluation_set([case("é")]), "$.cases[0].case_id: expected 1 to 128 characters"),
        (evaluation_set([case("x" * 129)]), "$.cases[0].case_id: expected 1 to 128 characters"),
        (evaluation_set([case()], "x" * 129), "$.set_id: expected 1 to 128 characters"),
        (evaluation_set([case(hardware_class="x" * 65)]), "$.cases[0].hardware_class: expected 1 to 64 characters"),
        (evaluation_set([case(outcome="ok")]), "$.cases[0].outcome: expected completed | failed | killed | oom_killed"),
        (evaluation_set([case(memory_limit_bytes=0)]), "$.cases[0].memory_limit_bytes: expected an integer from 1"),
        (evaluation_set([case(memory_limit_bytes=2.0)]), "$.cases[0].memory_limit_bytes: expected an integer from 1"),
        (evaluation_set([case(wall_limit_seconds=None)]), "$.cases[0].wall_limit_seconds: expected a finite number"),
        (evaluation_set([case(usage=...)]), "$.cases[0].usage: expected this key, which is missing"),
    ],
)
def test_what_is_no_set(document: dict[str, Any], message: str) -> None:
    with pytest.raises(BadDataError) as caught:
        read_set(document)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "item",
    [
        case(VALID),
        case("x" * 128),
        case(hardware_class="x" * 64),
        case(memory_limit_bytes=2**53 - 1),
        case(wall_limit_seconds=0),
        case(wall_limit_seconds=1e300),
        case(memory_limit_scope="unspecified"),
    ],
)
def test_what_is_one(item: dict[str, Any]) -> None:
    assert read_set(evaluation_set([item], VALID)).cases[0].case_id == item["case_id"]


def test_a_summary_without_a_calibration_has_none() -> None:
    summary = Summary(calibrated=False)
    summary.add_calibrated("within", "covered")
    assert "calibrated" not in summary.document()["memory"]
