from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from made_jobs import job
from vq.cli.endings import next_step
from vq.jobs.reasons import Kind, Reason
from vq.jobs.record import Job, Limit, State

GIB = 1 << 30


def ended(state: State, reason: Reason | None = None, fired: Limit | None = None, **work: Any) -> Job:
    made = job(**work)
    return replace(made, life=replace(made.life, state=state, reason=reason, limit_fired=fired))


def kept(state: State, **life: Any) -> Job:
    made = ended(state)
    return replace(made, life=replace(made.life, **life))


@pytest.mark.parametrize(
    ("what", "step"),
    [
        (ended(State.OOM_KILLED, fired=Limit.JOB, mem_mb=1000), "vq resubmit a1 --mem-mb 2000"),
        (ended(State.OOM_KILLED, fired=Limit.JOB, mem_mb=3000), "vq resubmit a1 --mem-mb 4096"),
        (ended(State.OOM_KILLED, fired=Limit.JOB, mem_mb=4096), None),
        (ended(State.OOM_KILLED, fired=Limit.HOST, mem_mb=1000), "vq resubmit a1"),
        (ended(State.TIME_EXCEEDED, wall_time_seconds=5400), "vq resubmit a1 --time 3:00:00"),
        (ended(State.TIME_EXCEEDED, wall_time_seconds=86_400), "vq resubmit a1 --time 2-00:00:00"),
        (ended(State.INTERRUPTED), "vq resubmit a1"),
        (ended(State.INTERRUPTED, auto_resume=True), None),
        (ended(State.FAILED), "vq logs a1"),
        (ended(State.FAILED, Reason(kind=Kind.EXEC, details={"program": "x", "error": "no such file"})), None),
        (ended(State.KILLED), None),
        (ended(State.COMPLETED), None),
        (kept(State.PENDING, held=True), "vq resume a1"),
        (kept(State.RUNNING, paused_at_ms=1), "vq resume a1"),
        (kept(State.RUNNING), None),
        (kept(State.KILLED, held=True), None),
    ],
)
def test_the_next_step_is_a_command_that_helps(what: Job, step: str | None) -> None:
    assert next_step(what, 4 * GIB) == step


def test_without_a_budget_twice_the_limit_is_named() -> None:
    assert next_step(ended(State.OOM_KILLED, fired=Limit.JOB, mem_mb=4096), None) == "vq resubmit a1 --mem-mb 8192"
