"""What can happen to a job: what was decided (started, stopping), asked for (killed, paused, edited) or observed.

Each is a value with the moment it happened, in milliseconds since the epoch. What speaks of one attempt names it, so
that what is read late is never taken for the attempt after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vq.jobs.reasons import StopCause
from vq.jobs.record import Limit, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """Admission starts the next attempt: what it reserves, on which boot of the host, and where it runs.

    `basis` is None where admission goes by caps.
    """

    at_ms: int
    boot_id: str
    reserved_bytes: int
    basis: Mapping[str, Any] | None
    cpu_reserved_millicores: int
    cpu_basis: Mapping[str, Any] | None
    workspace: str
    cwd: str
    stdout_path: str
    stderr_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The evidence that an attempt leaves of its end.

    `exit_code` is 128 + signal after a signal; `stopped_by` is why we signalled it, None if we did not;
    `limit_fired` says that a memory limit killed any process of it, and which; `exec_error` says why the program
    could not be run. `own_cap` and `hit_cap` are the kernel's word on its own limit and on any at or below it, None
    where it has none; `paused_ms` and `usage` are the supervisor's, None where it left none.
    """

    exit_code: int
    signal: int | None = None
    stopped_by: StopCause | None = None
    limit_fired: Limit | None = None
    exec_error: str | None = None
    own_cap: bool | None = None
    hit_cap: bool | None = None
    paused_ms: int | None = None
    usage: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The command of an attempt ended, with this evidence; `requeue_outgrown` is the host's policy.

    `reserved_bytes` and `basis` are what was reserved for it at last, where that followed predictions since its start.
    """

    at_ms: int
    attempt: int
    result: Result
    requeue_outgrown: bool = True
    reserved_bytes: int | None = None
    basis: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KillRequested:
    """Somebody wants it ended: with grace, or at once."""

    at_ms: int
    at_once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused:
    """Somebody wants it stopped in the middle of its run, or held before it."""

    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """Somebody wants it to go on, or released."""

    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopping:
    """An attempt is being stopped by us: at its wall limit, starved, past its memory, or to save the host's."""

    at_ms: int
    attempt: int
    cause: StopCause


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """The supervisor of an attempt vanished without a result, and nothing of the attempt is left."""

    at_ms: int
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRebooted:
    """The host has booted anew since the attempt started, and the attempt left no result."""

    at_ms: int
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CouldNotStart:
    """The queue itself could not start it, for this reason; nothing of it ran."""

    at_ms: int
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DependencyMet:
    """A job that it depends on ended as needed."""

    at_ms: int
    job: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DependencyFailed:
    """A job that it depends on ended otherwise than needed."""

    at_ms: int
    job: str
    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class DependencyReplaced:
    """Another job has taken the place of one that it depends on."""

    at_ms: int
    job: str
    successor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """Somebody changes a waiting job; what is None stays as it is."""

    at_ms: int
    cpus: int | None = None
    mem_mb: int | None = None
    wall_time_seconds: int | None = None
    priority: int | None = None
    name: str | None = None
    tags: tuple[str, ...] | None = None


Event = (
    Started
    | Ended
    | KillRequested
    | Paused
    | Resumed
    | Stopping
    | Lost
    | HostRebooted
    | CouldNotStart
    | DependencyMet
    | DependencyFailed
    | DependencyReplaced
    | Edited
)
