"""Histories for tests of admission: a run with what matters spelled out, and runs at random that often collide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from vq.admission import Caps, CpuAdmission, Dispatch, Key, Profile, Run, Setup
from vq.admission.predictor import MEMORY_GRANULE

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""Histories take a while to make, and longer on a busy machine."""

MIB = 1 << 20
GIB = 1 << 30
HOUR = 3_600_000
DAY = 24 * HOUR
KEY = Key("o/r", "w", "job")

PROFILES = {"small": Profile(memory=GIB, cpus=2), "big": Profile(memory=4 * GIB, cpus=8, slots=3)}

_CLEAR = Run(
    repository="o/r",
    workflow="w",
    name="job",
    profile="small",
    memory_cap=GIB,
    cpu_cap=None,
    memory_peak=100 * MIB,
    page_cache=False,
    cpu_average=500,
    queued_at=0,
    started_at=0,
    finished_at=1000,
    oom_killed=False,
    hit_cap=False,
    own_cap=False,
    succeeded=True,
    cancelled=False,
    reserved=None,
)


def run(**changes: Any) -> Run:
    """A clear, successful run of one second, but for `changes`."""
    return replace(_CLEAR, **changes)


def met(**changes: Any) -> Run:
    """A run whose own limit failed to reclaim, and which failed for it."""
    return run(
        **{"own_cap": True, "hit_cap": True, "oom_killed": True, "succeeded": False, "memory_peak": GIB} | changes
    )


_maybe = st.sampled_from([None, False, True])


ANY_CAP = (None, 64 * MIB, 256 * MIB, GIB, 4 * GIB)
ANY_SHARE = (1, 20, 45, 90, 94, 95, 100, 102)


def _row(draw: st.DrawFn, started_at: int, caps: Sequence[int | None], shares: Sequence[int]) -> Run:
    profile = draw(st.sampled_from(["small"] * 6 + ["big"] * 3 + ["gone"]))
    cap = draw(st.sampled_from(caps))
    room = cap or (PROFILES[profile].memory if profile in PROFILES else GIB)
    share = draw(st.sampled_from(shares))
    oom = draw(st.integers(0, 9)) == 0
    return Run(
        repository=draw(st.sampled_from(["o/a", "o/b"])),
        workflow=draw(st.sampled_from([None, "w"])),
        name=draw(st.sampled_from(["x", "y"])),
        profile=profile,
        memory_cap=cap,
        cpu_cap=draw(st.sampled_from([None, 1000, 3000])),
        memory_peak=room * share // 100,
        page_cache=draw(st.integers(0, 9)) == 0,
        cpu_average=draw(st.sampled_from([None, 0, 150, 900, 2500])),
        queued_at=started_at - draw(st.sampled_from([0, 0, HOUR])),
        started_at=started_at,
        finished_at=started_at + draw(st.sampled_from([0, 0, 1, HOUR, 5 * HOUR, 30 * HOUR, 3 * DAY, 8 * DAY])),
        oom_killed=oom,
        hit_cap=draw(_maybe) if oom else draw(st.sampled_from([None, False])),
        own_cap=draw(_maybe) if oom else draw(st.sampled_from([None, False])),
        succeeded=not oom and draw(st.integers(0, 4)) > 0,
        cancelled=draw(st.integers(0, 9)) == 0,
        reserved=draw(st.sampled_from([None, None, 256 * MIB, GIB])),
    )


@st.composite
def histories(
    draw: st.DrawFn, most: int = 25, caps: Sequence[int | None] = ANY_CAP, shares: Sequence[int] = ANY_SHARE
) -> list[Run]:
    """Up to `most` runs of few jobs, at few different times within days, so that much of them ties.

    Their peaks are `shares`, in percent, of their `caps`.
    """
    unit = draw(st.sampled_from([HOUR, 6 * HOUR]))
    count = draw(st.integers(0, most))
    return [_row(draw, unit * draw(st.integers(1, 20)), caps, shares) for _ in range(count)]


@st.composite
def setups(draw: st.DrawFn) -> Setup:
    """A setup with any of its switches."""
    return Setup(
        margin=draw(st.sampled_from([0, 15, 50])),
        min_jobs=draw(st.integers(1, 4)),
        profiles=PROFILES,
        memory_max=draw(
            st.sampled_from([None, GIB, GIB + 64 * MIB, 2 * GIB + 128 * MIB, 5 * GIB, 5 * GIB + 512 * MIB, 8 * GIB])
        ),
        cpu_budget=draw(st.sampled_from([None, 1000, 4000, 9000])),
        slots=draw(st.sampled_from([{}, {"small": 0}, {"small": 2}, {"big": None, "small": 1}])),
        mirror=draw(st.sampled_from([0, MEMORY_GRANULE])),
        caps=draw(st.sampled_from(Caps)),
        dispatch=draw(st.sampled_from(Dispatch)),
        barrier_after_ms=draw(st.sampled_from([None, None, 0, HOUR, 2 * DAY])),
        cpu_admission=draw(st.sampled_from([None, *CpuAdmission])),
    )
