"""What a calibration does to a program's memory figure: a factor or an offset, and a margin on top of either.

calibrated = ⌈(figure × multiplier + offset) × (1 + margin/100)⌉, on the recorded decimals, exactly, and rounded up
once. None of the three ever lowers a figure.
"""

from __future__ import annotations

from dataclasses import dataclass

from vq.errors import BadDataError
from vq.estimates.exact import ceiling_product, decimal, exceeds
from vq.estimates.program import Number
from vq.shapes import LARGEST, Kind, is_number

MOST_MARGIN = 1000

MULTIPLIER = Kind("a finite number of 1 or more, or null", lambda v: v is None or (is_number(v) and not exceeds(1, v)))
MARGIN = Kind(
    f"a percentage above 0 and of at most {MOST_MARGIN}, or null",
    lambda v: v is None or (is_number(v) and 0 < v <= MOST_MARGIN),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """`multiplier` or `offset_bytes`, as the method of the calibration says, and its margin in percent or None."""

    multiplier: Number | None = None
    offset_bytes: int | None = None
    margin_percent: Number | None = None

    def applied(self, figure: int) -> int:
        """The calibrated figure in bytes; raises `BadDataError` past 2^53−1."""
        factor: Number = 1 if self.multiplier is None else self.multiplier
        margined = factor if self.margin_percent is None else decimal(factor) * (1 + decimal(self.margin_percent) / 100)
        peak = ceiling_product(figure + (self.offset_bytes or 0), margined)
        if peak > LARGEST:
            raise BadDataError(f"a calibrated peak of at most {LARGEST} bytes; {figure} {self} is more")
        return peak

    def __str__(self) -> str:
        margin = "" if self.margin_percent is None else f" + {self.margin_percent} %"
        return (f"× {self.multiplier}" if self.offset_bytes is None else f"+ {self.offset_bytes}") + margin
