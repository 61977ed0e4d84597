"""The jobs that have not ended, as the daemon knows them: who runs, and who waits in which order. Pure.

Order: the higher priority, then the longer in the queue, then the first to be submitted.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from vq.admission import plan
from vq.admission.history import Key
from vq.jobs.again import backs_off
from vq.jobs.ids import sequence_of
from vq.jobs.reasons import Kind
from vq.jobs.record import Job, Reserve, State

MOST_OF_A_KIND = 16
"""So many jobs that nothing tells apart stand in one look: the first of them that does not fit speaks for the rest."""

Place = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """Jobs that may start, in order, as admission sees them; and when the next one may (ms, None: open).

    `is_cut` says that more of a kind wait than stand here.
    """

    waiting: tuple[plan.Waiting, ...]
    next_at_ms: int | None
    is_cut: bool


class _Line(NamedTuple):
    """What jobs that wait one behind the other share: their kind, their array, and from when on they may start."""

    kind: tuple[Key, str, int, int, bool]
    group: str | None
    not_before_ms: int
    retry_at_ms: int

    def open_at_ms(self, now_ms: int) -> int:
        """When these jobs may start, as seen now: at once, or at a later time."""
        # As `waits_for` has it: only what was asked for is waited for, whatever time it was when it was asked.
        if self.not_before_ms <= now_ms and self.retry_at_ms and backs_off(self.retry_at_ms, now_ms):
            return self.retry_at_ms
        return self.not_before_ms


class Known:
    """Every job that has not ended; `at_once` says how many of an array may run, by its group."""

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.running: dict[str, Job] = {}
        self.at_once: dict[str, int | None] = {}
        # Only jobs that are open to a start: not held, their dependencies met.
        self._lines: dict[_Line, list[Place]] = {}
        self._waiting: dict[Place, tuple[_Line, plan.Waiting]] = {}

    def put(self, job: Job) -> None:
        """Know a job as it is now; one that has ended is forgotten."""
        before = self.jobs.pop(job.id, None)
        if before is not None and before.state is State.PENDING:
            self._leave(place_of(before))
        if job.state is State.RUNNING:
            # Assigned in place, a job keeps its rank among those that run: the order in which they started.
            self.running[job.id] = job
        else:
            self.running.pop(job.id, None)
        if job.state.ended:
            return
        self.jobs[job.id] = job
        if job.state is State.PENDING:
            self._wait(job)

    def due(self, now_ms: int) -> Due:
        """The jobs that nothing of their own keeps from starting now."""
        running = Counter(job.work.array.group for job in self.running.values() if job.work.array is not None)
        kinds: Counter[tuple[Key, str, int, int, bool]] = Counter()
        waiting: list[plan.Waiting] = []
        foremost: list[Place] = []
        next_at_ms: int | None = None
        is_cut = False
        for line, places in self._lines.items():
            at_ms = line.open_at_ms(now_ms)
            if at_ms > now_ms:
                next_at_ms = at_ms if next_at_ms is None else min(next_at_ms, at_ms)
            else:
                # One more than can stand in a look says that it is cut. Whoever is behind one that does not stand does
                # not either.
                foremost += places[: MOST_OF_A_KIND + 1]
        foremost.sort()
        for place in foremost:
            line, job = self._waiting[place]
            if kinds[line.kind] >= MOST_OF_A_KIND:
                is_cut = True
            elif self._admits(line.group, running):
                kinds[line.kind] += 1
                waiting.append(job)
        return Due(waiting=tuple(waiting), next_at_ms=next_at_ms, is_cut=is_cut)

    def _wait(self, job: Job) -> None:
        if job.life.eligible_at_ms is not None and not job.life.held:
            place, waiting = place_of(job), waiting_job(job)
            line = _line(job, waiting)
            insort(self._lines.setdefault(line, []), place)
            self._waiting[place] = line, waiting

    def _leave(self, place: Place) -> None:
        if place in self._waiting:
            line, _ = self._waiting.pop(place)
            places = self._lines[line]
            del places[bisect_left(places, place)]
            if not places:
                del self._lines[line]

    def _admits(self, group: str | None, running: Counter[str]) -> bool:
        """Whether an array lets one more of it run, which is counted then."""
        most = None if group is None else self.at_once.get(group)
        if group is None or most is None:
            return True
        running[group] += 1
        return running[group] <= most


def place_of(job: Job) -> Place:
    """Where a waiting job stands in the order."""
    return -job.work.priority, job.life.queued_at_ms, sequence_of(job.id)


def key_of(job: Job) -> Key:
    """What admission tells the job apart by."""
    identity = job.identity
    return Key(identity.repository, identity.workflow, identity.name)


def is_whole(job: Job) -> bool:
    """Whether the job's whole limit is always reserved, whatever is predicted."""
    return job.work.reserve is Reserve.CAP or job.life.outgrew


def waiting_job(job: Job, kept: plan.Kept | None = None) -> plan.Waiting:
    """A waiting job as admission sees it."""
    eligible = job.life.eligible_at_ms
    return plan.Waiting(
        id=job.id,
        key=key_of(job),
        profile=job.identity.profile,
        memory_cap=job.work.cap_bytes,
        cpu_cap=job.work.cap_millicores,
        eligible_at=job.life.queued_at_ms if eligible is None else eligible,
        whole=is_whole(job),
        kept=kept,
    )


def running_job(job: Job, uses: Mapping[str, int | None]) -> plan.Running:
    """A running job as admission sees it, with what it uses by its id, where that is known."""
    return plan.Running(
        id=job.id,
        key=key_of(job),
        profile=job.identity.profile,
        memory_cap=job.work.cap_bytes,
        cpu_cap=job.work.cap_millicores,
        whole=is_whole(job),
        use=uses.get(job.id),
    )


def _line(job: Job, waiting: plan.Waiting) -> _Line:
    reason = job.life.reason
    return _Line(
        kind=(waiting.key, waiting.profile, waiting.memory_cap, waiting.cpu_cap, waiting.whole),
        group=None if job.work.array is None else job.work.array.group,
        not_before_ms=job.work.not_before_ms or 0,
        retry_at_ms=reason.details["at"] if reason is not None and reason.kind is Kind.RETRY else 0,
    )
