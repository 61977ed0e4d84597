"""Wait until jobs have ended."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from vq.actions.place import Place
from vq.jobs.record import State
from vq.store import jobs as stored
from vq.store.rows import no_such_job

TIMED_OUT = 124

_SHORTEST_SECONDS = 0.005
_LONGEST_SECONDS = 0.1
_EXITED = (State.COMPLETED, State.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waited:
    """The jobs with their states and exit codes (None: not known), and the exit status that says how it went."""

    jobs: tuple[tuple[str, State, int | None], ...]
    exit_status: int


def wait(
    place: Place, identifiers: Sequence[str], *, timeout_seconds: float | None = None, any_of_them: bool = False
) -> Waited:
    """How jobs stand once all of them, or any, have ended, or the time is over.

    The status is, of one job, its own where it ran to its end and 1 otherwise; of several, 0 where all that ended
    completed; 124 when the time was over. Raises `UsageError` for an id that no job has.
    """
    until = None if timeout_seconds is None else time.monotonic() + timeout_seconds
    wanted = list(dict.fromkeys(identifiers))
    pause, seen = _SHORTEST_SECONDS, -1
    while True:
        changed = place.store.changed_by_others()
        if changed != seen:
            seen, states = changed, _states(place, wanted)
            ended = [identifier for identifier in wanted if states[identifier].ended]
            if len(ended) == len(wanted) or (any_of_them and ended):
                return _waited(place, wanted, ended, over=False)
        if until is not None and time.monotonic() >= until:
            return _waited(place, wanted, ended, over=True)
        time.sleep(pause if until is None else max(0.0, min(pause, until - time.monotonic())))
        pause = min(pause * 1.5, _LONGEST_SECONDS)


def _states(place: Place, identifiers: Sequence[str]) -> dict[str, State]:
    found = {}
    for identifier, state in stored.states(place.store, identifiers).items():
        if state is None:
            raise no_such_job(identifier)
        found[identifier] = state
    return found


def _waited(place: Place, wanted: Sequence[str], ended: Sequence[str], *, over: bool) -> Waited:
    jobs = tuple(
        (job.id, job.state, job.life.exit_code)
        for job in (stored.read(place.store, identifier) for identifier in wanted)
    )
    if over:
        return Waited(jobs=jobs, exit_status=TIMED_OUT)
    if len(wanted) == 1:
        _, state, code = jobs[0]
        return Waited(jobs=jobs, exit_status=code if state in _EXITED and code is not None else 1)
    completed = all(state is State.COMPLETED for identifier, state, _ in jobs if identifier in ended)
    return Waited(jobs=jobs, exit_status=0 if completed else 1)
