"""`vq logs`: what a job wrote."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import click

from vq.actions.logs import Piece, Wanted, follow_logs, read_logs
from vq.cli.jobs import the_queue
from vq.cli.output import note
from vq.jobs.record import State
from vq.store import jobs as stored


@click.command(
    epilog="""Examples:

\b
  vq logs a7
  vq logs a7 -f
  vq logs a7 -n 20 --err"""
)
@click.argument("job")
@click.option("-f", "--follow", is_flag=True, help="Go on until the job has ended.")
@click.option("-n", "--lines", metavar="N", type=click.IntRange(0), help="Begin with the last N lines of each.")
@click.option("--err", is_flag=True, help="Its stderr only.")
@click.option("--attempt", metavar="N", type=click.IntRange(1), help="Of an earlier attempt.")
def logs(job: str, follow: bool, lines: int | None, err: bool, attempt: int | None) -> None:  # noqa: FBT001
    """Print what JOB wrote, byte for byte: its stdout to stdout, its stderr to stderr."""
    wanted = Wanted(attempt=attempt, lines=lines, only_stderr=err)
    with the_queue() as place:
        if follow and attempt is None:
            copy(follow_logs(place, job, wanted))
            return
        copy(read_logs(place, job, wanted))
        if stored.read(place.store, job).state is State.PENDING and not attempt:
            note(f"{job} has not started yet; vq explain {job} says why")


def copy(pieces: Iterable[Piece | None]) -> None:
    """Write pieces of a job's logs to our own stdout and stderr."""
    for piece in pieces:
        if piece is None:
            sys.stdout.flush()
            continue
        is_stderr, data = piece
        stream = (sys.stderr if is_stderr else sys.stdout).buffer
        stream.write(data)
        stream.flush()
