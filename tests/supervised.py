"""Attempts run for real by a supervisor of their own, in each mode that this machine has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from vq.estimates.usage import MOST_BYTES, Usage, read_usage
from vq.hosts.local.scopes import enter_scope
from vq.readings import cgroups, processes
from vq.readings.group import Group, Limits
from vq.supervisor.command import supervisor_command
from vq.supervisor.folder import read_attempt, read_result
from vq.supervisor.requests import Request, ask

MIB = 1024 * 1024
MODES = ("systemd",) if "VQ_TEST_SYSTEMD" in os.environ else ("cgroup1", "cgroup2", "sampled")
"""`systemd` where a manager of the user runs, as `make test-systemd` has it: alone, as it moves the whole process."""
SLOWNESS = float(os.environ.get("VQ_TEST_SLOWNESS", "1"))
"""An emulated machine is some 20 times slower."""


_PARENTS: dict[str, Group | None] = {}


def wait_until(fact: Callable[[], Any], what: str, seconds: float = 30.0) -> Any:
    """What `fact` says once it is true; fails when it does not come true in time."""
    until = time.monotonic() + seconds * SLOWNESS
    while not (found := fact()):
        assert time.monotonic() < until, f"waited {seconds * SLOWNESS} s: {what}"
        time.sleep(0.005)
    return found


def parent_group(mode: str) -> Group | None:
    """The group under which the jobs of this run go, None by sampling; skips where the mode is missing."""
    known = _PARENTS.get(mode)
    if mode not in _PARENTS or (known is not None and not known.exists()):
        try:
            if mode == "systemd":
                enter_scope(f"vq-test-{os.getpid()}")
                cgroups.move_into_leaf()
            _PARENTS[mode] = cgroups.make_parent(f"vq-test-{os.getpid()}.slice", mode, Limits())
        except cgroups.NoGroupsError as error:
            pytest.skip(f"{mode} is not usable here: {error}")
    return _PARENTS[mode]


def remove_parent_groups() -> None:
    for group in _PARENTS.values():
        if group is not None:
            wait_until(group.remove, "the tests' control group is gone")
    _PARENTS.clear()


def python(program: str, *arguments: str) -> list[str]:
    """A small interpreter that runs `program`."""
    return [sys.executable, "-I", "-S", "-c", program, *arguments]


@dataclass
class Attempt:
    """One attempt in a folder of its own."""

    folder: Path
    mode: str
    parent: Group | None
    command: list[str]
    options: dict[str, Any] = field(default_factory=dict)
    small: bool = False
    process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def attempt(self) -> str:
        return f"{self.name}-{os.getpid()}"

    @property
    def spec_path(self) -> str:
        return str(self.folder / "spec.json")

    @property
    def log(self) -> Path:
        return self.folder / "out"

    def write_spec(self) -> None:
        spec = {
            "schema": "vq.attempt-spec.v1",
            "attempt": self.attempt,
            "command": self.command,
            "cwd": str(self.folder),
            "environment": {"PATH": "/usr/local/bin:/usr/bin:/bin"},
            "stdout_path": str(self.log),
            "stderr_path": str(self.folder / "err"),
            "result_path": str(self.folder / "result.json"),
            "enforcement": self.mode,
            "cgroup_parent": None if self.parent is None else self.parent.paths.document(),
            "kill_grace_seconds": min(0.3 * SLOWNESS, 3.0),
            **self.options,
        }
        Path(self.spec_path).write_text(json.dumps(spec))

    def start(self) -> Attempt:
        self.write_spec()
        self.process = self.supervisor()
        return self

    def supervisor(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "vq.supervisor", self.spec_path]
        return subprocess.Popen(supervisor_command(self.spec_path) if self.small else command)

    def wait_for_output(self, text: str) -> None:
        wait_until(lambda: self.log.exists() and text in self.log.read_text(), f"{text!r} in the job's output")

    def ask(self, action: Any, why: str | None = None) -> None:
        wait_until(lambda: ask(str(self.folder), Request(action=action, why=why)), "the supervisor listens")

    def end(self, seconds: float = 60.0) -> dict[str, Any]:
        """The result, once the supervisor has ended; its receipt is one that an evaluation accepts."""
        assert self.process is not None
        status = self.process.wait(timeout=seconds * SLOWNESS)
        said = self.folder / "supervisor.log"
        assert status == 0, said.read_text() if said.exists() else f"exit status {status}"
        result = read_result(str(self.folder / "result.json"), self.attempt)
        assert result is not None
        read_receipt(result)
        assert self.is_gone()
        return result

    def run(self) -> dict[str, Any]:
        return self.start().end()

    def is_gone(self) -> bool:
        """Whether nothing of the job is left, by its group and by its mark."""
        attempt = read_attempt(str(self.folder))
        assert attempt is not None
        group = None if attempt.group is None else cgroups.open_group(attempt.group)
        return not processes.marked(attempt.mark, 0) and (group is None or not group.exists())


def read_receipt(result: dict[str, Any]) -> Usage:
    assert len(json.dumps(result["usage"])) <= MOST_BYTES
    return read_usage(result["usage"])


Make = Callable[..., Attempt]
