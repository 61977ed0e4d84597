"""`vq doctor` on control groups: what the daemon has, what is lost, and what would help."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any

import pytest

from queue_commands import CONFIG, Queue
from supervised import wait_until
from vq.readings import cgroups

HOLD = "held = bytearray(300 << 20); print('holds', flush=True); import time; time.sleep(600)"


def groups(queue: Queue) -> Any:
    return finding(queue, "control groups")


def finding(queue: Queue, what: str) -> Any:
    (found,) = (one for one in queue.json("doctor")["findings"] if one["what"] == what)
    return found


def test_that_no_daemon_runs_is_said_plainly(queue: Queue) -> None:
    asleep = finding(queue, "daemon")
    assert (asleep["state"], asleep["fix"]) == ("lost", "vq daemon start")
    assert "none runs, so nothing will start" in asleep["text"]
    config = queue.root / "config" / "vq" / "config.toml"
    config.write_text(CONFIG.replace("autostart = false", "autostart = true"))
    by_itself = "none runs now; the next vq submit starts one by itself"
    assert finding(queue, "daemon") == {"what": "daemon", "state": "ok", "text": by_itself, "fix": None}
    config.write_text(CONFIG)
    queue.ok("submit", "--array", "2", "--", "true")
    text = queue.ok("doctor")
    said = r"\nDaemon: +warning: none runs, so 2 jobs wait for one\n +to fix it: vq daemon start\n"
    assert re.search(said, text)
    assert "lost" not in text


def test_a_state_folder_that_others_can_read_is_a_finding(queue: Queue) -> None:
    queue.ok("doctor")
    queue.state.chmod(0o755)
    ended = queue.run("doctor", "--json")
    assert ended.returncode == 1
    assert ended.stderr == ""
    found = {one["what"]: one for one in json.loads(ended.stdout)["findings"]}
    assert found["state folder"]["state"] == "wrong"
    assert "is open to other users" in found["state folder"]["text"]
    assert found["state folder"]["fix"].startswith(f"chmod 700 {queue.state}")
    assert {"python", "configuration", "control groups", "memory pressure"} < set(found)
    queue.state.chmod(0o700)
    queue.ok("doctor")


@pytest.fixture
def _with_groups() -> None:
    try:
        parent = cgroups.make_parent(f"vq-test-{os.getpid()}.slice")
    except cgroups.NoGroupsError as error:
        pytest.skip(str(error))
    if parent is None:
        pytest.skip("no control group can be made here")
    parent.remove()


@pytest.mark.usefixtures("_with_groups")
def test_what_the_daemon_has_is_told(queue: Queue) -> None:
    before = groups(queue)
    assert before["state"] == "ok"
    queue.ok("daemon", "start")
    try:
        assert groups(queue) == before
    finally:
        queue.ok("daemon", "stop")
    started = queue.run("daemon", "start", VQ_ENFORCEMENT="sampled")
    assert started.returncode == 0, started.stderr
    try:
        found = groups(queue)
        assert (found["state"], found["fix"].partition(",")[0]) == ("lost", 'host.enforcement = "auto"')
        assert "memory is sampled" in found["text"]
    finally:
        queue.ok("daemon", "stop")


@pytest.mark.usefixtures("_with_groups")
def test_a_budget_that_jobs_hold_more_than_is_told(live: Queue) -> None:
    live.ok("submit", "--mem-mb", "500", "--", sys.executable, "-I", "-S", "-c", HOLD)
    wait_until(lambda: live.run("logs", "a1").stdout == "holds\n", "it holds its memory")
    config = live.root / "config" / "vq" / "config.toml"
    config.write_text(CONFIG.replace('"4G"', '"200M"'))
    live.ok("daemon", "stop")
    live.ok("daemon", "start")
    found = groups(live)
    assert found["state"] == "lost"
    assert found["text"].startswith(
        "jobs hold more than the budget of 200 MiB, so the limit of them all stays at 4 GiB"
    )
    assert live.status("a1")["state"] == "RUNNING"
    assert "jobs hold more" in (live.state / "daemon.log").read_text()


def test_a_scope_that_cannot_be_had_keeps_a_daemon_from_starting(queue: Queue) -> None:
    ended = queue.run("daemon", "start", VQ_ENFORCEMENT="systemd", PATH="/nowhere")
    assert ended.returncode == 1
    assert "the daemon did not start: the user's systemd gives no scope (there is no busctl" in ended.stderr
