"""JSON documents, strictly read and canonically digested.

`parse` refuses what other readers pass over: a byte-order mark, duplicate keys, NaN and Infinity, lone surrogates,
nesting too deep to parse, anything but an object. `canonical` is RFC 8785 (JSON Canonicalization Scheme), and the
digest of a document is the SHA-256 of that form in lowercase hexadecimal, so that reformatting a file, or ordering
its keys anew, cannot make it look new.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

from vq.errors import BadDataError
from vq.shapes import LARGEST, Path


class _RefusedError(ValueError):
    """Raised inside the parser, which does not know the path; `_locate` then finds it."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _RefusedError
    return value


def _refuse_constant(_: str) -> Any:
    raise _RefusedError


_DECODE = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant).decode
_ENCODE = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode
_SURROGATE_ESCAPE = rb"\\u[dD][89a-fA-F]"

_FIRST_SURROGATE = "\ud800"
_LONE_SURROGATE = "[\ud800-\udfff]"
_LESS_DEEP = "JSON that is nested less deeply"
_LEAST_ALIKE = 1e-4
_FIRST_UNLIKE = 1e16


def parse(data: bytes) -> dict[str, Any]:
    """The object that `data` (UTF-8 JSON) holds; floats are the nearest doubles, integers exact.

    Raises `BadDataError` with the JSON path of a duplicate key, a NaN or a lone surrogate. Whether numbers are in
    range and keys known is for the document's shape to say.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise BadDataError(f"UTF-8 text; byte {error.start} is none") from error
    if not text.strip():
        raise BadDataError("a JSON object; the file is empty")
    try:
        value = _decoded(text, _DECODE)
    except _RefusedError:
        raise _locate(text) from None
    if type(value) is not dict:
        raise BadDataError("a JSON object", found=value)
    if re.search(_SURROGATE_ESCAPE, data) and (found := _find(value, _is_cut)) is not None:
        raise _lone_surrogate(*found)
    return value


def canonical(value: Any) -> bytes:
    """The RFC 8785 form of a JSON value.

    Raises `BadDataError`, with the path, for what that form cannot hold: an integer beyond ±(2^53−1), a number that
    is not finite, a lone surrogate; and for a value nested too deeply to write.
    """
    try:
        if _written_alike(value):
            text = _ENCODE(value)
            # Sorting by code points and by UTF-16 units agree below the surrogates, where nearly all text is.
            if text.isascii() or max(text) < _FIRST_SURROGATE:
                return text.encode()
        return _canonical_in_general(value)
    except RecursionError:
        raise BadDataError(_LESS_DEEP) from None


def digest(value: Any) -> str:
    """The SHA-256 of a JSON value's RFC 8785 form, in lowercase hexadecimal."""
    return sha256(canonical(value)).hexdigest()


def pretty(value: Any) -> str:
    """A document as people read it: indented by 2, keys in their own order, ASCII only, a newline at the end."""
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


