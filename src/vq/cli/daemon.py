"""`vq daemon`: start, look at and end the process that runs the queue."""

from __future__ import annotations

import json
import os

import click

from vq.actions import daemon as actions
from vq.cli.jobs import DRAINS
from vq.cli.options import Subcommands, json_option
from vq.cli.output import Output, note
from vq.jobs.times import shown_moment
from vq.store.folder import state_folder


@click.group(
    cls=Subcommands,
    epilog="""Examples:

\b
  vq daemon start
  vq daemon status --json
  vq daemon restart
  vq daemon drain""",
)
def daemon() -> None:
    """Start, stop and look at the daemon, which starts jobs as there is room.

    Jobs that run go on without it; it takes them up again when it is back.
    """


@daemon.command()
def start() -> None:
    """Start the daemon if none runs; one is ready when this returns."""
    note("daemon started" if actions.start_daemon(_folder()) else "the daemon runs already")


@daemon.command()
def stop() -> None:
    """End the daemon. Jobs that run go on."""
    note("daemon stopped; jobs that run go on" if actions.stop_daemon(_folder()) else "no daemon runs")


@daemon.command()
def restart() -> None:
    """End the daemon and start it anew, by the configuration file as it is now. Jobs that run go on."""
    actions.restart_daemon(_folder(), os.environ)
    note("daemon started; it goes by the configuration as it is now")


@daemon.command()
@json_option
def status(as_json: bool) -> int:  # noqa: FBT001 - click passes flags so
    """Say whether a daemon runs: exit status 0 if one does, else 1."""
    found = actions.daemon_status(_folder())
    if as_json:
        Output(json=True).document([json.dumps(found, indent=2), "\n"])
    elif found["running"]:
        since = shown_moment(found["started_at"])
        Output().line(f"running: process {found['pid']}, version {found['version']}, since {since}")
        if actions.drains(_folder()):
            note(DRAINS)
    else:
        Output().line("not running")
    return 0 if found["running"] else 1


@daemon.command()
def run() -> int:
    """Be the daemon, in the foreground, until a signal ends it."""
    if actions.run_daemon(_folder(), lambda: note("ready")):
        return 0
    note("the daemon runs already")
    return 1


@daemon.command()
def drain() -> None:
    """Start no more jobs until `vq daemon resume`; those that run go on, and submissions are accepted."""
    actions.drain(_folder(), draining=True)
    note("nothing starts until vq daemon resume; jobs that run go on")


@daemon.command()
def resume() -> None:
    """Start jobs again after a drain."""
    actions.drain(_folder(), draining=False)
    note("jobs start again as there is room")


def _folder() -> str:
    return state_folder(os.environ)
