"""The queue that a command works on: its state folder, the store in it, and the configuration in force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from vq.config.values import Config
from vq.store.connection import Store, open_store
from vq.store.folder import state_folder
from vq.store.layout import snapshots_folder, staging_folder
from vq.store.settings import stored_config


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
    """What the daemon goes by; where none runs, what one would go by."""
    stored = stored_config(place.store)
    return config_of_file(environment) if stored is None else stored


def config_of_file(environment: Mapping[str, str]) -> Config:
    """What a daemon that starts now goes by; raises `ConfigError` or `FileError`."""
    from vq.config.resolve import load  # noqa: PLC0415 - once a daemon has run, what it resolved is stored
    from vq.hosts.local.facts import facts  # noqa: PLC0415

    return load(environment, facts())
