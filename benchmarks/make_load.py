"""Make a synthetic history for the replay benchmark.

    python benchmarks/make_load.py JOBS LOAD [SEED] > rows.jsonl

60 kinds of job in three profiles, Poisson arrivals, log-normal peaks and run times. A LOAD of 0.8 hardly queues, 1.3
piles thousands up. The same arguments always give the same rows.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from typing import Any

MIB = 1 << 20
PROFILES = {"small": (4096 * MIB, 2), "mid": (16384 * MIB, 8), "big": (65536 * MIB, 16)}
BUDGET = 256 * 1024 * MIB
FIRST_ARRIVAL = 1_800_000_000_000
KINDS = 60

Kind = tuple[str, str, str, float, float]


def rows(jobs: int, load: float, seed: int = 7) -> Iterator[dict[str, Any]]:
    """`jobs` rows of a history, as dicts with the fields of a `Run`, in the order in which they were queued."""
    rng = random.Random(seed)
    kinds = [_kind(rng, number) for number in range(KINDS)]
    work = sum(base * seconds for _, _, _, base, seconds in kinds) / len(kinds)
    gap = work / (BUDGET * load * 0.5)
    at = FIRST_ARRIVAL
    for _ in range(jobs):
        at += int(rng.expovariate(1 / gap) * 1000)
        yield _row(rng, rng.choice(kinds), at)


def _kind(rng: random.Random, number: int) -> Kind:
    profile = rng.choices(list(PROFILES), [6, 3, 1])[0]
    cap = PROFILES[profile][0]
    return f"o/r{number % 5}", f"job{number}", profile, cap * rng.uniform(0.05, 0.6), rng.uniform(20, 1800)


def _row(rng: random.Random, kind: Kind, at: int) -> dict[str, Any]:
    repository, name, profile, base, seconds = kind
    cap, cpus = PROFILES[profile]
    peak = int(min(cap * 1.02, base * rng.lognormvariate(0, 0.25)))
    took = int(seconds * rng.lognormvariate(0, 0.4) * 1000) + 1
    oom = peak >= cap
    return {
        "repository": repository,
        "workflow": "w",
        "name": name,
        "profile": profile,
        "memory_cap": cap,
        "cpu_cap": None,
        "memory_peak": min(peak, cap),
        "page_cache": False,
        "cpu_average": int(rng.uniform(0.1, 1) * cpus * 1000),
        "queued_at": at,
        "started_at": at,
        "finished_at": at + took,
        "oom_killed": oom,
        "hit_cap": oom,
        "own_cap": oom,
        "succeeded": not oom and rng.random() > 0.03,  # noqa: PLR2004 - about 3 in 100 fail
        "cancelled": False,
        "reserved": None,
    }


if __name__ == "__main__":
    for row in rows(int(sys.argv[1]), float(sys.argv[2]), *map(int, sys.argv[3:4])):
        print(json.dumps(row, separators=(",", ":")))
