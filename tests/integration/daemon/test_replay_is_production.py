"""Replay is production: two hundred real jobs through the live daemon, and the same jobs through `simulate`.

The jobs are small interpreters that hold the memory the trace says until the test lets them end, and the test moves the
daemon's clock from one arrival or end to the next, as the trace has them. So every decision is made by the daemon's own
loop from what it measured, and must be the one that the trace's file says, and the one that `simulate`, and looks one
by one, make of the rows that the daemon wrote: who starts at which moment and in which order, what is reserved, and
what it goes by. So must be what `vq explain` says of each job that arrives. And what the daemon has learned, row by row
as it heard of them, is what its history says, read anew.

What the clock decides is kept out or left out, and this is all of it:

- A live queue sees what a job uses when it has been sampled, a replay from its start. Here the next thing happens once
  everything that runs has been sampled; until then a job counts with its whole limit, and would start others later.
- It learns of an end a little after it, and two ends or an end and an arrival may be seen in one look. Here each has a
  moment of its own.
- `until` of a basis is the real end of a run and seven days; it is not compared, but must be to come.
- A run that was cancelled takes room in a live queue and is left out of a replay, as is what the host leaves, and what
  the queue knew before. Traces with any of these are held against looks only. What other programs hold, and how the
  host stalls, is as the trace says, in place of two readings of the kernel; what the jobs hold is measured.
"""

from __future__ import annotations

import heapq
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from daemons import Queue, python, queue_in
from scripted_trace import (
    FAILS,
    KILLED,
    MIB,
    OOM,
    Scripted,
    Trace,
    decision,
    decisions,
    expected,
    expected_reasons,
    looked_decisions,
    traces,
)
from supervised import MODES, SLOWNESS
from vq.actions.explain import explain
from vq.actions.place import Place
from vq.admission import Copies, Predictor, Run
from vq.admission.predictor import read_basis
from vq.daemon.admission import Admission
from vq.daemon.learning import predictor_of
from vq.daemon.serving import now_ms
from vq.jobs.events import KillRequested
from vq.jobs.history_row import HistoryRow
from vq.jobs.record import State
from vq.readings import cgroups
from vq.readings.meminfo import HostMemory, host_memory
from vq.store.history import import_rows, rows_in_order

DAY_MS = 86_400_000
FIELDS = tuple(Run.__dataclass_fields__)
TIMES = ("queued_at", "started_at", "finished_at")
NEEDED_BYTES = 6 << 30
"""With less, what the host leaves would decide."""

JOB = """
import os, sys
def held():
    for line in open("/proc/self/status"):
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
kept = []
def hold(size):
    while held() < size:
        kept.append(b"x" * min(1 << 20, max(4096, size - held())))
hold(int(sys.argv[1]) << 20)
print("ready", flush=True)
word = open(sys.argv[2]).read()
if word == "oom":
    hold(1 << 40)
sys.exit(word == "fails")
"""
STATES = {OOM: State.OOM_KILLED, FAILS: State.FAILED, KILLED: State.KILLED}


