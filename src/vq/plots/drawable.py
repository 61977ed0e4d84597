"""What of an evaluation report can be drawn on logarithmic axes, and what cannot and why.

A case is a point where it has both a predicted figure and a measured peak of at least one byte. The others are counted
by reason and verdict, so that drawn + not drawn = cases. Of very many groups the largest are drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import ceil, floor, log2

from vq.estimates.evaluation import Judged, Report

MOST_PANELS = 120
"""More panels than this nobody reads, and every one costs space in the file."""

NO_FIGURE = "without a predicted figure"
NO_PEAK = "without a measured peak"
ZERO_PEAK = "measured as 0 bytes"
OTHER_GROUP = "in smaller groups than those shown"
REASONS = (NO_FIGURE, NO_PEAK, ZERO_PEAK, OTHER_GROUP)
"""Why a case is no point."""

_LEAST_OCTAVES = 2
_PAD = 0.05


@dataclass(frozen=True, slots=True)
class Point:
    """One case: log2 of its predicted, measured and (None without one) calibrated peak in bytes."""

    predicted: float
    measured: float
    calibrated: float | None


@dataclass(slots=True)
class Panel:
    """One group: its cases, and the points among them by verdict."""

    method: str | None
    hardware_class: str
    cases: int
    points: dict[str, list[Point]] = field(default_factory=dict)

    @property
    def drawn(self) -> int:
        """How many of its cases are points."""
        return sum(map(len, self.points.values()))


@dataclass(slots=True)
class Drawable:
    """A report sorted into panels, in the report's order.

    `left_out` counts the cases that are no points by (reason, verdict); `not_above` the underpredicted points whose
    measured peak does not exceed the figure; `other_groups` the groups without a panel.
    """

    panels: list[Panel]
    left_out: Counter[tuple[str, str]]
    not_above: int = 0
    other_groups: int = 0

    @property
    def points(self) -> Iterator[tuple[str, Point]]:
        """Every point after its verdict."""
        return (
            (verdict, point) for panel in self.panels for verdict, points in panel.points.items() for point in points
        )

    @property
    def drawn(self) -> int:
        """How many cases are points."""
        return sum(panel.drawn for panel in self.panels)

    @property
    def calibrated(self) -> int:
        """How many points have a calibrated figure."""
        return sum(point.calibrated is not None for _, point in self.points)

    def counts(self) -> Counter[str]:
        """How many points there are of each verdict."""
        return Counter(verdict for verdict, _ in self.points)

    def domain(self) -> tuple[float, float]:
        """The exponents of two between which all points lie, with room around them; the same for both axes."""
        low, high = _extent(point for _, point in self.points)
        if high - low < _LEAST_OCTAVES:
            low, high = floor((low + high) / 2) - _LEAST_OCTAVES / 2, ceil((low + high) / 2) + _LEAST_OCTAVES / 2
        pad = _PAD * (high - low)
        return low - pad, high + pad


def drawable(report: Report) -> Drawable:
    """The points of a report, in panels."""
    panels = {(method, hardware): Panel(method, hardware, summary.cases) for method, hardware, summary in report.groups}
    found = Drawable(panels=[], left_out=Counter())
    below: Counter[tuple[str | None, str]] = Counter()
    for row in report.rows:
        key = (row.observation.receipt.method, row.observation.case.hardware_class)
        point = _point(row)
        if isinstance(point, str):
            found.left_out[point, row.memory] += 1
            continue
        panels[key].points.setdefault(row.memory, []).append(point)
        below[key] += row.memory == "underpredicted" and row.ratio is None
    largest = sorted(panels.values(), key=lambda panel: -panel.drawn)[:MOST_PANELS]
    kept = {(panel.method, panel.hardware_class) for panel in largest}
    found.panels = [panel for key, panel in panels.items() if key in kept]
    found.other_groups = len(panels) - len(kept)
    found.not_above = sum(below[key] for key in kept)
    for key, panel in panels.items():
        if key not in kept:
            found.left_out.update({(OTHER_GROUP, verdict): len(points) for verdict, points in panel.points.items()})
    return found


def _point(row: Judged) -> Point | str:
    """The point of a case, or the reason why it has none."""
    figure, peak = row.observation.receipt.predicted_peak_bytes, row.observation.peak_bytes
    if figure is None:
        return NO_FIGURE
    if peak is None:
        return NO_PEAK
    if peak == 0:
        return ZERO_PEAK
    calibrated = row.calibrated.peak_bytes if row.calibrated else None
    return Point(log2(figure), log2(peak), None if calibrated is None else log2(calibrated))


def _extent(points: Iterable[Point]) -> tuple[float, float]:
    lows, highs = [], []
    for point in points:
        right = point.predicted if point.calibrated is None else point.calibrated
        lows.append(min(point.predicted, point.measured))
        highs.append(max(right, point.measured))
    return min(lows), max(highs)
