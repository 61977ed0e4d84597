"""Options that several commands share, and the progress line of long ones."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import click

from vq.shapes import HARDWARE_CLASS

T = TypeVar("T")

PATH = click.Path(readable=False)
"""A path as given: whether it can be read is for the reader to say, as bad data and not as wrong usage."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print the bare result only.")

_PROGRESS_FROM = 2_000
_PROGRESS_EVERY = 500


def hardware_class(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """The label of a hardware class, checked; wrong usage otherwise."""
    if value is not None and not HARDWARE_CLASS.accepts(value):
        raise click.BadParameter(f"expected {HARDWARE_CLASS.expected}")
    return value


def svg_name(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """The name of the picture, checked; wrong usage where its ending promises another format."""
    if value is not None and not value.lower().endswith(".svg"):
        raise click.BadParameter("expected a name that ends in .svg, the one format that is written")
    return value


def progress(cases: Sequence[T]) -> Iterable[T]:
    """The cases one after another; of many, a line on a terminal's stderr says how far it is."""
    return _counted(cases) if len(cases) >= _PROGRESS_FROM and sys.stderr.isatty() else cases


def _counted(cases: Sequence[T]) -> Iterator[T]:
    try:
        for number, case in enumerate(cases):
            if number % _PROGRESS_EVERY == 0:
                click.echo(f"\r{number:,} of {len(cases):,} cases", err=True, nl=False)
            yield case
    finally:
        click.echo("\r\033[K", err=True, nl=False)
