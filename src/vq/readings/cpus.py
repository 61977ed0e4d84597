"""How many CPUs this process may use: its affinity, and the quotas of every control group above it."""

from __future__ import annotations

import os
from collections.abc import Iterable

from vq.readings.cgroups import Hierarchy, hierarchies
from vq.readings.kernel import read_number, read_text


def usable_cpus() -> int:
    """The CPUs that this process may use, at least one; a quota of a part of one counts as one."""
    quotas = (quota for tree in hierarchies() for quota in quotas_above(tree))
    return max(1, min((len(os.sched_getaffinity(0)), *quotas)))


def quotas_above(tree: Hierarchy) -> Iterable[int]:
    """The CPUs that each limited group of a tree allows, rounded up, from our own up to the root."""
    if not tree.unified and "cpu" not in tree.controllers:
        return
    folder = tree.own
    while folder == tree.mount or folder.startswith(f"{tree.mount}/"):
        quota, period = _quota_2(folder) if tree.unified else _quota_1(folder)
        if quota is not None and quota > 0 and period:
            yield -(-quota // period)
        folder = os.path.dirname(folder)


def _quota_2(folder: str) -> tuple[int | None, int | None]:
    words = (read_text(f"{folder}/cpu.max") or "max").split()
    return (int(words[0]), int(words[1])) if words[0].isdigit() and len(words) > 1 else (None, None)


def _quota_1(folder: str) -> tuple[int | None, int | None]:
    return read_number(f"{folder}/cpu.cfs_quota_us"), read_number(f"{folder}/cpu.cfs_period_us")
