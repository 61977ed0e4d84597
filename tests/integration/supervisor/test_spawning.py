"""A supervisor that spawns a program is afterwards as it was, and in no group of the job."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from supervised import parent_group, wait_until
from vq.readings import cgroups
from vq.readings.group import Group, Limits
from vq.readings.kernel import read_number, write_text
from vq.supervisor.spawning import _in_a_thread, spawn
from vq.supervisor.start import Inherited, Launch, Refused

SETSID = "/usr/bin/setsid"
SCORE = read_number("/proc/self/oom_score_adj") or 0
INHERITED = Inherited(ignored=(signal.SIGPIPE,), oom_score_adj=SCORE)
SAYS = "umask; pwd; cat /proc/self/oom_score_adj; grep SigIgn /proc/self/status; cat /proc/self/cgroup"


def plan(folder: Path, **changes: Any) -> Launch:
    named: dict[str, Any] = {
        "command": ("sh", "-c", SAYS),
        "cwd": str(folder),
        "environment": {"PATH": "/usr/bin:/bin"},
        "stdout_path": "",
        "stderr_path": "",
        "umask": None,
        "oom_score_adj": SCORE,
        "join": (),
        "joined_by_thread": True,
    }
    return Launch(**{**named, **changes})


def said(one: Launch) -> str | Refused:
    """What a spawned program says, once all that came of it has ended."""
    reading, writing = os.pipe()
    null = os.open(os.devnull, os.O_RDONLY)
    try:
        pid = spawn(one, (null, writing, writing), SETSID, INHERITED)
    finally:
        os.close(writing)
        os.close(null)
    if isinstance(pid, Refused):
        os.close(reading)
        return pid
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    with open(reading, encoding="utf-8") as file:
        return file.read()


def own() -> tuple[str, int | None, int, str]:
    """What a spawn changes for a moment: our folder, score, umask and groups."""
    umask = os.umask(0o22)
    os.umask(umask)
    return os.getcwd(), read_number("/proc/self/oom_score_adj"), umask, Path("/proc/self/cgroup").read_text()


@pytest.fixture
def group() -> Iterator[Group]:
    parent = parent_group("cgroup1")
    assert parent is not None
    made = cgroups.open_group(parent.paths.below("spawned"))
    made.create(Limits())
    yield made
    # A program that has closed its output may still be about to end.
    wait_until(made.remove, "the group is gone")


def test_a_program_has_its_folder_score_umask_and_signals_and_we_have_ours_again(tmp_path: Path) -> None:
    before = own()
    told = said(plan(tmp_path, umask=0o27, oom_score_adj=SCORE + 7))
    assert isinstance(told, str)
    lines = told.splitlines()
    assert lines[:3] == ["0027", str(tmp_path), str(SCORE + 7)]
    assert not int(lines[3].split()[1], 16) & 1 << signal.SIGPIPE - 1
    assert own() == before


def test_a_program_is_in_its_groups_and_we_are_not(tmp_path: Path, group: Group) -> None:
    before = own()
    join = group.join_files()
    told = said(plan(tmp_path, join=join))
    assert isinstance(told, str)
    for descriptor in join:
        os.close(descriptor)
    assert {line.rsplit("/", 1)[-1] for line in told.splitlines()[4:] if "/spawned" in line} == {"spawned"}
    assert told.count("/spawned") == len(group.paths.folders)
    assert own() == before
    assert os.getpid() not in group.members()


def test_where_there_is_no_process_to_be_had_nothing_is_started_and_the_program_is_not_at_fault(
    tmp_path: Path, group: Group
) -> None:
    if "pids" not in group.paths.folders:
        pytest.skip("no pids controller here")
    before = own()
    write_text(f"{group.paths.folders['pids']}/pids.max", "1")
    join = group.join_files()
    told = said(plan(tmp_path, join=join))
    for descriptor in join:
        os.close(descriptor)
    assert told == Refused(text="the job could not be forked: resource temporarily unavailable")
    assert own() == before


def test_nothing_is_left_of_a_thread_that_started_a_program() -> None:
    threads = len(os.listdir("/proc/self/task"))
    left = [_in_a_thread(lambda: len(os.listdir("/proc/self/task"))) for _ in range(100)]
    assert set(left) == {threads + 1}
    for _ in range(300):
        _in_a_thread(os.getpid)
        assert len(os.listdir("/proc/self/task")) == threads


def test_the_error_of_a_thread_is_ours() -> None:
    with pytest.raises(FileNotFoundError):
        _in_a_thread(lambda: os.open("/no/such/file", os.O_RDONLY))


def test_what_cannot_be_had_is_refused_by_name_and_leaves_us_as_we_were(tmp_path: Path) -> None:
    before = own()
    reading = os.open(os.devnull, os.O_RDONLY)
    gone = tmp_path / "gone"
    assert said(plan(gone)) == Refused(text=f"cannot enter the folder {gone}: no such file or directory")
    assert said(plan(tmp_path, join=(reading,))) == Refused(text="cannot join the control group: bad file descriptor")
    too_long = said(plan(tmp_path, command=("true", "x" * 200_000)))
    assert too_long == Refused(text="true: cannot be run: argument list too long", exit_code=126)
    os.close(reading)
    assert own() == before
