"""The picture of a replay: running jobs, and reserved and used memory over time, one panel of memory a policy.

All panels have one scale of time, and those of memory one scale of bytes, so that policies can be compared by eye.
Where more happens than half pixels can show, each shows the most of its span of time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

from vq.admission import Policy, Setup
from vq.plots.course import Course
from vq.plots.legend import GROUND, INK, SOFT, caption_lines
from vq.plots.svg import END, MIDDLE, Attributes, Paint, Scale, described, document, element, number, text_width, words
from vq.wording import human_bytes, human_seconds, wrap

TITLE = "What ran over time"

_PAGE = Paint(name="page", fill=GROUND)
_GRID = Paint(name="grid", stroke=("#dfe2e7", "#343944"))
_FRAME = Paint(name="frame", stroke=("#8b919c", "#6c7380"))
_BUDGET = Paint(name="budget", stroke=("#3c414a", "#c3c9d3"), stroke_width=1.2)
_LINES = {
    Policy.CAPS: Paint(name="caps", stroke=("#0072b2", "#56b4e9"), stroke_width=1.4),
    Policy.MEASURED: Paint(name="measured", stroke=("#d0500a", "#ff9350"), stroke_width=1.4),
}
_AREAS = {
    Policy.CAPS: Paint(name="caps-used", fill=("#c2dcee", "#1f4560")),
    Policy.MEASURED: Paint(name="measured-used", fill=("#f7d3bb", "#67391d")),
}
_PAINTS = (_PAGE, INK, SOFT, _GRID, _FRAME, _BUDGET, *_LINES.values(), *_AREAS.values())
_NAMES = {Policy.CAPS: "by limits (caps)", Policy.MEASURED: "by measured peaks"}

_WIDTH, _LEFT, _PLOT, _MARGIN, _TOP = 752.0, 84.0, 640.0, 24.0, 76.0
_JOBS_HEIGHT, _MEMORY_HEIGHT, _GAP, _FOOT, _LINE, _SAMPLE = 120.0, 160.0, 36.0, 72.0, 16.0, 16.0
_TITLE = {"font-size": 17, "font-weight": 600}
_BOLD = {"font-size": 12, "font-weight": 600}
_SMALL, _TINY = {"font-size": 10.5}, {"font-size": 9.5}
_DASHED: Attributes = {"stroke-dasharray": "5 3"}
_COLUMN = 5.25
_MOST_TICKS, _MOST_TIMES = 5, 7
_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400)
_DAY = 86_400
_RUNNING, _RESERVED, _USED = range(3)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Panel:
    """A panel below `top`: values from 0 to `high` on its height, and ticks at some of them."""

    top: float
    height: float
    high: int
    ticks: Sequence[tuple[int, str]]

    @property
    def bottom(self) -> float:
        """Where it ends."""
        return self.top + self.height

    @property
    def scale(self) -> Scale:
        """Its values onto the pixels of the page."""
        return Scale(low=0, high=self.high, start=self.bottom, end=self.top)


def draw(courses: Mapping[Policy, Course], setup: Setup) -> Iterator[str]:
    """The pieces of the picture, an SVG document, of the courses that policies took under `setup`."""
    drawn = {policy: course for policy, course in courses.items() if course.pieces}
    start = min((course.start for course in drawn.values()), default=0)
    span = max((course.end - start for course in drawn.values()), default=0)
    times = Scale(low=start, high=start + max(span, 1), start=_LEFT, end=_LEFT + _PLOT)
    jobs = _Panel(top=_TOP, height=_JOBS_HEIGHT, **_counts(_most(drawn, _RUNNING)))
    memory = _bytes(max(_most(drawn, _RESERVED), _most(drawn, _USED), _budget(setup)))
    panels = {
        policy: _Panel(top=jobs.bottom + _GAP + place * (_MEMORY_HEIGHT + _GAP), height=_MEMORY_HEIGHT, **memory)
        for place, policy in enumerate(courses)
    }
    foot = max(panel.bottom for panel in (jobs, *panels.values()))
    body = [
        *_ground(jobs, times, "Running jobs"),
        *_key([(_LINES[policy], _NAMES[policy]) for policy in courses], jobs),
    ]
    body += [_line(course, _RUNNING, times, jobs, _LINES[policy]) for policy, course in drawn.items()]
    for policy, panel in panels.items():
        body += _memory(policy, drawn.get(policy), panel, times, setup)
    body += _times(times, foot)
    lines = [line for said in _sentences(drawn, setup) for line in wrap(said, int((_WIDTH - 2 * _MARGIN) // _COLUMN))]
    height = foot + _FOOT + _LINE * len(lines)
    head = [
        described(TITLE, " ".join(lines)),
        element("rect", {"width": _WIDTH, "height": height} | _PAGE.attributes()),
        words(_MARGIN, 36, TITLE, _TITLE, INK.attributes()),
    ]
    return document((_WIDTH, height), _PAINTS, [*head, *body, *caption_lines(lines, _MARGIN, foot + _FOOT - _LINE)])


def _most(courses: Mapping[Policy, Course], figure: int) -> int:
    return max((piece[figure] for course in courses.values() for piece in course.pieces), default=0)


def _budget(setup: Setup) -> int:
    return 0 if setup.memory_max is None else setup.memory_max - setup.mirror


def _counts(most: int) -> dict[str, Any]:
    """The end and the ticks of an axis of counts."""
    steps = (digit * 10**power for power in count() for digit in (1, 2, 5))
    return _axis(most, steps, "{:,}".format)


def _bytes(most: int) -> dict[str, Any]:
    """The end and the ticks of an axis of bytes."""
    return _axis(most, (1 << power for power in count()), lambda at: human_bytes(at) if at else "0")


def _axis(most: int, steps: Iterator[int], label: Callable[[int], str]) -> dict[str, Any]:
    """The end of an axis a little above `most`, and ticks at the first of `steps` that makes few of them."""
    step = next(step for step in steps if most <= _MOST_TICKS * step)
    return {"high": most + most // 16 + 1, "ticks": [(at, label(at)) for at in range(0, most + 1, step)]}


def _ground(panel: _Panel, times: Scale, title: str) -> Iterator[str]:
    """The title, the grid, the frame and the vertical axis of a panel."""
    yield words(_LEFT, panel.top - 9, title, _BOLD, INK.attributes())
    grid = "".join(f"M{_LEFT:.15g} {number(panel.scale.place(at))}h{_PLOT:.15g}" for at, _ in panel.ticks)
    grid += "".join(f"M{number(times.place(at))} {panel.top:.15g}v{panel.height:.15g}" for at, _ in _time_ticks(times))
    yield element("path", _GRID.attributes() | {"d": grid})
    frame: Attributes = {"x": _LEFT, "y": panel.top, "width": _PLOT, "height": panel.height}
    yield element("rect", {**frame, **_FRAME.attributes()})
    for at, label in panel.ticks:
        yield words(_LEFT - 6, panel.scale.place(at) + 3.5, label, _TINY, END, SOFT.attributes())


def _memory(policy: Policy, course: Course | None, panel: _Panel, times: Scale, setup: Setup) -> Iterator[str]:
    """The panel of a policy's memory: what is used as an area, what is reserved as a line, and the budget."""
    yield from _ground(panel, times, f"Memory {_NAMES[policy]}")
    yield from _key([(_AREAS[policy], "used"), (_LINES[policy], "reserved")], panel)
    if course is not None:
        yield _area(course, times, panel, _AREAS[policy])
        yield _line(course, _RESERVED, times, panel, _LINES[policy])
    if setup.memory_max is not None:
        y = number(panel.scale.place(_budget(setup)))
        yield element("path", _BUDGET.attributes() | {**_DASHED, "d": f"M{_LEFT:.15g} {y}h{_PLOT:.15g}"})


