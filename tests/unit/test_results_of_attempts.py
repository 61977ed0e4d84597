from __future__ import annotations

from typing import Any

import pytest

from vq.hosts.local.attempts import oom_score_adj
from vq.hosts.local.results import finished
from vq.jobs.reasons import StopCause
from vq.jobs.record import Limit

MIB = 1 << 20


def document(**changes: Any) -> dict[str, Any]:
    return {
        "end": "ended",
        "exit_code": 0,
        "signal": None,
        "limit_fired": None,
        "oom_kills": 0,
        "own_ooms": None,
        "text": None,
        "why": None,
        "started_at_ms": 1,
        "finished_at_ms": 5,
        "paused_seconds": 0.25,
        "usage": {"job_peak_bytes": 50 * MIB, "limit_bytes": 100 * MIB},
        **changes,
    }


def test_an_end_of_its_own_is_what_the_command_said() -> None:
    found = finished(document(exit_code=139, signal=11))
    assert (found.at_ms, found.error) == (5, None)
    result = found.result
    assert (result.exit_code, result.signal, result.paused_ms) == (139, 11, 250)
    assert (result.stopped_by, result.limit_fired, result.exec_error) == (None, None, None)
    assert (result.own_cap, result.hit_cap) == (None, None)


@pytest.mark.parametrize(
    ("end", "why", "cause"),
    [
        ("wall_limit", None, StopCause.WALL_LIMIT),
        ("killed", "user", StopCause.KILL),
        ("killed", None, StopCause.KILL),
        ("killed", "starved", StopCause.STARVED),
    ],
)
def test_what_we_stopped_says_why(end: str, why: str | None, cause: StopCause) -> None:
    assert finished(document(end=end, why=why)).result.stopped_by is cause


@pytest.mark.parametrize(
    ("fired", "peak_bytes", "limit"),
    [
        ("host", 99 * MIB, Limit.HOST),
        ("job", 1 * MIB, Limit.JOB),
        (None, 95 * MIB, Limit.JOB),
        (None, 94 * MIB, Limit.HOST),
        (None, None, Limit.JOB),
    ],
)
def test_where_nobody_says_whose_limit_killed_it_was_the_jobs_own_if_it_was_near_it(
    fired: str | None, peak_bytes: int | None, limit: Limit
) -> None:
    usage = {"job_peak_bytes": peak_bytes, "limit_bytes": 100 * MIB}
    assert finished(document(end="out_of_memory", limit_fired=fired, usage=usage)).result.limit_fired is limit


def test_the_kernels_word_on_its_own_limit_is_kept() -> None:
    assert (finished(document(own_ooms=0)).result.own_cap, finished(document(own_ooms=2)).result.hit_cap) == (
        False,
        True,
    )


def test_what_could_not_be_run_and_what_could_not_be_started_are_told_apart() -> None:
    assert finished(document(end="cannot_run", exit_code=127, text="no such file")).result.exec_error == "no such file"
    found = finished(document(end="not_started", exit_code=None, text="no room"))
    assert (found.error, found.result.exec_error) == ("no room", None)


def test_the_kernel_picks_by_what_is_held_less_what_is_reserved() -> None:
    budget = 2000 * MIB
    scores = [oom_score_adj(reserved_mib * MIB, budget) for reserved_mib in (0, 500, 2000, 3000)]
    assert scores == [1000, 750, 0, 0]
