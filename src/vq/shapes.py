"""Shapes of JSON documents: which keys, of which kind, said once and checked with a path in every refusal.

A `Kind` accepts or refuses one scalar; a `Record` is an object with exactly known keys; a `Listing` is an array.
`check(value)` returns nothing or raises `BadDataError` with the JSON path and what was expected. A bool is never a
number, an integer is a token without fraction or exponent, and a number is finite.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from vq.errors import BadDataError

Path = tuple[str | int, ...]

LARGEST = 2**53 - 1
"""The largest integer that every JSON reader keeps exactly (RFC 8785, IEEE 754 double)."""


class Kind:
    """A scalar: `accepts` tells whether a value is one, `expected` says what one is."""

    __slots__ = ("accepts", "expected")

    def __init__(self, expected: str, accepts: Callable[[Any], bool]) -> None:
        self.expected = expected
        self.accepts = accepts

    def check(self, value: Any, path: Path = ()) -> None:
        """Nothing, or the refusal of `value` at `path`."""
        if not self.accepts(value):
            raise BadDataError(self.expected, path=path, found=value)


class Record:
    """An object whose keys are all known: `required` ones are always there, `optional` ones may be."""

    __slots__ = ("_accepts", "_always", "_expected", "_nested", "_required", "nullable")

    def __init__(
        self,
        required: Mapping[str, Shape],
        optional: Mapping[str, Shape] | None = None,
        *,
        nullable: bool = False,
    ) -> None:
        shapes = {**required, **(optional or {})}
        kinds = {key: shape if isinstance(shape, Kind) else _ANY for key, shape in shapes.items()}
        self._accepts = {key: kind.accepts for key, kind in kinds.items()}
        self._expected = {key: kind.expected for key, kind in kinds.items()}
        self._nested = [(key, shape) for key, shape in shapes.items() if not isinstance(shape, Kind)]
        self._required = required.keys()
        self._always = None if optional else len(required)
        self.nullable = nullable

    def check(self, value: Any, path: Path = ()) -> None:
        """Nothing, or the first refusal inside `value`."""
        if type(value) is not dict:
            if value is None and self.nullable:
                return
            raise BadDataError("an object or null" if self.nullable else "an object", path=path, found=value)
        known = self._accepts
        for key, item in value.items():
            accepts = known.get(key)
            if accepts is None or not accepts(item):
                raise BadDataError(self._expected.get(key) or self._no_such_key(), path=(*path, key), found=item)
        if self._always != len(value) and not self._required <= value.keys():
            missing = next(key for key in self._required if key not in value)
            raise BadDataError("this key, which is missing", path=(*path, missing))
        for key, shape in self._nested:
            if key in value:
                shape.check(value[key], (*path, key))

    def _no_such_key(self) -> str:
        few = len(self._expected) <= _KNOWN_SHOWN
        return f"no such key; known are {', '.join(self._expected)}" if few else "no such key in this document"


class Listing:
    """An array of items of one shape, at least `least` of them."""

    __slots__ = ("item", "least")

    def __init__(self, item: Shape, *, least: int = 0) -> None:
        self.item = item
        self.least = least

    def check(self, value: Any, path: Path = ()) -> None:
        """Nothing, or the first refusal inside `value`."""
        if type(value) is not list or len(value) < self.least:
            expected = "an array" if self.least == 0 else f"an array of {self.least} or more"
            raise BadDataError(expected, path=path, found=[] if value == [] else value)
        if isinstance(self.item, Kind):
            accepts = self.item.accepts
            for index, item in enumerate(value):
                if not accepts(item):
                    raise BadDataError(self.item.expected, path=(*path, index), found=item)
        else:
            for index, item in enumerate(value):
                self.item.check(item, (*path, index))


class Table:
    """An object with any keys, all of their values of one kind."""

    __slots__ = ("item", "nullable")

    def __init__(self, item: Kind, *, nullable: bool = False) -> None:
        self.item = item
        self.nullable = nullable

    def check(self, value: Any, path: Path = ()) -> None:
        """Nothing, or the first refusal inside `value`."""
        if type(value) is not dict:
            if value is None and self.nullable:
                return
            raise BadDataError("an object or null" if self.nullable else "an object", path=path, found=value)
        for key, item in value.items():
            self.item.check(item, (*path, key))


Shape = Kind | Record | Listing | Table

_ANY = Kind("anything", lambda _: True)

_KNOWN_SHOWN = 12


def integer(low: int, high: int = LARGEST, *, null: bool = False) -> Kind:
    """An integer from `low` to `high`."""
    bounds = f"an integer from {low} to {high}" if low > -high else "an integer"
    if null:
        return Kind(f"{bounds}, or null", lambda v: v is None or (type(v) is int and low <= v <= high))
    return Kind(bounds, lambda v: type(v) is int and low <= v <= high)


def is_number(value: Any) -> bool:
    """Whether `value` is a finite number ≥ 0 that JSON keeps."""
    kind = type(value)
    if kind is float:
        return bool(0.0 <= value < math.inf)
    return kind is int and 0 <= value <= LARGEST


def number(*, null: bool = False) -> Kind:
    """A finite number ≥ 0."""
    if null:
        return Kind("a finite number of 0 or more, or null", lambda v: v is None or is_number(v))
    return Kind("a finite number of 0 or more", is_number)


def text(*, null: bool = False, least: int = 0, most: int | None = None) -> Kind:
    """A string of `least` to `most` characters."""
    bounds = "a string" if least == 0 else "a non-empty string"
    if most is not None:
        bounds += f" of at most {most} characters"

    longest = math.inf if most is None else most
    if null:
        return Kind(f"{bounds}, or null", lambda v: v is None or (type(v) is str and least <= len(v) <= longest))
    return Kind(bounds, lambda v: type(v) is str and least <= len(v) <= longest)


def matching(pattern: str, expected: str, *, null: bool = False) -> Kind:
    """A string that `pattern` matches from end to end."""
    match: Callable[[str], object] | None = None

    def is_match(value: str) -> bool:
        nonlocal match
        # Compiled when it is first needed: few commands meet every kind.
        match = match or re.compile(pattern).fullmatch
        return match(value) is not None

    if null:
        return Kind(f"{expected}, or null", lambda v: v is None or (type(v) is str and is_match(v)))
    return Kind(expected, lambda v: type(v) is str and is_match(v))


def one_of(values: Iterable[str], *, null: bool = False) -> Kind:
    """One of a few strings."""
    known = frozenset(values)
    names = " | ".join(sorted(known))
    if null:
        return Kind(f"{names}, or null", lambda v: v is None or (type(v) is str and v in known))
    return Kind(names, lambda v: type(v) is str and v in known)


def constant(value: str | int) -> Kind:
    """Exactly this value."""
    kind = type(value)
    return Kind(f'"{value}"' if kind is str else str(value), lambda v: type(v) is kind and v == value)


def label(most: int) -> Kind:
    """A label of 1 to `most` letters, digits and the signs that a path or a shell leaves alone."""
    return matching(rf"[A-Za-z0-9._+:-]{{1,{most}}}", f"1 to {most} characters of A-Z a-z 0-9 . _ + : -")


HARDWARE_CLASS = label(64)
ANY_OBJECT = Kind("an object", lambda v: type(v) is dict)
NULL = Kind("null", lambda v: v is None)
BOOLEAN = Kind("true or false", lambda v: type(v) is bool)
BOOLEAN_OR_NULL = Kind("true, false or null", lambda v: v is None or type(v) is bool)
SHA256 = matching(r"[0-9a-f]{64}", "a SHA-256 of 64 lowercase hexadecimal digits")
SHA256_OR_NULL = matching(r"[0-9a-f]{64}", "a SHA-256 of 64 lowercase hexadecimal digits", null=True)
