"""Control groups, version 2: one tree, one folder a group.

Swap is not given at all (`memory.swap.max` 0), no soft limit is set (`memory.high` throttles a job whose limit is
exactly its peak), and when a limit fires the kernel ends the whole job of whomever it picks (`memory.oom.group` of the
job's group, and not of the one of all jobs). `memory.events.local` counts what this group's own limit did,
`memory.events` what happened in it.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from vq.readings.group import Counters, Group, GroupPaths, Limits
from vq.readings.kernel import numbers_by_name, read_number, read_text, write_text

CONTROLLERS = ("memory", "pids", "cpu")
NEEDED = ("memory",)

_WEIGHT_A_CPU = 100
_MOST_WEIGHT = 10_000


class Group2(Group):
    """A group of version 2."""

    source = "cgroup-v2"
    join_file = "cgroup.procs"
    without_cache = ("anon", "shmem")

    def __init__(self, paths: GroupPaths) -> None:
        super().__init__(paths)
        self._folder = paths.folders["unified"]

    def limit(self, limits: Limits) -> None:
        """Set the limits; raises `OSError` when the kernel refuses."""
        self._limit_others(limits)
        memory = "max" if limits.memory_bytes is None else str(limits.memory_bytes)
        write_text(f"{self._folder}/memory.max", memory)

    def relimit(self, limits: Limits) -> bool:
        """Set the limits; False: more memory is held, for which the kernel would kill at once."""
        if limits.memory_bytes is not None and self._held_bytes() > limits.memory_bytes:
            self._limit_others(limits)
            return False
        self.limit(limits)
        return True

    def limit_bytes(self) -> int | None:
        """`memory.max`."""
        return read_number(f"{self._folder}/memory.max")

    def hand_down(self) -> None:
        """Let groups inside this one use its controllers; raises `OSError` when the kernel refuses the needed ones."""
        hand_down(self._folder)

    def freeze(self) -> None:
        """Begin to stop every process of the group."""
        with suppress(FileNotFoundError):
            write_text(f"{self._folder}/cgroup.freeze", "1")

    def thaw(self) -> None:
        """Let them go on."""
        with suppress(FileNotFoundError):
            write_text(f"{self._folder}/cgroup.freeze", "0")

    def kill(self) -> None:
        """SIGKILL to every process, in one write; one by one, frozen meanwhile, where the kernel is older than 5.14."""
        try:
            write_text(f"{self._folder}/cgroup.kill", "1")
        except FileNotFoundError:
            self.freeze()
            self._signal_all(signal.SIGKILL)
            self.thaw()

    @property
    def stat_path(self) -> str:
        """That of the one folder."""
        return f"{self._folder}/memory.stat"

    def peak_bytes(self) -> int | None:
        """The kernel's own mark, `memory.peak` (Linux 5.19)."""
        return read_number(f"{self._folder}/memory.peak")

    def cpu_seconds(self) -> float | None:
        """CPU time of everything that ever ran in the group."""
        microseconds = numbers_by_name(read_text(f"{self._folder}/cpu.stat")).get("usage_usec")
        return None if microseconds is None else microseconds / 1e6

    def counters(self) -> Counters:
        """What the kernel counted; a kill without an `oom` of the group's own limit was a limit above it."""
        events = numbers_by_name(read_text(f"{self._folder}/memory.events"))
        local_text = read_text(f"{self._folder}/memory.events.local")
        local = events if local_text is None else numbers_by_name(local_text)
        own = local.get("oom")
        return Counters(
            oom_kills=events.get("oom_kill"),
            limit_hits=local.get("max"),
            own_ooms=own,
            outer_ooms=None if own is None else self._outer(events, own),
        )

    def _limit_others(self, limits: Limits) -> None:
        self._set_where_there("memory.swap.max", "max" if limits.memory_bytes is None else "0")
        self._set_where_there("memory.oom.group", "1" if limits.one_job else "0")
        self._set_where_there("pids.max", "max" if limits.pids_max is None else str(limits.pids_max))
        self._set_where_there("cpu.weight", str(min(_WEIGHT_A_CPU * limits.cpus, _MOST_WEIGHT)))

    def _held_bytes(self) -> int:
        """All that is charged to the group but for the page cache, which the kernel can drop."""
        stat = numbers_by_name(read_text(f"{self._folder}/memory.stat"))
        cached = stat.get("inactive_file", 0) + stat.get("active_file", 0)
        return (read_number(f"{self._folder}/memory.current") or 0) - cached

    def _outer(self, events: dict[str, int], own: int) -> int:
        # An `oom` that only the inclusive count shows was a limit the job set itself, on a group inside this one.
        inner = events.get("oom", 0) - own
        return 1 if events.get("oom_kill", 0) and not own and not inner else 0

    def _set_where_there(self, name: str, text: str) -> None:
        if os.path.exists(f"{self._folder}/{name}"):
            write_text(f"{self._folder}/{name}", text)


def hand_down(folder: str) -> None:
    """Let groups inside `folder` use its controllers; raises `OSError` when the kernel refuses the needed ones."""
    there = (read_text(f"{folder}/cgroup.controllers") or "").split()
    on = (read_text(f"{folder}/cgroup.subtree_control") or "").split()
    for name in CONTROLLERS:
        if name in on:
            continue
        if name in there:
            try:
                write_text(f"{folder}/cgroup.subtree_control", f"+{name}")
            except OSError:
                if name in NEEDED:
                    raise
        elif name in NEEDED:
            raise FileNotFoundError(2, f"the {name} controller is not given to this group", folder)
