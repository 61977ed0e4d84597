"""`vq submit`: jobs into the queue."""

from __future__ import annotations

import os
from typing import Any

import click

from vq.actions.bringing import Bringing
from vq.actions.submit import Submitted
from vq.actions.submit import submit as submit_jobs
from vq.canonical import pretty
from vq.cli.jobs import the_queue, wake_daemon
from vq.cli.options import json_option, quiet_option
from vq.cli.output import Output, note, warn
from vq.cli.submitting import WithCommand, job_options, note_directives, progress_line, read_request


@click.command(
    cls=WithCommand,
    context_settings={"allow_interspersed_args": False},
    epilog="""Examples:

\b
  vq submit -- sleep 60
  vq submit -d . --cpus 4 --mem-mb 8000 --time 90 -- python calculation.py
  vq submit job.sh first-argument
  vq submit --here --array 20%4 -- sh -c 'run case-$VQ_ARRAY_INDEX'
  vq submit --from-file jobs.txt --tag batch-7
  vq submit -d . --estimate calibrated.json --mem-from-estimate \\
      -- python calculation.py""",
)
@job_options
@click.option("--idempotency-key", metavar="KEY", help="Submit once only under this key.")
@click.option("--wait", is_flag=True, help="Wait for the end; the exit status is as of `vq wait`.")
@json_option
@quiet_option("only the ids; warnings, and that a daemon was started, go to stderr")
@click.pass_context
def submit(ctx: click.Context, /, wait: bool, as_json: bool, quiet: bool, **options: Any) -> int:  # noqa: FBT001
    """Put a job into the queue, and print its id.

    What stands behind -- is the command. Without it, the first word is a script (a #! line, .py or .sh), which is
    copied in, and the rest are its arguments. The job starts in an empty folder of its own, or in the copy of -d or
    --compressed. HOST may be left out: it is localhost. The first submission starts the daemon, which runs the jobs.
    """
    output = Output(json=as_json, quiet=quiet)
    request = read_request(ctx, options)
    with the_queue() as place:
        submitted = submit_jobs(place, request, os.environ, progress=progress_line)
        _show(ctx, output, submitted, request.bringing)
        wake_daemon(place)
        if not wait:
            return 0
        from vq.actions.waiting import wait as wait_for  # noqa: PLC0415 - few submissions wait

        waited = wait_for(place, [identifier for identifier, _ in submitted.jobs])
        if not (as_json or quiet):
            from vq.cli.endings import tell_ends  # noqa: PLC0415 - as above

            tell_ends(place, waited)
        return waited.exit_status


def _show(ctx: click.Context, output: Output, submitted: Submitted, bringing: Bringing) -> None:
    for warning in submitted.warnings:
        warn(warning)
    if not output.quiet:
        note_directives(ctx, bringing)
        for text in submitted.notes:
            note(text)
    if output.json:
        document = {
            "jobs": [{"id": identifier, "state": state} for identifier, state in submitted.jobs],
            "host": submitted.host,
            "existing": submitted.existing,
            "warnings": list(submitted.warnings),
        }
        output.document([pretty(document)])
        return
    for identifier, _ in submitted.jobs:
        output.line(identifier)
