"""Options that several commands share, and the progress line of long ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import click

from vq.shapes import HARDWARE_CLASS, LARGEST

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

PATH = click.Path(readable=False)
"""A path as given: whether it can be read is for the reader to say, as bad data and not as wrong usage."""


class Subcommands(click.Group):
    """A group whose help says of each of its commands the whole first sentence, wrapped and not cut."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The section of the help that lists the commands."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary(command)) for name, command in sorted(self.commands.items())])


def summary(command: click.Command) -> str:
    """The first sentence of what a command says of itself."""
    return command.get_short_help_str(sys.maxsize)


json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def quiet_option(what: str) -> Callable[[F], F]:
    """The option `-q`, whose help says what is still printed."""
    return click.option("-q", "--quiet", is_flag=True, help=f"Print {what}.")


_PROGRESS_FROM = 2_000
_PROGRESS_EVERY = 500


def hardware_class(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """The label of a hardware class, checked; wrong usage otherwise."""
    if value is not None and not HARDWARE_CLASS.accepts(value):
        raise click.BadParameter(f"expected {HARDWARE_CLASS.expected}")
    return value


def priority(_: click.Context, __: click.Parameter, value: int | None) -> int | None:
    """The priority, checked; wrong usage for one that no record can hold."""
    if value is not None and abs(value) > LARGEST:
        raise click.BadParameter(f"expected a whole number from {-LARGEST} to {LARGEST}")
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
