"""Jobs as a look at the queue groups them: a `Kind` of equal jobs, the `Line` they wait in, the copies beside them."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict, deque
from dataclasses import dataclass
from operator import attrgetter

from vq.admission.history import Key
from vq.admission.predictor import AT_CAP, CpuPrediction, Prediction

_order = attrgetter("order")
_NOTHING = Prediction(0, AT_CAP)


@dataclass(slots=True, eq=False)
class Job:
    """A job on the board: its place in the order, since when it may start, and the bytes that it uses.

    What it uses is None while it is not known. Running, it has `reserved` memory, is `charged` those bytes or what it
    uses, whichever is more, and has `cpu` millicores.
    """

    order: int
    kind: Kind
    since_ms: int
    use: int | None
    reserved: Prediction = _NOTHING
    charged: int = 0
    cpu: int = 0


class KeyCopies:
    """The copies of one job, whatever their profile: how many wait or run, and those running, in start order."""

    __slots__ = ("key", "kinds", "running", "total")

    def __init__(self, key: Key) -> None:
        self.key = key
        self.total = 0
        self.running: OrderedDict[Job, None] = OrderedDict()  # whose first is found at once, whatever left before
        self.kinds: dict[Kind, None] = {}

    def first(self) -> Job | None:
        """The running copy that started first."""
        return next(iter(self.running), None)


class ProfileSlots:
    """A profile: its free slots, and the kinds whose predictions lean on the runs of all its jobs."""

    __slots__ = ("free", "leaning", "name")

    def __init__(self, name: str, slots: float) -> None:
        self.name = name
        self.free = slots
        self.leaning: dict[Kind, None] = {}


class Kind:
    """Jobs that nothing tells apart: one key, profile and limits, and what is predicted for them.

    `alone` and `several` are what one reserves without and with copies beside it.
    """

    __slots__ = (
        "alone",
        "changes_at",
        "copies",
        "cpu",
        "cpu_cap",
        "line",
        "memory_cap",
        "running",
        "several",
        "slots",
        "waiting",
    )

    line: Line

    def __init__(self, copies: KeyCopies, slots: ProfileSlots, memory_cap: int, cpu_cap: int) -> None:
        self.copies = copies
        self.slots = slots
        self.memory_cap = memory_cap
        self.cpu_cap = cpu_cap
        self.alone = self.several = Prediction(memory_cap, AT_CAP)
        self.cpu = CpuPrediction(cpu_cap, AT_CAP)
        self.waiting = 0
        self.running: dict[Job, None] = {}
        self.changes_at: int | None = None

    def start(self) -> int:
        """The bytes that the start of one must find free.

        Never less than what it then reserves: with copies a prediction is never lower than without.
        """
        return (self.several if self.copies.total > 1 else self.alone).memory


class Line:
    """Waiting jobs that need the same to start: all of a kind, or all that one runner may be handed.

    `memory` and `cpu` are that need, the largest among its kinds, right after `settle`.
    """

    __slots__ = ("by_age", "cpu", "jobs", "kinds", "memory", "settled", "slots")

    def __init__(self, slots: ProfileSlots) -> None:
        self.slots = slots
        self.jobs: deque[Job] = deque()
        self.kinds: dict[Kind, None] = {}
        self.by_age = True
        self.settled = False
        self.memory = 0
        self.cpu = 0

    def append(self, job: Job) -> None:
        """One more, last in order."""
        if self.jobs and job.since_ms < self.jobs[-1].since_ms:
            self.by_age = False
        self.jobs.append(job)
        if job.kind.waiting == 0:
            self.kinds[job.kind] = None
            self.settled = False
        job.kind.waiting += 1

    def pop(self) -> Job:
        """The first in order, which starts."""
        job = self.jobs.popleft()
        job.kind.waiting -= 1
        if job.kind.waiting == 0:
            del self.kinds[job.kind]
            self.settled = False
        return job

    def settle(self) -> None:
        """Find the largest need of those waiting."""
        if not self.settled:
            self.memory = max(kind.start() for kind in self.kinds)
            self.cpu = max(kind.cpu.cpu for kind in self.kinds)
            self.settled = True

    def met(self, first: int, end: float) -> int:
        """How many stand from place `first` in the order to before place `end`."""
        jobs = self.jobs
        low = 0 if first <= jobs[0].order else bisect_left(jobs, first, key=_order)
        high = len(jobs) if end > jobs[-1].order else bisect_left(jobs, end, key=_order)
        return high - low

    def due(self, by_ms: int) -> Job | None:
        """The first in order that could have started at `by_ms` already."""
        jobs = [self.jobs[0]] if self.by_age else self.jobs
        return next((job for job in jobs if job.since_ms <= by_ms), None)
