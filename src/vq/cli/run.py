"""`vq run`: a job that is waited for as if it ran here."""

from __future__ import annotations

import os
from typing import Any

import click

from vq.actions.logs import Wanted, follow_logs
from vq.actions.place import Place
from vq.actions.requesting import ask, now_ms
from vq.actions.submit import submit
from vq.actions.waiting import wait
from vq.cli.endings import tell_ends
from vq.cli.jobs import the_queue, wake_daemon
from vq.cli.logs import copy
from vq.cli.output import note, warn
from vq.cli.submitting import WithCommand, job_options, note_directives, progress_line, read_request
from vq.errors import UsageError
from vq.jobs.events import KillRequested

_INTERRUPTED = 130


@click.command(
    cls=WithCommand,
    context_settings={"allow_interspersed_args": False},
    epilog="""Examples:

\b
  vq run -- python -c 'print(1)'
  vq run -d . --mem-mb 4000 -- make test""",
)
@job_options
@click.pass_context
def run(ctx: click.Context, /, **options: Any) -> int:
    """Submit a job, print what it writes, and exit with its code.

    It takes what `vq submit` takes. Ctrl-C kills the job.
    """
    request = read_request(ctx, options)
    if request.array is not None or len(request.orders) != 1:
        raise UsageError("vq run is for one job", hint="submit many with vq submit, and wait for them with vq wait")
    with the_queue() as place:
        submitted = submit(place, request, os.environ, progress=progress_line)
        for text in submitted.warnings:
            warn(text)
        note_directives(ctx, request.bringing)
        ((identifier, _),) = submitted.jobs
        try:
            note(f"submitted {identifier}")
            wake_daemon(place)
            copy(follow_logs(place, identifier, Wanted()))
            return _status(place, identifier)
        except KeyboardInterrupt:
            ask(place, [identifier], KillRequested(at_ms=now_ms()))
            note(f"killed {identifier}")
            return _INTERRUPTED


def _status(place: Place, identifier: str) -> int:
    waited = wait(place, [identifier])
    tell_ends(place, waited, streamed=True)
    return waited.exit_status
