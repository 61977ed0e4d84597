"""The queue that a command works on: its state folder, the store in it, and the configuration in force."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from vq.config.resolve import Facts, load
from vq.config.values import Config
from vq.store.connection import Store, open_store
from vq.store.folder import state_folder
from vq.store.layout import snapshots_folder, staging_folder
from vq.store.settings import stored_config

_CPU_PERIOD_PARTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An open queue: its state folder and the store in it."""

    folder: str
    store: Store

    @property
    def staging(self) -> str:
        """Where payloads are staged."""
        return staging_folder(self.folder)

    @property
    def snapshots(self) -> str:
        """Where payloads lie by their digest."""
        return snapshots_folder(self.folder)


@contextmanager
def open_place(environment: Mapping[str, str]) -> Iterator[Place]:
    """The queue that the environment names, made where there is none; raises `VqError`."""
    folder = state_folder(environment)
    with open_store(folder) as store:
        yield Place(folder=folder, store=store)


def config_in_force(place: Place, environment: Mapping[str, str]) -> Config:
    """What the daemon goes by; before the first one, what it would go by."""
    stored = stored_config(place.store)
    return load(environment, host_facts()) if stored is None else stored


def host_facts() -> Facts:
    """The memory and the CPUs that this process may use: of the machine, of its groups and of its affinity."""
    from vq.readings.meminfo import host_memory  # noqa: PLC0415 - a queue with a daemon has them stored

    return Facts(memory_bytes=host_memory().total_bytes, cpus=_cpus())


def _cpus() -> int:
    from vq.readings.cgroups import hierarchies  # noqa: PLC0415 - as above
    from vq.readings.kernel import read_number, read_text  # noqa: PLC0415

    cpus = len(os.sched_getaffinity(0))
    for tree in hierarchies():
        folder = tree.own
        while folder == tree.mount or folder.startswith(f"{tree.mount}/"):
            if tree.unified:
                words = (read_text(f"{folder}/cpu.max") or "max").split()
                quota, period = words if len(words) == _CPU_PERIOD_PARTS else ("max", "1")
            else:
                quota = str(read_number(f"{folder}/cpu.cfs_quota_us") or "max")
                period = str(read_number(f"{folder}/cpu.cfs_period_us") or 1)
            if quota.isdigit() and int(period) > 0:
                cpus = min(cpus, max(1, int(quota) // int(period)))
            folder = os.path.dirname(folder)
    return cpus
