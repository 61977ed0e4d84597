"""Limits where no group can be made but the user's systemd answers: a real login session, in a virtual machine.

`make test-systemd` runs it, and the tests of supervisors and daemons beside it, in the box of `systemd_box.sh`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from made_jobs import job as made_job
from supervised import wait_until
from vq.actions.daemon import start_daemon, stop_daemon
from vq.actions.machine import examine
from vq.actions.place import Place, open_place
from vq.actions.waking import poke
from vq.daemon.presence import present
from vq.daemon.serving import now_ms
from vq.hosts.local import scopes
from vq.hosts.local.attempts import digest_of
from vq.jobs.events import KillRequested
from vq.jobs.record import State
from vq.readings import cgroups
from vq.store.jobs import read
from vq.store.requests import post
from vq.store.submitting import Submission, submit

MIB = 1 << 20


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A queue that nothing is configured for; its daemon, where a test starts one, is ended."""
    if "VQ_TEST_SYSTEMD" not in os.environ:
        pytest.skip("needs a user's systemd: make test-systemd")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("VQ_STATE_DIR", str(tmp_path / "state"))
    with open_place(os.environ) as made:
        yield made
    stop_daemon(str(tmp_path / "state"))


def put(place: Place, *command: str, **changes: Any) -> str:
    made = made_job(queued_at_ms=now_ms(), command=command, **changes)
    ((identifier, _),) = submit(place.store, [Submission(job=made, environment={"PATH": os.environ["PATH"]})]).jobs
    poke(place.folder)
    return identifier


def until(place: Place, identifier: str, state: State) -> None:
    wait_until(lambda: read(place.store, identifier).state is state, f"{identifier} is {state}", 60)


def group_of(place: Place) -> str:
    """The folder of the group under which all jobs run."""
    presence = present(place.folder)
    assert presence is not None
    assert presence.group is not None, "nothing but sampling is left"
    folder: str = presence.group["folders"]["unified"]
    return folder


def found() -> Any:
    return {finding.what: finding for finding in examine(os.environ)}["control groups"]


def test_a_session_may_make_no_group(place: Place) -> None:
    with pytest.raises(cgroups.NoGroupsError):
        cgroups.make_parent("vq-none.slice", "cgroup2")
    assert not present(place.folder)


def test_jobs_run_in_one_scope_that_daemons_come_and_go_in(place: Place) -> None:
    scope = f"vq-{digest_of(place.folder)}.scope"
    assert start_daemon(place.folder)
    first = put(place, "sleep", "6000", mem_mb=50)
    until(place, first, State.RUNNING)
    folder = group_of(place)
    assert scope in folder.split("/")
    assert (found().state, found().text.split(":")[0]) == ("ok", "a scope of your systemd")
    stop_daemon(place.folder)
    assert start_daemon(place.folder)
    assert group_of(place) == folder
    hungry = put(place, sys.executable, "-I", "-S", "-c", "held = bytearray(200 << 20)", mem_mb=60)
    until(place, hungry, State.OOM_KILLED)
    assert read(place.store, hungry).usage["limit_bytes"] == 60 * MIB  # type: ignore[index]
    assert read(place.store, first).state is State.RUNNING
    post(place.store, [first], KillRequested(at_ms=now_ms()))
    poke(place.folder)
    until(place, first, State.KILLED)
    stop_daemon(place.folder)
    wait_until(lambda: not os.path.exists(os.path.dirname(folder)), "the scope is gone with the last in it")


def test_what_ends_with_the_session_is_not_chosen_and_is_told_of(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scopes, "LINGERING", str(tmp_path))
    monkeypatch.setenv("VQ_ENFORCEMENT", "systemd")
    assert start_daemon(place.folder)
    told = found()
    assert (told.state, told.fix) == ("lost", "loginctl enable-linger jobs")
    assert "when you log out" in told.text
    stop_daemon(place.folder)
    told = found()
    assert (told.state, told.fix) == ("lost", "loginctl enable-linger jobs, then vq daemon stop and vq daemon start")
    assert "memory is sampled" in told.text
