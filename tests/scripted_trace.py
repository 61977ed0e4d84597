"""Traces of jobs whose memory and times are known beforehand, for the live daemon and for a replay of the same jobs.

Every arrival and every end has a moment of its own, so that no decision hangs on which of two things came first. What
is reserved comes in steps of 256 MiB and budgets are made to match, so that a few MiB of an interpreter decide nothing.

A replay knows neither the host nor runs that were cancelled, nor any from before; traces that have them are played by
`looks` alone, the others by both.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from looks import Looks, look_at
from vq.admission import CpuAdmission, Policy, Profile, Run, Setup, simulate
from vq.admission.documents import started_document
from vq.admission.host import HostMemory

MIB = 1 << 20
EXPECTED = Path(__file__).parent / "data" / "admission" / "scripted.jsonl"

BARRIER_MS = 600_000
MIN_JOBS = 5
DAY_SECONDS = 86_400
WELL, FAILS, OOM, KILLED = "well", "fails", "oom", "killed"
HOST_MB = 4096


@dataclass(frozen=True, kw_only=True)
class Scripted:
    """A job: when it arrives and how long it lasts, in milliseconds, its limits and its peak, and how it ends."""

    name: str
    arrives: int
    lasts: int
    peak_mb: int
    cap_mb: int = 1024
    cpus: int = 1
    profile: str = "default"
    ends: str = WELL

    def row(self) -> Run:
        """Its row, as if it had started at once and its peak had been measured to the byte."""
        oom = self.ends == OOM
        return Run(
            repository="owner/name",
            workflow=None,
            name=self.name,
            profile=self.profile,
            memory_cap=self.cap_mb * MIB,
            cpu_cap=self.cpus * 1000,
            memory_peak=(self.cap_mb if oom else self.peak_mb) * MIB,
            page_cache=False,
            cpu_average=60,
            queued_at=self.arrives,
            started_at=self.arrives,
            finished_at=self.arrives + self.lasts,
            oom_killed=oom,
            hit_cap=oom,
            own_cap=oom,
            succeeded=self.ends == WELL,
            cancelled=self.ends == KILLED,
            reserved=None,
        )


@dataclass(frozen=True, kw_only=True)
class Beside:
    """From a moment on, what other programs hold of the host, and the percentage of time in which all stand still."""

    at: int
    holds_mb: int
    stands_still: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Trace:
    """Jobs in the order in which they arrive, and the host they share; each lives for real at least so long.

    `before` are rows that the queue had before; `beside`, in order, is told of a host of `HOST_MB`, else there is room.
    """

    name: str
    jobs: tuple[Scripted, ...]
    memory_mb: int
    cpus: int
    cpu_admission: CpuAdmission = CpuAdmission.CAPS
    slots: int = 2
    least_seconds: float = 0.0
    before: tuple[Run, ...] = ()
    beside: tuple[Beside, ...] = ()

    @property
    def is_replayed(self) -> bool:
        """Whether a replay knows all that matters."""
        return not self.before and not self.beside

    @property
    def profile_mb(self) -> int:
        """The memory limit of each profile."""
        return min(1024, self.memory_mb)

    def beside_at(self, at_ms: int) -> Beside:
        """What is beside the jobs at a moment."""
        return next(one for one in reversed(self.beside) if one.at <= at_ms)

    def reading(self, at_ms: int, uses: int) -> HostMemory:
        """The host at a moment, beside jobs that hold `uses` bytes."""
        beside, total = self.beside_at(at_ms), HOST_MB * MIB
        available = total - beside.holds_mb * MIB - uses
        return HostMemory(total, available, slice=uses, full_avg10=round(beside.stands_still * 100))

    @property
    def setup(self) -> Setup:
        """The host for a replay."""
        return Setup(
            margin=15,
            min_jobs=MIN_JOBS,
            profiles={
                name: Profile(memory=self.profile_mb * MIB, cpus=1, slots=self.slots if name == "few" else None)
                for name in ("default", "few", "big")
            },
            memory_max=self.memory_mb * MIB,
            cpu_budget=self.cpus * 1000,
            barrier_after_ms=BARRIER_MS,
            cpu_admission=self.cpu_admission,
        )

    @property
    def configuration(self) -> str:
        """The host as a daemon's configuration."""
        memory = f'memory = "{self.profile_mb}M"\n'
        profiles = f"[profiles.default]\n{memory}[profiles.few]\n{memory}slots = {self.slots}\n[profiles.big]\n{memory}"
        host = f'memory_max = "{self.memory_mb}M"\ncpus = 2\ncpu_overcommit = {self.cpus / 2}\n'
        by = f'cpu_admission = "{self.cpu_admission.value}"\nbarrier_after = "{BARRIER_MS // 1000}s"\n'
        return f"[host]\n{host}{by}[sizing]\nmargin = 15\nmin_jobs = {MIN_JOBS}\n{profiles}"


