"""What importers make of a text, for tests."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from vq.admission.history import Run
from vq.formats.outcomes import Importer, LeftOut, Line, Outcome, Source, Unread


def lines(text: str | bytes) -> list[Line]:
    """The numbered lines of a text, with their ends."""
    data = text.encode() if isinstance(text, str) else text
    return [Line(number, line) for number, line in enumerate(BytesIO(data), start=1)]


def outcomes(importer: Importer, text: str | bytes, **known: Any) -> list[Outcome]:
    """All outcomes of a text that stands in `file`."""
    return list(importer(lines(text), Source(**{"stem": "file", **known})))


def row(importer: Importer, text: str, **known: Any) -> Run:
    """The one row that a text holds."""
    (found,) = outcomes(importer, text, **known)
    assert isinstance(found, Run), found
    return found


def reason(importer: Importer, text: str) -> str:
    """Why the one record of a text is left out."""
    (found,) = outcomes(importer, text)
    assert isinstance(found, LeftOut), found
    return found.reason


def refusal(importer: Importer, text: str | bytes) -> str:
    """What is wrong with the one record of a text."""
    (found,) = outcomes(importer, text)
    assert isinstance(found, Unread), found
    return str(found.error)
