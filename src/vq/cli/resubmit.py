"""`vq resubmit`: jobs anew."""

from __future__ import annotations

import os
from typing import Any

import click

from vq.actions.orders import read_wall_time
from vq.actions.place import config_in_force
from vq.actions.resubmit import Overrides
from vq.actions.resubmit import resubmit as submit_again
from vq.cli.jobs import show_jobs, the_queue, wake_daemon
from vq.cli.mebibytes import MEM_MB
from vq.cli.options import json_option, priority, quiet_option
from vq.cli.output import Output


@click.command(
    epilog="""Examples:

\b
  vq resubmit a7
  vq resubmit a7 --mem 16G --cpus 8
  vq resubmit a7 a8 --time-limit 12:00:00"""
)
@click.argument("jobs", nargs=-1, required=True, metavar="JOB...")
@click.option("--cpus", metavar="N", type=click.IntRange(1), help="Another number of CPUs.")
@click.option("--mem-mb", "--mem", metavar="SIZE", type=MEM_MB, help="Another memory limit: MiB, or as 4G.")
@click.option("--time", "--time-limit", "time_limit", metavar="T", help="Another time limit: minutes, H:M:S, D-H:M:S.")
@click.option("--wall-time-seconds", metavar="N", type=int, help="Another time limit, in seconds.")
@click.option("--priority", metavar="N", type=int, callback=priority, help="Another priority.")
@json_option
@quiet_option("only the new ids")
def resubmit(jobs: tuple[str, ...], as_json: bool, quiet: bool, **options: Any) -> None:  # noqa: FBT001
    """Submit each JOB anew, and print the new ids.

    It starts from the files that were submitted, never from what the old run left, with the old environment. Its
    estimate, its limits and its priority stay, unless an option gives another.
    """
    overrides = Overrides(
        cpus=options["cpus"],
        mem_mb=options["mem_mb"],
        wall_time_seconds=read_wall_time(options),
        priority=options["priority"],
    )
    with the_queue() as place:
        config = config_in_force(place, os.environ)
        new = submit_again(place, jobs, overrides, config)
        show_jobs(Output(json=as_json, quiet=not as_json or quiet), new)
        wake_daemon(place)
