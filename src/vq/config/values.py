"""The configuration as a frozen value, with the origin of every key, and as the document that a daemon stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vq.config.keys import KEYS, PROFILE_KEYS
from vq.shapes import ANY_OBJECT, Record, one_of, text

_WITH_UNITS = {
    "host.memory_max": "memory_max_bytes",
    "host.barrier_after": "barrier_after_ms",
    "host.kill_grace": "kill_grace_ms",
    "host.starved_after": "starved_after_ms",
}

_SOURCE = Record({"kind": one_of(("flag", "environment", "file", "default")), "where": text(null=True)})
_STORED = Record({"values": ANY_OBJECT, "sources": ANY_OBJECT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a value came from: `flag`, `environment`, `file` or `default`, and which flag, variable or line."""

    kind: str
    where: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostConfig:
    """`[host]`: budgets, admission, and what is done in need; None is off."""

    memory_max_bytes: int
    cpus: int
    admission: str
    cpu_admission: str
    cpu_overcommit: int | float
    barrier_after_ms: int | None
    on_host_oom: str
    kill_grace_ms: int
    starved_after_ms: int | None
    enforcement: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """`[profiles.NAME]`: the memory and CPUs of a job that asks for neither; None is no memory or no limit of slots."""

    memory_bytes: int | None
    cpus: int
    slots: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What is in force: every value, and by its dotted key where it came from."""

    host: HostConfig
    autostart: bool
    margin_percent: int
    min_jobs: int
    profiles: Mapping[str, Profile]
    on_end: tuple[str, ...]
    sources: Mapping[str, Source] = field(repr=False)


def config_of(values: Mapping[str, Any], sources: Mapping[str, Source]) -> Config:
    """The configuration of resolved values by dotted key, and their sources."""
    host = {
        key.removeprefix("host."): value
        for key, value in values.items()
        if key.startswith("host.") and key not in _WITH_UNITS
    }
    return Config(
        host=HostConfig(**host, **{name: values[key] for key, name in _WITH_UNITS.items()}),
        autostart=values["daemon.autostart"],
        margin_percent=values["sizing.margin"],
        min_jobs=values["sizing.min_jobs"],
        profiles={
            name: Profile(
                memory_bytes=values[f"profiles.{name}.memory"],
                cpus=values[f"profiles.{name}.cpus"],
                slots=values[f"profiles.{name}.slots"],
            )
            for name in _profiles(values)
        },
        on_end=tuple(values["hooks.on_end"]),
        sources=sources,
    )


def config_document(config: Config) -> dict[str, Any]:
    """The configuration as JSON: `values` by dotted key in bytes and ms, and `sources`; what a daemon stores."""
    host = config.host
    values: dict[str, Any] = {key: getattr(host, _WITH_UNITS.get(key, key[5:])) for key in KEYS if key[:5] == "host."}
    values |= {
        "daemon.autostart": config.autostart,
        "sizing.margin": config.margin_percent,
        "sizing.min_jobs": config.min_jobs,
        "hooks.on_end": list(config.on_end),
    }
    for name, profile in config.profiles.items():
        values[f"profiles.{name}.memory"] = profile.memory_bytes
        values[f"profiles.{name}.cpus"] = profile.cpus
        values[f"profiles.{name}.slots"] = profile.slots
    sources = {key: {"kind": source.kind, "where": source.where} for key, source in config.sources.items()}
    return {"values": values, "sources": sources}


def read_config(document: dict[str, Any]) -> Config:
    """The configuration in a parsed document of `config_document`; raises `BadDataError`."""
    _STORED.check(document)
    values, sources = document["values"], document["sources"]
    known = {key: kind.resolved for key, kind in KEYS.items()}
    for name in _profiles(values):
        known.update({f"profiles.{name}.{key}": kind.resolved for key, kind in PROFILE_KEYS.items()})
    Record(known).check(values, ("values",))
    Record(dict.fromkeys(known, _SOURCE)).check(sources, ("sources",))
    return config_of(values, {key: Source(**source) for key, source in sources.items()})


def _profiles(values: Mapping[str, Any]) -> dict[str, None]:
    """The names of the profiles in their order; a name has no dot."""
    return dict.fromkeys(key.split(".")[1] for key in values if key.startswith("profiles."))
