"""Every key of a document, and what it may be changed to that no key allows."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

Path = tuple[str | int, ...]
Mutation = tuple[str, Any]

REMOVED = "removed"
UNKNOWN = "an unknown key"


def paths(document: Any, path: Path = ()) -> Iterator[Path]:
    """The path of every key and array item, outermost first."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for step, value in items:
        yield (*path, step)
        if isinstance(value, dict | list):
            yield from paths(value, (*path, step))


def mutations(value: Any) -> Iterator[Mutation]:
    """What `value` may be changed to: each with a name; `REMOVED` and `UNKNOWN` are for the caller to do."""
    yield REMOVED, None
    if value is not None:
        yield "null", None
    for name, wrong in _wrong_types(value):
        yield name, wrong
    for name, wrong in _out_of_range(value):
        yield name, wrong
    if isinstance(value, dict):
        yield UNKNOWN, None


def _wrong_types(value: Any) -> Iterator[Mutation]:
    examples = {"bool": True, "string": "7", "integer": 7, "array": [], "object": {}}
    own = {bool: "bool", str: "string", int: "integer", float: "integer", list: "array", dict: "object"}
    for name, example in examples.items():
        if name != own.get(type(value)):
            yield name, example
    if type(value) is int and abs(value) <= 2**53:
        yield "fraction", value + 0.5
        yield "float", float(value)


def _out_of_range(value: Any) -> Iterator[Mutation]:
    if isinstance(value, str):
        yield "empty", ""
        yield "nonsense", "no such\nthing"
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield "negative", -1
        yield "past 2^53", 2**53
        yield "overflow", float("inf")
        yield "NaN", float("nan")


def mutated(document: Any, path: Path, mutation: Mutation) -> Any:
    """A copy of `document` with one mutation done at `path`."""
    result = copy.deepcopy(document)
    *outer, last = path
    place = result
    for step in outer:
        place = place[step]
    name, value = mutation
    if name == REMOVED:
        del place[last]
    elif name == UNKNOWN:
        place[last]["no_such_key"] = 1
    else:
        place[last] = value
    return result


def text(document: Any) -> str:
    """The document as a file would hold it, with a number that overflows in the place of infinity."""
    return json.dumps(document).replace("Infinity", "1e999")
