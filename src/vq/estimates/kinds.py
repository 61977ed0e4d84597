"""The kinds of documents by the names of their schemas: a file given in place of another is told as what it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from vq.errors import BadDataError


class DocumentKind(NamedTuple):
    """A kind of document: what it is called, the command that makes one, and how the names of its schemas begin."""

    name: str
    made_by: str
    schemas: tuple[str, ...]


ESTIMATE = DocumentKind("an estimate", "vq estimate", ("vq.resource-estimate/", "vq.calibrated-estimate/"))
SET = DocumentKind("an evaluation set", "vq estimate-collect", ("vq.estimate-evaluation-set/",))
CALIBRATION = DocumentKind("a calibration", "vq estimate-calibrate", ("vq.estimate-calibration/",))
REPORT = DocumentKind("an evaluation report", "vq estimate-evaluate", ("vq.estimate-evaluation-report/",))
USAGE = DocumentKind("a usage receipt", "a run of a job", ("vq.direct-resource-usage.", "vq.scheduler-resource-usage."))
KINDS = (ESTIMATE, SET, CALIBRATION, REPORT, USAGE)


def kind_of(document: object) -> DocumentKind | None:
    """The kind of a parsed document by what it says of itself; None where it says nothing known."""
    if not isinstance(document, dict):
        return None
    schema = document.get("schema_name", document.get("schema"))
    return next((kind for kind in KINDS if isinstance(schema, str) and schema.startswith(kind.schemas)), None)


def other_kind(document: object, wanted: DocumentKind) -> str | None:
    """What to say of a document of another kind than the one `wanted`; None for any other."""
    found = kind_of(document)
    if found is None or found is wanted:
        return None
    return f"this is {found.name}; expected is {wanted.name}, which {wanted.made_by} makes"


@contextmanager
def meant_as(wanted: DocumentKind, document: dict[str, Any]) -> Iterator[None]:
    """Whatever is wrong with `document` inside, of one of another kind it is said that it is one."""
    try:
        yield
    except BadDataError as error:
        error.hint = other_kind(document, wanted) or error.hint
        raise
