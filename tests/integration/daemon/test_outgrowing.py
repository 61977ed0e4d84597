"""Jobs that outgrow what is reserved for them, and whom the kernel would pick if it had to."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemons import Queue, python
from vq.hosts.local.attempts import oom_score_adj
from vq.jobs.history_row import HistoryRow
from vq.readings import cgroups
from vq.store.history import import_rows
from vq.store.layout import attempt_folder
from vq.supervisor.folder import read_attempt

MIB = 1 << 20
HOLD = "import sys, time; kept = b'x' * (int(sys.argv[1]) << 20); print('ready', flush=True); time.sleep(600)"


def small(number: int) -> HistoryRow:
    return HistoryRow(
        repository="owner/name",
        workflow=None,
        name="grows",
        profile="default",
        memory_cap=390 * MIB,
        cpu_cap=1000,
        memory_peak=20 * MIB,
        page_cache=False,
        cpu_average=None,
        queued_at=number,
        started_at=number,
        finished_at=number,
        oom_killed=False,
        hit_cap=False,
        own_cap=False,
        succeeded=True,
        cancelled=False,
        reserved=None,
    )


def adjustments(queue: Queue, identifier: str) -> set[int]:
    """What the kernel adds to the score of each process of a running job."""
    attempt = read_attempt(attempt_folder(queue.folder, identifier, 1))
    if attempt is None or attempt.group is None:
        return set()
    members = cgroups.open_group(attempt.group).members()
    return {int(Path(f"/proc/{pid}/oom_score_adj").read_text()) for pid in members}


def test_the_kernel_would_pick_a_job_past_its_reservation_and_none_inside(queue: Queue) -> None:
    if queue.mode == "sampled":
        pytest.skip("without control groups the kernel knows of no limit")
    queue.text = '[host]\nmemory_max = "420M"\n'
    import_rows(queue.store, [small(number) for number in range(12)], "rows")
    inside, outside = (
        queue.submit(python(HOLD, str(size)), mem_mb=cap, name=name)[0]
        for size, cap, name in ((10, 100, "stays"), (300, 390, "grows"))
    )
    queue.until(lambda: adjustments(queue, outside) == {1000}, "the kernel is told")
    assert adjustments(queue, inside) == {oom_score_adj(100 * MIB, 420 * MIB)}
    assert queue.job(outside).life.reserved_bytes == 256 * MIB
