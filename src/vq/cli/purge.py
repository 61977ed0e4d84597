"""`vq purge`: what ended jobs left, removed."""

from __future__ import annotations

import click

from vq.actions.purge import purge as purge_jobs
from vq.actions.requesting import now_ms
from vq.canonical import pretty
from vq.cli.jobs import the_queue
from vq.cli.options import json_option
from vq.cli.output import Output, note
from vq.jobs.times import span_ms


@click.command(
    epilog="""Examples:

\b
  vq purge --older-than 30d
  vq purge --older-than 30d --yes
  vq purge --older-than 90d --records --yes"""
)
@click.option("--older-than", metavar="SPAN", required=True, help="Of jobs that ended so long ago: 12h, 30d.")
@click.option("--records", is_flag=True, help="Their records and receipts, too; what they teach admission stays.")
@click.option("-y", "--yes", is_flag=True, help="Remove it; without this, only say what would go.")
@json_option
def purge(older_than: str, records: bool, yes: bool, as_json: bool) -> None:  # noqa: FBT001 - click passes flags so
    """Remove the workspaces, logs and payloads of jobs that ended long ago.

    Payloads and workspaces that another job still needs stay. Idempotency keys are never freed.
    """
    before_ms = now_ms() - span_ms(older_than)
    with the_queue() as place:
        purged = purge_jobs(place, before_ms, records=records, for_real=yes)
    output = Output(json=as_json)
    if output.json:
        document = {
            "jobs": list(purged.jobs),
            "workspaces": purged.workspaces,
            "payloads": purged.payloads,
            "records": purged.records,
            "dry_run": not yes,
        }
        output.document([pretty(document)])
        return
    what = f"{purged.workspaces} workspaces, {purged.payloads} payloads and {purged.records} records"
    output.line(f"{'removed' if yes else 'would remove'} {what}, and the logs, of {len(purged.jobs)} jobs")
    if not yes and purged.jobs:
        note("nothing was removed; --yes does it")
