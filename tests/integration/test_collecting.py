"""Which limits stand in the cases of a set, and who makes none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from made_jobs import MIB, NOW, ended, job, started
from queue_commands import receipt
from vq.actions.collect import collect
from vq.actions.place import Place
from vq.jobs.events import Ended, Event, HostRebooted, KillRequested, Result
from vq.jobs.reasons import StopCause
from vq.jobs.record import Limit
from vq.store.advancing import advance_jobs
from vq.store.connection import Opener, open_store
from vq.store.submitting import Submission, submit

LIMITS = ("memory_limit_bytes", "memory_limit_scope", "wall_limit_seconds")


def of_host() -> Ended:
    """An attempt that the host's limit ended, where such ones do not start again."""
    return Ended(
        at_ms=NOW + 1000, attempt=1, result=Result(exit_code=137, limit_fired=Limit.HOST), requeue_outgrown=False
    )


def test_a_case_has_the_limit_that_ended_its_job_and_no_other(tmp_path: Path) -> None:
    jobs: list[tuple[dict[str, Any], list[Event]]] = [
        ({"wall_time_seconds": 60}, [started(), ended()]),
        ({"wall_time_seconds": 60}, [started(), ended(code=143, stopped_by=StopCause.WALL_LIMIT)]),
        ({}, [started(), ended(code=137, limit_fired=Limit.JOB)]),
        ({}, [started(), of_host()]),
        ({"oom_retry_mb": 300}, [
            started(),
            ended(code=137, limit_fired=Limit.JOB),
            started(NOW + 2000),
            ended(NOW + 3000, 2, 137, limit_fired=Limit.JOB),
        ]),
        ({}, [KillRequested(at_ms=NOW)]),
        ({}, [started(), HostRebooted(at_ms=NOW, attempt=1)]),
        ({}, [started(), ended(code=143, stopped_by=StopCause.STARVED)]),
        ({}, []),
    ]  # fmt: skip
    out = str(tmp_path / "set")
    with open_store(str(tmp_path / "state"), Opener.DAEMON) as store:
        submit(store, [Submission(job=job(**changes), estimate=receipt()) for changes, _ in jobs])
        for number, (_, events) in enumerate(jobs, 1):
            assert not advance_jobs(store, [(f"a{number}", event) for event in events]).refused
        found = collect(Place(folder=str(tmp_path / "state"), store=store), out, "class-a")
    cases = json.loads((tmp_path / "set" / "set.json").read_text())["cases"]
    assert [
        (case["case_id"], case["outcome"], {key: case[key] for key in LIMITS if key in case}) for case in cases
    ] == [
        ("a1", "completed", {}),
        ("a2", "time_exceeded", {"wall_limit_seconds": 60}),
        ("a3", "oom_killed", {"memory_limit_bytes": 100 * MIB, "memory_limit_scope": "job"}),
        ("a4", "oom_killed", {}),
        ("a5", "oom_killed", {"memory_limit_bytes": 300 * MIB, "memory_limit_scope": "job"}),
        ("a6", "killed", {}),
    ]
    assert found.skipped == (("a7", "no_evaluable_outcome"), ("a8", "no_evaluable_outcome"))