def decisions(trace: Trace, rows: Iterable[Run] | None = None) -> list[dict[str, Any]]:
    """What a replay of the trace decides, in order; `rows` are as they were measured, else as they are scripted."""
    found: list[dict[str, Any]] = []
    jobs = [job.row() for job in trace.jobs] if rows is None else list(rows)
    places = {(row.queued_at): place for place, row in enumerate(jobs)}

    def tell(started: Any) -> None:
        found.append(decision(places[started.run.queued_at], started_document(Policy.MEASURED, started)))

    simulate(trace.setup, jobs, Policy.MEASURED, tell=tell)
    return found


def looked(trace: Trace, rows: Iterable[Run] | None = None) -> Looks:
    """What looks at the trace from moment to moment decide; `rows` as for `decisions`."""
    return look_at(
        trace.setup,
        [job.row() for job in trace.jobs] if rows is None else list(rows),
        Policy.MEASURED,
        uses=lambda row: row.memory_peak,
        before=trace.before,
        reading=trace.reading if trace.beside else None,
    )


def looked_decisions(trace: Trace, rows: Iterable[Run] | None = None) -> list[dict[str, Any]]:
    """The starts that `looked` finds, in order."""
    return [
        decision(
            start.place,
            {
                "name": trace.jobs[start.place].name,
                "started_at": start.at,
                "memory": start.memory.memory,
                "basis": start.memory.basis.as_data(),
                "cpu": start.cpu.cpu,
                "cpu_basis": start.cpu.basis.as_data(),
            },
        )
        for start in looked(trace, rows).starts
    ]


def decision(place: int, document: dict[str, Any]) -> dict[str, Any]:
    """A start: the job's place in the trace, when, and what it reserved and why.

    `until` is left out: it is the real end of a run and seven days.
    """
    said: dict[str, Any] = {"job": place, "name": document["name"], "at": document["started_at"]}
    for key in ("memory", "basis", "cpu", "cpu_basis"):
        value = document[key]
        said[key] = {k: v for k, v in value.items() if k != "until"} if isinstance(value, dict) else value
    return said


def expected(trace: Trace) -> list[dict[str, Any]]:
    """The starts that are right, by the rules."""
    return [{key: value for key, value in line.items() if key != "waits"} for line in _lines(trace)]


def expected_reasons(trace: Trace) -> list[str | None]:
    """Of each job, what it waits for when it arrives; None for one that starts then."""
    return [line["waits"] for line in sorted(_lines(trace), key=lambda line: line["job"])]


def _lines(trace: Trace) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in EXPECTED.read_text().splitlines()]
    return [line for line in lines if line.pop("trace") == trace.name]


class _Clock:
    """Moments that come once: seconds, with a few milliseconds of their own."""

    def __init__(self) -> None:
        self.at = 0
        self._serial = count(1)

    def job(self, name: str, after: int, lasts: int, peak_mb: int, **more: Any) -> Scripted:
        """One that comes `after` seconds after the one before, and lasts so many."""
        self.at += after * 1000
        own = next(self._serial)
        return Scripted(name=name, arrives=self.at + own, lasts=lasts * 1000 + 300 + 7 * own, peak_mb=peak_mb, **more)


