"""Job ids: short, never used twice in one store, and sorted as text they are in the order of submission.

An id is a letter that says how many digits follow, and a decimal number: `a1` … `a9`, `b10`, `b11`, … `c100`. Without
the letter, `10` would sort before `9`; with it, no padding is needed and the number stays readable.
"""

from __future__ import annotations

import re

from vq.errors import UsageError

_DIGITS = r"[1-9][0-9]{0,17}"
ID_PATTERN = rf"[a-r]{_DIGITS}"
"""What an id looks like; 18 digits are below SQLite's largest integer."""

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def job_id(sequence: int) -> str:
    """The id of the job that was submitted as number `sequence` (from 1)."""
    digits = str(sequence)
    return f"{_LETTERS[len(digits) - 1]}{digits}"


def sequence_of(identifier: str) -> int:
    """The number that an id stands for; raises `UsageError` for text that is no id."""
    digits = identifier[1:]
    if re.fullmatch(ID_PATTERN, identifier) is None or _LETTERS[len(digits) - 1] != identifier[0]:
        hint = "ids look like a7 or c124; `vq queue` shows them"
        number = identifier.lower().lstrip(_LETTERS)
        if re.fullmatch(_DIGITS, number):
            hint = f"did you mean {job_id(int(number))}? the letter counts the digits: a7, b10, c124"
        raise UsageError(f"{identifier!r} is no job id", hint=hint)
    return int(digits)
