"""The few things that our pictures are drawn from: elements, words, colours for light and dark, and scales.

A picture is a standalone SVG 1.1 document of plain shapes: no script, no reference to anything, no font of its own.
The light colours are attributes, which every converter understands; the dark ones are rules that a viewer applies
where its reader prefers dark. Lengths are in pixels of 1/96 inch; y grows downwards.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, floor

from vq.wording import escape, human_bytes

Attributes = Mapping[str, str | float]

MIDDLE: Attributes = {"text-anchor": "middle"}
END: Attributes = {"text-anchor": "end"}

_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
_FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
_WIDE, _CAPITAL, _OTHER = 1.0, 0.72, 0.57
_STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 20, 40, 80)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paint:
    """How one kind of thing is painted: `fill` and `stroke` as (light, dark) colours, None for nothing.

    `name` is its class in the document and must be unique in a picture.
    """

    name: str
    fill: tuple[str, str] | None = None
    stroke: tuple[str, str] | None = None
    stroke_width: float = 1

    def attributes(self) -> dict[str, str | float]:
        """The attributes that paint it in light, and the class by which the dark rule finds it."""
        painted: dict[str, str | float] = {"class": self.name, "fill": self.fill[0] if self.fill else "none"}
        return painted | ({"stroke": self.stroke[0], "stroke-width": self.stroke_width} if self.stroke else {})

    def dark_rule(self) -> str:
        """The CSS rule that paints it in dark."""
        pairs = (("fill", self.fill), ("stroke", self.stroke))
        return f".{self.name}{{{';'.join(f'{key}:{colours[1]}' for key, colours in pairs if colours)}}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A linear map of values from `low` to `high` onto pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        """The pixel of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def half_pixels(self, value: float) -> int:
        """The place of a value as a whole number of half pixels: what a reader can still tell apart."""
        return round(2 * self.place(value))


def power_ticks(low: float, high: float, apart: float) -> list[tuple[int, str]]:
    """Powers of two from 2^low to 2^high, as (exponent, size in human units): as many as stand `apart` powers apart."""
    step = next(step for step in _STEPS if step >= apart)
    first = -(-ceil(max(low, 0)) // step) * step
    return [(exponent, human_bytes(2**exponent)) for exponent in range(first, floor(high) + 1, step)]


def number(value: float) -> str:
    """A coordinate with at most two decimals and no more digits than it needs."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def element(name: str, attributes: Attributes, *content: str) -> str:
    """An element with escaped attributes around `content`, which is markup already."""
    shown = "".join(
        f' {key}="{_plain(value) if isinstance(value, str) else number(value)}"' for key, value in attributes.items()
    )
    return f"<{name}{shown}>{''.join(content)}</{name}>" if content else f"<{name}{shown}/>"


def words(x: float, y: float, text: str, *paints: Attributes) -> str:
    """A line of text with its anchor at (x, y), escaped; later attributes win."""
    attributes: dict[str, str | float] = {"x": x, "y": y}
    for paint in paints:
        attributes |= paint
    return element("text", attributes, _plain(text))


def described(title: str, description: str) -> str:
    """The title and description of a picture or a part of it, for those who hear it or point at it."""
    return element("title", {}, _plain(title)) + (element("desc", {}, _plain(description)) if description else "")


def text_width(text: str, size: float) -> float:
    """About how many pixels escaped text of a font size takes, rather more than less."""
    return size * sum(_glyph_width(char) for char in escape(text))


def fit(text: str, width: float, size: float) -> str:
    """Escaped text that takes at most about `width` pixels, cut with an ellipsis where it must be."""
    text = escape(text)
    if text_width(text, size) <= width:
        return text
    ends = accumulate(size * _glyph_width(char) for char in text)
    room = width - text_width("…", size)
    return text[: sum(end <= room for end in ends)].rstrip() + "…"


def document(size: tuple[float, float], paints: Iterable[Paint], body: Iterable[str]) -> Iterator[str]:
    """The pieces of a whole document of a width and height in pixels that shows `body`, painted by `paints`."""
    width, height = size
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{number(width)}" height="{number(height)}" '
        f'viewBox="0 0 {number(width)} {number(height)}" role="img" font-family="{_FONT}">\n'
    )
    rules = "\n".join(paint.dark_rule() for paint in paints)
    yield f"<style>\n@media (prefers-color-scheme: dark) {{\n{rules}\n}}\n</style>\n"
    for piece in body:
        yield piece + "\n"
    yield "</svg>\n"


def _glyph_width(char: str) -> float:
    if char in "mwMW@%—…" or unicodedata.east_asian_width(char) in "WF":
        return _WIDE
    return _CAPITAL if char.isupper() else _OTHER


def _plain(text: str) -> str:
    return escape(text).translate(_MARKUP)