class Stage:
    """A trace on its way through a daemon."""

    def __init__(self, queue: Queue, trace: Trace, folder: Path) -> None:
        self.queue = queue
        self.trace = trace
        self.folder = folder
        self.base_ms = now_ms() - DAY_MS
        self.places: dict[str, int] = {}
        self.ends: list[tuple[int, str]] = []
        self.started: list[dict[str, Any]] = []
        self.reasons: list[str | None] = []
        self.began: dict[str, float] = {}
        queue.text = trace.configuration
        import_rows(queue.store, [HistoryRow(**fields_of(row, self.base_ms)) for row in trace.before], "before")

    @property
    def known(self) -> Any:
        return self.queue.daemon._parts.known  # noqa: SLF001 - what runs, in the order in which it started

    @property
    def admission(self) -> Admission:
        return self.queue.daemon._parts.admission  # noqa: SLF001 - what it has read, and learned

    @property
    def at_ms(self) -> int:
        """The moment, by the trace's clock."""
        return self.queue.now_ms() - self.base_ms

    def move_to(self, at_ms: int) -> None:
        """Let it be that moment; what was read before is old by then."""
        self.queue.stands_at_ms = self.base_ms + at_ms
        self.admission.readings(self.known, fresh_seconds=0.0)

    def host_memory(self) -> HostMemory:
        """The host of the trace, beside what its jobs hold."""
        holds = sum(self.trace.jobs[self.places[identifier]].peak_mb for identifier in self.known.running) * MIB
        reading = self.trace.reading(self.at_ms, holds)
        return HostMemory(total_bytes=reading.total, available_bytes=reading.available)

    def run(self) -> None:
        """From moment to moment, until nothing arrives or ends any more."""
        coming = list(enumerate(self.trace.jobs))
        while coming or self.ends:
            arrival = coming[0][1].arrives if coming else None
            end = self.ends[0][0] if self.ends else None
            assert arrival != end, "a moment for each"
            if end is None or (arrival is not None and arrival < end):
                place, job = coming.pop(0)
                self.move_to(job.arrives)
                self.arrive(place, job)
            else:
                at_ms, identifier = heapq.heappop(self.ends)
                self.move_to(at_ms)
                self.let_end(identifier)
            self.settle()

    def arrive(self, place: int, job: Scripted) -> None:
        gate = self.folder / str(place)
        os.mkfifo(gate)
        work: dict[str, Any] = {"name": job.name, "profile": job.profile, "mem_mb": job.cap_mb, "cpus": job.cpus}
        (identifier,) = self.queue.submit(python(JOB, str(job.peak_mb), str(gate)), **work)
        self.places[identifier] = place
        self.ask_why(identifier)
        self.queue.until(lambda: identifier in self.known.jobs, f"{identifier} is known", step_seconds=0.0)

    def let_end(self, identifier: str) -> None:
        job = self.trace.jobs[self.places[identifier]]
        time.sleep(max(0.0, self.began[identifier] + self.trace.least_seconds - time.monotonic()))
        if job.ends == KILLED:
            self.queue.ask(identifier, KillRequested(at_ms=self.queue.now_ms(), at_once=True))
        else:
            (self.folder / str(self.places[identifier])).write_text(job.ends)
        assert self.queue.end(identifier).state is STATES.get(job.ends, State.COMPLETED)

    def settle(self) -> None:
        """Note what has started, until everything that runs has been sampled and nothing more starts."""
        self.look()
        self.look()
        while new := [identifier for identifier in self.known.running if identifier not in self.began]:
            for identifier in new:
                self.note(identifier)
            self.queue.until(self.is_sampled, "all hold what they are to hold, and are sampled", step_seconds=0.004)
            self.look()

    def look(self) -> None:
        self.queue.daemon._next_tick = 0.0  # noqa: SLF001 - a look of its own, as there is every second
        self.queue.daemon.turn(0.0)

    def is_ready(self, identifier: str) -> bool:
        path = self.known.running[identifier].life.stdout_path
        return os.path.exists(path) and Path(path).read_text() == "ready\n"

    def is_sampled(self) -> bool:
        if not all(map(self.is_ready, self.known.running)):
            return False
        uses = self.admission.readings(self.known, fresh_seconds=0.0).uses
        return all((uses[identifier] or 0) >= self.holds(identifier) for identifier in self.known.running)

    def holds(self, identifier: str) -> int:
        return self.trace.jobs[self.places[identifier]].peak_mb * MIB * 9 // 10

    def note(self, identifier: str) -> None:
        life = self.queue.job(identifier).life
        place = self.places[identifier]
        at_ms = (life.started_at_ms or 0) - self.base_ms
        self.began[identifier] = time.monotonic()
        heapq.heappush(self.ends, (at_ms + self.trace.jobs[place].lasts, identifier))
        basis = life.basis or {}
        assert basis.get("until", self.queue.now_ms()) >= self.queue.now_ms() // 1000, "it still counts"
        document = {
            "name": self.trace.jobs[place].name,
            "started_at": at_ms,
            "memory": life.reserved_bytes,
            "basis": read_basis(basis).as_data(),
            "cpu": life.cpu_reserved_millicores,
            "cpu_basis": life.cpu_basis or {"kind": "cap"},
        }
        self.started.append(decision(place, document))

    def ask_why(self, identifier: str) -> None:
        """Note why a job waits, None for one that can start."""
        config = self.queue.daemon._parts.config  # noqa: SLF001 - as the daemon stored it
        place = Place(folder=self.queue.folder, store=self.queue.store)
        reason = explain(place, identifier, config, self.queue.now_ms()).reason
        self.reasons.append(None if reason is None else reason.kind)

    def rows(self) -> list[Run]:
        """The rows that the daemon wrote, with the trace's own times."""
        found = []
        for row in self.queue.history():
            if row["job"] is None:
                continue
            scripted = self.trace.jobs[row["job"] - 1].row()
            measured = Run(**{key: value for key, value in row.items() if key in FIELDS})
            times = {key: getattr(scripted, key) for key in TIMES}
            found.append(replace(measured, **times))
        return sorted(found, key=lambda run: run.queued_at)


