"""The jobs that have not ended, as the daemon knows them: who runs, and who waits in which order. Pure.

Order: the higher priority, then the longer in the queue, then the first to be submitted.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import merge, nsmallest
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from vq.admission import plan
from vq.admission.history import Key
from vq.jobs.ids import sequence_of
from vq.jobs.reasons import Kind, Reason
from vq.jobs.record import Job, Reserve, State
from vq.jobs.waiting import backs_off

MOST_OF_A_KIND = 8
"""So many jobs that nothing tells apart stand in one look: the first of them that does not fit speaks for the rest."""

Place = tuple[int, int, int]
JobKind = tuple[Key, str, int, int, bool]
"""What a look tells jobs apart by: key, profile, both limits, and whether the whole memory limit is reserved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """Jobs that may start, in order, as admission sees them; and when the next one may (ms, None: open).

    `cut` are the kinds of which more wait than stand here; `full_arrays` says of each array that lets no more of it run
    that it is so.
    """

    waiting: tuple[plan.Waiting, ...]
    next_at_ms: int | None
    cut: frozenset[JobKind]
    full_arrays: Mapping[str, Reason] = field(default_factory=dict)


class _Line(NamedTuple):
    """What jobs that wait one behind the other share: their kind, their array, and from when on they may start."""

    kind: JobKind
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
    """Every job that has not ended.

    `running` are those that run, in the order in which they started, and `in_look` the same as admission sees them;
    `at_once` says how many of an array may run, by its group.
    """

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.running: dict[str, Job] = {}
        self.in_look: dict[str, plan.Running] = {}
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
            self.in_look[job.id] = running_job(job)
        else:
            self.running.pop(job.id, None)
            self.in_look.pop(job.id, None)
        if job.state.ended:
            return
        self.jobs[job.id] = job
        if job.state is State.PENDING:
            self._wait(job)

    def due(self, now_ms: int) -> Due:
        """The jobs that nothing of their own keeps from starting now."""
        running = Counter(job.work.array.group for job in self.running.values() if job.work.array is not None)
        kinds: Counter[JobKind] = Counter()
        full: dict[str, Reason] = {}
        waiting: list[plan.Waiting] = []
        foremost: list[Place] = []
        next_at_ms: int | None = None
        cut: set[JobKind] = set()
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
                cut.add(line.kind)
            elif self._admits(line.group, running):
                kinds[line.kind] += 1
                waiting.append(job)
            elif line.group is not None:
                full[line.group] = array_is_full(line.group, self.at_once[line.group] or 0)
        return Due(waiting=tuple(waiting), next_at_ms=next_at_ms, cut=frozenset(cut), full_arrays=full)

    def runs_out(self, due: Due, starting: Iterable[str]) -> bool:
        """Whether all of a kind that stand in a look start, by their ids, so that more of it might."""
        kinds = Counter(self._waiting[place_of(self.jobs[job])][0].kind for job in starting) if due.cut else {}
        return any(kinds.get(kind) == MOST_OF_A_KIND for kind in due.cut)

    def reasons(self, due: Due, explained: Mapping[JobKind, Reason], most: int) -> dict[str, Reason]:
        """Why the first `most` waiting jobs wait that are open to a start, where a look has said it of their kind."""
        in_look = {job.id for job in due.waiting}
        found: dict[str, Reason] = {}
        # Of the first so many, each stands in one of the lines whose own first come first.
        lines = nsmallest(most, self._lines.values(), key=itemgetter(0))
        for place in islice(merge(*lines), most):
            line, job = self._waiting[place]
            full = None if line.group is None or job.id in in_look else due.full_arrays.get(line.group)
            reason = full or explained.get(line.kind)
            if reason is not None:
                found[job.id] = reason
        return found

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


def rank_of(job: Job) -> tuple[int, Place]:
    """Where a running job stands in the order in which jobs started: one look may start many at one time."""
    return job.life.started_at_ms or 0, place_of(job)


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


def running_job(job: Job) -> plan.Running:
    """A running job as admission sees it."""
    return plan.Running(
        id=job.id,
        key=key_of(job),
        profile=job.identity.profile,
        memory_cap=job.work.cap_bytes,
        cpu_cap=job.work.cap_millicores,
        whole=is_whole(job),
    )


def kind_of(waiting: plan.Waiting) -> JobKind:
    """What a look takes a waiting job for."""
    return waiting.key, waiting.profile, waiting.memory_cap, waiting.cpu_cap, waiting.whole


def array_is_full(group: str, at_once: int) -> Reason:
    """That an array runs as many of its jobs as it may."""
    return Reason(kind=Kind.ARRAY, details={"group": group, "at_once": at_once})


def reason_of(found: plan.Reason) -> Reason:
    """What admission found to keep a job, as the record of a job has it."""
    details = {key: value for key, value in found.as_data().items() if key != "kind"}
    if "free" in details:
        details["free"] = max(0, details["free"])
    return Reason(kind=Kind(found.kind), details=details)


def _line(job: Job, waiting: plan.Waiting) -> _Line:
    reason = job.life.reason
    return _Line(
        kind=kind_of(waiting),
        group=None if job.work.array is None else job.work.array.group,
        not_before_ms=job.work.not_before_ms or 0,
        retry_at_ms=reason.details["at"] if reason is not None and reason.kind is Kind.RETRY else 0,
    )
