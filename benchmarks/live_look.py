"""One look of the daemon at 10,000 pending and 1,000 running jobs of 200 names, and learning the row of one that ended.

    python benchmarks/live_look.py [--pending N] [--running N] [--names N] [--rows N] [--runs R] [--folder DIR]

The daemon is the real one, in this process: a store on disk with all those jobs and a history of `--rows` runs, and for
each running job the folder of an attempt and, where this machine has control groups, a group of its own; nothing runs
in them. Jobs are admitted by measured peaks and nothing fits, so that every look decides and nothing starts. Times are
wall milliseconds and CPU milliseconds of the process, the least of R runs and the median.
"""
# ruff: noqa: SLF001 - the parts of a daemon are measured one by one

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from store import made

from vq.config.resolve import Facts, resolve
from vq.config.values import Config
from vq.daemon.loop import Daemon
from vq.daemon.serving import now_ms, opened
from vq.jobs.events import Started
from vq.jobs.history_row import HistoryRow
from vq.readings import cgroups
from vq.readings.group import Group, GroupPaths, Limits
from vq.store.advancing import advance_jobs
from vq.store.connection import Opener, Store, open_store
from vq.store.history import append_row
from vq.store.jobs import active
from vq.store.submitting import Submission, submit
from vq.supervisor.folder import Attempt, write_attempt

MIB = 1 << 20
CAP_MB = 4096
BATCH = 5000
CONFIG = '[host]\nmemory_max = "250G"\nadmission = "measured"\ncpu_admission = "measured"\ncpu_overcommit = 64\n'


def configuration() -> Config:
    """A large host: what runs fills it."""
    return resolve(CONFIG, Facts(memory_bytes=256 << 30, cpus=64), environment={}, flags={})


def row(number: int, names: int) -> HistoryRow:
    """A run of one of the names."""
    return HistoryRow(
        repository="owner/name",
        workflow=None,
        name=f"job-{number % names}",
        profile="default",
        memory_cap=CAP_MB * MIB,
        cpu_cap=1000,
        memory_peak=(120 + number % 97) * MIB,
        page_cache=False,
        cpu_average=100 + number % 800,
        queued_at=number * 10,
        started_at=number * 10,
        finished_at=number * 10 + 5000,
        oom_killed=False,
        hit_cap=False,
        own_cap=False,
        succeeded=True,
        cancelled=False,
        reserved=256 * MIB,
    )


def fill(store: Store, pending: int, running: int, names: int, rows: int) -> None:
    """Bring the store to its size."""
    with store.writing() as connection:
        for number in range(rows):
            append_row(connection, row(number, names), None, None)
    at_ms = now_ms()
    for begin in range(0, running + pending, BATCH):
        jobs = []
        for number in range(begin, min(begin + BATCH, running + pending)):
            job = made(number)
            identity = replace(job.identity, name=f"job-{number % names}")
            work, life = replace(job.work, mem_mb=CAP_MB, priority=0), replace(job.life, queued_at_ms=at_ms)
            jobs.append(
                Submission(job=replace(job, identity=identity, work=work, life=replace(life, eligible_at_ms=at_ms)))
            )
        submit(store, jobs)
    starts = [
        (
            job.id,
            Started(
                at_ms=at_ms,
                boot_id="boot",
                reserved_bytes=256 * MIB,
                basis={"kind": "job", "runs": 20},
                cpu_reserved_millicores=900,
                cpu_basis={"kind": "cap"},
                workspace="/w",
                cwd="/w",
                stdout_path="/o",
                stderr_path="/e",
            ),
        )
        for job in active(store)[:running]
    ]
    advance_jobs(store, starts)


