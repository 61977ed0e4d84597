"""What a line of `vq queue` has no column for, in a few words; `vq status` and `vq explain` have whole sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vq.actions.why import Waits
from vq.cli.clock import clock
from vq.jobs.reasons import Kind
from vq.jobs.record import State
from vq.jobs.times import shown_seconds
from vq.wording import human_bytes

_CPU = 1000
_SHORT: Mapping[Kind, str] = {
    Kind.HELD: "held",
    Kind.DRAIN: "drained",
    Kind.ARRAY: "array limit ({at_once} at once)",
    Kind.SLOT: "slots of {profile}",
    Kind.HIGH_WATER: "memory nearly full",
    Kind.STALLED: "host stalls for memory",
    Kind.BEHIND: "behind {job} (barrier)",
    Kind.DEPENDENCY: "{job} {state}",
    Kind.EXEC: "cannot be run",
    Kind.OUTGREW: "outgrew",
    Kind.ENDING: "ending",
    Kind.LOST: "{what} lost",
    Kind.NOT_STARTED: "{error}",
    Kind.KILL: "by vq kill",
    Kind.STARVED: "used almost no CPU",
}


def note_of(record: Mapping[str, Any], waits: Waits) -> str:
    """What the state of a job does not say: what it waits for, or what became of it."""
    state, reason = State(record["state"]), record["reason"]
    if state is State.PENDING:
        return _waits(record, waits)
    if state is State.RUNNING and record["paused"]:
        return "paused"
    if reason is not None:
        return short(reason)
    return f"exit code {record['exit_code']}" if state is State.FAILED else ""


def _waits(record: Mapping[str, Any], waits: Waits) -> str:
    reason = waits.reasons.get(record["id"])
    if reason is None:
        return "in line" if waits.is_served else "no daemon"
    if reason.kind is Kind.DEPENDENCY:
        return f"after {', '.join(record['waiting_for'])}"
    return short({"kind": reason.kind, **reason.details})


def _time_limit(seconds: int | None) -> str:
    return "its time limit" if seconds is None else f"limit {shown_seconds(seconds)}"


def short(reason: Mapping[str, Any]) -> str:
    """A reason in a few words; none where the state says as much."""
    kind = Kind(reason["kind"])
    write = _WRITTEN.get(kind)
    return _SHORT.get(kind, "").format(**reason) if write is None else write(reason)


_WRITTEN: Mapping[Kind, Callable[[Mapping[str, Any]], str]] = {
    Kind.NOT_BEFORE: lambda reason: f"not before {clock(reason['at'])}",
    Kind.RETRY: lambda reason: f"again {clock(reason['at'])}",
    Kind.MEMORY: lambda reason: f"memory (needs {human_bytes(reason['needs'])})",
    Kind.HOST_MEMORY: lambda reason: f"host memory (needs {human_bytes(reason['needs'])})",
    Kind.CPU: lambda reason: f"CPUs (needs {reason['needs'] / _CPU:g})",
    Kind.WALL_LIMIT: lambda reason: _time_limit(reason["seconds"]),
    Kind.OOM: lambda reason: "its own limit" if reason["limit_fired"] == "job" else "the host's limit",
}
