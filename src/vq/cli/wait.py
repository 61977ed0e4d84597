"""`vq wait`: until jobs have ended."""

from __future__ import annotations

import click

from vq.actions.place import Place
from vq.actions.waiting import TIMED_OUT, Waited
from vq.actions.waiting import wait as wait_for
from vq.actions.waking import absence
from vq.canonical import pretty
from vq.cli.endings import tell_ends
from vq.cli.jobs import the_queue
from vq.cli.options import json_option, quiet_option
from vq.cli.output import Output, note
from vq.store.jobs import states


@click.command(
    epilog="""Examples:

\b
  vq wait a7
  vq wait a7 a8 a9 --timeout 3600
  vq wait a7 a8 --any --json"""
)
@click.argument("jobs", nargs=-1, required=True, metavar="JOB...")
@click.option("--timeout", metavar="S", type=click.FloatRange(0), help="Give up after S seconds: exit status 124.")
@click.option("--any", "any_of_them", is_flag=True, help="Until one of them has ended.")
@json_option
@quiet_option("nothing; the exit status is the answer")
def wait(jobs: tuple[str, ...], timeout: float | None, any_of_them: bool, as_json: bool, quiet: bool) -> int:  # noqa: FBT001
    """Wait until each JOB has ended.

    The exit status of one job is its own where it ran to its end, else 1; of several, 0 if all completed, else 1.
    It is 124 after the timeout and 130 after Ctrl-C; a job may exit with these, too: a script reads the JSON.
    """
    output = Output(json=as_json, quiet=quiet)
    with the_queue() as place:
        absent, found = absence(place), states(place.store, jobs).values()
        if absent is not None and any(state is not None and not state.ended for state in found):
            note(absent)
        waited = wait_for(place, jobs, timeout_seconds=timeout, any_of_them=any_of_them)
        _show(output, place, waited)
    return waited.exit_status


def _show(output: Output, place: Place, waited: Waited) -> None:
    if output.json:
        document = [{"id": job, "state": state, "exit_code": code} for job, state, code in waited.jobs]
        output.document([pretty({"jobs": document})])
    elif not output.quiet:
        for job, state, code in waited.jobs:
            output.line(f"{job}  {state}" + ("" if code is None else f"  exit code {code}"))
        tell_ends(place, waited)
        if waited.exit_status == TIMED_OUT:
            note("the time is over")
