"""Resolve the configuration: flag > environment > file > default. `resolve` is pure; `load` reads what it needs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from vq.config.file import ConfigError, FileValues, read_values
from vq.config.keys import KEYS, KIB, PROFILE_KEYS, Key
from vq.config.values import Config, Source, config_of
from vq.errors import UsageError, shown
from vq.files.documents import FileError, read_file
from vq.wording import human_bytes

MOST_BYTES = 64 * KIB
ENFORCEMENT_VARIABLE = "VQ_ENFORCEMENT"


class Facts(NamedTuple):
    """What the host has for us: the defaults of its budget, and the most that can be asked of it."""

    memory_bytes: int
    cpus: int


class _Given(NamedTuple):
    value: Any
    source: Source


def config_path(environment: Mapping[str, str]) -> str:
    """Where the file lies: `$XDG_CONFIG_HOME/vq/config.toml`, by default below `~/.config`."""
    base = environment.get("XDG_CONFIG_HOME", "")
    # The base directory specification has a relative path ignored.
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "vq", "config.toml")


def load(environment: Mapping[str, str], facts: Facts, flags: Mapping[str, Any] | None = None) -> Config:
    """The configuration in force; without a file it is all defaults. Raises `ConfigError` or `FileError`."""
    path = config_path(environment)
    document = None
    if os.path.lexists(path):
        try:
            document = read_file(path, MOST_BYTES).decode()
        except UnicodeDecodeError as error:
            raise ConfigError(f"expected UTF-8 text; byte {error.start} is none", where=path) from error
        except FileError as error:
            error.hint = "repair or remove it; without it every value has its default"
            raise
    return resolve(document, facts, where=path, environment=environment, flags=flags or {})


def resolve(
    document: str | None,
    facts: Facts,
    *,
    where: str = "config.toml",
    environment: Mapping[str, str],
    flags: Mapping[str, Any],
) -> Config:
    """The configuration that a file's text, an environment, and flags by their dotted keys come to.

    Raises `ConfigError`, placed at the line, the variable or the flag that is at fault.
    """
    file = FileValues((), {}) if document is None else read_values(document, where)
    given = {key: _Given(value, Source(kind="file", where=place)) for key, (value, place) in file.values.items()}
    if ENFORCEMENT_VARIABLE in environment:
        source = Source(kind="environment", where=ENFORCEMENT_VARIABLE)
        given["host.enforcement"] = _Given(environment[ENFORCEMENT_VARIABLE], source)
    for key, value in flags.items():
        flag = f"--{key.rpartition('.')[2].replace('_', '-')}"
        given[key] = _Given(value, Source(kind="flag", where=flag))
    keys = dict(KEYS)
    for name in dict.fromkeys(("default", *file.profiles)):
        keys.update({f"profiles.{name}.{key}": kind for key, kind in PROFILE_KEYS.items()})
    values, sources = _defaults(keys, facts), dict.fromkeys(keys, Source(kind="default"))
    for key, (value, source) in given.items():
        sources[key] = source
        try:
            values[key] = keys[key].read(value)
        except (ValueError, UsageError):
            message = f"expected {keys[key].expected}, found {shown(value)}"
            raise _refusal(key, message, source) from None
    _refuse_impossible(values, sources, facts)
    return config_of(values, sources)


def _defaults(keys: Mapping[str, Key], facts: Facts) -> dict[str, Any]:
    values = {key: kind.default for key, kind in keys.items()}
    values["host.memory_max"] = facts.memory_bytes * 3 // 4
    values["host.cpus"] = facts.cpus
    return values


def _refuse_impossible(values: Mapping[str, Any], sources: Mapping[str, Source], facts: Facts) -> None:
    budget, cpus = values["host.memory_max"], values["host.cpus"]
    bounds = [("host.memory_max", facts.memory_bytes, "this host has"), ("host.cpus", facts.cpus, "this host has")]
    for key in values:
        if key.startswith("profiles.") and key.endswith(".memory"):
            bounds.append((key, budget, "host.memory_max is"))
        elif key.startswith("profiles.") and key.endswith(".cpus"):
            bounds.append((key, cpus, "host.cpus is"))
    for key, most, why in bounds:
        if values[key] is not None and values[key] > most:
            size = human_bytes if key.endswith(("memory", "memory_max")) else str
            raise _refusal(key, f"{size(values[key])} is impossible; {why} {size(most)}", sources[key])


def _refusal(key: str, message: str, source: Source) -> ConfigError:
    return ConfigError(f"{key}: {message}", where=source.where)
