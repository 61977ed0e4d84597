"""Speed of the store: empty, and with 100,000 ended and 10,000 pending jobs, beside what the disk itself needs.

    python benchmarks/store.py [--ended 100000] [--pending 10000] [--folder DIR]

Every figure is a median of wall time and of CPU time, in milliseconds: on a busy machine the second says more. Floor:
a commit of one row by SQLite alone, with the same settings, which is what a durable acknowledgement costs on this disk.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import NamedTuple

from vq.jobs.events import Ended, Event, Result, Started
from vq.jobs.ids import sequence_of
from vq.jobs.record import Identity, Job, MemorySource, Reserve, Work, new_job
from vq.store.advancing import advance_jobs
from vq.store.connection import FILE, Store, open_store
from vq.store.history import rows_in_order
from vq.store.jobs import active, queue, submitted_after
from vq.store.requests import waiting_requests
from vq.store.submitting import Submission, submit

MIB = 2**20
NOW = 1_796_000_000_000
BATCH = 5000
ENVIRONMENT = {f"VARIABLE_{number}": "x" * 60 for number in range(50)}
USAGE = {
    "schema": "vq.direct-resource-usage.v1",
    "status": "ok",
    "command_status": "succeeded",
    "command_exit_code": 0,
    "wall_seconds": 12.5,
    "job_peak_bytes": 200 * MIB,
    "average_cpu_millicores": 990,
    "metric_sources": {"peak_rss_kb": "ru_maxrss of wait4", "job_peak_bytes": "memory.stat of the cgroup"},
}


class Figure(NamedTuple):
    """Medians of wall time and of our own CPU time, in milliseconds."""

    wall_ms: float
    cpu_ms: float


def made(number: int) -> Job:
    """The record of a job as a user's would be."""
    identity = Identity(
        id="a1",
        repository="owner/name",
        workflow=None,
        name=f"job-{number % 50}",
        profile="default",
        tags=("benchmark",),
        submitter="somebody",
        host="localhost",
    )
    work = Work(
        command=("python", "calculation.py", "--case", str(number)),
        workspace=None,
        cwd=None,
        payload_sha256=None,
        here=False,
        cpus=1,
        mem_mb=512,
        mem_mb_source=MemorySource.EXPLICIT,
        wall_time_seconds=3600,
        wall_time_source=None,
        reserve=Reserve.MEASURED,
        priority=number % 3,
        depends_on=(),
        array=None,
        retry=0,
        oom_retry_mb=None,
        auto_resume=False,
        not_before_ms=None,
    )
    return new_job(identity, work, NOW)


def submissions(count: int) -> list[Submission]:
    """So many jobs with one environment."""
    return [Submission(job=made(number), environment=ENVIRONMENT) for number in range(count)]


def lived(identifier: str) -> list[tuple[str, Event]]:
    """The start and the end of a job's only attempt; one job a hundredth of a second after the other."""
    at_ms = NOW + 10 * sequence_of(identifier)
    started = Started(
        at_ms=at_ms,
        boot_id="boot",
        reserved_bytes=256 * MIB,
        basis={"kind": "job", "runs": 12},
        cpu_reserved_millicores=1000,
        cpu_basis={"kind": "cap"},
        workspace=f"/state/workspaces/{identifier}/1",
        cwd=f"/state/workspaces/{identifier}/1",
        stdout_path=f"/state/logs/{identifier}.1.out",
        stderr_path=f"/state/logs/{identifier}.1.err",
    )
    ended = Ended(at_ms=at_ms + 12_500, attempt=1, result=Result(exit_code=0, usage=USAGE))
    return [(identifier, started), (identifier, ended)]


def fill(store: Store, ended: int, pending: int) -> None:
    """Bring the store to its size."""
    for begin in range(0, ended, BATCH):
        accepted = submit(store, submissions(min(BATCH, ended - begin)))
        advance_jobs(store, [step for identifier, _ in accepted.jobs for step in lived(identifier)])
    for begin in range(0, pending, BATCH):
        submit(store, submissions(min(BATCH, pending - begin)))


def figure(act: Callable[[], object], runs: int) -> Figure:
    """The medians of so many runs."""
    wall, cpu = [], []
    for _ in range(runs):
        begin = (time.perf_counter(), time.process_time())
        act()
        wall.append(time.perf_counter() - begin[0])
        cpu.append(time.process_time() - begin[1])
    return Figure(statistics.median(wall) * 1000, statistics.median(cpu) * 1000)


def floor(folder: str) -> Figure:
    """A commit of one row of 2 kB by SQLite alone."""
    database = sqlite3.connect(os.path.join(folder, "floor.db"), isolation_level=None)
    for text in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "CREATE TABLE t (a INTEGER PRIMARY KEY, b)"):
        database.execute(text)
    result = figure(lambda: database.execute("INSERT INTO t (b) VALUES (?)", ("x" * 2000,)), 200)
    database.close()
    return result


def measure(store: Store) -> dict[str, Figure]:
    """Every figure on a store of some size; what only looks comes first."""
    newest = submit(store, submissions(1)).jobs[0][0]
    identifiers = iter([identifier for identifier, _ in submit(store, submissions(700)).jobs])
    one, thousand, many = (submissions(count) for count in (1, 1000, 10_000))

    def look() -> None:
        submitted_after(store, newest)
        waiting_requests(store)

    def hundred() -> None:
        advance_jobs(store, [step for _ in range(100) for step in lived(next(identifiers))])

    figures = {
        "a daemon begins: every job that has not ended": figure(lambda: active(store), 5),
        "queue: what runs, 50 pending, 50 ended, counts": figure(lambda: queue(store, NOW + 20_000), 50),
        "look: nobody else has written": figure(store.changed_by_others, 200),
        "start and end 100 jobs in one transaction": figure(hundred, 7),
        "submit one": figure(lambda: submit(store, one), 200),
    }
    newest = submit(store, one).jobs[0][0]
    figures["look: new jobs and requests, none there"] = figure(look, 200)
    figures["submit 1,000 in one transaction"] = figure(lambda: submit(store, thousand), 7)
    figures["submit 10,000 in one transaction"] = figure(lambda: submit(store, many), 3)
    return figures


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ended", type=int, default=100_000)
    parser.add_argument("--pending", type=int, default=10_000)
    parser.add_argument("--folder", help="where the stores are made (default: the folder for temporary files)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        alone = floor(folder)
        print(f"a commit of one row by SQLite alone: {alone.wall_ms:.2f} ms, {alone.cpu_ms:.2f} ms of CPU")
        with open_store(os.path.join(folder, "empty")) as store:
            empty = measure(store)
        with open_store(os.path.join(folder, "full")) as store:
            begin = time.perf_counter()
            fill(store, options.ended, options.pending)
            print(f"{options.ended + options.pending} jobs made in {time.perf_counter() - begin:.0f} s")
            full = measure(store)
            begin = time.perf_counter()
            rows = sum(1 for _ in rows_in_order(store))
            print(f"{rows} rows of the history read in order: {time.perf_counter() - begin:.2f} s")
            print(f"database: {os.path.getsize(os.path.join(folder, 'full', FILE)) / MIB:.0f} MiB")
        print(f"\n| ms (wall / CPU) | empty | {options.ended} ended, {options.pending} pending |\n|---|---|---|")
        for name, one in empty.items():
            other = full[name]
            print(f"| {name} | {one.wall_ms:.3f} / {one.cpu_ms:.3f} | {other.wall_ms:.3f} / {other.cpu_ms:.3f} |")


if __name__ == "__main__":
    main()
