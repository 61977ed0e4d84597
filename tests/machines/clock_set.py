"""The clock of a machine set back, and forward, while jobs run and wait: nothing is lost, and lengths stay lengths.

For a virtual machine alone (`make test-v2` runs it): it sets the clock of the whole machine.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from made_jobs import job as made_job
from supervised import SLOWNESS, wait_until
from vq.actions.daemon import start_daemon, stop_daemon
from vq.actions.waking import poke
from vq.daemon.serving import now_ms
from vq.jobs.record import Dependency, Need, State
from vq.store.connection import Store, open_store
from vq.store.jobs import read
from vq.store.submitting import Submission, submit

DAY = 86_400
LIMIT_SECONDS = int(2 * SLOWNESS)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """The store of a queue that a daemon of its own process serves, with one CPU; afterwards the clock is right."""
    if "VQ_TEST_MACHINE" not in os.environ:
        pytest.skip("sets the clock of the whole machine: only in a virtual one")
    (tmp_path / "vq").mkdir()
    (tmp_path / "vq" / "config.toml").write_text("[host]\ncpus = 1\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    began = time.time() - time.monotonic()
    assert start_daemon(str(tmp_path / "state"))
    try:
        with open_store(str(tmp_path / "state")) as made:
            yield made
    finally:
        stop_daemon(str(tmp_path / "state"))
        time.clock_settime(time.CLOCK_REALTIME, began + time.monotonic())


def put(store: Store, *command: str, **changes: Any) -> str:
    made = made_job(queued_at_ms=now_ms(), command=command, mem_mb=50, **changes)
    ((identifier, _),) = submit(store, [Submission(job=made, environment={"PATH": os.environ["PATH"]})]).jobs
    poke(str(Path(store.path).parent))
    return identifier


def until(store: Store, identifier: str, state: State) -> None:
    wait_until(lambda: read(store, identifier).state is state, f"{identifier} is {state}", 60)


@pytest.mark.parametrize("by_seconds", [-DAY, 2 * DAY])
@pytest.mark.parametrize("restart", [False, True], ids=["same daemon", "next daemon"])
def test_a_clock_that_is_set_loses_nothing_and_limits_hold(store: Store, by_seconds: int, *, restart: bool) -> None:
    limited = put(store, "sleep", "6000", wall_time_seconds=LIMIT_SECONDS)
    waits = put(store, "sh", "-c", "echo ran >> ran")
    after = put(store, "sh", "-c", "echo ran >> ran", depends_on=(Dependency(job=waits, kind=Need.COMPLETED),))
    until(store, limited, State.RUNNING)
    subprocess.run(["date", "--utc", "--set", f"@{int(time.time()) + by_seconds}"], check=True, capture_output=True)
    if restart:
        stop_daemon(str(Path(store.path).parent))
        assert start_daemon(str(Path(store.path).parent))
    later = put(store, "sh", "-c", "echo ran >> ran")
    assert read(store, limited).state is State.RUNNING
    until(store, limited, State.TIME_EXCEEDED)
    usage = read(store, limited).usage
    assert usage is not None
    assert LIMIT_SECONDS <= usage["wall_seconds"] <= 3 * LIMIT_SECONDS
    for identifier in (waits, after, later):
        until(store, identifier, State.COMPLETED)
        job = read(store, identifier)
        assert job.life.attempt == 1
        assert Path(str(job.work.workspace), "ran").read_text() == "ran\n"
