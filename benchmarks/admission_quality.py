"""Whether admission by measured peaks pays, on real histories: replays, and the quality of predictions.

    python benchmarks/admission_quality.py

It reads the traces of `../shared/data/traces` beside this repository; those of no stated licence are not shipped with
it. Two tables in Markdown come out:

- Replays by caps and by measured peaks, with and without a CPU budget.
- Predictions in causal order: every completed run in the order of its start, learning only from runs that had ended by
  then, at most its request. A reservation below the peak is a failure: it costs reservation x run time, and the run
  again at its request. Waste is what was reserved and not used, in GiB h.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vq.admission import Copies, Key, Policy, Predictor, Replay, Run, Setup, simulate
from vq.admission.documents import MARGIN, MIN_JOBS, read_setup
from vq.admission.ranked import percentile
from vq.formats import nextflow
from vq.formats.mapped import Rule, importer
from vq.formats.outcomes import Importer, Line, Source
from vq.wording import human_bytes, human_seconds

TRACES = Path(__file__).parents[2] / "shared" / "data" / "traces"
GIB = 1 << 30
GIB_HOUR = GIB * 3_600_000

GALAXY = (
    "name=tool",
    "memory_peak=mem_peak_bytes",
    "memory_cap=mem_limit_bytes",
    "page_cache==false",  # it is counted in, so these peaks are upper bounds
    "queued_at=create_time",
    "started_at=start_epoch:s",
    "finished_at=end_epoch:s",
    "succeeded=state:ok",
    "oom_killed=exit_code:137",
    "cpu_cap=slots:cores",
    "cpu_average=cpu_s:cpu-s",
)


@dataclass(frozen=True, slots=True)
class Trace:
    """A history, and the host that it is replayed on: GiB of memory, and CPUs."""

    name: str
    file: str
    read: Importer
    memory_gib: int
    cpus: int


HISTORIES = (
    Trace("Nextflow, IWD", "nextflow_iwd.csv", nextflow.read, 24, 32),
    Trace("Nextflow, methylseq", "nextflow_methylseq.csv", nextflow.read, 128, 32),
    Trace("Galaxy", "galaxy_jobs.csv", importer([Rule.of(rule) for rule in GALAXY]), 256, 48),
)


def main() -> None:
    """Print both tables."""
    if not TRACES.is_dir():
        sys.exit(f"the traces are not there: {TRACES}")
    histories = [(trace, list(rows(trace))) for trace in HISTORIES]
    print("| history | host | policy | mean wait | makespan | worst overlap | under-predicted | never started |")
    print("|---|---|---|---|---|---|---|---|")
    for trace, found in histories:
        for cpus in (None, trace.cpus):
            setup = read_setup({"memory_max": trace.memory_gib * GIB, "cpu_budget": cpus and cpus * 1000}, found)
            for policy in Policy:
                print(replay_line(trace, setup, policy, simulate(setup, found, policy)))
    print()
    print("| history | runs | reserved by | failures | waste, GiB h | of what the request wastes |")
    print("|---|---|---|---|---|---|")
    for trace, found in histories:
        for line in quality_lines(trace, found):
            print(line)


def rows(trace: Trace) -> Iterator[Run]:
    """The rows of a trace."""
    with (TRACES / trace.file).open("rb") as file:
        lines = (Line(number, data) for number, data in enumerate(file, start=1))
        for outcome in trace.read(lines, Source(stem=trace.name)):
            if isinstance(outcome, Run):
                yield outcome


def replay_line(trace: Trace, setup: Setup, policy: Policy, replay: Replay) -> str:
    """A row of the first table."""
    cpus = "" if setup.cpu_budget is None else f", {setup.cpu_budget // 1000} CPUs"
    share = replay.under_predicted * 100 / replay.jobs
    cells = (
        f"{trace.name} ({replay.jobs:,})",
        f"{trace.memory_gib} GiB{cpus}",
        policy.value,
        human_seconds(replay.mean_wait),
        human_seconds(replay.makespan),
        human_bytes(replay.worst_overlap),
        f"{replay.under_predicted} ({share:.1f} %)",
        str(replay.never_started),
    )
    return f"| {' | '.join(cells)} |"


Learn = Callable[[Run, int], None]
"""Told of a run that has ended, and of what was reserved for it."""

Reserve = Callable[[Run, bool], int]
"""What to reserve for a run that starts now, at most its request; whether copies of it wait or run."""


def by_request() -> tuple[Learn, Reserve]:
    """What was asked for."""
    return lambda _, __: None, lambda run, _: run.memory_cap or 0


def by_recent_largest() -> tuple[Learn, Reserve]:
    """The largest of the last 20 runs of the job and a tenth."""
    peaks: dict[Key, deque[int]] = {}

    def reserve(run: Run, _: bool) -> int:  # noqa: FBT001 - as every rule
        known = peaks.get(run.key)
        return max(known) * 11 // 10 if known else run.memory_cap or 0

    return lambda run, _: peaks.setdefault(run.key, deque(maxlen=20)).append(run.memory_peak), reserve


def by_p95() -> tuple[Learn, Reserve]:
    """The p95 of all runs of the job."""
    peaks: dict[Key, list[int]] = {}

    def reserve(run: Run, _: bool) -> int:  # noqa: FBT001 - as every rule
        known = peaks.get(run.key)
        return percentile(sorted(known), 95) if known else run.memory_cap or 0

    return lambda run, _: peaks.setdefault(run.key, []).append(run.memory_peak), reserve


def by_predictor() -> tuple[Learn, Reserve]:
    """As admission does."""
    predictor = Predictor(margin=MARGIN, min_jobs=MIN_JOBS, caps={})

    def reserve(run: Run, several: bool) -> int:  # noqa: FBT001 - as every rule
        copies = Copies.SEVERAL if several else Copies.ALONE
        at = run.started_at or 0
        return predictor.predict(run.key, run.profile, run.memory_cap or 0, now=at, copies=copies).memory

    return lambda run, reserved: predictor.learn(replace(run, reserved=reserved)), reserve


RULES = {
    "the request": by_request,
    "largest of the last 20 + 10 %": by_recent_largest,
    "p95": by_p95,
    "vq": by_predictor,
}


def quality_lines(trace: Trace, found: Sequence[Run]) -> Iterator[str]:
    """The rows of a history in the second table."""
    usable = [run for run in found if run.memory_cap and run.started_at is not None and run.finished_at is not None]
    request_waste = 0.0
    for name, rule in RULES.items():
        runs, failures, waste = quality(usable, *rule())
        request_waste = request_waste or waste
        share = failures * 100 / runs
        yield (
            f"| {trace.name} | {runs:,} | {name} | {failures} ({share:.1f} %) | {waste:,.1f} "
            f"| {waste * 100 / request_waste:.0f} % |"
        )


def quality(found: Iterable[Run], learn: Learn, reserve: Reserve) -> tuple[int, int, float]:
    """How many completed runs there were, how many reservations were below the peak, and the waste in GiB h."""
    by_start = sorted(found, key=lambda run: run.started_at or 0)
    by_finish = deque(sorted(by_start, key=lambda run: run.finish))
    by_queue = deque(sorted(by_start, key=lambda run: run.queued_at))
    there: Counter[Key] = Counter()
    reserved: dict[int, int] = {}
    runs = failures = waste = 0
    for run in by_start:
        now = run.started_at or 0
        while by_queue and by_queue[0].queued_at <= now:
            there[by_queue.popleft().key] += 1
        # A run of no length has not finished before it starts.
        while by_finish and by_finish[0].finish <= now and id(by_finish[0]) in reserved:
            ended = by_finish.popleft()
            there[ended.key] -= 1
            learn(ended, reserved[id(ended)])
        request = run.memory_cap or 0
        given = reserved[id(run)] = min(reserve(run, there[run.key] > 1), request)
        if not run.succeeded:
            continue
        peak, took = min(run.memory_peak, request), run.finish - now
        runs += 1
        failures += given < peak
        waste += (given - peak if given >= peak else given + request - peak) * took
    return runs, failures, waste / GIB_HOUR


if __name__ == "__main__":
    main()
