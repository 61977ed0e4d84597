"""The configuration file: every value that it gives, by dotted key, with the line where the value begins."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from vq.config.keys import KEYS, PROFILE_KEYS, SECTIONS
from vq.errors import VqError

_PROFILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

Path = tuple[str, ...]


class ConfigError(VqError):
    """A configuration that cannot be: `where` is the file and line, the variable or the flag."""


class FileValues(NamedTuple):
    """The profiles that a file names, and each value as it was written, with the place where it stands."""

    profiles: tuple[str, ...]
    values: Mapping[str, tuple[Any, str]]


def read_values(document: str, where: str) -> FileValues:
    """What the text of a file gives; raises `ConfigError`, placed at the line, for a key that is not known."""
    try:
        parsed = tomllib.loads(document)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"is no TOML: {error}", where=where) from error
    values, lines = {}, _lines(document)
    for path, value in _leaves(parsed):
        place = f"{where}:{lines[path]}"
        refused = _refused(path, value)
        if refused is not None:
            raise ConfigError(f"{'.'.join(path)}: {refused}", where=place)
        if not _is_profile(path):
            values[".".join(path)] = (value, place)
    return FileValues(profiles=tuple(parsed.get("profiles", {})), values=values)


def _leaves(parsed: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    """Every value with its path, and every profile; where a section should be and is none, that is a value too."""
    for section, inner in parsed.items():
        if type(inner) is not dict or section not in SECTIONS:
            yield (section,), inner
            continue
        for name, value in inner.items():
            yield (section, name), value
            if section == "profiles" and type(value) is dict:
                yield from (((section, name, key), item) for key, item in value.items())


def _is_profile(path: Path) -> bool:
    return path[0] == "profiles" and len(path) == len(("profiles", "NAME"))


def _refused(path: Path, value: Any) -> str | None:
    """What is wrong with a path; None for one that is known."""
    section = path[0]
    if section not in SECTIONS:
        return f"no such section; known are {', '.join(f'[{name}]' for name in SECTIONS)}"
    if len(path) == 1:
        return f"expected a section, [{section}]"
    if _is_profile(path):
        if type(value) is not dict:
            return f"expected a section, [profiles.{path[1]}]"
        named = _PROFILE_NAME.fullmatch(path[1]) is not None
        return None if named else "a profile's name has 1 to 64 of A-Z a-z 0-9 _ -, not - or _ first"
    if section == "profiles":
        known = list(PROFILE_KEYS)
    else:
        known = [key.partition(".")[2] for key in KEYS if key.startswith(f"{section}.")]
    return None if path[-1] in known else f"no such key; known are {', '.join(known)}"


def _lines(document: str) -> dict[Path, int]:
    """The line where each value, and each section, of a valid document begins.

    Statements are told apart by the parser itself: one is the fewest lines, from its first on, that it takes.
    """
    places: dict[Path, int] = {}
    section: Path = ()
    statement, begin = "", 1
    for number, line in enumerate(document.split("\n"), start=1):
        statement += f"{line}\n"
        try:
            found = tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue
        header = statement.lstrip().startswith("[")
        for path in _paths(found, () if header else section):
            for depth in range(1, len(path) + 1):
                places.setdefault(path[:depth], begin)
            section = path if header else section
        statement, begin = "", number + 1
    return places


def _paths(found: Any, path: Path) -> Iterator[Path]:
    """The paths of what has nothing inside it, below `path`."""
    if type(found) is list and found and type(found[0]) is dict:
        found = found[0]
    if type(found) is not dict or not found:
        yield path
        return
    for key, inner in found.items():
        yield from _paths(inner, (*path, key))
