"""The record of a job: who it is, what it is to do under which limits, and how far it has come.

Values only; `vq.jobs.lifecycle` alone changes them. Sizes are in bytes or MiB, times in milliseconds since the epoch
unless a name says otherwise. None is unknown or not given, never zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from vq.wording import MIB

if TYPE_CHECKING:
    from vq.jobs.reasons import Reason

CPU_MILLICORES = 1000


class State(StrEnum):
    """Where a job is in its life; all but the first two are ends, and an end never changes."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    OOM_KILLED = "OOM_KILLED"
    TIME_EXCEEDED = "TIME_EXCEEDED"
    KILLED = "KILLED"
    INTERRUPTED = "INTERRUPTED"
    STARVED = "STARVED"
    ABORTED_BY_QUEUE = "ABORTED_BY_QUEUE"

    @property
    def ended(self) -> bool:
        """Whether this is an end."""
        return self not in ACTIVE

    @property
    def outcome(self) -> str | None:
        """The outcome as an evaluation set names it; None where there is nothing to evaluate."""
        return _OUTCOMES.get(self)


ACTIVE = (State.PENDING, State.RUNNING)
"""The states that are no end."""

_OUTCOMES = {
    State.COMPLETED: "completed",
    State.FAILED: "failed",
    State.OOM_KILLED: "oom_killed",
    State.TIME_EXCEEDED: "time_exceeded",
    State.KILLED: "killed",
}


class Limit(StrEnum):
    """Which memory limit killed a process of a job."""

    JOB = "job"
    HOST = "host"


class MemorySource(StrEnum):
    """Where a job's memory limit came from; without one it is its share of the host."""

    EXPLICIT = "explicit"
    CALIBRATED = "calibrated-estimate"
    PROFILE = "profile"
    OOM_RETRY = "oom-retry"


class WallSource(StrEnum):
    """Where a job's time limit came from."""

    EXPLICIT = "explicit"
    CALIBRATED = "calibrated-estimate"


class Need(StrEnum):
    """What one job needs of another: that it completed, or only that it ended."""

    COMPLETED = "completed"
    ENDED = "ended"

    def met_by(self, state: State) -> bool:
        """Whether an ended job gives what is needed."""
        return self is Need.ENDED or state is State.COMPLETED


class Reserve(StrEnum):
    """What is set aside for a job: by its measured runs, or always its whole limit."""

    MEASURED = "measured"
    CAP = "cap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """A job that another one waits for."""

    job: str
    kind: Need


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """The place of a job in an array: the group is the id of its first job, indexes are from 0."""

    group: str
    index: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt that is over; times are None where they are not known or it never ran."""

    state: State
    limit_fired: Limit | None
    mem_mb: int
    started_at_ms: int | None
    finished_at_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who a job is; (repository, workflow, name) is what admission tells jobs apart by."""

    id: str
    repository: str
    workflow: str | None
    name: str
    profile: str
    tags: tuple[str, ...]
    submitter: str
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a job is to do, under which limits and in which order.

    `oom_retry_mb` is the limit of the one attempt after a proven OOM; `payload_sha256` names the snapshot it starts
    from; `here` means that it runs in the submitter's own folder.
    """

    command: tuple[str, ...]
    workspace: str | None
    cwd: str | None
    payload_sha256: str | None
    here: bool
    cpus: int
    mem_mb: int
    mem_mb_source: MemorySource | None
    wall_time_seconds: int | None
    wall_time_source: WallSource | None
    reserve: Reserve
    priority: int
    depends_on: tuple[Dependency, ...]
    array: Array | None
    retry: int
    oom_retry_mb: int | None
    auto_resume: bool
    not_before_ms: int | None

    @property
    def cap_bytes(self) -> int:
        """The memory limit."""
        return self.mem_mb * MIB

    @property
    def cap_millicores(self) -> int:
        """The CPU that was asked for."""
        return self.cpus * CPU_MILLICORES


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """How far a job has come.

    `waiting_for` are the jobs it still depends on; `eligible_at_ms` is from when on nothing but room keeps it from
    starting, also in the future, and None while it waits for a job. `finished_at_ms` is when the command ended, None
    where nobody saw that; `settled_at_ms` is when the queue recorded the end, always known of an ended job. `basis` is
    None where admission goes by caps. `paused_ms` is of the attempt that runs or ran last, up to `paused_at_ms` while
    it is paused.
    """

    state: State
    reason: Reason | None
    held: bool
    waiting_for: tuple[str, ...]
    kill_requested: bool
    paused_at_ms: int | None
    paused_ms: int
    limit_fired: Limit | None
    queued_at_ms: int
    eligible_at_ms: int | None
    started_at_ms: int | None
    finished_at_ms: int | None
    settled_at_ms: int | None
    exit_code: int | None
    signal: int | None
    attempt: int
    attempts: tuple[Attempt, ...]
    parent: str | None
    boot_id: str | None
    reserved_bytes: int | None
    basis: Mapping[str, Any] | None
    cpu_reserved_millicores: int | None
    cpu_basis: Mapping[str, Any] | None
    stdout_path: str | None
    stderr_path: str | None

    @property
    def paused(self) -> bool:
        """Whether it is stopped in the middle of its run."""
        return self.paused_at_ms is not None

    @property
    def outgrew(self) -> bool:
        """Whether the host's limit has ended an attempt: from then on its whole limit is reserved."""
        return any(attempt.limit_fired is Limit.HOST for attempt in self.attempts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job: `usage` is the receipt of its last attempt, None before there is one."""

    identity: Identity
    work: Work
    life: Life
    usage: Mapping[str, Any] | None = None

    @property
    def id(self) -> str:
        """Its id."""
        return self.identity.id

    @property
    def state(self) -> State:
        """Where it is in its life."""
        return self.life.state


def new_job(identity: Identity, work: Work, queued_at_ms: int, *, parent: str | None = None) -> Job:
    """A job as it is accepted: pending, waiting for all it depends on."""
    waiting_for = tuple(dict.fromkeys(dependency.job for dependency in work.depends_on))
    life = Life(
        state=State.PENDING,
        reason=None,
        held=False,
        waiting_for=waiting_for,
        kill_requested=False,
        paused_at_ms=None,
        paused_ms=0,
        limit_fired=None,
        queued_at_ms=queued_at_ms,
        eligible_at_ms=None if waiting_for else max(queued_at_ms, work.not_before_ms or 0),
        started_at_ms=None,
        finished_at_ms=None,
        settled_at_ms=None,
        exit_code=None,
        signal=None,
        attempt=0,
        attempts=(),
        parent=parent,
        boot_id=None,
        reserved_bytes=None,
        basis=None,
        cpu_reserved_millicores=None,
        cpu_basis=None,
        stdout_path=None,
        stderr_path=None,
    )
    return Job(identity=identity, work=work, life=life)