def pretty_rows(document: dict[str, Any], key: str, rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    """The text of `document` in pieces, with `rows` (never all in memory) as its array `key`, one a line."""
    dumps = json.JSONEncoder(allow_nan=False).encode
    before, after = pretty({**document, key: []}).split(f'\n  "{key}": []', 1)
    yield f'{before}\n  "{key}": ['
    mark = "\n    "
    for row in rows:
        yield mark + dumps(row)
        mark = ",\n    "
    yield f"\n  ]{after}"


def _decoded(text: str, decode: Callable[[str], Any]) -> Any:
    """What `decode` makes of `text`; syntax that it cannot take is a `BadDataError`."""
    try:
        return decode(text)
    except _RefusedError:
        raise
    except json.JSONDecodeError as error:
        raise BadDataError(f"JSON; {error.msg} at line {error.lineno} column {error.colno}") from error
    except RecursionError:
        raise BadDataError(_LESS_DEEP) from None
    except ValueError:
        raise BadDataError(f"integers within ±{LARGEST}; one has thousands of digits") from None


def _written_alike(value: Any) -> bool:
    """Whether Python's encoder writes every number in `value` as RFC 8785 does.

    Both write the shortest digits of a double, but 5.0, 1e-05 and 1e+16 where RFC 8785 has 5, 0.00001 and
    10000000000000000; and RFC 8785 has no integers beyond 2^53.
    """
    for item in value.values() if type(value) is dict else value if type(value) in (list, tuple) else (value,):
        kind = type(item)
        if kind is str or item is None:
            continue
        if kind is float:
            if not (_LEAST_ALIKE <= abs(item) < _FIRST_UNLIKE) or item.is_integer():
                return False
        elif kind is int:
            if not -LARGEST <= item <= LARGEST:
                return False
        elif (kind is dict or kind is list or kind is tuple) and not _written_alike(item):
            return False
    return True


def _canonical_in_general(value: Any) -> bytes:
    import rfc8785  # noqa: PLC0415 - most documents never need it, and every command would pay for the import

    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError):
        found = _find(value, _has_no_form)
        if found is None:
            raise
    path, item = found
    if isinstance(item, str):
        raise _lone_surrogate(path, item)
    expected = f"an integer within ±{LARGEST}" if type(item) is int else "a finite number"
    raise BadDataError(expected, path=path, found=item)


def _has_no_form(item: Any) -> bool:
    if type(item) is int:
        return not -LARGEST <= item <= LARGEST
    return _is_cut(item) if isinstance(item, str) else type(item) is float and item - item != 0


def _is_cut(item: Any) -> bool:
    """Whether a string holds half a surrogate pair."""
    return isinstance(item, str) and not item.isascii() and re.search(_LONE_SURROGATE, item) is not None


def _lone_surrogate(path: Path, item: str) -> BadDataError:
    return BadDataError("text without lone surrogates", path=path, found=item)


def _find(value: Any, wanted: Callable[[Any], bool]) -> tuple[Path, Any] | None:
    """The first key or value of a parsed document that is `wanted`, with its path; a key stands at its value's."""
    steps: list[str | int] = []
    open_items: list[Iterator[tuple[str | int, Any]]] = [iter([(0, value)])]
    while open_items:
        for step, item in open_items[-1]:
            steps[len(open_items) - 1 :] = [step]
            if len(open_items) > 1 and wanted(step):
                return tuple(steps[1:]), step
            if wanted(item):
                return tuple(steps[1:]), item
            if isinstance(item, dict | list | tuple):
                open_items.append(iter(item.items() if isinstance(item, dict | _Pairs) else enumerate(item)))
                break
        else:
            open_items.pop()
    return None


class _Pairs(list[tuple[str, Any]]):
    """An object as the parser saw it, duplicate keys and all."""

    def items(self) -> list[tuple[str, Any]]:
        """Its pairs, in the way of a dict."""
        return self

    def twice(self) -> str | None:
        """The first key that stands a second time."""
        seen: set[str] = set()
        return next((key for key, _ in self if key in seen or seen.add(key)), None)  # type: ignore[func-returns-value]


class _Constant(str):
    """NaN, Infinity or -Infinity."""

    __slots__ = ()


_DECODE_ALL = json.JSONDecoder(object_pairs_hook=_Pairs, parse_constant=_Constant).decode


def _was_refused(item: Any) -> bool:
    return isinstance(item, _Constant) or (isinstance(item, _Pairs) and item.twice() is not None)


def _locate(text: str) -> BadDataError:
    """The refusal of the first duplicate key or constant in `text`, with its path, or of its syntax further on."""
    found = _find(_decoded(text, _DECODE_ALL), _was_refused)
    if found is None:
        raise AssertionError("the parser refused a document without a duplicate key or constant")
    path, item = found
    if isinstance(item, _Constant):
        return BadDataError(f"a finite number, found {item}", path=path)
    key = item.twice()
    return BadDataError("each key once", path=(*path, key), found=key)
