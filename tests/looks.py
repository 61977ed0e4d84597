"""Jobs played by `plan` from moment to moment, from nothing but what waits and runs then: a live queue without one.

It knows what a replay leaves out: what the host leaves, runs that are cancelled, and runs from before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from vq.admission import CpuPrediction, Policy, Prediction, Predictor, Run, Setup
from vq.admission.host import HostMemory, Remembered
from vq.admission.plan import Look, Plan, Reason, Running, Waiting, explain, plan

Reading = Callable[[int, int], HostMemory]
"""The host at a time in milliseconds, beside jobs that hold so many bytes."""


class Start(NamedTuple):
    """A job's place among the rows, when it started, and what it then reserved."""

    place: int
    at: int
    memory: Prediction
    cpu: CpuPrediction


@dataclass
class Looks:
    """What was decided: the starts in order, and why each job waits when it arrives, None for one that can start."""

    starts: list[Start] = field(default_factory=list)
    reasons: list[Reason | None] = field(default_factory=list)


def nothing(_: Run) -> int:
    return 0


def look_at(
    setup: Setup,
    rows: Sequence[Run],
    policy: Policy,
    *,
    uses: Callable[[Run], int] = nothing,
    before: Iterable[Run] = (),
    reading: Reading | None = None,
) -> Looks:
    """What is decided about `rows`, which come in the order in which they were queued and hold what `uses` says."""
    playing = _Playing(setup, rows, policy, uses, reading)
    playing.predictor.read(before)
    playing.run()
    return playing.looks


class _Playing:
    def __init__(
        self,
        setup: Setup,
        rows: Sequence[Run],
        policy: Policy,
        uses: Callable[[Run], int],
        reading: Reading | None,
    ) -> None:
        self.setup, self.rows, self.policy, self.uses, self.reading = setup, rows, policy, uses, reading
        caps = {name: profile.memory for name, profile in setup.profiles.items()}
        self.predictor = Predictor(margin=setup.margin, min_jobs=setup.min_jobs, caps=caps)
        self.looks = Looks()
        self.waiting: dict[str, Waiting] = {}
        self.running: dict[str, Running] = {}
        self.used: dict[str, int | None] = {}
        self.ends: dict[str, int] = {}
        self.reserved: dict[str, int] = {}
        self.remembered = Remembered()

    def run(self) -> None:
        arrived = 0
        while arrived < len(self.rows) or self.ends:
            now = min([*self.ends.values(), *(row.queued_at for row in self.rows[arrived : arrived + 1])])
            for id_ in [id_ for id_, end in self.ends.items() if end <= now]:
                self.end(id_, now)
            while arrived < len(self.rows) and self.rows[arrived].queued_at <= now:
                self.waiting[str(arrived)] = self.arriving(str(arrived))
                explained = explain(self.look(now), self.predictor).get(str(arrived))
                self.looks.reasons.append(None if explained is None else explained.reason)
                arrived += 1
            self.settle(now)

    def end(self, id_: str, now: int) -> None:
        del self.running[id_], self.ends[id_]
        was = self.reserved[id_] if self.policy is Policy.MEASURED else None
        self.predictor.read([replace(self.rows[int(id_)], finished_at=now, reserved=was)])

    def arriving(self, id_: str) -> Waiting:
        row = self.rows[int(id_)]
        memory_cap, cpu_cap = self.setup.limits(row)
        return Waiting(
            id=id_,
            key=row.key,
            profile=row.profile,
            memory_cap=memory_cap,
            cpu_cap=cpu_cap,
            eligible_at=row.queued_at,
        )

    def settle(self, now: int) -> None:
        """Look until nothing starts any more, and there is nothing new to remember."""
        while True:
            decided = plan(self.look(now), self.predictor)
            before = self.remembered
            if self.waiting:
                self.remembered = decided.remembered
            self.start(decided, now)
            if not decided.starts and self.remembered == before:
                break
        self.reserved = {id_: reservation.memory.memory for id_, reservation in decided.reservations.items()}

    def look(self, now: int) -> Look:
        host = None
        if self.reading is not None:
            host = (self.reading(now, sum(self.used[id_] or 0 for id_ in self.running)), self.remembered)
        return Look(
            now=now,
            rules=self.setup.rules(self.policy),
            waiting=tuple(self.waiting.values()),
            running=tuple(self.running.values()),
            uses=self.used,
            host=host,
        )

    def start(self, decided: Plan, now: int) -> None:
        for id_ in decided.starts:
            row, job = self.rows[int(id_)], self.waiting.pop(id_)
            reservation = decided.reservations[id_]
            self.looks.starts.append(Start(int(id_), now, reservation.memory, reservation.cpu))
            self.running[id_] = Running(
                id=id_,
                key=job.key,
                profile=job.profile,
                memory_cap=job.memory_cap,
                cpu_cap=job.cpu_cap,
            )
            self.used[id_] = min(self.uses(row), job.memory_cap)
            self.ends[id_] = now + (row.finished_at or 0) - (row.started_at or 0)
