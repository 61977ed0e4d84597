from __future__ import annotations

from pathlib import Path

import pytest

from queue_commands import Queue, make_queue


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    return make_queue(tmp_path)
