"""How much memory this host has and has left, for us: the smallest of what the machine and every limit above us allow.

So a container tells the truth. Of a limited group, what it could still get is its limit less what it holds without
page cache that can be dropped.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from vq.readings.cgroups import Hierarchy, hierarchies
from vq.readings.kernel import numbers_by_name, read_number, read_text

KIB = 1024

_NO_LIMIT = 1 << 60


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMemory:
    """Memory in bytes: what there is and what is left."""

    total_bytes: int
    available_bytes: int


def parse_meminfo(text: str) -> HostMemory:
    """`MemTotal` and `MemAvailable` of `/proc/meminfo`."""
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name in ("MemTotal", "MemAvailable", "MemFree"):
            found[name] = int(value.split()[0]) * KIB
    return HostMemory(total_bytes=found["MemTotal"], available_bytes=found.get("MemAvailable", found.get("MemFree", 0)))


def smallest(readings: Iterable[HostMemory]) -> HostMemory:
    """The smallest total and the smallest rest of several; the rest is never more than the total, nor below 0."""
    everything = tuple(readings)
    total = min(reading.total_bytes for reading in everything)
    available = min(reading.available_bytes for reading in everything)
    return HostMemory(total_bytes=total, available_bytes=max(0, min(available, total)))


def host_memory() -> HostMemory:
    """What the machine and every limit above this process allow."""
    machine = parse_meminfo(read_text("/proc/meminfo") or "")
    limited = (reading for tree in hierarchies() for reading in limits_above(tree))
    return smallest((machine, *limited))


def limits_above(tree: Hierarchy) -> Iterable[HostMemory]:
    """What each limited group of a tree allows, from our own up to the root."""
    if not tree.unified and "memory" not in tree.controllers:
        return
    folder = tree.own
    while folder == tree.mount or folder.startswith(f"{tree.mount}/"):
        reading = _limited_2(folder) if tree.unified else _limited_1(folder)
        if reading is not None:
            yield reading
        folder = os.path.dirname(folder)


def _limited_2(folder: str) -> HostMemory | None:
    limit, held = read_number(f"{folder}/memory.max"), read_number(f"{folder}/memory.current")
    cache = numbers_by_name(read_text(f"{folder}/memory.stat")) if limit is not None else {}
    return _reading(limit, held, cache.get("inactive_file", 0) + cache.get("active_file", 0))


def _limited_1(folder: str) -> HostMemory | None:
    limit, held = read_number(f"{folder}/memory.limit_in_bytes"), read_number(f"{folder}/memory.usage_in_bytes")
    cache = numbers_by_name(read_text(f"{folder}/memory.stat")) if limit is not None else {}
    return _reading(limit, held, cache.get("total_inactive_file", 0) + cache.get("total_active_file", 0))


def _reading(limit: int | None, held: int | None, cache: int) -> HostMemory | None:
    if limit is None or held is None or limit >= _NO_LIMIT:
        return None
    return HostMemory(total_bytes=limit, available_bytes=limit - max(0, held - cache))
