"""Law: the canonical form is RFC 8785's, so neither layout nor order of keys changes a digest."""

from __future__ import annotations

import json
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from support.strategies import LARGEST, json_values, shuffled
from vq.canonical import canonical, digest, parse, pretty, pretty_rows
from vq.errors import BadDataError


@given(json_values)
def test_it_is_the_form_of_the_reference(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_alone_and_inside(value: float) -> None:
    assert canonical(value) == rfc8785.dumps(value)
    assert canonical({"a": [value]}) == rfc8785.dumps({"a": [value]})


@given(st.integers(-LARGEST - 3, LARGEST + 3) | st.integers(LARGEST - 3, LARGEST + 3))
def test_integers_have_a_form_within_2_53(value: int) -> None:
    if abs(value) <= LARGEST:
        assert canonical([value]) == f"[{value}]".encode()
    else:
        with pytest.raises(BadDataError, match=r"\$\[0\]: expected an integer within"):
            canonical([value])


@given(st.data(), json_values, st.sampled_from([None, 0, 1, 7, "\t"]), st.booleans())
def test_reformatting_changes_no_digest(data: st.DataObject, value: Any, indent: Any, ascii_only: bool) -> None:  # noqa: FBT001
    document = {"value": value}
    other = data.draw(st.composite(shuffled)(document))
    text = json.dumps(other, indent=indent, ensure_ascii=ascii_only, separators=(" , ", " :\n"))
    assert digest(parse(text.encode())) == digest(document)


@given(json_values)
def test_what_is_written_is_read_back(value: Any) -> None:
    document = {"rows": [value, value], "value": value}
    assert parse(pretty(document).encode()) == document
    pieces = "".join(pretty_rows({"rows": [], "value": value}, "rows", iter([{"a": value}] * 2)))
    assert parse(pieces.encode()) == {"rows": [{"a": value}] * 2, "value": value}


@given(st.binary(max_size=60) | json_values.map(lambda value: json.dumps({"a": value}).encode()), st.data())
def test_any_bytes_are_read_or_refused(data: bytes, draw: st.DataObject) -> None:
    cut = draw.draw(st.integers(0, len(data)))
    for text in (data, data[:cut], data[:cut] + draw.draw(st.binary(max_size=3)) + data[cut:]):
        try:
            value = parse(text)
        except BadDataError:
            continue
        assert value == json.loads(text)
