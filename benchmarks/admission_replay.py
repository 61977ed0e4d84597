"""Speed and memory of admission: the replay of a history, learning a row, and one look at a full queue.

    python benchmarks/admission_replay.py [--jobs N ...] [--load L ...] [--policy P ...] [--runs R] [WHAT ...]

Histories are those of `make_load.py JOBS LOAD 7`, replayed under the setup of tests/data/admission/load.json. Each
replay is a process of its own, so that its peak memory, which holds the history too, is the operating system's account
of it. Times are CPU seconds of one thread, the minimum of R runs, so that neighbours on the machine count little; that
of a replay is of `simulate` alone. FIGURES are what an implementation in Rust needs for as many jobs, on another
machine.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from make_load import PROFILES, rows

from vq.admission import Caps, Dispatch, Key, Policy, Predictor, Profile, Run, Setup, simulate
from vq.admission.plan import Look, Running, Waiting, explain, plan
from vq.admission.rules import Rules

SETUP = Path(__file__).parents[1] / "tests/data/admission/load.json"
LIGHT, HEAVY = 0.8, 1.3
FIGURES = {(1000, LIGHT): 0.07, (10_000, LIGHT): 0.57, (1000, HEAVY): 1.2, (3000, HEAVY): 36.0, (10_000, HEAVY): 300.0}
SEED = 7


def load_setup() -> Setup:
    """The setup that the loads are made for."""
    setup = json.loads(SETUP.read_text())["setup"]
    profiles = {name: Profile(**profile) for name, profile in setup.pop("profiles").items()}
    return Setup(
        **{**setup, "caps": Caps(setup["caps"]), "dispatch": Dispatch(setup["dispatch"]), "profiles": profiles}
    )


def fastest(runs: int, work: Callable[[], object]) -> float:
    """The CPU seconds of the fastest of `runs` runs of `work`."""
    taken: list[float] = []
    for _ in range(runs):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def replay_once(jobs: int, load: float, policy: Policy, runs: int) -> dict[str, Any]:
    """The seconds and the peak memory of a replay in this process."""
    history = [Run(**row) for row in rows(jobs, load, SEED)]
    setup = load_setup()
    loaded = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = fastest(runs, lambda: simulate(setup, history, policy))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": seconds, "peak_mib": peak / 1024, "history_mib": loaded / 1024}


def replay_apart(jobs: int, load: float, policy: str, runs: int) -> dict[str, Any]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--one", f"{jobs},{load},{policy},{runs}"]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def replays(sizes: list[int], loads: list[float], policies: list[str], runs: int) -> None:
    """A row a replay, and how the cost of a job grows."""
    print("     jobs load   policy   seconds  us/job  peak MiB  of it rows  figure / ours")
    per_job: dict[tuple[int, float, str], float] = {}
    for policy in policies:
        for load in loads:
            for jobs in sizes:
                found = replay_apart(jobs, load, policy, max(1, min(runs, 100_000 // jobs)))
                seconds = found["seconds"]
                each = per_job[jobs, load, policy] = seconds / jobs * 1e6
                figure = FIGURES.get((jobs, load)) if policy == Policy.MEASURED.value else None
                against = "" if figure is None else f"{figure} / {seconds:.3f} = {figure / seconds:.1f}"
                memory = f"{found['peak_mib']:9.0f} {found['history_mib']:11.0f}"
                print(f"{jobs:9} {load:4} {policy:>8} {seconds:9.3f} {each:7.1f} {memory}  {against}", flush=True)
    for policy in policies:
        ratio("heavy / light, 10,000 jobs, at most 3", per_job, (10_000, HEAVY, policy), (10_000, LIGHT, policy))
        ratio("1,000,000 / 10,000 jobs, light, at most 2", per_job, (1_000_000, LIGHT, policy), (10_000, LIGHT, policy))
        ratio("1,000,000 / 10,000 jobs, heavy", per_job, (1_000_000, HEAVY, policy), (10_000, HEAVY, policy))


def ratio(
    name: str,
    per_job: dict[tuple[int, float, str], float],
    one: tuple[int, float, str],
    other: tuple[int, float, str],
) -> None:
    """Print how the cost of a job compares, where both were measured."""
    if one in per_job and other in per_job:
        print(f"{one[2]}: cost of a job, {name}: {per_job[one] / per_job[other]:.2f}")


def learning(runs: int) -> None:
    """What a further row costs a predictor that knows many."""
    more = 2000
    costs: dict[int, float] = {}
    for known in (1000, 10_000, 100_000):
        history = [Run(**row) for row in rows(known + more * runs, LIGHT, SEED)]
        predictor = Predictor(margin=15, min_jobs=10, caps={})
        predictor.read(history[:known])
        further = iter(history[known:])
        costs[known] = fastest(runs, partial(learn, predictor, further, more)) / more * 1e6
        print(f"learn a row, {known:7} known: {costs[known]:6.2f} us")
    print(f"learn a row, 100,000 / 1,000 known, at most 2: {costs[100_000] / costs[1000]:.2f}")


def learn(predictor: Predictor, further: Iterator[Run], count: int) -> None:
    """Teach `predictor` the next `count` rows."""
    for run in islice(further, count):
        predictor.learn(run)
        predictor.learn_cpu(run)


def looking(runs: int) -> None:
    """What one look costs at 10,000 waiting and 1,000 running jobs of 200 names."""
    pending, active, names = 10_000, 1000, 200
    history = [Run(**row) for row in rows(10_000, LIGHT, SEED)]
    kinds = [replace(run, name=f"job{place}") for place, run in enumerate(history[:names])]
    predictor = Predictor(margin=15, min_jobs=10, caps={})
    predictor.read(
        replace(run, repository=kind.repository, name=kind.name, profile=kind.profile, memory_cap=kind.memory_cap)
        for run, kind in zip(history, cycle(kinds), strict=False)
    )
    now = max(run.finish for run in history)
    jobs = [_job(place, kind) for place, kind in zip(range(pending + active), cycle(kinds), strict=False)]
    for budget, what in ((1 << 30, "nothing fits"), (1 << 60, "everything starts")):
        look = Look(
            now=now,
            rules=Rules(policy=Policy.MEASURED, memory=budget, barrier_after_ms=600_000),
            waiting=tuple(Waiting(**job, eligible_at=now) for job in jobs[:pending]),
            running=tuple(Running(**job) for job in jobs[pending:]),
            uses={job["id"]: 1 << 20 for job in jobs[pending:]},
        )
        print(f"plan a look, {what}: {fastest(runs, partial(plan, look, predictor)) * 1e3:.1f} ms")
        print(f"explain all that waits, {what}: {fastest(runs, partial(explain, look, predictor)) * 1e3:.1f} ms")


def _job(place: int, run: Run) -> dict[str, Any]:
    memory, cpus = PROFILES[run.profile]
    key = Key(run.repository, run.workflow, run.name)
    return {"id": str(place), "key": key, "profile": run.profile, "memory_cap": memory, "cpu_cap": cpus * 1000}


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["replay", "learn", "look"], metavar="replay|learn|look")
    parser.add_argument("--jobs", nargs="+", type=int, default=[100, 1000, 3000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--load", nargs="+", type=float, default=[LIGHT, HEAVY])
    parser.add_argument("--policy", nargs="+", default=[policy.value for policy in Policy][::-1])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        jobs, load, policy, runs = options.one.split(",")
        print(json.dumps(replay_once(int(jobs), float(load), Policy(policy), int(runs))))
        return
    print(f"Python {platform.python_version()}, {platform.machine()}")
    if "replay" in options.what:
        replays(options.jobs, options.load, options.policy, options.runs)
    if "learn" in options.what:
        learning(options.runs)
    if "look" in options.what:
        looking(options.runs)


if __name__ == "__main__":
    main()
