"""How verdicts look in a picture, the key that says so with counts, and the caption that says what is not shown.

Verdicts differ by shape as well as by colour. The hues are those of the colour-blind safe palette of Okabe and Ito
("Color Universal Design", 2008), darker on white and lighter on black until each has a contrast of 3 with its ground.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from vq.estimates.evaluation import Report
from vq.estimates.summary import MEMORY_VERDICTS
from vq.plots.drawable import REASONS, Drawable
from vq.plots.svg import END, Attributes, Paint, element, words

GROUND = ("#ffffff", "#16181d")
INK = Paint(name="ink", fill=("#1b1d22", "#eceef2"))
SOFT = Paint(name="soft", fill=("#5a606b", "#a5acb8"))
CALIBRATED = Paint(name="calibrated", stroke=("#6f7682", "#8f97a5"), stroke_width=0.9)

MARKS = {
    "excluded": Paint(name="excluded", stroke=("#777d88", "#8d94a1"), stroke_width=1.3),
    "censored": Paint(name="censored", fill=GROUND, stroke=("#a8488a", "#e59cc8"), stroke_width=1.3),
    "not_refuted": Paint(name="not_refuted", fill=GROUND, stroke=("#00805c", "#2fc79a"), stroke_width=1.3),
    "within": Paint(name="within", fill=("#0072b2", "#56b4e9"), stroke=GROUND, stroke_width=0.6),
    "underpredicted": Paint(name="underpredicted", fill=("#d0500a", "#ff9350"), stroke=GROUND, stroke_width=0.6),
}
"""The verdicts that a point can have, in the order in which they are painted: what matters most comes last, on top."""

_SHAPES = {
    "underpredicted": "m0-4.4 4.1 7.1h-8.2z",
    "within": "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",
    "not_refuted": "m-2.6-2.6h5.2v5.2h-5.2z",
    "censored": "m0-3.8 3.8 3.8-3.8 3.8-3.8-3.8z",
    "excluded": "m-2.5-2.5 5 5m0-5-5 5",
}

_SMALL_SHAPES = {
    "underpredicted": "m0-1.5 1.4 2.4h-2.8z",
    "within": "m-1.1 0a1.1 1.1 0 1 0 2.2 0a1.1 1.1 0 1 0-2.2 0z",
    "not_refuted": "m-1-1h2v2h-2z",
    "censored": "m0-1.4 1.4 1.4-1.4 1.4-1.4-1.4z",
    "excluded": "m-1-1 2 2m0-2-2 2",
}

_MEANINGS = {
    "underpredicted": "needed more than predicted",
    "within": "at or below the prediction, and the measurement compares",
    "not_refuted": "at or below, but only the largest of several (or unknown) processes",
    "censored": "stopped before it could decide",
    "excluded": "the run or its measurement failed: no evidence",
}

LINE = 16.0
_NAME, _COUNT, _MEANING = 18.0, 144.0, 158.0
_THIN = 0.7
_SIZE, _SMALL = {"font-size": 11.5}, {"font-size": 10.5}


def mark(verdict: str, x: float, y: float, *, small: bool = False) -> str:
    """The mark of a verdict at (x, y), to be painted as `MARKS` says, or as `small_paint` says."""
    shape = (_SMALL_SHAPES if small else _SHAPES)[verdict]
    return element("path", {"d": f"M{x:.15g} {y:.15g}{shape}"})


def small_paint(verdict: str) -> Attributes:
    """How small marks are painted: without the rim that would hide the neighbours of a filled one."""
    paint = MARKS[verdict]
    return paint.attributes() | {"stroke-width": 0 if paint.stroke == GROUND else _THIN}


def calibrated_line(x: float, to: float, y: float) -> str:
    """Path data: from a point to where its calibrated figure would put it, which a tick marks."""
    return f"M{x:.15g} {y:.15g}H{to:.15g}m0-2.5v5"


def key(found: Drawable, left: float, top: float) -> list[str]:
    """One line for each verdict: its mark, name, count of points and meaning; `top` is the first baseline."""
    counts = found.counts()
    pieces = []
    y = top
    for verdict in reversed(MARKS):
        sample = element("g", MARKS[verdict].attributes(), mark(verdict, left + 5, y - 4))
        pieces += [sample, *_line(left, y, _said(verdict), counts[verdict], _MEANINGS[verdict])]
        y += LINE
    if found.calibrated:
        sample = element("path", CALIBRATED.attributes() | {"d": calibrated_line(left - 1, left + 11, y - 4)})
        pieces += [
            sample,
            *_line(left, y, "calibrated", found.calibrated, "from a prediction to its calibrated figure"),
        ]
    return pieces


def key_height(found: Drawable) -> float:
    """How many pixels the key takes."""
    return LINE * (len(MARKS) + bool(found.calibrated))


def caption_lines(lines: Iterable[str], left: float, top: float) -> Iterator[str]:
    """The caption drawn; `top` is the first baseline."""
    for number, line in enumerate(lines):
        yield words(left, top + LINE * number, line, _SMALL, SOFT.attributes())


def cases(count: int) -> str:
    """`1 case`, `2 cases`."""
    return "1 case" if count == 1 else f"{count} cases"


def _line(left: float, y: float, name: str, count: int, meaning: str) -> Iterator[str]:
    yield words(left + _NAME, y, name, _SIZE, INK.attributes())
    yield words(left + _COUNT, y, str(count), _SIZE, END, INK.attributes())
    yield words(left + _MEANING, y, meaning, _SIZE, SOFT.attributes())


def _said(verdict: str) -> str:
    return verdict.replace("_", " ")


def sentences(report: Report, found: Drawable, calibration: str | None, marks: int, *, dense: bool) -> Iterator[str]:
    """What the caption says; `marks` is how many marks stand for the points, `dense` whether a panel has too many."""
    points = found.drawn
    scale = " All axes have one scale: the distance from the diagonal is the ratio." if points else ""
    yield f"Measured is the peak of the largest single process.{scale}"
    if points < len(report.rows):
        reasons = "; ".join(_left_out(found.left_out))
        yield f"Not drawn: {len(report.rows) - points} of {cases(len(report.rows))}: {reasons}."
    if found.other_groups:
        yield f"Of {len(report.groups)} groups the {len(found.panels)} with the most points are shown."
    if found.not_above:
        yield (
            f"Underpredicted, though not above the diagonal: {cases(found.not_above)}, "
            "killed out of memory at a limit no lower than the prediction."
        )
    if marks < points:
        yield f"Cases of one verdict on the same half pixel are drawn once: {marks} marks for {points} cases."
    if dense:
        calibrated = " and calibrated figures left out" if found.calibrated else ""
        yield f"Where there are very many marks, they are small{calibrated}."
    if report.overall.calibrated_memory is not None:
        tally = report.overall.calibrated_memory
        counts = [f"{count} {_said(verdict)}" for verdict, count in tally.counts.items() if count]
        yield f"Judged by the calibrated figure: {', '.join([*counts, f'{tally.uncalibrated} uncalibrated'])}."
        yield f"Calibration {calibration}."
    yield f"Set {report.set_id}, SHA-256 {report.sha256}."


def _left_out(counts: Counter[tuple[str, str]]) -> Iterator[str]:
    for reason in REASONS:
        verdicts = [
            f"{counts[reason, verdict]} {_said(verdict)}" for verdict in MEMORY_VERDICTS if counts[reason, verdict]
        ]
        total = sum(counts[reason, verdict] for verdict in MEMORY_VERDICTS)
        if total:
            yield f"{total} {reason} ({', '.join(verdicts)})"
