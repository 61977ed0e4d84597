from __future__ import annotations

import itertools
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vq.plots.svg import (
    Paint,
    Scale,
    described,
    document,
    element,
    fit,
    number,
    power_ticks,
    text_width,
    words,
)

HOSTILE = '<script>alert("1")</script>&\'\x1b[31m\u202e\x00\ud800\ufffe'


def test_numbers_have_no_more_digits_than_they_need() -> None:
    assert [number(value) for value in (1, 0.5, 2.346, -0.001, 100, 1e6)] == ["1", "0.5", "2.35", "0", "100", "1000000"]


def test_a_scale_maps_its_ends_and_counts_half_pixels() -> None:
    scale = Scale(low=10, high=20, start=100, end=0)
    assert (scale.place(10), scale.place(20), scale.place(15)) == (100, 0, 50)
    assert scale.half_pixels(15.1) == 98


@pytest.mark.parametrize(
    ("low", "high", "apart", "labels"),
    [
        (26.5, 32.1, 1.9, ["256 MiB", "1 GiB", "4 GiB"]),
        (-3.0, 2.0, 1.0, ["1 byte", "2 bytes", "4 bytes"]),
        (0.0, 53.0, 12.0, ["1 byte", "1 MiB", "1 TiB"]),
        (19.9, 22.1, 0.1, ["1 MiB", "2 MiB", "4 MiB"]),
    ],
)
def test_ticks_are_powers_of_two_in_human_units(low: float, high: float, apart: float, labels: list[str]) -> None:
    assert [label for _, label in power_ticks(low, high, apart)] == labels


@given(st.floats(-3, 53), st.floats(2, 60), st.floats(0.01, 20))
@example(5e-324, 2.0, 2.0)
def test_ticks_lie_in_the_range_and_keep_their_distance(low: float, span: float, apart: float) -> None:
    exponents = [exponent for exponent, _ in power_ticks(low, low + span, apart)]
    assert all(low <= exponent <= low + span for exponent in exponents)
    assert all(after - before >= apart for before, after in itertools.pairwise(exponents))


@given(st.text())
def test_any_text_is_well_formed_and_shows_nothing_that_steers(text: str) -> None:
    drawn = ET.fromstring(words(1, 2, text, {"data-x": text}))  # noqa: S314 - our own text
    shown = drawn.text or ""
    assert shown.isprintable()
    assert len(drawn) == 0
    assert shown == drawn.get("data-x")


def test_hostile_text_is_escaped_in_text_attributes_and_descriptions() -> None:
    for drawn in (words(0, 0, HOSTILE), element("g", {"class": HOSTILE}), described(HOSTILE, HOSTILE)):
        assert "<script" not in drawn
        assert drawn.isprintable()
        assert r"\x1b[31m\u202e\x00\ud800\ufffe" in drawn


def test_a_description_is_left_out_where_there_is_none() -> None:
    assert described("a", "") == "<title>a</title>"
    assert described("a", "b") == "<title>a</title><desc>b</desc>"


def test_later_attributes_of_words_win() -> None:
    assert words(0, 1, "a", {"fill": "red", "x": 3}, {"fill": "blue"}) == '<text x="3" y="1" fill="blue">a</text>'


def test_text_that_fits_is_kept_and_longer_text_ends_in_an_ellipsis() -> None:
    assert fit("RKS", 100, 12) == "RKS"
    cut = fit("a name that is far too long for its panel", 100, 12)
    assert cut.endswith("…")
    assert not cut.endswith(" …")
    assert text_width(cut, 12) <= 100


@given(st.text(min_size=1), st.floats(20, 300))
def test_fitted_text_never_takes_more_than_its_width(text: str, width: float) -> None:
    assert text_width(fit(text, width, 12), 12) <= width


def test_wide_characters_take_more_room() -> None:
    assert text_width("漢", 10) == text_width("W", 10) > text_width("R", 10) > text_width("i", 10)


def test_paint_is_light_by_attribute_and_dark_by_rule() -> None:
    both = Paint(name="a", fill=("#fff", "#000"), stroke=("#111", "#eee"), stroke_width=2)
    assert both.attributes() == {"class": "a", "fill": "#fff", "stroke": "#111", "stroke-width": 2}
    assert both.dark_rule() == ".a{fill:#000;stroke:#eee}"
    line = Paint(name="b", stroke=("#111", "#eee"))
    assert line.attributes()["fill"] == "none"
    assert line.dark_rule() == ".b{stroke:#eee}"
    assert Paint(name="c", fill=("#fff", "#000")).attributes() == {"class": "c", "fill": "#fff"}


def test_a_document_is_well_formed_and_has_its_dark_rules() -> None:
    paint = Paint(name="ink", fill=("#000", "#fff"))
    text = "".join(document((20, 10.5), [paint], [words(1, 1, "x", paint.attributes())]))
    root = ET.fromstring(text)  # noqa: S314 - our own text
    assert (root.get("width"), root.get("height"), root.get("viewBox")) == ("20", "10.5", "0 0 20 10.5")
    assert "@media (prefers-color-scheme: dark) {\n.ink{fill:#fff}\n}" in text
