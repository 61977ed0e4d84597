"""Which programs hold the memory of this host, by the names that the kernel knows them under."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from vq.readings.kernel import read_text
from vq.readings.processes import KIB, every


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """All processes of one name: how many there are, and the bytes they hold without page cache."""

    name: str
    processes: int
    held_bytes: int


def parse_held(text: str) -> tuple[int, int]:
    """Anonymous and shared memory, in bytes, of `/proc/PID/status`."""
    found = {"RssAnon": 0, "RssShmem": 0}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name in found:
            found[name] = int(value.split()[0]) * KIB
    return found["RssAnon"], found["RssShmem"]


def programs(apart: Collection[int]) -> list[Program]:
    """The programs whose processes are not among the ids `apart`, those that hold most first.

    Memory that processes of one name share counts once, as that of the one that maps most of it.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    for stat in every():
        text = None if stat.pid in apart or stat.ended else read_text(f"/proc/{stat.pid}/status")
        if text is not None:
            found.setdefault(stat.name, []).append(parse_held(text))
    held = [
        Program(
            name=name,
            processes=len(each),
            held_bytes=sum(own for own, _ in each) + max(shared for _, shared in each),
        )
        for name, each in found.items()
    ]
    return sorted(held, key=lambda program: (-program.held_bytes, program.name))