def _steps(course: Course, figure: int, times: Scale, panel: _Panel) -> Iterator[str]:
    """Path data: the steps that a figure takes, from where time begins to where it ends."""
    before = None
    for place, piece in enumerate(course.pieces):
        y = number(panel.scale.place(piece[figure]))
        if y != before:
            x = number(times.place(min(course.start + place * course.width, course.end)))
            yield f"H{x}V{y}"
            before = y
    yield f"H{number(times.place(course.end))}"


def _line(course: Course, figure: int, times: Scale, panel: _Panel, paint: Paint) -> str:
    steps = "".join(_steps(course, figure, times, panel))
    begin = f"M{number(times.place(course.start))} {number(panel.bottom)}"
    return element("path", paint.attributes() | {"d": f"{begin}{steps}"})


def _area(course: Course, times: Scale, panel: _Panel, paint: Paint) -> str:
    steps = "".join(_steps(course, _USED, times, panel))
    begin = f"M{number(times.place(course.start))} {number(panel.bottom)}"
    return element("path", paint.attributes() | {"d": f"{begin}{steps}V{number(panel.bottom)}z"})


def _key(entries: Sequence[tuple[Paint, str]], panel: _Panel) -> Iterator[str]:
    """What the colours of a panel mean, at the right above it."""
    x = _LEFT + _PLOT
    for paint, said in reversed(entries):
        x -= text_width(said, 10.5)
        yield words(x, panel.top - 9, said, _SMALL, SOFT.attributes())
        x -= _SAMPLE + 6
        if paint.fill is None:
            yield element("path", paint.attributes() | {"d": f"M{number(x)} {number(panel.top - 12.5)}h{_SAMPLE:.15g}"})
        else:
            sample: Attributes = {"x": x, "y": panel.top - 18, "width": _SAMPLE, "height": 10}
            yield element("rect", {**sample, **paint.attributes()})
        x -= 18


def _time_ticks(times: Scale) -> list[tuple[int, str]]:
    """Moments at whole steps since the start, and how long after it they are."""
    seconds = (int(times.high) - int(times.low)) // 1000
    days = (_DAY * digit * 10**power for power in count() for digit in (1, 2, 5))
    step = next(step for step in chain(_SECONDS, days) if seconds <= step * _MOST_TIMES)
    return [(int(times.low) + at * 1000, human_seconds(at) if at else "0") for at in range(0, seconds + 1, step)]


def _times(times: Scale, bottom: float) -> Iterator[str]:
    for at, label in _time_ticks(times):
        yield words(times.place(at), bottom + 14, label, _TINY, MIDDLE, SOFT.attributes())
    yield words(_LEFT + _PLOT / 2, bottom + 31, "Time since the first job was queued", _SMALL, MIDDLE, INK.attributes())


def _sentences(courses: Mapping[Policy, Course], setup: Setup) -> Iterator[str]:
    """What the caption says."""
    if not courses:
        yield "Nothing to draw: no job of the history can be replayed."
        return
    if setup.memory_max is not None:
        yield f"Dashed: the memory budget of {human_bytes(_budget(setup))}."
    yield "A running job counts with its recorded peak for its whole run."
    longest = max(course.width for course in courses.values()) // 1000
    if longest:
        yield f"Each point is the most within {human_seconds(longest)}."
