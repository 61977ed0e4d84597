from __future__ import annotations

import re
from contextlib import nullcontext, suppress
from typing import Any

import pytest

from vq.canonical import canonical, parse, pretty, pretty_rows
from vq.errors import BadDataError, VqError


def refusal(data: bytes) -> str:
    with pytest.raises(BadDataError) as caught:
        parse(data)
    return str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "expected a JSON object; the file is empty"),
        (b" \n", "expected a JSON object; the file is empty"),
        (b"[1]", "expected a JSON object, found an array"),
        (b"7", "expected a JSON object, found 7"),
        (b"null", "expected a JSON object, found null"),
        (b'{"a": 1 2}', "expected JSON; Expecting ',' delimiter at line 1 column 9"),
        (b'{"a": 1} x', "expected JSON; Extra data at line 1 column 10"),
        (b'\xef\xbb\xbf{"a": 1}', "expected JSON; Expecting value at line 1 column 1"),
        (b'{"a": "\xff"}', "expected UTF-8 text; byte 7 is none"),
        (b'{"a": "\xed\xa0\x80"}', "expected UTF-8 text; byte 7 is none"),
        (b'{"a": NaN}', "$.a: expected a finite number, found NaN"),
        (b'{"a": [1, {"b": -Infinity}]}', "$.a[1].b: expected a finite number, found -Infinity"),
        (b'{"a": 1, "a": 1}', '$.a: expected each key once, found "a"'),
        (b'{"x": [{"odd key": {"k": 1, "k": 2}}]}', '$.x[0]["odd key"].k: expected each key once, found "k"'),
        (b'{"a": {"b": 1}, "a": {"b": 2, "b": 3}}', '$.a: expected each key once, found "a"'),
        (b'{"a": "\\ud800"}', '$.a: expected text without lone surrogates, found "\\ud800"'),
        (b'{"a": ["\\udc00\\ud800"]}', '$.a[0]: expected text without lone surrogates, found "\\udc00\\ud800"'),
        (b'{"\\ud800": 1}', '$["\\ud800"]: expected text without lone surrogates, found "\\ud800"'),
    ],
)
def test_parse_refuses_with_the_place(data: bytes, message: str) -> None:
    assert refusal(data) == message


def test_parse_refuses_integers_of_thousands_of_digits() -> None:
    assert refusal(b'{"a": ' + b"9" * 5000 + b"}").startswith("expected integers within")


@pytest.mark.parametrize("depth", [2_000, 100_000, 5_000_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_parse_or_canonical_refuses_what_is_nested_too_deeply(depth: int, opening: str, closing: str) -> None:
    with pytest.raises(BadDataError, match="expected JSON that is nested less deeply"):
        canonical(parse(('{"x":' + opening * depth + "5.0" + closing * depth + "}").encode()))


@pytest.mark.parametrize("inner", ["5", "5.0", '"\\ud83d\\ude00"'])
def test_every_depth_has_a_form_or_is_refused(inner: str) -> None:
    for depth in range(5, 1200, 7):
        data = ('{"x":' + "[" * depth + inner + "]" * depth + "}").encode()
        with suppress(BadDataError) if depth > 100 else nullcontext():
            assert canonical(parse(data)).count(b"[") == depth


@pytest.mark.parametrize("bad", [b'"a": NaN', b'"a": 1, "a": 2', b'"a": -Infinity'])
@pytest.mark.parametrize(
    "rest", [b', "x', b", }", b', "b": ' + b"9" * 5000 + b"}", b', "b": ' + b"[" * 100_000, b"} x"]
)
def test_text_with_a_second_fault_behind_the_first_is_refused_too(bad: bytes, rest: bytes) -> None:
    assert refusal(b"{" + bad + rest)


def test_a_pair_of_surrogate_escapes_is_a_character() -> None:
    assert parse(b'{"\\ud83d\\ude00": "\\uD83D\\uDE00"}') == {"\U0001f600": "\U0001f600"}


def test_parse_keeps_integers_exact_and_floats_nearest() -> None:
    assert parse(b'{"a": 9007199254740993, "b": -0, "c": 0.1, "d": -0.0}') == {
        "a": 9007199254740993,
        "b": 0,
        "c": 0.1,
        "d": -0.0,
    }


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (5.0, b"5"),
        (-0.0, b"0"),
        (1e-7, b"1e-7"),
        (1e-6, b"0.000001"),
        (1e-5, b"0.00001"),
        (1e16, b"10000000000000000"),
        (1e20, b"100000000000000000000"),
        (1e21, b"1e+21"),
        (5e-324, b"5e-324"),
        (1.7976931348623157e308, b"1.7976931348623157e+308"),
        (2**53 - 1, b"9007199254740991"),
        (-(2**53) + 1, b"-9007199254740991"),
        ('\x7f\x1f\n"\\/é', '"\x7f\\u001f\\n\\"\\\\/é"'.encode()),
        (True, b"true"),
        (None, b"null"),
        ([], b"[]"),
        ({"b": 1, "a": [2, (3.5, {"c": 1.0})]}, b'{"a":[2,[3.5,{"c":1}]],"b":1}'),
        ({"\ue000": 1, "\U0001f600": 2}, '{"\U0001f600":2,"\ue000":1}'.encode()),
        ({"\u20ac": 1, "a": 2}, '{"a":2,"\u20ac":1}'.encode()),
    ],
)
def test_canonical(value: Any, form: bytes) -> None:
    assert canonical(value) == form


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [2**53]}, "$.a[0]: expected an integer within ±9007199254740991, found 9007199254740992"),
        (-(2**53), "expected an integer within ±9007199254740991, found -9007199254740992"),
        ({"a": {"b": float("inf")}}, "$.a.b: expected a finite number, found Infinity"),
        ({"a": float("nan")}, "$.a: expected a finite number, found NaN"),
        ({"a": ["x", "\ud800"]}, '$.a[1]: expected text without lone surrogates, found "\\ud800"'),
        ({"\udfff": 1}, '$["\\udfff"]: expected text without lone surrogates, found "\\udfff"'),
    ],
)
def test_canonical_refuses_what_has_no_form(value: Any, message: str) -> None:
    with pytest.raises(BadDataError, match=re.escape(message)):
        canonical(value)


def test_canonical_leaves_a_fault_of_the_program_alone() -> None:
    for value in ({"a": object()}, {"a": object(), "b": 5.0}):
        with pytest.raises(Exception, match=r"object|type") as caught:
            canonical(value)
        assert not isinstance(caught.value, VqError)


@pytest.mark.parametrize("inner", [5, 5.0, "\U0001f600"])
def test_a_value_nested_too_deeply_has_no_form(inner: Any) -> None:
    value = inner
    for _ in range(100_000):
        value = [value]
    with pytest.raises(BadDataError, match="nested less deeply"):
        canonical(value)


def test_pretty_is_indented_by_two_and_ascii() -> None:
    assert pretty({"b": 1, "a": "é"}) == '{\n  "b": 1,\n  "a": "\\u00e9"\n}\n'


def test_pretty_rows_has_one_row_a_line() -> None:
    pieces = pretty_rows({"x": {"rows": []}, "rows": [], "y": []}, "rows", iter([{"a": 1}, {"b": "\n"}]))
    assert "".join(pieces) == (
        '{\n  "x": {\n    "rows": []\n  },\n  "rows": [\n    {"a": 1},\n    {"b": "\\n"}\n  ],\n  "y": []\n}\n'
    )
