"""Who waits, who runs and what is free: the table on which a look at the queue is decided.

A live look fills a board with what it sees, sweeps it once and drops it; a replay keeps one and changes it from moment
to moment. Both start jobs by the same `sweep`; the rules are those of `plan`. What makes it fast:

- Waiting jobs that need the same to start stand in one `Line`, in order. Within a sweep what is free only shrinks, so
  once one of a line does not fit, none behind it does: a sweep looks at lines, not at jobs.
- Jobs that nothing tells apart share a `Kind` and its predictions. These are made when the first of them comes, and
  anew only when a row of the job, or of a profile that they lean on, was learned, or when time has changed them.
- What is reserved, used and free are running sums.
- How many jobs a sweep met and held back is counted line by line, by their places in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from itertools import count
from math import inf

from vq.admission.history import Key
from vq.admission.lines import Job, KeyCopies, Kind, Line, ProfileSlots
from vq.admission.predictor import AT_CAP, UNMEASURED, Copies, CpuPrediction, Prediction, Predictor
from vq.admission.rules import HIGH_WATER, CpuAdmission, Dispatch, Policy, Rules, Verdict

_WORTH_A_BARRIER = frozenset({Verdict.MEMORY, Verdict.HOST_MEMORY, Verdict.CPU})
_COUNTED = frozenset({Verdict.HIGH_WATER, Verdict.CPU})


@dataclass(slots=True)
class _Held:
    """A line that a sweep met at place `first` in the order, and what has held it from there on."""

    line: Line
    verdict: Verdict
    first: int


class Board:
    """The jobs at one moment, and what they leave free under `rules`.

    `memory_free` and `cpu_free` are budgets less what running jobs are charged, `host_free` what the host leaves;
    infinite without a bound. `used` bytes count for the high-water mark, `reserved` is the sum of what running jobs
    reserve, and `held` counts, over all sweeps, the jobs that were met and held by high water or CPU alone. `barrier`
    is the job that the last sweep stopped at, if it stopped at one.
    """

    barrier: Job

    def __init__(self, rules: Rules, predictor: Predictor, *, now: int = 0) -> None:
        self.rules = rules
        self.now = now
        self.memory_free: float = inf if rules.memory is None else rules.memory
        self.cpu_free: float = inf
        self.host_free: float = inf
        self.host_limit: float = inf
        self.stalled = False
        self.used = 0
        self.reserved = 0
        self.held = dict.fromkeys(_COUNTED, 0)
        self.lines: dict[Line, None] = {}
        self._predictor = predictor
        self._measures_memory = rules.policy is Policy.MEASURED
        self._measures_cpu = rules.cpu_by is CpuAdmission.MEASURED
        self._cpu_most: float = inf
        if rules.cpu is not None and rules.cpu_by is not CpuAdmission.OFF:
            self.cpu_free = self._cpu_most = rules.cpu
        self._high_water: float = inf
        if rules.memory is not None and self._measures_memory:
            self._high_water = rules.memory * HIGH_WATER
        self._copies: dict[Key, KeyCopies] = {}
        self._slots: dict[str, ProfileSlots] = {}
        self._kinds: dict[tuple[Key, str, int, int], Kind] = {}
        self._pools: dict[tuple[str, str], Line] = {}
        self._outdated: dict[Kind, None] = {}
        self._bereft: dict[KeyCopies, None] = {}
        self._changes: list[tuple[int, int, Kind]] = []
        self._serial = count()

    @property
    def measures(self) -> bool:
        """Whether anything goes by predictions, so that rows learned matter."""
        return self._measures_memory or self._measures_cpu

    # Who comes and goes.

    def kind(self, key: Key, profile: str, memory_cap: int, cpu_cap: int) -> Kind:
        """The kind of a job with these limits, made and predicted if none of it is there."""
        found = self._kinds.get((key, profile, memory_cap, cpu_cap))
        return self._new_kind(key, profile, memory_cap, cpu_cap) if found is None else found

    def arrive(self, job: Job) -> None:
        """Let `job`, last in order, wait."""
        kind = job.kind
        self._count(kind.copies)
        kind.line.append(job)
        self.lines[kind.line] = None

    def run(self, job: Job) -> None:
        """Let `job` run that started before, the last to start."""
        self._count(job.kind.copies)
        self._begin(job)

    def end(self, job: Job) -> None:
        """Take `job`, which ran, away. What the others reserve changes at `look`, not before."""
        kind, copies = job.kind, job.kind.copies
        if copies.first() is job:
            self._bereft[copies] = None
        del copies.running[job], kind.running[job]
        self.memory_free += job.charged
        self.cpu_free += job.cpu
        self.reserved -= job.reserved.memory
        self.used -= job.use or 0
        kind.slots.free += 1
        copies.total -= 1
        if copies.total == 1:
            self._unsettle(copies)
        if not kind.waiting and not kind.running:
            self._drop_kind(kind)

    def learned(self, key: Key, profile: str) -> None:
        """Note that the predictor has learned a run of `key` in `profile`, both of which were on the board."""
        copies, slots = self._copies.get(key), self._slots[profile]
        if copies is not None:
            for kind in copies.kinds:
                if kind.slots is slots:
                    self._outdated[kind] = None
        self._outdated.update(slots.leaning)

    def look(self, now: int) -> None:
        """Predict anew what was learned of or has run out, for those running and waiting, as of `now`."""
        self.now = now
        while self._changes and self._changes[0][0] <= now:
            kind = heappop(self._changes)[2]
            if kind.changes_at is not None and kind.changes_at <= now:
                self._outdated[kind] = None
        for kind in self._outdated:
            self._predict(kind)
        self._outdated.clear()
        for copies in self._bereft:
            first = copies.first()
            if first is not None:
                self._reserve(first)
        self._bereft.clear()

    # What may start.

    def verdict(self, line: Line) -> Verdict | None:
        """What keeps the jobs of `line` from starting now, None if nothing does."""
        line.settle()
        if line.slots.free <= 0:
            return Verdict.SLOT
        if line.memory > self.memory_free:
            return Verdict.MEMORY
        if self.used * 100 >= self._high_water:
            return Verdict.HIGH_WATER
        if self.stalled:
            return Verdict.STALLED
        if line.memory > self.host_free:
            return Verdict.HOST_MEMORY
        return Verdict.CPU if line.cpu > self.cpu_free else None

    def sweep(self) -> list[Job]:
        """Start what may start, in order, and return it; a job that does not fit lets later ones past.

        With a barrier, the first that has waited that long for memory or CPU, and alone would fit, lets none past.
        """
        started: list[Job] = []
        held: list[_Held] = []
        front = self._front()
        end: float = inf
        while front:
            place, line = front[0]
            verdict = self.verdict(line)
            if verdict is None:
                started.append(self._start(line))
                if line.jobs:
                    heapreplace(front, (line.jobs[0].order, line))
                else:
                    heappop(front)
                held = self._recheck(held, place) if held else held
                continue
            heappop(front)
            if verdict in _COUNTED and place == line.jobs[0].order:
                held.append(_Held(line, verdict, place))
            due = self._barrier_in(line, verdict)
            if due is None:
                continue
            if due.order == place:
                self.barrier, end = due, place + 1
                break
            heappush(front, (due.order, line))
        for entry in held:
            self.held[entry.verdict] += entry.line.met(entry.first, end)
        return started

    def _front(self) -> list[tuple[int, Line]]:
        """A heap of the lines to look at, by the place of their first job.

        Without a barrier, one that does not fit now is out of the sweep: it holds nobody and is not counted.
        """
        front = [(line.jobs[0].order, line) for line in self.lines]
        if self.rules.barrier_after_ms is None:
            for line in self.lines:
                line.settle()
            free = self.memory_free
            front = [(line.jobs[0].order, line) for line in self.lines if line.memory <= free and line.slots.free > 0]
        heapify(front)
        return front

    def _recheck(self, held: list[_Held], place: int) -> list[_Held]:
        """Those of `held` that count on, after the start of the job at `place` left less free."""
        for entry in held:
            verdict = self.verdict(entry.line)
            if verdict is not None and verdict is not entry.verdict:
                self.held[entry.verdict] += entry.line.met(entry.first, place)
                entry.verdict, entry.first = verdict, place
        return [entry for entry in held if entry.verdict in _COUNTED]

    def _barrier_in(self, line: Line, verdict: Verdict) -> Job | None:
        """The first job in `line` that is a barrier when it is met."""
        after = self.rules.barrier_after_ms
        if after is None or verdict not in _WORTH_A_BARRIER:
            return None
        whole = inf if self.rules.memory is None else self.rules.memory
        fits_alone = line.memory <= min(whole, self.host_limit)
        return line.due(self.now - after) if fits_alone else None

    # What follows from it.

    def _start(self, line: Line) -> Job:
        job = line.pop()
        if not line.jobs:
            del self.lines[line]
        self._begin(job)
        return job

    def _begin(self, job: Job) -> None:
        kind = job.kind
        kind.copies.running[job] = None
        kind.running[job] = None
        kind.slots.free -= 1
        self.used += job.use or 0
        self._reserve(job)
        self.host_free -= job.charged

    def _reserve(self, job: Job) -> None:
        """Let `job`, which runs, have what is predicted for it now."""
        kind = job.kind
        if job.use is None and self._measures_memory:
            reserved = Prediction(kind.memory_cap, UNMEASURED)
        else:
            reserved = kind.alone if kind.copies.first() is job else kind.several
        charged = max(reserved.memory, job.use or 0) if self._measures_memory else reserved.memory
        cpu = kind.cpu.cpu
        self.reserved += reserved.memory - job.reserved.memory
        self.memory_free -= charged - job.charged
        self.cpu_free -= cpu - job.cpu
        job.reserved, job.charged, job.cpu = reserved, charged, cpu

    def _count(self, copies: KeyCopies) -> None:
        copies.total += 1
        if copies.total == 2:  # noqa: PLR2004 - from now on each is one of several
            self._unsettle(copies)

    def _unsettle(self, copies: KeyCopies) -> None:
        for kind in copies.kinds:
            kind.line.settled = False

    def _new_kind(self, key: Key, profile: str, memory_cap: int, cpu_cap: int) -> Kind:
        copies = self._copies.get(key)
        if copies is None:
            copies = self._copies[key] = KeyCopies(key)
        slots = self._slots.get(profile)
        if slots is None:
            most = self.rules.slots.get(profile)
            slots = self._slots[profile] = ProfileSlots(profile, inf if most is None else most)
        kind = Kind(copies, slots, memory_cap, cpu_cap)
        kind.cpu = CpuPrediction(int(min(cpu_cap, self._cpu_most)), AT_CAP)
        self._kinds[key, profile, memory_cap, cpu_cap] = kind
        copies.kinds[kind] = None
        if self.rules.dispatch is Dispatch.POOL:
            pool = (key.repository, profile)
            if pool not in self._pools:
                self._pools[pool] = Line(slots)
            kind.line = self._pools[pool]
        else:
            kind.line = Line(slots)
        self._predict(kind)
        return kind

    def _drop_kind(self, kind: Kind) -> None:
        copies, slots = kind.copies, kind.slots
        del self._kinds[copies.key, slots.name, kind.memory_cap, kind.cpu_cap], copies.kinds[kind]
        slots.leaning.pop(kind, None)
        self._outdated.pop(kind, None)
        kind.changes_at = None
        if not copies.kinds:
            del self._copies[copies.key]

    def _predict(self, kind: Kind) -> None:
        """Predict `kind` anew, and let what stands on that follow."""
        before = (kind.alone.memory, kind.several.memory, kind.cpu.cpu)
        key, profile = kind.copies.key, kind.slots.name
        leans = False
        if self._measures_memory:
            cap, now = kind.memory_cap, self.now
            kind.alone = self._predictor.predict(key, profile, cap, now=now, copies=Copies.ALONE)
            kind.several = kind.alone
            if kind.alone.basis.minds_copies:
                kind.several = self._predictor.predict(key, profile, cap, now=now, copies=Copies.SEVERAL)
            self._await_change(kind)
            leans = kind.several.basis.leans
        if self._measures_cpu:
            cpu = self._predictor.predict_cpu(key, profile, kind.cpu_cap)
            kind.cpu = CpuPrediction(int(min(cpu.cpu, self._cpu_most)), cpu.basis)
            leans = leans or cpu.basis.leans
        if leans:
            kind.slots.leaning[kind] = None
        else:
            kind.slots.leaning.pop(kind, None)
        if before != (kind.alone.memory, kind.several.memory, kind.cpu.cpu):
            kind.line.settled = False
            for job in kind.running:
                self._reserve(job)

    def _await_change(self, kind: Kind) -> None:
        """See to it that `look` predicts `kind` anew when time alone changes what is predicted."""
        at = None
        if kind.alone.basis.passes:
            at = self._predictor.changes_at(kind.copies.key, kind.slots.name, self.now)
        if at is not None and at != kind.changes_at:
            heappush(self._changes, (at, next(self._serial), kind))
        kind.changes_at = at