def mixed() -> Trace:
    """Every rule of the predictor and of the plan that does not need a host in need."""
    clock, random = _Clock(), Random(5)  # noqa: S311 - the same figures each time
    job = clock.job
    jobs = [
        # Too little is known: limits. Then its largest alone, the profile beside copies, and the p95 of its own.
        *(job("align", 40, 95, 20 + 2 * number) for number in range(7)),
        *(job("align", 2, 50, 24) for _ in range(6)),
        # Never seen, seen once, seen twice: alone and as copies.
        job("sort", 120, 60, 60),
        job("sort", 120, 60, 62),
        job("sort", 120, 60, 58),
        job("sort", 120, 60, 58),
        *(job("sort", 1, 30, 60) for _ in range(8)),
        # A profile of its own, with slots; a failure counts, but is no success.
        *(job("index", 30, 100, 12, profile="few", cap_mb=300) for _ in range(6)),
        job("index", 10, 40, 14, profile="few", cap_mb=300, ends=FAILS),
        *(job("index", 5, 40, 12, profile="few", cap_mb=300) for _ in range(5)),
        # Peaks that with their margin pass 256 MiB; many CPUs.
        *(job("call", 90, 60, peak, cap_mb=900) for peak in (228, 232, 240, 226, 230, 236)),
        *(job("call", 2, 70, 231, cap_mb=900, cpus=3) for _ in range(5)),
        # Killed at its limit: held at it, until three clean runs.
        *(job("leaky", 70, 30, 20, cap_mb=500) for _ in range(6)),
        job("leaky", 70, 30, 20, cap_mb=64, ends=OOM),
        *(job("leaky", 70, 30, 20, cap_mb=500) for _ in range(2)),
        job("leaky", 70, 30, 20, cap_mb=500, ends=FAILS),
        *(job("leaky", 70, 30, 20, cap_mb=500) for _ in range(3)),
        # Past its reservation: its largest, until it leaves the window.
        *(job("jump", 60, 20, 20) for _ in range(6)),
        job("jump", 120, 20, 300),
        *(job("jump", 60, 20, 20) for _ in range(3)),
        # What it reserves shrinks under it while two copies of it show how small they are: it has overrun at its end.
        job("grow", 60, 300, 300),
        *(job("grow", 20, 20, 20) for _ in range(2)),
        job("grow", 400, 20, 20),
        # One that needs nearly everything, and small ones that pass it until it is a barrier.
        *(job("sort", 20, 200, 55) for _ in range(3)),
        job("huge", 5, 60, 30, profile="big", cap_mb=1900),
        *(job("sort", 40, 130, 55) for _ in range(24)),
        *(job("huge", 400, 20, 30, profile="big", cap_mb=1900) for _ in range(2)),
    ]
    # A crowd: more than fits, of names known and new, longer than any window.
    names = ("align", "sort", "call", "jump", "plot")
    for _ in range(60):
        name = random.choice(names)
        peak = {"align": 22, "sort": 60, "call": 220 + random.randrange(20), "jump": 30, "plot": 100}[name]
        ends = FAILS if random.randrange(12) == 0 else WELL
        after, lasts, cpus = random.randrange(1, 30), random.randrange(40, 160), random.choice((1, 1, 2))
        jobs.append(job(name, after, lasts, peak, cpus=cpus, ends=ends))
    jobs += [
        # A hold, and a run past its reservation, count for a week.
        job("leaky", 300, 30, 20, cap_mb=64, ends=OOM),
        job("leaky", 60, 30, 20, cap_mb=500),
        job("leaky", 9 * DAY_SECONDS, 30, 20, cap_mb=500),
        job("jump", 60, 30, 20),
    ]
    return Trace(name="mixed", jobs=tuple(jobs), memory_mb=2048, cpus=8)


