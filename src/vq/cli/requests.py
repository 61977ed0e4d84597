"""`vq kill`, `vq pause`, `vq resume` and `vq edit`: what is asked of jobs that have not ended."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import click

from vq.actions.orders import read_name, read_wall_time
from vq.actions.place import config_in_force
from vq.actions.requesting import Asked, Chosen, ask, check_edit, choose, now_ms, refuse_not_taken
from vq.cli.jobs import NOTHING, show_jobs, the_queue
from vq.cli.mebibytes import MEM_MB
from vq.cli.options import json_option, priority, quiet_option
from vq.cli.output import Output, note
from vq.jobs.events import Edited, KillRequested, Paused, Resumed
from vq.jobs.record import ACTIVE, State
from vq.store.requests import Request

Command = Callable[..., Any]

_SELECTION = (
    click.argument("jobs", nargs=-1, metavar="[JOB]..."),
    click.option("--name", metavar="TEXT", help="Every job of this name that has not ended."),
    click.option("--tag", metavar="TEXT", help="Every one with this tag."),
    click.option("--array", metavar="GROUP", help="Every one of this array, named by the id of its first job."),
    click.option("-a", "--all", "everything", is_flag=True, help="Every job that has not ended."),
    json_option,
    quiet_option("only the ids"),
)


def _selection(command: Command) -> Command:
    for option in reversed(_SELECTION):
        command = option(command)
    return command


def _request(options: dict[str, Any], request: Request, doing: Mapping[State, str]) -> None:
    chosen = Chosen(
        identifiers=options["jobs"],
        name=options["name"],
        tag=options["tag"],
        array=options["array"],
        everything=options["everything"],
    )
    with the_queue() as place:
        asked = ask(place, choose(place, chosen), request)
    _show(Output(json=options["as_json"], quiet=options["quiet"]), asked, "has ended already", doing)


def _show(output: Output, asked: Asked, refusal: str, doing: Mapping[State, str] = NOTHING) -> None:
    show_jobs(output, asked.jobs, doing)
    if asked.note is not None:
        note(asked.note)
    if not asked.jobs and not asked.refused:
        note("no job waits or runs")
    refuse_not_taken(asked, refusal)


@click.command(
    epilog="""Examples:

\b
  vq kill a7
  vq kill a7 a8 --now
  vq kill --tag batch-7
  vq kill --all"""
)
@_selection
@click.option("--now", is_flag=True, help="At once, without the time to end by themselves.")
def kill(now: bool, **options: Any) -> None:  # noqa: FBT001 - click passes flags so
    """End jobs, waiting or running.

    Every process of a running job gets TERM, and after ten seconds (`kill_grace`) KILL. The command returns once that
    is recorded; `vq wait JOB` waits for the end.
    """
    _request(options, KillRequested(at_ms=now_ms(), at_once=now), dict.fromkeys(ACTIVE, "ending"))


@click.command(
    epilog="""Examples:

\b
  vq pause a7
  vq pause --name train"""
)
@_selection
def pause(**options: Any) -> None:
    """Stop running jobs in the middle of their run, and hold waiting ones, until `vq resume`.

    A paused job keeps its memory; the time does not count for its time limit.
    """
    _request(options, Paused(at_ms=now_ms()), {State.RUNNING: "stopping", State.PENDING: "held"})


@click.command(
    epilog="""Examples:

\b
  vq resume a7
  vq resume --all"""
)
@_selection
def resume(**options: Any) -> None:
    """Let paused jobs go on, and release held ones."""
    _request(options, Resumed(at_ms=now_ms()), {State.RUNNING: "going on", State.PENDING: "released"})


@click.command(
    epilog="""Examples:

\b
  vq edit a7 --mem-mb 16000
  vq edit a7 --priority 10 --time 4:00:00"""
)
@click.argument("job")
@click.option("--cpus", metavar="N", type=click.IntRange(1), help="CPUs.")
@click.option("--mem-mb", "--mem", metavar="SIZE", type=MEM_MB, help="Memory limit: a number of MiB, or as 4G.")
@click.option("--time", "--time-limit", "time_limit", metavar="T", help="Time limit: minutes, H:M:S, D-H:M:S.")
@click.option("--wall-time-seconds", metavar="N", type=int, help="Time limit in seconds.")
@click.option("--priority", metavar="N", type=int, callback=priority, help="Higher goes first.")
@click.option("--name", metavar="TEXT", help="Its name.")
@click.option("--tag", metavar="TEXT", multiple=True, help="Its tags from now on (repeatable).")
@json_option
@quiet_option("only the id")
def edit(job: str, as_json: bool, quiet: bool, **options: Any) -> None:  # noqa: FBT001 - click passes flags so
    """Change the limits, the priority, the name or the tags of a JOB that waits."""
    tags = tuple(dict.fromkeys(str(read_name(tag, "--tag")) for tag in options["tag"]))
    change = Edited(
        at_ms=now_ms(),
        cpus=options["cpus"],
        mem_mb=options["mem_mb"],
        wall_time_seconds=read_wall_time(options),
        priority=options["priority"],
        name=read_name(options["name"], "--name"),
        tags=tags or None,
    )
    with the_queue() as place:
        check_edit(change, config_in_force(place, os.environ))
        asked = ask(place, [job], change)
    _show(Output(json=as_json, quiet=quiet), asked, "only a job that waits can be changed")
