"""What starts now, and why the rest waits: a pure function of one look at the queue.

Waiting jobs are met in order. One starts when all of these hold, and else lets later ones past:

- its profile has a free slot;
- what running jobs are charged, and its start, fit the memory budget: by caps each is charged its cap, measured what
  it reserves or what it uses, whichever is more;
- measured: less than 90 % of the memory budget is in use (high water);
- the host does not stall, and what it leaves holds the start, under either policy (`host`);
- what running jobs have of the CPU, and its start, fit the CPU budget; no job needs more than the whole of it, so that
  a large one can start alone.

By caps a start is the job's caps. Measured it is the prediction, as one of several copies if another copy waits or
runs; started, the job reserves its own prediction, as one of several only if a copy already runs. Every look predicts
the running jobs again, the first copy of a job to start as alone, the later ones as several. Copies are counted by key,
whatever their profile; a job kept for a reason of its own (held, not before its time, behind a dependency …) is not
one of them yet.

Barrier: the first job in order that waits for memory, host memory or CPU, could have started `barrier_after_ms` ago,
and whose start alone fits the whole budget, lets no later job start.

Source: the requirements of admission by measured peaks (HIGH_WATER, Copies, Policy, `scheduler::plan` as `simulate`
describes it); the barrier is this queue's own. `board` does the work, for a live look and for a replay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from vq.admission.board import Board
from vq.admission.facts import Fact
from vq.admission.history import Key
from vq.admission.host import HostBudget, HostMemory, Remembered, budget, remember
from vq.admission.lines import Job, Line
from vq.admission.predictor import CpuPrediction, Prediction, Predictor
from vq.admission.rules import Rules, Verdict


@dataclass(frozen=True, slots=True)
class Held(Fact):
    """The user holds it."""

    kind: ClassVar[str] = "held"


@dataclass(frozen=True, slots=True)
class NotBefore(Fact):
    """It is not to start before this time, in milliseconds of the epoch."""

    kind: ClassVar[str] = "not_before"
    at: int


@dataclass(frozen=True, slots=True)
class Dependency(Fact):
    """It waits for another job."""

    kind: ClassVar[str] = "dependency"
    job: str


@dataclass(frozen=True, slots=True)
class Retry(Fact):
    """It failed, and is tried again at this time, in milliseconds of the epoch."""

    kind: ClassVar[str] = "retry"
    at: int


@dataclass(frozen=True, slots=True)
class Drain(Fact):
    """The queue starts nothing new."""

    kind: ClassVar[str] = "drain"


@dataclass(frozen=True, slots=True)
class NoSlot(Fact):
    """As many jobs of its profile run as may."""

    kind: ClassVar[str] = "slot"
    profile: str


@dataclass(frozen=True, slots=True)
class NoMemory(Fact):
    """It needs more bytes than the budget has free; less than none are free where predictions grew past it."""

    kind: ClassVar[str] = "memory"
    needs: int
    free: int


@dataclass(frozen=True, slots=True)
class HighWater(Fact):
    """So many bytes of the budget are in use that measured admission starts nothing."""

    kind: ClassVar[str] = "high_water"
    used: int
    budget: int


@dataclass(frozen=True, slots=True)
class Stalled(Fact):
    """The host, short of memory, stalls for it."""

    kind: ClassVar[str] = "stalled"


@dataclass(frozen=True, slots=True)
class NoHostMemory(Fact):
    """It needs more bytes than the host's other programs leave."""

    kind: ClassVar[str] = "host_memory"
    needs: int
    free: int


@dataclass(frozen=True, slots=True)
class NoCpu(Fact):
    """It needs more millicores than the budget has free."""

    kind: ClassVar[str] = "cpu"
    needs: int
    free: int


@dataclass(frozen=True, slots=True)
class Behind(Fact):
    """It would fit, but a job before it has waited so long that nothing passes it."""

    kind: ClassVar[str] = "behind"
    job: str


