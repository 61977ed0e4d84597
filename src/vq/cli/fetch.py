"""`vq fetch`: what a job left."""

from __future__ import annotations

import click

from vq.actions.fetch import fetch as fetch_files
from vq.canonical import pretty
from vq.cli.jobs import the_queue
from vq.cli.options import PATH, json_option
from vq.cli.output import Output, warn
from vq.cli.submitting import progress_line
from vq.errors import UsageError
from vq.jobs.record import State
from vq.store import jobs as stored
from vq.wording import counted


@click.command(
    epilog="""Examples:

\b
  vq fetch a7 -o results
  vq fetch a7 -o logs --only '*.log'"""
)
@click.argument("job")
@click.option("-o", "--output", "out", metavar="DIR", type=PATH, help="Copy to here, absent or empty.  [required]")
@click.option("--only", metavar="GLOB", help="Only files whose name or path is like this.")
@json_option
def fetch(job: str, out: str | None, only: str | None, as_json: bool) -> None:  # noqa: FBT001 - click passes flags so
    """Copy what JOB left in its workspace to a new folder, whole or not at all.

    What it used lies beside its files, in `_vq/resource-usage.json`.
    """
    if out is None:
        raise UsageError("where to is not said", hint=f"vq fetch {job} -o results")
    with the_queue() as place:
        if stored.read(place.store, job).state is State.RUNNING:
            warn(f"{job} still runs: what it writes meanwhile may be missing")
        gathered = fetch_files(place, job, out, only, progress=progress_line)
    for path in gathered.left_out:
        warn(f"{path}: left out, it is no regular file")
    output = Output(json=as_json)
    if output.json:
        left_out = list(gathered.left_out)
        output.document([pretty({"job": job, "out": out, "files": gathered.files, "left_out": left_out})])
    else:
        output.line(f"{counted(gathered.files, 'file')} of {job} in {out}")
