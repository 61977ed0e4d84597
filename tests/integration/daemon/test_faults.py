"""What goes wrong around a daemon: a full disk, a payload that is there or not, requests that come too late."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from daemons import Queue, queue_in
from supervised import wait_until
from vq.actions.daemon import daemon_status, start_daemon, stop_daemon
from vq.actions.waking import poke
from vq.files.documents import FileError
from vq.files.fifo import tell
from vq.files.payloads import stage_folder
from vq.files.snapshots import make_workspace, publish
from vq.files.staging import open_staging
from vq.hosts.local.attempts import digest_of
from vq.jobs.events import KillRequested, Paused
from vq.jobs.record import State
from vq.store.connection import StoreError, open_store
from vq.store.layout import log_paths, snapshots_folder, staging_folder, wake_path

MIB = 1 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Queue]:
    """A queue whose state folder lies on a disk of 4 MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    mounted = subprocess.run(mount, capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"cannot mount a small tmpfs: {mounted.stderr.decode().strip()}")
    try:
        with queue_in(disk, "sampled") as made:
            yield made
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass


def payload(queue: Queue, folder: Path) -> str:
    with open_staging(staging_folder(queue.folder)) as staging:
        staged = stage_folder(staging, str(folder))
        publish(staging, staged, snapshots_folder(queue.folder))
    return staged.digest


def test_a_full_disk_loses_no_end_of_a_job(small_disk: Queue, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (identifier,) = small_disk.submit(["sh", "-c", f"echo begun; read word < {tmp_path}/fifo; exit 5"])
    output = Path(log_paths(small_disk.folder, identifier, 1)[0])
    small_disk.until(lambda: output.exists() and output.read_text(), "it runs")
    # The submission's own log is brought into the database, so that it does not shrink later.
    small_disk.store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    filler = Path(small_disk.folder) / "filler"
    fill(filler)
    (tmp_path / "fifo").write_text("go\n")
    wait_until(
        Path(f"{small_disk.folder}/attempts/{identifier}.1/result.json").exists, "the supervisor leaves a result"
    )
    with pytest.raises(StoreError, match="disk is full"):
        small_disk.until(lambda: small_disk.state(identifier).ended, "it cannot be recorded")
    assert small_disk.state(identifier) is State.RUNNING
    small_disk.stop()
    filler.unlink()
    job = small_disk.end(identifier)
    assert (job.state, job.life.exit_code, len(small_disk.history())) == (State.FAILED, 5, 1)


def test_a_daemon_lives_through_a_full_disk(small_disk: Queue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VQ_ENFORCEMENT", "sampled")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder, filler = small_disk.folder, Path(small_disk.folder) / "filler"
    os.mkfifo(tmp_path / "fifo")
    assert start_daemon(folder)
    try:
        before = daemon_status(folder)
        (identifier,) = small_disk.submit(["sh", "-c", f"echo begun; read word < {tmp_path}/fifo; exit 5"])
        poke(folder)
        output = Path(log_paths(folder, identifier, 1)[0])
        wait_until(lambda: output.exists() and output.read_text(), "it runs")
        small_disk.store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        fill(filler)
        (tmp_path / "fifo").write_text("go\n")
        wait_until(Path(f"{folder}/attempts/{identifier}.1/result.json").exists, "the supervisor leaves a result")
        filler.unlink()
        wait_until(lambda: small_disk.state(identifier) is State.FAILED, "the end is recorded")
        assert daemon_status(folder) == before
        (again,) = small_disk.submit(["true"])
        poke(folder)
        wait_until(lambda: small_disk.state(again) is State.COMPLETED, "it goes on")
    finally:
        stop_daemon(folder)


def test_a_state_folder_that_cannot_be_written_is_refused_by_name(small_disk: Queue) -> None:
    small_disk.store.close()
    disk = str(Path(small_disk.folder).parent)
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    try:
        with pytest.raises(FileError, match=r"daemon\.log: read-only file system"):
            start_daemon(small_disk.folder)
    finally:
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        small_disk.store = open_store(small_disk.folder)


def test_jobs_of_one_payload_have_a_workspace_each_and_a_retry_the_old_one(plain: Queue, tmp_path: Path) -> None:
    (tmp_path / "payload").mkdir()
    (tmp_path / "payload" / "input").write_text("given\n")
    digest = payload(plain, tmp_path / "payload")
    command = ["sh", "-c", "cat input; echo changed > input; test -e been || { touch been; exit 1; }"]
    first, second = plain.submit(command, command, payload_sha256=digest, retry=1)
    for identifier in (first, second):
        plain.until(lambda name=identifier: plain.job(name).life.attempts, "the first attempt is over")  # type: ignore[misc]
    plain.later_ms = 10_000
    for identifier in (first, second):
        assert plain.end(identifier).state is State.COMPLETED
        logs = Path(plain.folder) / "logs"
        assert (logs / f"{identifier}.1.out").read_text() == "given\n"
        assert (logs / f"{identifier}.2.out").read_text() == "changed\n"
    assert not os.listdir(staging_folder(plain.folder))


def test_a_large_payload_keeps_nobody_else_waiting(
    plain: Queue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "payload").mkdir()
    (tmp_path / "payload" / "input").write_bytes(os.urandom(MIB))
    digest = payload(plain, tmp_path / "payload")
    os.mkfifo(tmp_path / "copying")

    def slow(*arguments: Any, **options: Any) -> None:
        with (tmp_path / "copying").open():
            make_workspace(*arguments, **options)

    monkeypatch.setattr("vq.files.snapshots.make_workspace", slow)
    (large,) = plain.submit(["cat", "input"], payload_sha256=digest)
    (killed,) = plain.submit(["sleep", "600"])
    plain.running(killed)
    plain.ask(killed, KillRequested(at_ms=0, at_once=True))
    assert plain.end(killed).state is State.KILLED
    assert plain.state(large) is State.RUNNING
    (tmp_path / "copying").write_text("")
    assert plain.end(large).state is State.COMPLETED


def test_a_request_for_a_job_that_has_ended_or_is_gone_meanwhile_is_answered_with_nothing(plain: Queue) -> None:
    (identifier,) = plain.submit(["true"])
    for request in (KillRequested(at_ms=0), Paused(at_ms=0)):
        plain.ask(identifier, request)
    assert plain.end(identifier).state is State.KILLED
    plain.store.connection.execute('INSERT INTO requests (job, request) VALUES (99, \'{"kind":"pause","at_ms":0}\')')
    plain.until(
        lambda: plain.store.connection.execute("SELECT count(*) FROM requests").fetchone() == (0,), "all are answered"
    )


def test_what_is_no_name_of_an_attempt_stays_and_holds_up_no_daemon(plain: Queue) -> None:
    plain.stop()
    foreign = [Path(plain.folder, "attempts", name) for name in ("a1.²", "a1.x", "a1." + "9" * 200)]
    for folder in foreign:
        folder.mkdir(parents=True)
    (identifier,) = plain.submit(["sleep", "0.5"])
    plain.running(identifier)
    assert tell(wake_path(plain.folder), f"a1.{'9' * 5000}.{digest_of(plain.folder)}")
    assert plain.end(identifier).state is State.COMPLETED
    assert all(folder.is_dir() for folder in foreign)