Kept = Held | NotBefore | Dependency | Retry | Drain
Reason = Kept | NoSlot | NoMemory | HighWater | Stalled | NoHostMemory | NoCpu | Behind


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A job that waits: its limits in bytes and millicores, since when it could start, and what of its own keeps it.

    Of a `whole` one the whole memory limit is reserved, whatever is predicted.
    """

    id: str
    key: Key
    profile: str
    memory_cap: int
    cpu_cap: int
    eligible_at: int
    kept: Kept | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A job that runs, and its limits."""

    id: str
    key: Key
    profile: str
    memory_cap: int
    cpu_cap: int
    whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The queue at one moment.

    `waiting` in the order in which jobs are to start, `running` in the order in which they did; `uses` are the bytes
    that running jobs use, by their ids: None, or nothing, without a fresh sample, and the job reserves its cap. `host`
    is a reading and what the last plan remembers, None where the host is not read.
    """

    now: int
    rules: Rules
    waiting: tuple[Waiting, ...]
    running: tuple[Running, ...]
    uses: Mapping[str, int | None]
    host: tuple[HostMemory, Remembered] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """What a job has of the budgets while it runs, and why."""

    memory: Prediction
    cpu: CpuPrediction


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a look decides.

    `starts` are the ids to start, in order; `reservations` those of all that run then; `remembered` is for the next
    look's host; `host` is what the host left before the starts, None where it was not read.
    """

    starts: tuple[str, ...]
    reservations: Mapping[str, Reservation]
    host: HostBudget | None
    remembered: Remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a job waits, what its start needs, and how many wait before it."""

    reason: Reason
    memory: Prediction
    cpu: CpuPrediction
    ahead: int


def plan(look: Look, predictor: Predictor) -> Plan:
    """What starts at `look`, and what everything that runs then reserves."""
    return _plan(look, _sweep(look, predictor))


def explain(look: Look, predictor: Predictor) -> dict[str, Explanation]:
    """Why each job waits that does not start at `look`, by id and in order, as the look leaves it."""
    return _explain(look, _sweep(look, predictor), len(look.waiting))


def plan_and_explain(look: Look, predictor: Predictor, *, first: int) -> tuple[Plan, dict[str, Explanation]]:
    """The plan, and why those of the `first` waiting jobs wait on that do not start by it."""
    swept = _sweep(look, predictor)
    return _plan(look, swept), _explain(look, swept, first)


def _plan(look: Look, swept: _Swept) -> Plan:
    remembered = Remembered()
    if swept.host is not None:
        waits = any(swept.board.verdict(line) is Verdict.HOST_MEMORY for line in swept.board.lines)
        remembered = remember(swept.host, waits=waits, runs=bool(look.running or swept.started))
    starts = {look.waiting[job.order].id: job for job in swept.started}
    jobs = {**{job.id: swept.ran[place] for place, job in enumerate(look.running)}, **starts}
    return Plan(
        starts=tuple(starts),
        reservations={id_: Reservation(memory=job.reserved, cpu=job.kind.cpu) for id_, job in jobs.items()},
        host=swept.host,
        remembered=remembered,
    )


def _explain(look: Look, swept: _Swept, first: int) -> dict[str, Explanation]:
    started = {job.order for job in swept.started}
    explained: dict[str, Explanation] = {}
    for place, job in enumerate(look.waiting[:first]):
        if place in started:
            continue
        kind = swept.board.kind(job.key, job.profile, job.memory_cap, job.cpu_cap, whole=job.whole)
        reason = _reason(look, swept.board, kind.line) if job.kept is None else job.kept
        copies = kind.copies.total - (job.kept is None)
        memory = kind.several if copies else kind.alone
        explained[job.id] = Explanation(reason=reason, memory=memory, cpu=kind.cpu, ahead=len(explained))
    return explained


@dataclass(frozen=True, slots=True, kw_only=True)
class _Swept:
    """A board after its sweep: the jobs that ran, those that started, and what the host left before."""

    board: Board
    ran: list[Job]
    started: list[Job]
    host: HostBudget | None


def _sweep(look: Look, predictor: Predictor) -> _Swept:
    board = Board(look.rules, predictor, now=look.now)
    ran: list[Job] = []
    for place, job in enumerate(look.running):
        kind = board.kind(job.key, job.profile, job.memory_cap, job.cpu_cap, whole=job.whole)
        ran.append(Job(place, kind, look.now, look.uses.get(job.id)))
        board.run(ran[-1])
    host = None
    if look.host is not None:
        memory, remembered = look.host
        reserved = sum(max(job.reserved.memory, job.use or 0) for job in ran)
        host = budget(memory, reserved, remembered)
        board.host_limit, board.host_free, board.stalled = host.limit, host.left, host.stalled
    for place, waiting in enumerate(look.waiting):
        if waiting.kept is None:
            caps = (waiting.memory_cap, waiting.cpu_cap)
            kind = board.kind(waiting.key, waiting.profile, *caps, whole=waiting.whole)
            board.arrive(Job(place, kind, waiting.eligible_at, use=0))
    return _Swept(board=board, ran=ran, started=board.sweep(), host=host)


def _reason(look: Look, board: Board, line: Line) -> Reason:
    """What keeps a job of `line`: what held it when it was met still does, as nothing came free since."""
    reason: Reason
    match board.verdict(line):
        case Verdict.SLOT:
            reason = NoSlot(line.slots.name)
        case Verdict.MEMORY:
            reason = NoMemory(needs=line.memory, free=int(board.memory_free))
        case Verdict.HIGH_WATER:
            reason = HighWater(used=board.used, budget=look.rules.memory or 0)
        case Verdict.STALLED:
            reason = Stalled()
        case Verdict.HOST_MEMORY:
            reason = NoHostMemory(needs=line.memory, free=int(board.host_free))
        case Verdict.CPU:
            reason = NoCpu(needs=line.cpu, free=int(board.cpu_free))
        case _:
            reason = Behind(look.waiting[board.barrier.order].id)
    return reason
