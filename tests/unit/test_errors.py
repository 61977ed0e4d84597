from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from vq.errors import BadDataError, UsageError, VqError, json_path, placed, shown


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), "$"),
        (("cases", 3, "odd key"), '$.cases[3]["odd key"]'),
        (("", "a.b", "\x1b"), '$[""]["a.b"]["\\u001b"]'),
        (("_a1", "1a"), '$._a1["1a"]'),
    ],
)
def test_json_path(path: tuple[str | int, ...], text: str) -> None:
    assert json_path(path) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x" * 100, '"' + "x" * 59 + "…"),
        ("\x1b\n\u202e", '"\\u001b\\n\\u202e"'),
        ({"a": 1}, "an object"),
        ([1], "an array"),
        (True, "true"),
        (None, "null"),
        (1.5, "1.5"),
        (10**100, "an integer of too many digits"),
        (dt.date(2020, 1, 2), "2020-01-02"),
    ],
)
def test_shown(value: Any, text: str) -> None:
    assert shown(value) == text


def test_errors_have_a_place_a_hint_and_a_status() -> None:
    error = VqError("no", hint="do")
    assert (str(error), error.hint, error.exit_code) == ("no", "do", 1)
    assert str(error.at("inner").at("outer")) == "outer: inner: no"
    assert UsageError("x").exit_code == 2
    bad = BadDataError("a thing", path=("a",), found=7)
    assert (str(bad), bad.path, bad.expected) == ("$.a: expected a thing, found 7", ("a",), "a thing")
    assert str(BadDataError("a thing")) == "expected a thing"


def test_bad_data_are_placed() -> None:
    with pytest.raises(BadDataError, match=r"^file: expected a thing$"), placed("file"):
        raise BadDataError("a thing")
    with pytest.raises(VqError, match=r"^other$"), placed("file"):
        raise VqError("other")
