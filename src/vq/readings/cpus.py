"""How many CPUs this process may use: what its affinity leaves, and the bandwidth of every group above it."""

from __future__ import annotations

import os
from collections.abc import Iterator

from vq.readings.cgroups import Hierarchy, hierarchies
from vq.readings.kernel import read_text


def usable_cpus() -> int:
    """The CPUs that this process may use, at least 1."""
    bounds = [bound for tree in hierarchies() for bound in _bounds(tree)]
    return min([len(os.sched_getaffinity(0)), *bounds])


def whole_cpus(bandwidth: str | None) -> int | None:
    """The CPUs that `QUOTA PERIOD` of a group comes to, rounded down and at least 1; None for no bound."""
    words = (bandwidth or "").split()
    if len(words) != len(("quota", "period")) or not all(word.isdigit() for word in words) or words[1] == "0":
        return None
    return max(1, int(words[0]) // int(words[1]))


def _bounds(tree: Hierarchy) -> Iterator[int]:
    """What each group of a tree allows, from our own up to the root."""
    folder = tree.own
    while folder == tree.mount or folder.startswith(f"{tree.mount}/"):
        if tree.unified:
            bound = whole_cpus(read_text(f"{folder}/cpu.max"))
        else:
            quota, period = (read_text(f"{folder}/cpu.cfs_{name}_us") or "" for name in ("quota", "period"))
            bound = whole_cpus(f"{quota} {period}")
        if bound is not None:
            yield bound
        folder = os.path.dirname(folder)
