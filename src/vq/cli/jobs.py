"""What the commands of the queue share: their options and arguments, how they open it, how they show a selection."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from vq.actions.place import Place, config_in_force, open_place
from vq.canonical import pretty
from vq.cli.output import Output, note, warn
from vq.errors import VqError
from vq.jobs.record import State

DRAINS = "the queue drains: nothing starts until vq daemon resume"
NOBODY = "no daemon runs, so nothing starts: vq daemon start"
NOTHING: Mapping[State, str] = {}


def the_queue() -> AbstractContextManager[Place]:
    """The queue of this process's environment, open for as long as the block runs."""
    return open_place(os.environ)


def show_jobs(
    output: Output, jobs: Iterable[tuple[str, Any]], doing: Mapping[State, str] = NOTHING, **more: Any
) -> None:
    """Jobs with their states: {`jobs`: [{`id`, `state`}]} and what is `more`, or a line for each.

    `doing` is what is about to happen to those in a state.
    """
    if output.json:
        output.document([pretty({"jobs": [{"id": identifier, "state": state} for identifier, state in jobs], **more})])
        return
    for identifier, state in jobs:
        about = f", {doing[state]}" if state in doing else ""
        output.line(identifier if output.quiet else f"{identifier}  {state}{about}")


def wake_daemon(place: Place) -> None:
    """Tell the daemon of a submission, which stands whatever becomes of this; starts one unless it shall not."""
    from vq.actions.waking import wake  # noqa: PLC0415 - what is acknowledged does not wait for it to load

    try:
        text = wake(place, config_in_force(place, os.environ))
    except VqError as error:
        warn(f"submitted, but no daemon could be started: {error}")
    else:
        if text is not None:
            note(text)
