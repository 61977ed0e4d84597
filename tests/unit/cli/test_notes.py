from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from vq.actions.why import Waits
from vq.cli.notes import note_of
from vq.jobs.reasons import Kind, Reason

GIB = 1 << 30
NOBODY = Waits(reasons={}, is_served=False)
LATE_MS = int(datetime(2031, 5, 6, 14, 0).astimezone().timestamp()) * 1000


def record(state: str = "PENDING", **changes: Any) -> dict[str, Any]:
    return {"id": "a7", "state": state, "reason": None, "waiting_for": [], "paused": False, "exit_code": None} | changes


def waits(kind: Kind, **details: Any) -> Waits:
    return Waits(reasons={"a7": Reason(kind=kind, details=details)})


@pytest.mark.parametrize(
    ("why", "note"),
    [
        (waits(Kind.HELD), "held"),
        (waits(Kind.NOT_BEFORE, at=LATE_MS), "not before 05-06 14:00"),
        (waits(Kind.RETRY, attempt=1, cause="failed", at=LATE_MS), "again 05-06 14:00"),
        (waits(Kind.DRAIN), "drained"),
        (waits(Kind.ARRAY, group="a3", at_once=4), "array limit (4 at once)"),
        (waits(Kind.SLOT, profile="gpu"), "slots of gpu"),
        (waits(Kind.MEMORY, needs=5 * GIB // 4, free=0), "memory (needs 1.25 GiB)"),
        (waits(Kind.HOST_MEMORY, needs=GIB, free=0), "host memory (needs 1 GiB)"),
        (waits(Kind.HIGH_WATER, used=GIB, budget=GIB), "memory nearly full"),
        (waits(Kind.STALLED), "host stalls for memory"),
        (waits(Kind.CPU, needs=2500, free=0), "CPUs (needs 2.5)"),
        (waits(Kind.BEHIND, job="a2"), "behind a2 (barrier)"),
        (Waits(reasons={}), "in line"),
        (NOBODY, "no daemon"),
    ],
)
def test_every_job_that_waits_says_why(why: Waits, note: str) -> None:
    assert note_of(record(), why) == note


def test_a_job_names_all_that_it_waits_for() -> None:
    why = waits(Kind.DEPENDENCY, job="a3", state=None)
    assert note_of(record(waiting_for=["a3", "a4"]), why) == "after a3, a4"


@pytest.mark.parametrize(
    ("job", "note"),
    [
        (record("RUNNING", paused=True), "paused"),
        (record("RUNNING", reason={"kind": "ending", "text": "", "cause": "kill", "at_once": False}), "ending"),
        (record("FAILED", exit_code=3), "exit code 3"),
        (record("OOM_KILLED", reason={"kind": "oom", "text": "", "limit_fired": "job"}), "its own limit"),
        (record("OOM_KILLED", reason={"kind": "oom", "text": "", "limit_fired": "host"}), "the host's limit"),
        (record("ABORTED_BY_QUEUE", reason={"kind": "dependency", "job": "a1", "state": "FAILED"}), "a1 FAILED"),
        (record("KILLED", reason={"kind": "kill", "text": ""}), "by vq kill"),
        (record("TIME_EXCEEDED", reason={"kind": "wall_limit", "text": "", "seconds": 90}), "limit 0:01:30"),
        (record("TIME_EXCEEDED", reason={"kind": "wall_limit", "text": "", "seconds": None}), "its time limit"),
        (record("STARVED", reason={"kind": "starved", "text": ""}), "used almost no CPU"),
        (record("COMPLETED", exit_code=0), ""),
    ],
)
def test_what_became_of_a_job_is_said_where_its_state_does_not(job: dict[str, Any], note: str) -> None:
    assert note_of(job, NOBODY) == note
