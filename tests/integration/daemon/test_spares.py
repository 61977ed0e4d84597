"""Folders of attempts that are over serve the next ones, with nothing of what they held."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from daemons import Queue
from supervised import wait_until
from vq.daemon.serving import now_ms
from vq.hosts.local.spares import MOST, Spares
from vq.jobs.events import KillRequested
from vq.jobs.record import State
from vq.readings.cgroups import open_group
from vq.readings.group import Limits
from vq.store.layout import attempt_folder
from vq.supervisor.folder import read_attempt, take_lock

NAMES = ("attempt.json", "requests", "result.json", "spec.json")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "attempts").mkdir()
    return tmp_path / "attempts"


def over(root: Path, name: str, *more: str) -> str:
    """The folder of an attempt that has left a result, and other files."""
    folder = root / name
    folder.mkdir()
    for each in (*NAMES, *more):
        (folder / each).write_text(f"{name} {each}")
    return str(folder)


def test_a_job_has_the_folder_of_one_before_it_and_a_result_of_its_own(plain: Queue) -> None:
    attempts = Path(plain.folder, "attempts")
    (first,) = plain.submit(["sh", "-c", "exit 3"])
    assert plain.end(first).life.exit_code == 3
    (spare,) = attempts.iterdir()
    assert (spare / "spec.json.part").read_text() == ""
    inode = spare.stat().st_ino
    (second,) = plain.submit(["sh", "-c", "exit 5"])
    job = plain.end(second)
    assert (job.state, job.life.exit_code) == (State.FAILED, 5)
    assert [each.stat().st_ino for each in attempts.iterdir()] == [inode]
    plain.stop()
    assert not list(attempts.iterdir())


def test_what_a_daemon_left_that_was_killed_is_removed_by_the_next(plain: Queue) -> None:
    plain.stop()
    spare = Path(plain.folder, "attempts", "spare.1")
    spare.mkdir(parents=True)
    (spare / "result.json.part").write_text("{}")
    (identifier,) = plain.submit(["true"])
    assert plain.end(identifier).state is State.COMPLETED
    plain.stop()
    assert not spare.exists()


def test_a_group_that_a_killed_supervisor_left_is_removed_by_the_next_daemon(queue: Queue) -> None:
    (first, second) = queue.submit(["sleep", "600"], ["sleep", "600"])
    groups = []
    for identifier in (first, second):
        queue.running(identifier)
        attempt = read_attempt(attempt_folder(queue.folder, identifier, 1))
        assert attempt is not None
        if attempt.group is None:
            pytest.skip("no groups")
        groups.append(open_group(attempt.group))
    queue.ask(first, KillRequested(at_ms=now_ms(), at_once=True))
    queue.end(first)
    wait_until(lambda: not groups[0].exists(), "its supervisor removes it")
    groups[0].create(Limits())
    queue.stop()
    queue.daemon.turn(0)
    assert [group.exists() for group in groups] == [False, True]
    assert queue.state(second) is State.RUNNING


def test_a_spare_folder_holds_nothing_in_place_and_no_environment(root: Path) -> None:
    spares = Spares(str(root))
    assert spares.keep(over(root, "a1.1"))
    assert spares.take(str(root / "a2.1"))
    found = {path.name: path.read_text() for path in (root / "a2.1").iterdir()}
    assert found == {
        "attempt.json.part": "a1.1 attempt.json",
        "requests": "a1.1 requests",
        "result.json.part": "a1.1 result.json",
        "spec.json.part": "",
    }
    assert not spares.take(str(root / "a3.1"))
    assert os.listdir(root) == ["a2.1"]


def test_one_that_a_supervisor_still_holds_is_not_taken_until_it_lets_go(root: Path) -> None:
    spares = Spares(str(root))
    folder = over(root, "a1.1")
    lock = take_lock(folder)
    assert lock is not None
    assert spares.keep(folder)
    assert not spares.take(str(root / "a2.1"))
    os.close(lock)
    assert spares.take(str(root / "a2.1"))


@pytest.mark.parametrize("missing", ["result.json", "attempt.json"])
def test_an_attempt_without_a_result_or_a_beginning_is_left_as_it_is(root: Path, missing: str) -> None:
    folder = over(root, "a1.1")
    os.unlink(f"{folder}/{missing}")
    assert not Spares(str(root)).keep(folder)
    assert sorted(os.listdir(folder)) == sorted({*NAMES} - {missing})


def test_one_whose_supervisor_had_something_to_say_is_left_as_it_is(root: Path) -> None:
    folder = over(root, "a1.1", "supervisor.log")
    assert not Spares(str(root)).keep(folder)
    assert sorted(os.listdir(folder)) == sorted((*NAMES, "supervisor.log"))


def test_so_many_are_kept_and_a_lost_one_is_in_nobodys_way(root: Path) -> None:
    spares = Spares(str(root))
    kept = [spares.keep(over(root, f"a{place}.1")) for place in range(MOST + 1)]
    assert kept == [True] * MOST + [False]
    shutil.rmtree(root / "spare.1")
    assert not spares.take(str(root / "b1.1"))
    assert spares.take(str(root / "b1.1"))
    assert not spares.keep(str(root / "never.1"))
    spares.close()
    assert sorted(os.listdir(root)) == [f"a{MOST}.1", "b1.1"]
