"""`vq daemon`, as installed, in a state folder of its own."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from made_jobs import job as made_job
from supervised import wait_until
from vq.actions.daemon import daemon_status
from vq.actions.waking import poke
from vq.daemon.serving import now_ms
from vq.hosts.local.attempts import digest_of
from vq.jobs.record import State
from vq.readings import processes
from vq.store.connection import migrations, open_store
from vq.store.jobs import read
from vq.store.settings import is_draining, stored_config
from vq.store.submitting import Submission, submit
from vq.supervisor.spec import MARK

VQ = str(Path(sys.executable).parent / "vq")


class Daemon:
    """The command in a state folder; `vq` is the ended process, `status` the document."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self.environment = {**os.environ, "VQ_STATE_DIR": str(self.state), "XDG_CONFIG_HOME": str(folder)}
        self.environment["VQ_ENFORCEMENT"] = "sampled"

    def vq(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [VQ, "daemon", *arguments], env=self.environment, capture_output=True, text=True, check=False
        )

    def status(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.vq("status", "--json").stdout)
        return document


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    made = Daemon(tmp_path)
    yield made
    made.vq("stop")


def test_start_returns_when_a_daemon_is_ready_and_starts_only_one(daemon: Daemon) -> None:
    assert daemon.vq("status").returncode == 1
    with ThreadPoolExecutor() as several:
        started = list(several.map(lambda _: daemon.vq("start"), range(4)))
    assert [ended.returncode for ended in started] == [0] * 4
    assert sorted(ended.stderr for ended in started) == ["daemon started\n", *["the daemon runs already\n"] * 3]
    status = daemon.status()
    assert status["running"]
    assert status == daemon_status(str(daemon.state))
    assert abs(status["started_at"] - now_ms()) < 60_000
    assert processes.identify(status["pid"]) is not None
    assert daemon.vq("status").returncode == 0


def test_stop_ends_it_and_leaves_jobs_running(daemon: Daemon) -> None:
    daemon.vq("start")
    with open_store(str(daemon.state)) as store:
        config = stored_config(store)
        assert config is not None
        assert config.host.enforcement == "sampled"
        job = made_job(queued_at_ms=now_ms(), command=("sh", "-c", "echo $$; exec sleep 600"))
        submit(store, [Submission(job=job)])
        poke(str(daemon.state))
        wait_until(lambda: read(store, "a1").state is State.RUNNING, "the job runs")
        output = Path(str(read(store, "a1").life.stdout_path))
        pid = int(wait_until(lambda: output.exists() and output.read_text(), "it says who it is"))
    assert daemon.vq("stop").stderr == "daemon stopped; jobs that run go on\n"
    assert daemon.vq("stop").stderr == "no daemon runs\n"
    assert daemon.status() == {"running": False, "pid": None, "version": None, "started_at": None}
    with open_store(str(daemon.state)) as store:
        assert stored_config(store) is None
    command = processes.identify(pid)
    assert command is not None
    assert processes.is_alive(command)
    processes.send(command, 9)
    daemon.vq("start")
    with open_store(str(daemon.state)) as store:
        wait_until(lambda: read(store, "a1").state is State.FAILED, "the next daemon learns of its end")


def test_a_second_daemon_in_the_foreground_is_refused(daemon: Daemon) -> None:
    daemon.vq("start")
    ended = daemon.vq("run")
    assert (ended.returncode, ended.stderr) == (1, "the daemon runs already\n")


def test_run_serves_until_a_signal_ends_it(daemon: Daemon) -> None:
    with subprocess.Popen([VQ, "daemon", "run"], env=daemon.environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "ready\n"
        assert daemon.status()["pid"] == process.pid
        process.terminate()
        assert process.wait(30) == 0


def test_drain_and_resume_hold_without_a_daemon(daemon: Daemon) -> None:
    for command, draining in (("drain", True), ("resume", False)):
        assert daemon.vq(command).returncode == 0
        with open_store(str(daemon.state)) as store:
            assert is_draining(store) is draining


def test_a_configuration_that_cannot_be_keeps_it_from_starting(daemon: Daemon, tmp_path: Path) -> None:
    (tmp_path / "vq").mkdir()
    (tmp_path / "vq" / "config.toml").write_text("[host]\ncpus = 0\n")
    ended = daemon.vq("start")
    assert ended.returncode == 1
    assert "the daemon did not start" in ended.stderr
    assert "config.toml:2: host.cpus: expected a whole number of 1 or more" in ended.stderr
    assert not daemon.status()["running"]


def test_a_restart_that_could_start_none_ends_none(daemon: Daemon, tmp_path: Path) -> None:
    daemon.vq("start")
    process = daemon.status()["pid"]
    (tmp_path / "vq").mkdir()
    (tmp_path / "vq" / "config.toml").write_text("[host]\ncpus = 0\n")
    ended = daemon.vq("restart")
    assert (ended.returncode, daemon.status()["pid"]) == (1, process)
    assert "config.toml:2: host.cpus: expected a whole number of 1 or more" in ended.stderr
    (tmp_path / "vq" / "config.toml").write_text("[host]\ncpus = 1\n")
    daemon.environment[MARK] = f"a1.1.{digest_of(str(daemon.state))}"
    for command in ("restart", "run"):
        ended = daemon.vq(command)
        assert (ended.returncode, daemon.status()["pid"]) == (1, process)
        assert "started by a job, a daemon would end with it" in ended.stderr
    del daemon.environment[MARK]
    assert daemon.vq("restart").returncode == 0
    assert daemon.status()["pid"] not in (None, process)


def test_a_store_of_a_newer_version_is_refused(daemon: Daemon) -> None:
    open_store(str(daemon.state)).close()
    connection = sqlite3.connect(daemon.state / "vq.db")
    connection.execute(f"PRAGMA user_version = {len(migrations()) + 1}")
    connection.close()
    ended = daemon.vq("start")
    assert ended.returncode == 1
    assert "made by a newer vq" in ended.stderr


def test_a_state_folder_that_others_can_read_is_refused(daemon: Daemon) -> None:
    daemon.state.mkdir(mode=0o755)
    ended = daemon.vq("start")
    assert ended.returncode == 1
    assert "is open to other users" in ended.stderr


def test_an_idle_daemon_takes_little(daemon: Daemon) -> None:
    daemon.vq("start")
    pid = daemon.status()["pid"]
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    (resident_kib,) = (int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    assert resident_kib < 40 * 1024