def fields_of(row: Run, base_ms: int) -> dict[str, Any]:
    """The fields of a row of the trace, its times on the daemon's clock."""
    fields = {name: getattr(row, name) for name in FIELDS}
    return fields | {name: base_ms + fields[name] for name in TIMES}


def knowledge(predictor: Predictor, at_ms: int) -> dict[Any, Any]:
    """All that a predictor would predict then of the jobs that it knows."""
    most, found = 1 << 40, {}
    for (key, profile), runs in predictor.known():
        several, alone = (predictor.predict(key, profile, most, now=at_ms, copies=copies) for copies in Copies)
        cpu = predictor.predict_cpu(key, profile, most)
        found[key, profile] = (several, alone, cpu, runs.clean, runs.successes, len(runs.peaks))
    return found


@pytest.fixture
def measured(tmp_path: Path) -> Iterator[Queue]:
    """A queue that measures and enforces as well as this machine can."""
    if host_memory().available_bytes < NEEDED_BYTES:
        pytest.skip("less than 6 GiB of memory is free here")
    with queue_in(tmp_path, best_mode()) as queue:
        yield queue


def best_mode() -> str:
    for mode in MODES:
        try:
            group = cgroups.make_parent(f"vq-test-{os.getpid()}-mode.slice", mode)
        except cgroups.NoGroupsError:
            continue
        if group is not None:
            group.remove()
        return mode
    raise AssertionError


@pytest.mark.timeout(300 * SLOWNESS)
@pytest.mark.parametrize("trace", traces(), ids=lambda trace: trace.name)
def test_live_daemon_and_replay_decide_alike(
    measured: Queue, trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(measured, trace, tmp_path)
    if trace.beside:
        monkeypatch.setattr("vq.hosts.local.machine.host_memory", stage.host_memory)
        pressure = "vq.hosts.local.machine.memory_pressure_percent"
        monkeypatch.setattr(pressure, lambda: trace.beside_at(stage.at_ms).stands_still)
    stage.run()
    rows = stage.rows()
    assert len(rows) == len(trace.jobs)
    assert stage.started == expected(trace), "the daemon's decisions are not those of the rules"
    assert looked_decisions(trace, rows) == stage.started, "looks at the daemon's own rows decide differently"
    if trace.is_replayed:
        assert decisions(trace, rows) == stage.started, "a replay of the daemon's own rows decides differently"
    if not trace.beside and measured.daemon.enforcement.parent is not None:
        # A command knows what jobs hold where they have groups, and reads the host itself.
        assert stage.reasons == expected_reasons(trace), "it is said that jobs wait for something else"
    learned = stage.admission._experience.predictor  # noqa: SLF001 - by what it predicts
    anew = predictor_of(measured.daemon._parts.config, rows_in_order(measured.store))  # noqa: SLF001
    assert knowledge(learned, measured.now_ms()) == knowledge(anew, measured.now_ms())
