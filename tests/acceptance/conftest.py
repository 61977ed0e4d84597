from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from queue_commands import Queue, make_queue


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    """A queue that no daemon serves."""
    return make_queue(tmp_path)


@pytest.fixture
def live(queue: Queue) -> Iterator[Queue]:
    """A queue that a daemon serves."""
    queue.ok("daemon", "start")
    try:
        yield queue
    finally:
        queue.ok("kill", "--all", "--now")
        active = queue.ok("queue", "--state", "RUNNING", "--state", "PENDING", "-q").split()
        if active:
            queue.run("wait", *active, "--timeout", "30")
        queue.ok("daemon", "stop")
