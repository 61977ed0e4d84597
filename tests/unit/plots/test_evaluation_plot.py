from __future__ import annotations

import math
import random
import re
from xml.etree import ElementTree as ET

import pytest

from made_reports import DIGEST, MIB, Run, report
from vq.plots import evaluation, legend
from vq.plots.drawable import drawable
from vq.plots.evaluation import draw
from vq.plots.legend import GROUND, MARKS

SVG = "{http://www.w3.org/2000/svg}"
EVERY = [
    Run(measured=150 * MIB),
    Run(measured=90 * MIB),
    Run(measured=80 * MIB, single=False),
    Run(measured=50 * MIB, outcome="killed"),
    Run(measured=40 * MIB, outcome="failed"),
]


def parsed(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 - our own text


def picture(runs: list[Run], multiplier: float | None = None) -> ET.Element:
    return parsed("".join(draw(report(runs, multiplier), "c0ffee" if multiplier else None)))


def marks(root: ET.Element, verdict: str) -> list[tuple[float, float]]:
    found = root.findall(f".//{SVG}g/{SVG}g[@class='{verdict}']/{SVG}path")
    return [_start(mark) for mark in found]


def _start(path: ET.Element) -> tuple[float, float]:
    match = re.match(r"M([\d.]+) ([\d.]+)m", path.get("d") or "")
    assert match
    return float(match[1]), float(match[2])


def texts(root: ET.Element) -> list[str]:
    return ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(part * weight for part, weight in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


def contrast(colour: str, other: str) -> float:
    low, high = sorted((luminance(colour), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_verdict_that_can_be_drawn_is_one_mark_of_its_own() -> None:
    root = picture(EVERY)
    assert {verdict: len(marks(root, verdict)) for verdict in MARKS} == dict.fromkeys(MARKS, 1)


def test_verdicts_differ_by_shape_and_by_colour() -> None:
    for small in (False, True):
        assert len({legend.mark(verdict, 0, 0, small=small) for verdict in MARKS}) == len(MARKS)
    strong = [paint.fill if paint.fill != GROUND else paint.stroke for paint in MARKS.values()]
    assert len(set(strong)) == len(MARKS)


@pytest.mark.parametrize("scheme", [0, 1])
def test_marks_and_words_stand_out_from_their_ground(scheme: int) -> None:
    for paint in MARKS.values():
        colours = paint.fill if paint.fill not in (None, GROUND) else paint.stroke
        assert colours
        assert contrast(colours[scheme], GROUND[scheme]) >= 3
    for paint in (legend.INK, legend.SOFT):
        assert paint.fill
        assert contrast(paint.fill[scheme], GROUND[scheme]) >= 4.5


def test_a_point_lies_above_the_diagonal_exactly_when_it_needed_more() -> None:
    root = picture([Run(measured=150 * MIB), Run(measured=50 * MIB), Run(measured=100 * MIB)])
    side = 480
    ((x, y),) = marks(root, "underpredicted")
    assert side - y > x
    (equal, less) = marks(root, "within")
    assert side - equal[1] == equal[0]
    assert side - less[1] < less[0]


def test_distance_from_the_diagonal_is_the_ratio() -> None:
    root = picture([Run(measured=200 * MIB), Run(predicted=2**30, measured=2**31)])
    gaps = {round(480 - y - x) for x, y in marks(root, "underpredicted")}
    assert len(gaps) == 1


def test_the_diagonal_is_drawn_from_corner_to_corner_and_labelled() -> None:
    root = picture([Run(), Run(method="HF")])
    lines = root.findall(f".//{SVG}path[@class='diagonal']")
    assert [line.get("d") for line in lines] == ["M0 285L285 0"] * 2
    assert texts(root).count("measured = predicted") == 2


def test_the_label_of_the_diagonal_keeps_out_of_the_way() -> None:
    def place(runs: list[Run]) -> str:
        (label,) = (text for text in picture(runs).iter(f"{SVG}text") if text.text == "measured = predicted")
        return label.get("x") or ""

    low, high = Run(predicted=2**20, measured=2**20), Run(predicted=2**30, measured=2**30)
    crowd = [Run(predicted=2**27 + step, measured=2**27) for step in range(0, 2**26, 2**24)]
    assert place([low, high]) != place([low, high, *crowd])


def test_each_panel_names_its_group_and_its_n() -> None:
    shown = texts(picture([Run(), Run(measured=None), Run(method=None, hardware="b")]))
    known, unknown = shown.index("RKS"), shown.index("unknown method")
    assert shown[known : known + 3] == ["RKS", "class-a", "n = 2, 1 drawn"]
    assert shown[unknown : unknown + 3] == ["unknown method", "b", "n = 1"]


def test_the_key_counts_cases_and_the_caption_the_rest() -> None:
    root = picture([*EVERY, Run(), Run(), Run(measured=None), Run(predicted=None)])
    shown = texts(root)
    assert shown[:2] == ["Measured against predicted peak memory", "set made:1: 9 cases, 7 drawn"]
    assert [shown[shown.index(name) + 1] for name in ("underpredicted", "within", "not refuted")] == ["1", "3", "1"]
    caption = " ".join(shown)
    assert (
        "Not drawn: 2 of 9 cases: 1 without a predicted figure (1 no prediction); "
        "1 without a measured peak (1 unobserved)." in caption
    )
    assert "drawn once: 5 marks for 7 cases." in caption
    assert f"Set made:1, SHA-256 {DIGEST}." in caption


def test_the_caption_explains_an_underprediction_below_the_diagonal() -> None:
    caption = " ".join(texts(picture([Run(outcome="oom_killed", limit=200 * MIB)])))
    assert "Underpredicted, though not above the diagonal: 1 case, killed out of memory at a limit" in caption


def test_a_calibration_is_a_line_to_the_calibrated_figure_with_its_verdicts_in_the_caption() -> None:
    root = picture([Run(measured=150 * MIB), Run(), Run(method=None)], 2.0)
    key_line, *moves = root.findall(f".//{SVG}path[@class='calibrated']")
    assert key_line is not None
    (move,) = moves
    lines = re.findall(r"M([\d.]+) [\d.]+H([\d.]+)m", move.get("d") or "")
    assert len(lines) == 2
    assert len({float(end) - float(start) for start, end in lines}) == 1
    caption = " ".join(texts(root))
    assert "Judged by the calibrated figure: 2 within, 1 uncalibrated. Calibration c0ffee." in caption


def test_a_multiplier_of_one_moves_nothing() -> None:
    root = picture([Run()], 1)
    assert len(root.findall(f".//{SVG}path[@class='calibrated']")) == 1


def test_without_a_figure_and_a_peak_the_picture_says_that_there_is_nothing() -> None:
    root = picture([Run(measured=None), Run(predicted=None)])
    assert "Nothing to draw: no case has both a predicted figure and a measured peak above 0." in texts(root)
    assert not root.findall(f".//{SVG}path[@class='diagonal']")


def test_a_group_with_nothing_to_draw_says_so() -> None:
    assert texts(picture([Run(), Run(method="HF", measured=None)])).count("nothing to draw") == 1


@pytest.mark.parametrize(("groups", "columns"), [(1, 1), (2, 2), (4, 2), (5, 3), (8, 3)])
def test_panels_wrap_in_a_grid_inside_the_page(groups: int, columns: int) -> None:
    root = picture([Run(method=f"M{number}") for number in range(groups)])
    corners = [
        tuple(map(float, re.findall(r"[\d.]+", group.get("transform") or "")))
        for group in root.findall(f"{SVG}g[@transform]")
    ]
    assert len(set(corners)) == groups
    assert len({x for x, _ in corners}) == columns
    side = float(next(rect for rect in root.iter(f"{SVG}rect") if rect.get("class") == "frame").get("width") or 0)
    assert max(x for x, _ in corners) + side <= float(root.get("width") or 0)
    assert max(y for _, y in corners) + side <= float(root.get("height") or 0)


def test_the_order_of_cases_is_irrelevant() -> None:
    runs = [
        Run(predicted=2**20 + 977 * step, measured=2**20 + 1013 * step, method=f"M{step % 3}") for step in range(99)
    ]
    shuffled = random.Random(1).sample(runs, len(runs))  # noqa: S311 - a fixed order
    assert "".join(draw(report(runs, 1.5), "x")) == "".join(draw(report(shuffled, 1.5), "x"))


def test_a_hostile_method_is_escaped_everywhere_and_cut_to_its_panel() -> None:
    method = '</text><script>1</script>"&\x1b\u202e' + "A" * 5000
    text = "".join(draw(report([Run(method=method)])))
    assert "<script" not in text
    assert all(line.isprintable() for line in text.splitlines())
    assert len(text) < 20_000
    assert any(shown.startswith('</text><script>1</script>"&\\x1b\\u202eA') for shown in texts(parsed(text)))


def test_it_has_no_script_and_refers_to_nothing() -> None:
    text = "".join(draw(report(EVERY, 1.5), "x"))
    for word in ("href", "url(", "<script", "@import", "<image", "<foreignObject", "onload"):
        assert word not in text
    assert text.count("http") == 1


def test_points_on_the_same_half_pixel_are_drawn_once_and_very_many_are_small() -> None:
    rng = random.Random(7)  # noqa: S311 - a fixed sample

    def size() -> int:
        return int(2 ** rng.uniform(20, 36))

    runs = [Run(predicted=size(), measured=size(), single=rng.random() < 0.5) for _ in range(6_000)]
    made = report(runs + runs, 1.5)
    text = "".join(draw(made, "x"))
    root = parsed(text)
    drawn = sum(len(marks(root, verdict)) for verdict in MARKS)
    assert drawn <= len(runs)
    assert f"drawn once: {drawn} marks for {2 * len(runs)} cases." in " ".join(texts(root))
    assert "they are small and calibrated figures left out." in " ".join(texts(root))
    assert len(root.findall(f".//{SVG}path[@class='calibrated']")) == 1
    assert drawable(made).drawn == 2 * len(runs)
    assert len(text) < 60 * drawn + 20_000
    assert "they are small." in " ".join(texts(picture(runs)))


def test_groups_beyond_the_most_are_counted_in_the_caption(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vq.plots.drawable.MOST_PANELS", 1)
    caption = " ".join(texts(picture([Run(), Run(), Run(method="HF")])))
    assert "1 in smaller groups than those shown (1 within)." in caption
    assert "Of 2 groups the 1 with the most points are shown." in caption


@pytest.mark.parametrize("size", [1, 2**53 - 1])
def test_the_smallest_and_the_largest_size_are_drawn_inside_their_panel(size: int) -> None:
    ((x, y),) = marks(picture([Run(predicted=size, measured=size - size % 1024 or 1)]), "within")
    assert 0 < x < 480
    assert 0 < y < 480
    assert math.isclose(x + y, 480)


def test_all_that_is_painted_has_a_dark_rule() -> None:
    text = "".join(draw(report(EVERY, 1.5), "x"))
    rules = set(re.findall(r"^\.(\w+)\{", text, re.MULTILINE))
    assert {element.get("class") for element in parsed(text).iter() if element.get("class")} <= rules
    assert evaluation.TITLE in text