def tight() -> Trace:
    """Jobs that use nearly all that they asked for, so that high water holds what reservations would let start."""
    job = _Clock().job
    full = [job("fill", 1, 60 + 10 * number, 94, cap_mb=100) for number in range(5)]
    small = [job("drop", 1, 20, 9, cap_mb=12) for _ in range(4)]
    return Trace(name="tight", jobs=(*full, *small), memory_mb=520, cpus=16)


def idle() -> Trace:
    """Jobs that asked for CPUs and idle, admitted by what they used."""
    job = _Clock().job
    first = [job("poll", 1, 60, 10, cap_mb=64, cpus=2) for _ in range(6)]
    later = [job(name, 1, 100, 10, cap_mb=64, cpus=2) for name in ("poll", "poll", "wait", "poll", "wait", "wait")]
    return Trace(
        name="idle",
        jobs=(*first, *later),
        memory_mb=1024,
        cpus=4,
        cpu_admission=CpuAdmission.MEASURED,
        least_seconds=1.5,
    )


def pressed() -> Trace:
    """A host that other programs leave little of: what they leave is `left`, and less while a job waits for it."""
    clock = _Clock()

    def small(after: int, lasts: int) -> Scripted:
        return clock.job("small", after, lasts, 20, cap_mb=256)

    jobs = [
        # Six have room. The next is short of it, so that the margin grows, and waits until only three run.
        *(small(1, lasts) for lasts in (100, 110, 120, 130, 170, 180, 100, 100)),
        # Nobody waits any more: again six have room.
        *(small(after, lasts) for after, lasts in ((132, 300), (1, 300), (1, 150))),
        # The host stalls, and a stall ends lower than it began. Short, it has room for no second one; once nothing
        # runs, it is not short any more.
        small(168, 100),
        # A large one waits for the host, and in the end lets none past.
        *(small(400, lasts) for lasts in (900, 901, 902)),
        clock.job("large", 1, 100, 30, profile="big"),
        small(100, 100),
        small(600, 100),
    ]
    beside = (
        Beside(at=0, holds_mb=1432),
        Beside(at=300_000, holds_mb=2200, stands_still=6.0),
        Beside(at=350_000, holds_mb=2200, stands_still=2.0),
        Beside(at=400_000, holds_mb=2200, stands_still=0.5),
        Beside(at=442_000, holds_mb=2400),
        Beside(at=600_000, holds_mb=1432),
    )
    return Trace(name="pressed", jobs=tuple(jobs), memory_mb=2048, cpus=32, beside=beside)


def taught() -> Trace:
    """A queue with a history: rows without limits or CPU, and cancelled ones; and a job that is killed."""
    clock = _Clock()

    def row(name: str, peak_mb: int, cpu: int | None, **changes: Any) -> Run:
        made = clock.job(name, 10, 5, peak_mb, profile="few").row()
        return replace(made, cpu_average=cpu, **changes)

    before = (
        # Near the limit of its profile, the only one that it can have met.
        row("old", 1000, None, memory_cap=None, hit_cap=None, own_cap=None),
        row("gone", 10, 5000, succeeded=False, cancelled=True),
        row("full", 200, None, memory_cap=200 * MIB, own_cap=True, hit_cap=True, succeeded=False, cancelled=True),
        row("poll", 230, 350),
        row("poll", 225, 250),
        row("once", 20, 150),
        *(row("peer", 20, 900) for _ in range(5)),
    )
    names = ("old", "gone", "full", "peer", "poll", "once", "new")
    jobs = [
        *(clock.job(name, 1, 1000, 20, profile="few", cap_mb=250) for name in names),
        clock.job("stopped", 1, 100, 20, profile="few", cap_mb=250, ends=KILLED),
        # Killed, it is known, and nothing is known of what it needs.
        clock.job("stopped", 200, 100, 20, profile="few", cap_mb=250),
    ]
    return Trace(
        name="taught",
        jobs=tuple(jobs),
        memory_mb=2048,
        cpus=16,
        cpu_admission=CpuAdmission.MEASURED,
        slots=16,
        before=before,
    )


def traces() -> tuple[Trace, ...]:
    """All of them: some two hundred jobs."""
    return mixed(), tight(), idle(), pressed(), taught()
