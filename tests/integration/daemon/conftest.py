from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from daemons import Queue, queue_in
from supervised import MODES, parent_group, remove_parent_groups


@pytest.fixture(params=MODES)
def queue(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Queue]:
    """A queue in each way to measure and enforce that this machine has."""
    parent_group(request.param)
    with queue_in(tmp_path, request.param) as made:
        yield made


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Queue]:
    """A queue for what does not depend on how jobs are measured."""
    with queue_in(tmp_path, "sampled") as made:
        yield made


@pytest.fixture(scope="session", autouse=True)
def _groups_removed() -> Iterator[None]:
    yield
    remove_parent_groups()
