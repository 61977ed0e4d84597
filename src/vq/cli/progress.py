"""How far a long command is: a count on a terminal's stderr, and nothing anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

_EVERY = 5_000


@contextmanager
def counting(noun: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """A function to call once for each `noun` done, of `total` where that is known; only many are shown."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    done = 0
    of = "" if total is None else f" of {total:,}"

    def tick() -> None:
        nonlocal done
        done += 1
        if done % _EVERY == 0:
            click.echo(f"\r{done:,}{of} {noun}", err=True, nl=False)

    try:
        yield tick
    finally:
        if done >= _EVERY:
            click.echo("\r\033[K", err=True, nl=False)
