"""Quantities on the command line: sizes, CPUs, durations and moments, as click parameter types."""

from __future__ import annotations

from collections.abc import Callable

import click

from vq.errors import BadDataError
from vq.formats.quantities import COUNT, CPUS, MOMENT, SIZE, Quantity, duration_in

OFF = "off"
_LEAST_PLAIN = 2**20
"""A size without a unit is in bytes; what is smaller was meant in another unit."""


class QuantityType(click.ParamType[int]):
    """A quantity as a whole number of its smallest unit."""

    def __init__(self, name: str, quantity: Quantity) -> None:
        self.name = name
        self._quantity = quantity

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number that `value` stands for; wrong usage where it stands for none."""
        if isinstance(value, int):
            return value
        try:
            number = self._quantity.read(value, "")
        except BadDataError as error:
            self.fail(error.message, param, ctx)
        if number is None:
            self.fail(f"expected {self._quantity.expected}", param, ctx)
        if self._quantity is SIZE and value.isdigit() and 0 < number < _LEAST_PLAIN:
            self.fail(f"{value} would be {value} bytes; write {value}GiB or {value}MiB", param, ctx)
        return number


SIZE_TYPE = QuantityType("size", SIZE)
CPUS_TYPE = QuantityType("cpus", CPUS)
MOMENT_TYPE = QuantityType("time", MOMENT)
SECONDS_TYPE = QuantityType("duration", duration_in(1000))


def or_off(kind: QuantityType) -> Callable[[click.Context, click.Parameter, str | None], int | str | None]:
    """A callback for an option that takes a quantity or `off`."""

    def convert(ctx: click.Context, param: click.Parameter, value: str | None) -> int | str | None:
        return value if value in (None, OFF) else kind.convert(value, param, ctx)

    return convert


def named_profiles(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> dict[str, dict[str, int | None]]:
    """Profiles as `NAME=MEM:CPUS[:SLOTS]`, as a setup document has them."""
    profiles: dict[str, dict[str, int | None]] = {}
    for value in values:
        name, sign, limits = value.rpartition("=")
        memory, *rest = limits.split(":")
        if not sign or len(rest) not in (1, 2) or any(COUNT.parse(part) is None for part in rest if part):
            raise click.BadParameter(f"expected NAME=MEM:CPUS[:SLOTS], such as big=64GiB:16:4, found {value}")
        slots = int(rest[1]) if len(rest) > 1 and rest[1] else None
        profiles[name] = {"memory": SIZE_TYPE.convert(memory, param, ctx), "cpus": int(rest[0] or 0), "slots": slots}
    return profiles