def attempts(daemon: Daemon) -> Iterator[Group]:
    """What running jobs have on this machine: a folder, and a group where groups can be made; the groups."""
    parts = daemon._parts
    parent: GroupPaths | None = parts.machine.enforcement.parent
    for job in parts.known.running.values():
        folder = parts.attempts.folder(job)
        os.makedirs(folder)
        paths = None if parent is None else parent.below(f"{job.id}.bench")
        if paths is not None:
            group = cgroups.open_group(paths)
            group.create(Limits())
            yield group
        write_attempt(
            folder,
            Attempt(
                attempt=f"{job.id}.1",
                boot_id=parts.boot_id,
                since_ticks=0,
                supervisor_pid=os.getpid(),
                mark="none",
                result_path=f"{folder}/result.json",
                group=paths,
            ),
        )
    by = "sampling" if parent is None else f"control groups, version {parent.version}"
    print(f"running jobs are measured by {by}")


@contextmanager
def full(folder: str, options: argparse.Namespace) -> Iterator[Daemon]:
    """A daemon that knows all those jobs, as if it had started the running ones itself."""
    state = os.path.join(folder, "state")
    with ExitStack() as stack:
        store = stack.enter_context(open_store(state, Opener.DAEMON))
        fill(store, options.pending, options.running, options.names, options.rows)
        begin = time.perf_counter()
        daemon = stack.enter_context(opened(state, store, configuration(), now_ms))
        print(f"{options.rows} rows read at the start in {time.perf_counter() - begin:.2f} s")
        jobs = active(store)
        for job in jobs:
            daemon._put(job)
        daemon._latest = jobs[-1].id
        for group in attempts(daemon):
            stack.callback(group.remove)
        yield daemon


def figure(name: str, act: Callable[[], object], runs: int) -> None:
    """Print the least and the median of so many runs."""
    wall, cpu = [], []
    for _ in range(runs):
        begin = (time.perf_counter(), time.process_time())
        act()
        wall.append((time.perf_counter() - begin[0]) * 1000)
        cpu.append((time.process_time() - begin[1]) * 1000)
    print(
        f"{name}: {min(wall):.2f} ms ({statistics.median(wall):.2f}), CPU {min(cpu):.2f} ({statistics.median(cpu):.2f})"
    )


def measure(daemon: Daemon, options: argparse.Namespace) -> None:
    """Every figure."""
    parts = daemon._parts
    runs = options.runs
    due = parts.known.due(now_ms())
    parts.admission.readings(parts.known, fresh_seconds=0.0)
    if daemon._starts(now_ms()):
        raise SystemExit("something fits: a look would start it")
    figure("who may start, in order", lambda: parts.known.due(now_ms()), runs)
    figure("what jobs and host use, read", lambda: parts.admission.readings(parts.known, fresh_seconds=0.0), runs)
    figure("deciding: readings at hand", lambda: parts.admission.starts(parts.known, due, now_ms(), "boot"), runs)
    figure("results of all that runs looked for", lambda: parts.watch.look_at_all(now_ms()), runs)
    figure("the store asked for news, new there is none", daemon._news, runs)

    def whole() -> None:
        daemon._look, daemon._next_tick, daemon._seen_version = True, 0.0, None
        parts.admission._readings = None
        daemon.turn(0.0)

    def woken() -> None:
        daemon._look, daemon._next_tick = True, time.monotonic() + 9
        parts.admission.readings(parts.known)
        daemon.turn(0.0)

    figure("a whole turn, once a second: everything read, looked at and decided", whole, runs)
    figure("a turn that something woke: decided", woken, runs)
    numbers = iter(range(options.rows, options.rows + 10_000))
    figure("a row learned", lambda: parts.admission.learn((row(next(numbers), options.names),)), 1000)
    late = iter(range(options.rows, options.rows + 10_000))
    figure(
        "a row learned that came late",
        lambda: parts.admission.learn((row(next(late), options.names)._replace(finished_at=options.rows * 10),)),
        200,
    )


def main() -> None:
    """Fill, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pending", type=int, default=10_000)
    parser.add_argument("--running", type=int, default=1000)
    parser.add_argument("--names", type=int, default=200)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--folder", help="where the store is made (default: the folder for temporary files)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, full(folder, options) as daemon:
        measure(daemon, options)


if __name__ == "__main__":
    main()
