from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from supervised import MODES, Attempt, Make, parent_group, remove_parent_groups
from vq.supervisor.requests import Request, ask


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    """Each way to measure and enforce; a test is skipped where the machine does not have it."""
    name: str = request.param
    parent_group(name)
    return name


@pytest.fixture(params=[name for name in MODES if name != "sampled"])
def cgroup_mode(request: pytest.FixtureRequest) -> str:
    """Each version of control groups that this machine has."""
    name: str = request.param
    parent_group(name)
    return name


@pytest.fixture(scope="session", autouse=True)
def _groups_removed() -> Iterator[None]:
    yield
    remove_parent_groups()


@pytest.fixture
def attempt(tmp_path: Path) -> Iterator[Make]:
    """Makes attempts; whatever they leave when a test fails is ended."""
    made: list[Attempt] = []

    def make(mode: str, command: list[str], *, small: bool = False, **options: Any) -> Attempt:
        folder = tmp_path / f"attempt-{len(made)}"
        folder.mkdir()
        parent = parent_group(mode) if mode in MODES else None
        one = Attempt(folder=folder, mode=mode, parent=parent, command=command, options=options, small=small)
        made.append(one)
        return one

    yield make
    for one in made:
        ask(str(one.folder), Request(action="kill-now"))
    for one in made:
        if one.process is not None:
            one.process.wait(timeout=30)
