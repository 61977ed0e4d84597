"""The history replayed through admission: what a policy would have done with the same jobs.

Each row of a configured profile arrives when it was queued and runs as long as it ran. Moments are arrivals and ends.
At each moment, in this order:

1. What ends by now ends, in the order of ends, at the same time in the order of starts. It was under-predicted if it
   used more than it had reserved; its row is learned with what it reserved (measured), finished now.
2. The running jobs are predicted again.
3. Those that arrive join the waiting, and one sweep over the waiting, oldest first, starts what may start.

A running job uses min(the row's peak, its cap) for its whole time, which a live queue would not see. A run of no length
ends at a further moment of the same time. Measured admission so predicts from the runs that finished before it
decides, by the predictor and the sweep of the live queue; what it counts is exact, whatever data structure finds it.

Source: the requirements of admission by measured peaks (`simulate`, Replay, Policy), and the rules of the replay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from heapq import heappop, heappush
from math import inf

from vq.admission.board import Board
from vq.admission.history import Run
from vq.admission.lines import Job
from vq.admission.predictor import CpuPrediction, Prediction, Predictor
from vq.admission.ranked import percentile
from vq.admission.rules import CpuAdmission, Dispatch, Policy, Rules, Verdict


class Caps(Enum):
    """Whose limits a job of the replay has: its row's, where known, or always those of its profile today."""

    JOB = "job"
    PROFILE = "profile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A class of jobs: its limits in bytes and CPUs, and how many may run at once (None: as many as fit)."""

    memory: int
    cpus: int
    slots: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a history is replayed under.

    `margin` in percent; `memory_max` and `mirror` (set aside from it) in bytes, `cpu_budget` in millicores, None
    without a budget; `slots` override those of the profiles; `cpu_admission` None is as the policy.
    """

    margin: int
    min_jobs: int
    profiles: Mapping[str, Profile]
    memory_max: int | None = None
    cpu_budget: int | None = None
    slots: Mapping[str, int | None] = field(default_factory=dict)
    mirror: int = 0
    caps: Caps = Caps.JOB
    dispatch: Dispatch = Dispatch.KNOWN
    barrier_after_ms: int | None = None
    cpu_admission: CpuAdmission | None = None

    def limits(self, row: Run) -> tuple[int, int]:
        """The limits of a job like `row`, in bytes and millicores."""
        profile = self.profiles[row.profile]
        memory, cpu = profile.memory, profile.cpus * 1000
        if self.caps is Caps.JOB:
            memory = memory if row.memory_cap is None else row.memory_cap
            cpu = cpu if row.cpu_cap is None else row.cpu_cap
        return memory, cpu

    def rules(self, policy: Policy) -> Rules:
        """The rules that the queue would go by."""
        slots = {name: profile.slots for name, profile in self.profiles.items()}
        return Rules(
            policy=policy,
            memory=None if self.memory_max is None else self.memory_max - self.mirror,
            cpu=self.cpu_budget,
            slots={**slots, **self.slots},
            cpu_admission=self.cpu_admission,
            dispatch=self.dispatch,
            barrier_after_ms=self.barrier_after_ms,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """How long the started jobs waited, in whole seconds: percentiles by nearest rank."""

    p50: int
    p95: int
    p99: int
    max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What a replay did with the history's jobs.

    Waits and the makespan, from the first queued to the last finished, are in whole seconds. `worst_overlap` is the
    most bytes used at once, with the mirror; `worst_cpu` the largest sum of average CPUs, in millicores. `held_back`
    and `cpu_held` count each time the sweep met a job that high water, or the CPU budget, alone held. The byte
    milliseconds are what was reserved, and what was used, over time.
    """

    jobs: int
    never_started: int
    wait: Wait
    mean_wait: int
    most_running: int
    worst_overlap: int
    makespan: int
    under_predicted: int
    held_back: int
    cpu_held: int
    worst_cpu: int
    reserved_byte_ms: int
    peak_byte_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A start in a replay: the row, when, how long it waited in milliseconds, and what it then reserved."""

    run: Run
    at: int
    wait_ms: int
    memory: Prediction
    cpu: CpuPrediction


@dataclass(frozen=True, slots=True)
class Moment:
    """What runs from a moment of a replay on: how many jobs, and the bytes that they reserve and use."""

    at: int
    running: int
    reserved: int
    used: int


def replayable(setup: Setup, rows: Iterable[Run]) -> list[Run]:
    """The rows that a replay can run, as they were queued.

    Left out are those cancelled, of a profile not configured, or without the times of a run.
    """
    usable = (
        row
        for row in rows
        if not row.cancelled
        and row.profile in setup.profiles
        and row.started_at is not None
        and row.finished_at is not None
        and row.finished_at >= row.started_at
    )
    return sorted(usable, key=lambda row: row.queued_at)


def simulate(
    setup: Setup,
    rows: Iterable[Run],
    policy: Policy,
    *,
    tell: Callable[[Started], None] | None = None,
    look: Callable[[Moment], None] | None = None,
) -> Replay:
    """What `policy` would have done with `rows` under `setup`.

    `tell` is called with each start, `look` with what runs after each moment, in order.
    """
    replay = _Replaying(setup, replayable(setup, rows), policy, tell, look)
    replay.run()
    return replay.result()


class _Replaying:
    """A replay on its way."""

    def __init__(
        self,
        setup: Setup,
        rows: list[Run],
        policy: Policy,
        tell: Callable[[Started], None] | None,
        look: Callable[[Moment], None] | None,
    ) -> None:
        self._setup = setup
        self._rows = rows
        self._tell = tell
        self._look = look
        self._measured = policy is Policy.MEASURED
        caps = {name: profile.memory for name, profile in setup.profiles.items()}
        self._predictor = Predictor(margin=setup.margin, min_jobs=setup.min_jobs, caps=caps)
        self._board = Board(setup.rules(policy), self._predictor)
        self._ends: list[tuple[int, int, Job]] = []
        self._arrived = 0
        self._now = rows[0].queued_at if rows else 0
        self._last_end = 0
        self._waits: list[int] = []
        self._cpu = 0
        self._most_running = self._most_used = self._most_cpu = 0
        self._under_predicted = self._reserved_byte_ms = self._used_byte_ms = 0

    def run(self) -> None:
        """From moment to moment, until nothing arrives or ends any more."""
        rows, ends, board = self._rows, self._ends, self._board
        while self._arrived < len(rows) or ends:
            arrival = rows[self._arrived].queued_at if self._arrived < len(rows) else inf
            now = int(min(arrival, ends[0][0] if ends else inf))
            self._reserved_byte_ms += board.reserved * (now - self._now)
            self._now = now
            while ends and ends[0][0] <= now:
                self._end(heappop(ends)[2])
            board.look(now)
            while self._arrived < len(rows) and rows[self._arrived].queued_at <= now:
                self._arrive(self._arrived)
            if board.lines:
                for job in board.sweep():
                    self._start(job)
                self._most_running = max(self._most_running, len(ends))
                self._most_used = max(self._most_used, board.used)
                self._most_cpu = max(self._most_cpu, self._cpu)
            if self._look is not None:
                self._look(Moment(now, len(ends), board.reserved, board.used))

    def _arrive(self, place: int) -> None:
        row = self._rows[place]
        memory, cpu = self._setup.limits(row)
        kind = self._board.kind(row.key, row.profile, memory, cpu)
        self._board.arrive(Job(place, kind, row.queued_at, min(row.memory_peak, memory)))
        self._arrived = place + 1

    def _start(self, job: Job) -> None:
        row = self._rows[job.order]
        took = (row.finished_at or 0) - (row.started_at or 0)
        heappush(self._ends, (self._now + took, len(self._waits), job))
        self._waits.append((self._now - row.queued_at) // 1000)
        self._cpu += row.cpu_average or 0
        self._used_byte_ms += (job.use or 0) * took
        if self._tell is not None:
            wait = self._now - row.queued_at
            self._tell(Started(run=row, at=self._now, wait_ms=wait, memory=job.reserved, cpu=job.kind.cpu))

    def _end(self, job: Job) -> None:
        row = self._rows[job.order]
        self._under_predicted += (job.use or 0) > job.reserved.memory
        self._last_end = self._now
        self._cpu -= row.cpu_average or 0
        self._board.end(job)
        if self._board.measures:
            reserved = job.reserved.memory if self._measured else None
            self._predictor.learn(replace(row, finished_at=self._now, reserved=reserved))
            self._predictor.learn_cpu(row)
            self._board.learned(row.key, row.profile)

    def result(self) -> Replay:
        """What came of it, once it has run."""
        rows, board, waits = self._rows, self._board, sorted(self._waits)
        return Replay(
            jobs=len(rows),
            never_started=len(rows) - len(waits),
            wait=_percentiles(waits),
            mean_wait=sum(waits) // len(waits) if waits else 0,
            most_running=self._most_running,
            worst_overlap=self._most_used + (self._setup.mirror if rows else 0),
            makespan=(self._last_end - rows[0].queued_at) // 1000 if waits else 0,
            under_predicted=self._under_predicted,
            held_back=board.held[Verdict.HIGH_WATER],
            cpu_held=board.held[Verdict.CPU],
            worst_cpu=self._most_cpu,
            reserved_byte_ms=self._reserved_byte_ms,
            peak_byte_ms=self._used_byte_ms,
        )


def _percentiles(waits: list[int]) -> Wait:
    p50, p95, p99, longest = (percentile(waits, percent) for percent in (50, 95, 99, 100))
    return Wait(p50=p50, p95=p95, p99=p99, max=longest)
