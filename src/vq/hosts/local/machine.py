"""What this machine has for jobs: its size, its control groups, and what is in use at a moment."""

from __future__ import annotations

import logging
import os
import resource
import sys
import time
from collections.abc import Mapping
from contextlib import suppress

from vq.admission import host
from vq.config.values import HostConfig
from vq.hosts.local.attempts import Enforcement, digest_of
from vq.hosts.local.scopes import enter_scope, lingers
from vq.readings import cgroups, processes
from vq.readings.group import Group, GroupPaths, Limits
from vq.readings.meminfo import host_memory
from vq.readings.pressure import memory_pressure_percent
from vq.readings.processes import Process
from vq.supervisor.folder import Attempt, read_attempt
from vq.wording import human_bytes

_HUNDREDTHS = 100
_LARGEST_SHARE = 0.02
_log = logging.getLogger(__name__)


class Machine:
    """The parent group of all attempts of a state folder, made where this process may, and readings of their use."""

    def __init__(self, state_folder: str, config: HostConfig) -> None:
        """Raises `NoGroupsError` where the enforcement that was asked for cannot be had."""
        self._limits = Limits(memory_bytes=config.memory_max_bytes, cpus=config.cpus)
        name = f"vq-{digest_of(state_folder)}"
        mode, self._parent = _parent_of(name, config.enforcement, self._limits)
        self._is_past = self._parent is not None and (self._parent.limit_bytes() or 0) > config.memory_max_bytes
        if self._is_past:
            budget = human_bytes(config.memory_max_bytes)
            _log.warning(
                "jobs hold more than the memory budget of %s: until they end, the limit of them all stays", budget
            )
        paths = None if self._parent is None else self._parent.paths
        self.enforcement = Enforcement(
            mode=mode,
            parent=paths,
            budget_bytes=config.memory_max_bytes,
            kill_grace_ms=config.kill_grace_ms,
        )
        self._known: dict[str, tuple[Attempt, Group | None]] = {}
        most_open = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._most_held = sys.maxsize if most_open == resource.RLIM_INFINITY else most_open // 2
        self._offered: set[str] = set()
        self._summed_until: dict[str, tuple[int | None, float]] = {}

    def use_bytes(self, folder: str) -> int | None:
        """What the attempt in `folder` holds now without page cache; None while that cannot be told."""
        found = self._find(folder)
        if found is None:
            return None
        attempt, group = found
        return self._summed(folder, attempt) if group is None else group.memory_bytes()

    def cpu_seconds(self, folder: str) -> float | None:
        """The CPU time of all that ever ran in the attempt's group; None without one."""
        found = self._find(folder)
        return None if found is None or found[1] is None else found[1].cpu_seconds()

    def _summed(self, folder: str, attempt: Attempt) -> int | None:
        """What the processes of an attempt without a group hold, looked at so seldom that it takes little of a core."""
        share_bytes, until = self._summed_until.get(folder, (None, 0.0))
        began = time.monotonic()
        if began >= until:
            share_bytes = _below(Process(pid=attempt.supervisor_pid, start_ticks=attempt.since_ticks))
            ended = time.monotonic()
            self._summed_until[folder] = (share_bytes, ended + (ended - began) / _LARGEST_SHARE)
        return share_bytes

    def _find(self, folder: str) -> tuple[Attempt, Group | None] | None:
        if folder not in self._known:
            attempt = read_attempt(folder)
            if attempt is None:
                return None
            self._known[folder] = (attempt, None if attempt.group is None else self._opened(attempt.group))
        return self._known[folder]

    def _opened(self, paths: GroupPaths) -> Group:
        group = cgroups.open_group(paths)
        if len(self._known) < self._most_held:
            group.hold()
        return group

    def offer(self, folder: str) -> None:
        """Have the kernel pick the processes of this attempt, should it have to pick before the queue does."""
        found = self._find(folder)
        if found is not None and found[1] is not None and folder not in self._offered:
            self._offered.add(folder)
            for pid in found[1].members():
                processes.offer_to_the_kernel(pid)

    def forget(self, folder: str) -> None:
        """Think no longer of an attempt that is over."""
        found = self._known.pop(folder, None)
        if found is not None and found[1] is not None:
            found[1].close()
        self._offered.discard(folder)
        self._summed_until.pop(folder, None)

    def memory(self, uses: Mapping[str, int | None]) -> host.HostMemory:
        """A reading of the host beside jobs that hold `uses`, in bytes."""
        now, pressure = host_memory(), memory_pressure_percent()
        return host.HostMemory(
            total=now.total_bytes,
            available=now.available_bytes,
            slice=sum(use for use in uses.values() if use is not None),
            full_avg10=None if pressure is None else round(pressure * _HUNDREDTHS),
        )

    def settle(self) -> None:
        """Set the limit of all attempts to the budget, where what they held stood in its way until now."""
        if self._is_past and self._parent is not None:
            self._is_past = not self._parent.relimit(self._limits)

    def close(self) -> None:
        """Let go of attempts' groups; remove their parent unless any is in it: an empty one may yet be joined."""
        for folder in list(self._known):
            self.forget(folder)
        for path in self._parent.paths.folders.values() if self._parent is not None else ():
            with suppress(OSError):
                os.rmdir(path)


def _parent_of(name: str, enforcement: str, limits: Limits) -> tuple[str, Group | None]:
    """The enforcement in force, and the group under which jobs get theirs; None by sampling."""
    if enforcement == "systemd":
        enter_scope(name)
    if enforcement != "sampled":
        cgroups.move_into_leaf()
    parent = cgroups.make_parent(f"{name}.slice", enforcement, limits)
    if parent is None and enforcement == "auto" and lingers():
        try:
            return _parent_of(name, "systemd", limits)
        except cgroups.NoGroupsError as error:
            _log.warning("%s", error)
    return ("sampled" if parent is None else enforcement), parent


def _below(supervisor: Process) -> int | None:
    """What everything below a supervisor holds, shared memory fairly shared; None where it is gone, or nobody says."""
    if not processes.is_alive(supervisor):
        return None
    shares = [processes.read_pss(stat.pid) for stat in processes.descendants(supervisor.pid)]
    return None if any(share is None for share in shares) else sum(share or 0 for share in shares)
