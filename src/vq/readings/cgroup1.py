"""Control groups, version 1: one folder a controller.

Memory is limited together with swap (`memory.memsw.limit_in_bytes`), because a limit without it is none. Running into
a limit says nothing: page cache alone does it. That memory really ran out comes as an event on `memory.oom_control`,
which the kernel sends to the group whose limit it was and to every group below it: an event that the group above got
too was not this group's own.
"""

from __future__ import annotations

import errno
import os
import signal
from contextlib import suppress

from vq.readings.group import Counters, Group, GroupPaths, Limits
from vq.readings.kernel import numbers_by_name, read_number, read_text, write_text

CONTROLLERS = ("memory", "freezer", "pids", "cpuacct", "cpu")
NEEDED = ("memory", "freezer")

_UNLIMITED = "-1"
_SHARES_A_CPU = 1024
_MOST_SHARES = 262_144
_FREEZE_LOOKS = 100


class Group1(Group):
    """A group of version 1."""

    source = "cgroup-v1"
    # Through `cgroup.procs` the kernel first waits until no thread of the whole machine forks: 5 ms, for each folder.
    join_file = "tasks"
    joined_by_thread = True
    without_cache = ("total_rss", "total_shmem")

    def __init__(self, paths: GroupPaths) -> None:
        super().__init__(paths)
        self._memory = paths.folders["memory"]
        self._freezer = paths.folders["freezer"]
        self._events: list[_OomEvents] = []

    def limit(self, limits: Limits) -> None:
        """Set the limits; raises `OSError` when the kernel refuses."""
        folders = self.paths.folders
        if "pids" in folders:
            write_text(f"{folders['pids']}/pids.max", "max" if limits.pids_max is None else str(limits.pids_max))
        if "cpu" in folders:
            write_text(f"{folders['cpu']}/cpu.shares", str(min(_SHARES_A_CPU * limits.cpus, _MOST_SHARES)))
        wanted = _UNLIMITED if limits.memory_bytes is None else str(limits.memory_bytes)
        with_swap = f"{self._memory}/memory.memsw.limit_in_bytes"
        # Memory alone may never exceed memory with swap: lowering begins with the first, raising with the second.
        is_raised = False
        try:
            write_text(f"{self._memory}/memory.limit_in_bytes", wanted)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            is_raised = True
        if os.path.exists(with_swap):
            write_text(with_swap, wanted)
        if is_raised:
            write_text(f"{self._memory}/memory.limit_in_bytes", wanted)

    def relimit(self, limits: Limits) -> bool:
        """Set the limits; False: the kernel found no way to get what is held below the memory limit."""
        try:
            self.limit(limits)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            return False
        return True

    def limit_bytes(self) -> int | None:
        """`memory.limit_in_bytes`."""
        return read_number(f"{self._memory}/memory.limit_in_bytes")

    def watch(self) -> tuple[int, ...]:
        """A descriptor that becomes readable when this group, or one above it, ran out of memory."""
        for folder in (self._memory, os.path.dirname(self._memory)):
            try:
                self._events.append(_OomEvents(folder))
            except OSError:
                self.close()
                return ()
        return (self._events[0].descriptor,)

    def close(self) -> None:
        """Let go of the events, and of what is held."""
        super().close()
        for events in self._events:
            events.close()
        self._events.clear()

    def freeze(self) -> None:
        """Begin to stop every process of the group."""
        with suppress(FileNotFoundError):
            write_text(f"{self._freezer}/freezer.state", "FROZEN")

    def thaw(self) -> None:
        """Let them go on."""
        with suppress(FileNotFoundError):
            write_text(f"{self._freezer}/freezer.state", "THAWED")

    def kill(self) -> None:
        """SIGKILL to every process: what is frozen cannot fork, and dies once it is thawed."""
        self.freeze()
        try:
            for _ in range(_FREEZE_LOOKS):
                # Reading the state makes the kernel look again for tasks that were born meanwhile.
                if (read_text(f"{self._freezer}/freezer.state") or "FROZEN").strip() == "FROZEN":
                    break
            self._signal_all(signal.SIGKILL)
        finally:
            self.thaw()

    @property
    def stat_path(self) -> str:
        """That of the memory controller."""
        return f"{self._memory}/memory.stat"

    def peak_bytes(self) -> int | None:
        """The kernel's own mark, `memory.max_usage_in_bytes`."""
        return read_number(f"{self._memory}/memory.max_usage_in_bytes")

    def cpu_seconds(self) -> float | None:
        """CPU time of everything that ever ran in the group."""
        folder = self.paths.folders.get("cpuacct")
        nanoseconds = None if folder is None else read_number(f"{folder}/cpuacct.usage")
        return None if nanoseconds is None else nanoseconds / 1e9

    def counters(self) -> Counters:
        """What the kernel counted; without events on `memory.oom_control`, whose limit it was stays unknown."""
        own = outer = None
        if self._events:
            heard, outer = (events.count() for events in self._events)
            own = max(0, heard - outer)
        control = numbers_by_name(read_text(f"{self._memory}/memory.oom_control"))
        hits = [read_number(f"{self._memory}/{name}") for name in ("memory.failcnt", "memory.memsw.failcnt")]
        known = sum(number for number in hits if number is not None)
        kills = control.get("oom_kill")
        return Counters(
            oom_kills=kills,
            # Some kernels keep these files and count nothing in them: 0 is then no answer.
            limit_hits=None if not known and (kills or own) else known,
            own_ooms=own,
            outer_ooms=outer,
        )

    def _member_folders(self) -> tuple[str, ...]:
        # Every process joins every controller; the one that ends them and the one that measures them are enough.
        return tuple(dict.fromkeys((self._freezer, self._memory)))


class _OomEvents:
    """How often the kernel said that a group's memory ran out."""

    def __init__(self, folder: str) -> None:
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._count = 0
        try:
            control = os.open(f"{folder}/memory.oom_control", os.O_RDONLY | os.O_CLOEXEC)
            try:
                write_text(f"{folder}/cgroup.event_control", f"{self.descriptor} {control}")
            finally:
                os.close(control)
        except OSError:
            os.close(self.descriptor)
            raise

    def count(self) -> int:
        """All events so far."""
        with suppress(BlockingIOError):
            self._count += os.eventfd_read(self.descriptor)
        return self._count

    def close(self) -> None:
        os.close(self.descriptor)
