"""`vq estimate-collect`: an evaluation set from what the queue has measured."""

from __future__ import annotations

import click

from vq.actions.collect import collect
from vq.canonical import pretty
from vq.cli.jobs import the_queue
from vq.cli.options import hardware_class as checked_class
from vq.cli.options import json_option, quiet_option
from vq.cli.output import Output


@click.command(
    epilog="""Examples:

\b
  vq estimate-collect training-2026-10 --hardware-class class-a
  vq estimate-collect held-out --hardware-class class-a --set-id held-out-2
  vq estimate-collect held-out --hardware-class class-a --tag held-out"""
)
@click.argument("out", metavar="OUT_DIR", type=click.Path())
@click.option(
    "--hardware-class",
    "label",
    metavar="LABEL",
    required=True,
    callback=checked_class,
    help="The class of hardware that the jobs ran on.",
)
@click.option("--set-id", metavar="ID", help="The id of the set (default: the folder's name).")
@click.option("--tag", metavar="TEXT", help="Only jobs that were submitted with this tag.")
@json_option
@quiet_option("only the number of cases")
def estimate_collect(out: str, label: str, as_json: bool, quiet: bool, **options: str | None) -> None:  # noqa: FBT001
    """Make a set for `vq estimate-evaluate` in OUT_DIR, of every ended job with an estimate.

    OUT_DIR must be absent or empty, and is written whole or not at all. Collect once the set is frozen: jobs chosen
    by looking at their results are not held out. A tag given with vq submit chooses before there are any.
    """
    output = Output(json=as_json, quiet=quiet)
    with the_queue() as place:
        found = collect(place, out, label, set_id=options["set_id"], tag=options["tag"])
    if output.json:
        skipped = [{"job": job, "reason": reason} for job, reason in found.skipped]
        output.document([pretty({"set_id": found.set_id, "out": found.out, "cases": found.cases, "skipped": skipped})])
        return
    if output.quiet:
        output.line(str(found.cases))
        return
    output.fields([("Set", found.set_id), ("Written to", found.out), ("Cases", str(found.cases))])
    for job, reason in found.skipped:
        output.line(f"skipped {job}: {reason.replace('_', ' ')}")
