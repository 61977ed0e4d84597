"""The picture of an evaluation: measured against predicted peak memory, one panel a group.

Both axes are logarithmic and have one scale in every panel, and the panels are square: the distance of a point from
the diagonal is its ratio, wherever it lies. Points that fall on one half pixel with one verdict are one mark, so the
file does not grow without bound with the cases; all counts are of cases. The bytes depend on the report alone, and not
on the order of its cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from vq.estimates.evaluation import Report
from vq.plots.drawable import Panel, Point, drawable
from vq.plots.legend import (
    CALIBRATED,
    GROUND,
    INK,
    LINE,
    MARKS,
    SOFT,
    calibrated_line,
    caption_lines,
    cases,
    key,
    key_height,
    mark,
    sentences,
    small_paint,
)
from vq.plots.svg import (
    END,
    MIDDLE,
    Attributes,
    Paint,
    Scale,
    described,
    document,
    element,
    fit,
    power_ticks,
    text_width,
    words,
)
from vq.wording import wrap

TITLE = "Measured against predicted peak memory"

_PAGE = Paint(name="page", fill=GROUND)
_ABOVE = Paint(name="above", fill=("#faf3ee", "#241e1c"))
_GRID = Paint(name="grid", stroke=("#dfe2e7", "#343944"))
_FRAME = Paint(name="frame", stroke=("#8b919c", "#6c7380"))
_DIAGONAL = Paint(name="diagonal", stroke=("#3c414a", "#c3c9d3"), stroke_width=1.2)
# The words along the diagonal keep a rim of the ground, so that they can be read over points.
_LABEL = Paint(name="label", fill=SOFT.fill, stroke=GROUND, stroke_width=2.5)
_PAINTS = (_PAGE, INK, SOFT, _ABOVE, _GRID, _FRAME, _DIAGONAL, _LABEL, CALIBRATED, *MARKS.values())

_WIDTH, _NARROW, _MARGIN, _LEFT, _KEY = 720.0, 612.0, 24.0, 84.0, 80.0
_GAP, _HEADING, _FOOT = 42.0, 40.0, 50.0
_ONE_PANEL, _NO_PANEL, _FEW_PANELS = 480.0, 80.0, 4
_TITLE = {"font-size": 17, "font-weight": 600}
_BOLD = {"font-size": 12, "font-weight": 600}
_TEXT, _SMALL, _TINY = {"font-size": 11.5}, {"font-size": 10.5}, {"font-size": 9.5}
_TICK_APART, _COLUMN = 46, 5.25
_LABEL_PLACES = (0.74, 0.5, 0.26)
_LABEL_DOWN, _LABEL_REACH = 6.0, 36.0


_RIM = {"paint-order": "stroke", "stroke-linejoin": "round"}
_SAID, _ROOM_PER_MARK = 300, 80.0

_Spots = dict[str, list[tuple[int, int]]]
"""Where the marks of each verdict are in a panel, in half pixels."""

_Moves = list[tuple[int, int, int]]
"""From where to where, and at which height, calibrated figures move marks, in half pixels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axes:
    """The axes that all panels share: exponents of two onto a square of `side` pixels, and where its ticks are."""

    side: float
    x: Scale
    y: Scale
    ticks: list[tuple[int, str]]

    @classmethod
    def of(cls, domain: tuple[float, float], side: float) -> _Axes:
        """The axes of squares of `side` pixels that show a domain."""
        return cls(
            side=side,
            x=Scale(low=domain[0], high=domain[1], start=0, end=side),
            y=Scale(low=domain[0], high=domain[1], start=side, end=0),
            ticks=power_ticks(*domain, _TICK_APART * (domain[1] - domain[0]) / side),
        )

    def marks(self, points: Sequence[Point]) -> list[tuple[int, int]]:
        """Where the points fall, in half pixels, each place once."""
        return sorted({(self.x.half_pixels(point.predicted), self.y.half_pixels(point.measured)) for point in points})

    def dense(self, spots: _Spots) -> bool:
        """Whether a panel has so many marks that they would hide each other."""
        return sum(map(len, spots.values())) > self.side**2 / _ROOM_PER_MARK

    def moves(self, panel: Panel) -> _Moves:
        """From where to where, and at which height, a calibration moves points, in half pixels, each move once."""
        place_x, place_y = self.x.half_pixels, self.y.half_pixels
        moves = {
            (place_x(point.predicted), place_x(point.calibrated), place_y(point.measured))
            for points in panel.points.values()
            for point in points
            if point.calibrated is not None
        }
        return sorted(move for move in moves if move[0] != move[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Where so many panels stand: in `columns` columns of squares of `side` pixels below `top`."""

    panels: int
    columns: int
    side: float
    top: float

    @classmethod
    def of(cls, panels: int, top: float) -> _Layout:
        """One large panel, four of half the width, or rows of three."""
        columns = 1 if panels <= 1 else 2 if panels <= _FEW_PANELS else 3
        width = _WIDTH - _LEFT - _MARGIN
        side = _ONE_PANEL if columns == 1 else (width - (columns - 1) * _GAP) // columns
        return cls(panels=panels, columns=columns, side=side, top=top)

    def corner(self, place: int) -> tuple[float, float]:
        """The upper left corner of a panel's square."""
        row, column = divmod(place, self.columns)
        return (
            _LEFT + column * (self.side + _GAP),
            self.top + row * (_HEADING + self.side + _FOOT) + _HEADING,
        )

    @property
    def width(self) -> float:
        """The width of the page."""
        return _NARROW if self.panels == 1 else _WIDTH

    @property
    def bottom(self) -> float:
        """Where the last row ends."""
        return self.corner(self.panels - 1)[1] + self.side + _FOOT if self.panels else self.top + _NO_PANEL


def draw(report: Report, calibration: str | None = None) -> Iterator[str]:
    """The pieces of the picture, an SVG document; `calibration` names the one that the report judged."""
    found = drawable(report)
    layout = _Layout.of(len(found.panels) if found.drawn else 0, _KEY + key_height(found))
    body, marks, dense = [], 0, False
    if found.drawn:
        axes = _Axes.of(found.domain(), layout.side)
        for place, panel in enumerate(found.panels):
            spots = {verdict: axes.marks(points) for verdict, points in panel.points.items()}
            marks += sum(map(len, spots.values()))
            dense |= axes.dense(spots)
            pieces = _panel(panel, axes, spots, first=place % layout.columns == 0)
            body.append(_group({"transform": "translate({:.15g} {:.15g})".format(*layout.corner(place))}, pieces))
    else:
        body.append(_nothing(layout.top))
    lines = [
        line
        for sentence in sentences(report, found, calibration, marks, dense=dense)
        for line in wrap(sentence, int((layout.width - 2 * _MARGIN) // _COLUMN))
    ]
    height = layout.bottom + LINE * len(lines) + _MARGIN
    subtitle = f"set {report.set_id}: {cases(len(report.rows))}, {found.drawn} drawn"
    head = [
        described(f"{TITLE}: {subtitle}", " ".join(lines)),
        element("rect", {"width": layout.width, "height": height} | _PAGE.attributes()),
        words(_MARGIN, 36, TITLE, _TITLE, INK.attributes()),
        words(_MARGIN, 55, subtitle, _TEXT, SOFT.attributes()),
        *key(found, _MARGIN, _KEY),
    ]
    foot = caption_lines(lines, _MARGIN, layout.bottom + LINE)
    return document((layout.width, height), _PAINTS, [*head, *body, *foot])


def _nothing(top: float) -> str:
    said = "Nothing to draw: no case has both a predicted figure and a measured peak above 0."
    return words(_WIDTH / 2, top + _NO_PANEL / 2, said, _BOLD, MIDDLE, INK.attributes())


def _panel(panel: Panel, axes: _Axes, spots: _Spots, *, first: bool) -> Iterator[str]:
    """The panel of a group, its square's corner at (0, 0); the first of a row names the vertical axis."""
    yield from _heading(panel, axes.side)
    yield from _ground(axes)
    yield from _horizontal(axes)
    if first:
        yield from _vertical(axes)
    if not spots:
        yield words(axes.side * 0.68, axes.side * 0.8, "nothing to draw", _SMALL, MIDDLE, SOFT.attributes())
    dense = axes.dense(spots)
    moves = [] if dense else axes.moves(panel)
    if not dense:
        yield from _diagonal(axes, spots, moves)
        if moves:
            lines = "".join(calibrated_line(start / 2, end / 2, y / 2) for start, end, y in moves)
            yield element("path", CALIBRATED.attributes() | {"d": lines})
    for verdict in MARKS:
        if verdict in spots:
            paint = small_paint(verdict) if dense else MARKS[verdict].attributes()
            yield _group(paint, [mark(verdict, x / 2, y / 2, small=dense) for x, y in spots[verdict]])
    if dense:
        yield from _diagonal(axes, spots, moves)


def _group(attributes: Attributes, pieces: Iterable[str]) -> str:
    return element("g", attributes, "\n", "\n".join(pieces), "\n")


def _heading(panel: Panel, side: float) -> Iterator[str]:
    method = panel.method or "unknown method"
    count = f"n = {panel.cases}" + ("" if panel.drawn == panel.cases else f", {panel.drawn} drawn")
    yield described(f"{method[:_SAID]}, {panel.hardware_class}: {count}", "")
    yield words(0, -23, fit(method, side, 12.5), _BOLD, INK.attributes())
    yield words(0, -8, fit(panel.hardware_class, side - text_width(count, 10.5) - 6, 10.5), _SMALL, SOFT.attributes())
    yield words(side, -8, count, _SMALL, END, SOFT.attributes())


def _ground(axes: _Axes) -> Iterator[str]:
    """What lies under the points: the half where measured exceeds predicted, the grid and the frame."""
    side = axes.side
    yield element("path", _ABOVE.attributes() | {"d": f"M0 {side:.15g}V0H{side:.15g}z"})
    grid = "".join(
        f"M{axes.x.half_pixels(at) / 2:.15g} 0v{side:.15g}M0 {axes.y.half_pixels(at) / 2:.15g}h{side:.15g}"
        for at, _ in axes.ticks
    )
    yield element("path", _GRID.attributes() | {"d": grid})
    yield element("rect", {"width": side, "height": side} | _FRAME.attributes())


def _diagonal(axes: _Axes, spots: _Spots, moves: _Moves) -> Iterator[str]:
    """The diagonal, and what it is, written under it where the fewest points and lines are in the way."""
    yield element("path", _DIAGONAL.attributes() | {"d": f"M0 {axes.side:.15g}L{axes.side:.15g} 0"})
    places = [axes.side * part for part in _LABEL_PLACES]

    # A mark is a line without length; all of them as (from, to, height above the bottom) in pixels.
    lines = [(x / 2, x / 2, axes.side - y / 2) for marks in spots.values() for x, y in marks]
    lines += [(start / 2, end / 2, axes.side - y / 2) for start, end, y in moves]

    def crowd(at: float) -> int:
        # What crosses the square around the label's middle, which lies a little below the diagonal.
        x, height = at + _LABEL_DOWN, at - _LABEL_DOWN
        return sum(
            start - _LABEL_REACH < x < end + _LABEL_REACH and abs(up - height) < _LABEL_REACH
            for start, end, up in lines
        )

    x = min(places, key=crowd)
    y = axes.side - x
    turned = {"transform": f"rotate(-45 {x:.15g} {y:.15g})"}
    yield words(x, y + 13, "measured = predicted", _TINY, MIDDLE, turned, _RIM, _LABEL.attributes())


def _horizontal(axes: _Axes) -> Iterator[str]:
    for at, label in axes.ticks:
        yield words(axes.x.half_pixels(at) / 2, axes.side + 14, label, _TINY, MIDDLE, SOFT.attributes())
    said = "Predicted peak (bytes, log scale)"
    yield words(axes.side / 2, axes.side + 31, said, _SMALL, MIDDLE, INK.attributes())


def _vertical(axes: _Axes) -> Iterator[str]:
    for at, label in axes.ticks:
        yield words(-6, axes.y.half_pixels(at) / 2 + 3.5, label, _TINY, END, SOFT.attributes())
    x, y = -60.0, axes.side / 2
    turned = {"transform": f"rotate(-90 {x:.15g} {y:.15g})"}
    yield words(x, y, "Measured peak (bytes, log scale)", _SMALL, MIDDLE, turned, INK.attributes())
