"""Law: the order of cases, and of keys in any document, changes no figure."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from support.observations import Row, fitted, report
from support.strategies import calibrations, recipes, sets, shuffled
from vq.canonical import digest
from vq.estimates.calibration import read_calibration


@given(st.data(), sets(), recipes, st.integers(1, 3))
def test_of_cases_in_a_calibration(data: st.DataObject, rows: list[Row], recipe: dict[str, Any], least: int) -> None:
    other = data.draw(st.permutations(rows))
    one, two = (fitted(listed, min_cases=least, **recipe) for listed in (rows, other))
    own = ("training_cases", "training_set", "calibration_id")
    assert {key: value for key, value in one.items() if key not in own} == {
        key: value for key, value in two.items() if key not in own
    }


@given(st.data(), sets())
def test_of_cases_in_a_report(data: st.DataObject, rows: list[Row]) -> None:
    one, two = report(rows), report(data.draw(st.permutations(rows)))
    assert one["groups"] == two["groups"]
    assert one["overall"] == two["overall"]

    def by_id(document: Any) -> Any:
        return sorted(document["cases"], key=lambda item: str(item["case_id"]))

    assert by_id(one) == by_id(two)


@given(st.data(), sets(most=4))
def test_of_keys_in_the_documents_of_a_set(data: st.DataObject, rows: list[Row]) -> None:
    shuffle = st.composite(shuffled)
    other = [
        (data.draw(shuffle(item)), data.draw(shuffle(estimate)), usage if usage is None else data.draw(shuffle(usage)))
        for item, estimate, usage in rows
    ]
    # As text: the same bytes, not only equal values.
    assert json.dumps(report(rows)) == json.dumps(report(other))
    assert json.dumps(fitted(rows)) == json.dumps(fitted(other))
    assert json.dumps(fitted(rows, method="offset")) == json.dumps(fitted(other, method="offset"))


@given(st.data(), calibrations())
def test_of_keys_in_a_calibration(data: st.DataObject, document: dict[str, Any]) -> None:
    other = data.draw(st.composite(shuffled)(document))
    assert read_calibration(other) == read_calibration(document)
    assert digest(other) == digest(document)
