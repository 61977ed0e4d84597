from __future__ import annotations

from typing import Any

import pytest

from vq.errors import BadDataError
from vq.shapes import LARGEST, Kind, Listing, Record, Table, constant, integer, is_number, number, one_of, text


@pytest.mark.parametrize("value", [0, 0.0, -0.0, 5e-324, 1.5, 1e308, LARGEST])
def test_numbers(value: Any) -> None:
    assert is_number(value)


@pytest.mark.parametrize("value", [True, "1", None, -1, -5e-324, float("inf"), float("nan"), LARGEST + 1, [], {}])
def test_no_numbers(value: Any) -> None:
    assert not is_number(value)
    assert number(null=True).accepts(value) is (value is None)


@pytest.mark.parametrize(
    ("kind", "accepted", "refused"),
    [
        (integer(1), [1, LARGEST], [0, 1.0, True, None, LARGEST + 1, "1"]),
        (integer(0, 5, null=True), [0, 5, None], [-1, 6, 5.0]),
        (text(), ["", "x"], [None, 1]),
        (text(least=1, most=2), ["x", "xx"], ["", "xxx"]),
        (one_of(("a", "b")), ["a"], ["c", None, ["a"]]),
        (constant(1), [1], [True, 1.0, "1", 2]),
        (constant("x"), ["x"], ["y", None]),
    ],
)
def test_kinds(kind: Kind, accepted: list[Any], refused: list[Any]) -> None:
    for value in accepted:
        kind.check(value)
    for value in refused:
        with pytest.raises(BadDataError, match=r"^\$\.a\[0\]: expected "):
            kind.check(value, ("a", 0))


def test_places_of_what_is_nested() -> None:
    inner = Record({"k": integer(1)}, {"o": text()}, nullable=True)
    shape = Record({"list": Listing(inner), "table": Table(text()), "words": Listing(text(), least=1)})
    valid: dict[str, Any] = {"list": [{"k": 1}, None, {"k": 2, "o": ""}], "table": {"x": "y"}, "words": ["w"]}
    shape.check(valid)
    for change, message in (
        ({"list": [{"k": 1}, {"k": 0}]}, "$.list[1].k: expected an integer from 1"),
        ({"list": [{"k": 1, "z": 1}]}, "$.list[0].z: expected no such key"),
        ({"list": [{"o": ""}]}, "$.list[0].k: expected this key, which is missing"),
        ({"list": [7]}, "$.list[0]: expected an object or null"),
        ({"table": {"x": 1}}, "$.table.x: expected a string"),
        ({"table": None}, "$.table: expected an object"),
        ({"words": []}, "$.words: expected an array of 1 or more"),
        ({"words": ["a", 1]}, "$.words[1]: expected a string"),
    ):
        with pytest.raises(BadDataError) as caught:
            shape.check({**valid, **change})
        assert str(caught.value).startswith(message)
