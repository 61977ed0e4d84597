"""Documents turned into the values that evaluation and calibration work on, without files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from support.documents import Document, case, evaluation_set, plain_direct, receipt
from vq.canonical import digest
from vq.estimates.calibrated import read_estimate
from vq.estimates.cases import Corrections, Observation, read_set
from vq.estimates.evaluation import evaluate
from vq.estimates.fit import Recipe, calibrate
from vq.estimates.usage import read_usage

Row = tuple[Document, Document, Document | None]
"""A case, its estimate and its usage receipt."""


def row(
    *,
    estimate: Document | None = None,
    usage: Document | Literal["single process"] | None = "single process",
    **changes: Any,
) -> Row:
    """A completed single-process case of a job-scope estimate of 1,000,000 bytes, to be changed."""
    found = plain_direct() if usage == "single process" else usage
    item = case(**changes)
    if found is None:
        item["usage"] = None
    return item, receipt() if estimate is None else estimate, found


def observe(rows: Iterable[Row]) -> list[Observation]:
    """What evaluation sees of the rows, each document read as from a file."""
    listed = list(rows)
    cases = read_set(evaluation_set([item for item, _, _ in listed])).cases
    return [
        Observation(
            case=item,
            receipt=read_estimate(estimate),
            usage=None if usage is None else read_usage(usage),
            usage_sha256=None if usage is None else digest(usage),
        )
        for item, (_, estimate, usage) in zip(cases, listed, strict=True)
    ]


def report(rows: Sequence[Row], corrections: Corrections | None = None) -> Document:
    """The report document on the rows, with its cases."""
    found = evaluate(read_set(evaluation_set([item for item, _, _ in rows])), observe(rows), corrections)
    return {**found.document(), "cases": list(found.case_documents())}


def judged(one: Row) -> Document:
    """The one case of a report on one row."""
    return dict(report([one])["cases"][0])


def fitted(rows: Sequence[Row], *, min_cases: int = 1, **recipe: Any) -> Document:
    """The calibration fitted on the rows by a recipe."""
    training = read_set(evaluation_set([item for item, _, _ in rows], "training"))
    return calibrate(training, observe(rows), Recipe(min_cases=min_cases, **recipe))[0]
