"""A disk without room, met by the command line: refused by name, nothing half written, and well again with room."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from queue_commands import Queue, make_queue

MOST_ACCEPTED = 200


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Queue]:
    """A queue with one job, whose state folder lies on a disk of 4 MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    mounted = subprocess.run(mount, capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"cannot mount a small tmpfs: {mounted.stderr.decode().strip()}")
    try:
        queue = make_queue(disk)
        queue.ok("submit", "--", "true")
        yield queue
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def fill(queue: Queue) -> Path:
    path = queue.root / "filler"
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return path


def refused(queue: Queue) -> list[str]:
    """The ids of the submissions that still found room, until one is refused as it should be."""
    accepted: list[str] = []
    while (ended := queue.run("submit", "-q", "--", "true")).returncode == 0:
        accepted += ended.stdout.split()
        assert len(accepted) < MOST_ACCEPTED, "the disk is not full"
    assert (ended.returncode, ended.stdout) == (1, "")
    lines = ended.stderr.splitlines()
    assert lines[0] == f"vq: error: {queue.state}/vq.db: the disk is full; nothing was recorded"
    assert lines[1].strip() == "make room, then try again"
    return accepted


def check_sound(queue: Queue, jobs: list[str]) -> None:
    assert queue.ok("queue", "--all", "-q").split() == jobs[::-1]
    with closing(sqlite3.connect(queue.state / "vq.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert {path.name for path in queue.state.iterdir()} <= {"vq.db", "vq.db-shm", "vq.db-wal", "staging"}


@pytest.mark.parametrize("others", [False, True], ids=["alone", "while another reads"])
def test_a_submission_that_finds_no_room_is_refused_and_the_next_is_accepted(full: Queue, *, others: bool) -> None:
    with closing(sqlite3.connect(full.state / "vq.db")) as reader:
        if others:
            # The log and its index stay while it is open: the room ends at the commit, not before.
            reader.execute("SELECT count(*) FROM jobs").fetchone()
        filler = fill(full)
        jobs = ["a1", *refused(full)]
        filler.unlink()
        jobs += full.ok("submit", "-q", "--", "true").split()
    assert jobs == [f"a{number}" for number in range(1, len(jobs) + 1)]
    check_sound(full, jobs)
