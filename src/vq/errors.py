"""Every error that vq raises on purpose: one tree, each with its exit status, its place and a hint.

Exit status 1: something failed, or the data are bad. Exit status 2: wrong usage or an impossible request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_PLAIN_KEY = r"[A-Za-z_][A-Za-z0-9_]*"
_SHOWN = 60


class VqError(Exception):
    """Something went wrong that the user can read about: `where: message`, and a hint on what to do."""

    exit_code = 1

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def at(self, where: str) -> VqError:
        """This error, placed one level further out (a file, or a case and its receipt)."""
        self.where = where if self.where is None else f"{where}: {self.where}"
        return self

    def __str__(self) -> str:
        return self.message if self.where is None else f"{self.where}: {self.message}"


class UsageError(VqError):
    """The command line asks for something that cannot be: exit status 2."""

    exit_code = 2


class BadDataError(VqError):
    """A document or a file that breaks its rules: the JSON path, what was expected and what is there."""

    def __init__(self, expected: str, *, path: tuple[str | int, ...] = (), found: Any = ...) -> None:
        there = "" if found is ... else f", found {shown(found)}"
        super().__init__(f"{json_path(path)}: expected {expected}{there}" if path else f"expected {expected}{there}")
        self.path = path
        self.expected = expected


def json_path(path: tuple[str | int, ...]) -> str:
    """`$.cases[3]["odd key"]` for ("cases", 3, "odd key")."""
    parts = ["$"]
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif re.fullmatch(_PLAIN_KEY, step):
            parts.append(f".{step}")
        else:
            parts.append(f"[{shown(step)}]")
    return "".join(parts)


def shown(value: Any) -> str:
    """A value as one short line of JSON: what a message may quote from a file."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 4 * _SHOWN:
        return "an integer of too many digits"
    text = json.dumps(value, ensure_ascii=True) if isinstance(value, str | int | float) or value is None else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


@contextmanager
def placed(where: str) -> Iterator[None]:
    """Whatever bad data are found inside are found in `where`."""
    try:
        yield
    except BadDataError as error:
        raise error.at(where)  # noqa: B904 - the same error, placed
