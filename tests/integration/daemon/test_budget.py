"""The memory budget set lower than what jobs hold that run: they go on, and limits stay the kernel's."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemons import Queue, python, queue_in
from supervised import MODES, parent_group
from vq.jobs.record import State
from vq.readings.cgroups import open_group
from vq.readings.group import Group

MIB = 1 << 20
HOLD = "held = bytearray(200 << 20); print('holds', flush=True); open(sys.argv[1]).read()"


def group_of_all(queue: Queue) -> Group:
    paths = queue.daemon.enforcement.parent
    assert paths is not None, "nothing but sampling is left"
    return open_group(paths)


@pytest.mark.parametrize("mode", [name for name in MODES if name != "sampled"])
@pytest.mark.parametrize("asked", ["auto", None], ids=["auto", "by name"])
def test_a_budget_below_what_jobs_hold_ends_none_and_holds_once_it_can(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: str, asked: str | None
) -> None:
    parent_group(mode)
    fifo = tmp_path / "fifo"
    with queue_in(tmp_path, mode if mode == "systemd" else asked or mode) as queue:
        queue.text = '[host]\nmemory_max = "400M"\n'
        program = f"import os, sys; os.mkfifo(sys.argv[1]); {HOLD}"
        (identifier,) = queue.submit(python(program, str(fifo)), mem_mb=300)
        log = Path(str(queue.running(identifier).life.stdout_path))
        queue.until(lambda: log.read_text() == "holds\n", "it holds its memory")
        assert group_of_all(queue).limit_bytes() == 400 * MIB
        queue.stop()
        queue.text = '[host]\nmemory_max = "100M"\n'
        queue.daemon.turn(0)
        assert "jobs hold more than the memory budget of 100 MiB" in caplog.text
        assert group_of_all(queue).limit_bytes() == 400 * MIB
        assert queue.state(identifier) is State.RUNNING
        fifo.write_text("go\n")
        assert queue.end(identifier).state is State.COMPLETED
        (after,) = queue.submit(["true"], mem_mb=50)
        assert queue.end(after).state is State.COMPLETED
        queue.until(lambda: group_of_all(queue).limit_bytes() == 100 * MIB, "the limit of all is the budget")
