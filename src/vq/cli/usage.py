"""`vq usage`: what jobs asked for, had reserved, used and wasted, by name."""

from __future__ import annotations

from dataclasses import asdict

import click

from vq.actions.usage import Usage, usage_by_name
from vq.canonical import pretty
from vq.cli.jobs import the_queue
from vq.cli.options import json_option
from vq.cli.output import Output, note
from vq.store.history import rows_in_order
from vq.wording import human_bytes

_HEADINGS = ("NAME", "RUNS", "PEAK P50", "PEAK MAX", "ASKED", "RESERVED", "USED", "WASTED")
_GIB_HOUR = 2**30 * 3600
_LEAST_SHOWN = 0.001


@click.command(
    epilog="""Examples:

\b
  vq usage
  vq usage --name train.py --json"""
)
@click.option("--name", metavar="TEXT", help="Jobs of this name only.")
@json_option
def usage(name: str | None, as_json: bool) -> None:  # noqa: FBT001 - click passes flags so
    """Show what jobs asked for, had reserved, used and wasted, by name.

    Used and wasted are in GiB times hours: peak, and what was reserved beyond it, for as long as each run took.
    """
    with the_queue() as place:
        names = [found for found in usage_by_name(rows_in_order(place.store)) if name in (None, found.name)]
    output = Output(json=as_json)
    if output.json:
        output.document([pretty({"names": [asdict(found) for found in names]})])
    elif not names:
        note("no job has run yet")
    else:
        output.table(_HEADINGS, [_row(found) for found in names], keys=1, text_columns=1)
        output.line("(…) is the repository; USED and WASTED: GiB times hours")


def _row(found: Usage) -> tuple[str, ...]:
    sizes = (found.peak_p50_bytes, found.peak_max_bytes, found.asked_bytes, found.reserved_bytes)
    spent = (found.used_byte_seconds, found.wasted_byte_seconds)
    return (
        f"{found.name} ({found.repository})",
        str(found.runs),
        *("-" if size is None else human_bytes(size) for size in sizes),
        *(_gib_hours(byte_seconds / _GIB_HOUR) for byte_seconds in spent),
    )


def _gib_hours(amount: float) -> str:
    return "<0.001" if 0 < amount < _LEAST_SHOWN else f"{amount:.3f}"
