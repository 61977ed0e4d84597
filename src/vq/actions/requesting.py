"""Ask the daemon to do something with jobs: kill, pause, resume, edit. What is asked is recorded, and done by it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from vq.actions.limits import refuse_cpus, refuse_memory
from vq.actions.place import Place
from vq.actions.waking import nudge
from vq.config.values import Config
from vq.errors import UsageError, VqError
from vq.jobs.events import Edited
from vq.jobs.ids import sequence_of
from vq.jobs.record import State
from vq.store.jobs import Selection, select_active
from vq.store.requests import Request, post


class NotTakenError(VqError):
    """A request that the state of a job does not take; for the other jobs it was recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Which jobs are meant: ids, or all that have not ended and have all that is given."""

    identifiers: tuple[str, ...] = ()
    name: str | None = None
    tag: str | None = None
    array: str | None = None
    everything: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The jobs that it was recorded for and those that did not take it, with their states; what to know beside."""

    jobs: tuple[tuple[str, State], ...]
    refused: tuple[tuple[str, State], ...]
    note: str | None


def now_ms() -> int:
    """The time of this host's clock, in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def choose(place: Place, chosen: Chosen) -> list[str]:
    """The ids meant, each once; raises `UsageError` for none, or for ids beside a selection."""
    by_selection = chosen.everything or any((chosen.name, chosen.tag, chosen.array))
    if bool(chosen.identifiers) == by_selection:
        raise UsageError(
            "name the jobs by their ids, or select them" if not by_selection else "give ids or a selection, not both",
            hint="JOB…, or --name, --tag, --array, --all",
        )
    if chosen.identifiers:
        return list(dict.fromkeys(chosen.identifiers))
    if chosen.array is not None:
        sequence_of(chosen.array)
    found = select_active(place.store, Selection(name=chosen.name, tag=chosen.tag, array_group=chosen.array))
    if not found and not chosen.everything:
        raise VqError("no job that waits or runs is selected", hint="vq queue shows them")
    return found


def ask(place: Place, identifiers: Sequence[str], request: Request) -> Asked:
    """Record a request for jobs, and wake the daemon; raises `VqError`, with nothing recorded."""
    posted = post(place.store, identifiers, request)
    return Asked(jobs=posted.recorded, refused=posted.refused, note=nudge(place) if posted.recorded else None)


def refuse_not_taken(asked: Asked, what: str) -> None:
    """Nothing, or the `NotTakenError` of the jobs whose state did not take it; `what` is what only others can."""
    if asked.refused:
        jobs = ", ".join(f"{identifier} ({state})" for identifier, state in asked.refused)
        job = asked.refused[0][0] if len(asked.refused) == 1 else "JOB"
        raise NotTakenError(f"{what}: {jobs}", hint=f"vq status {job} says how it stands")


def check_edit(edit: Edited, config: Config) -> None:
    """Nothing, or the `UsageError` that an edit changes nothing, or asks for what this host never has."""
    if edit == Edited(at_ms=edit.at_ms):
        raise UsageError("nothing to change is given", hint="--mem-mb, --cpus, --time, --priority, --name or --tag")
    if edit.cpus is not None:
        refuse_cpus(edit.cpus, "--cpus", config)
    if edit.mem_mb is not None:
        refuse_memory(edit.mem_mb, "--mem-mb", config)
