"""A walk below an open folder, by folder descriptors: nothing is followed, and no swap can lead outside.

The walk holds the folders from its root to where it is open, so it is bounded in depth. Each name is looked at once
by `lstat` and opened with `O_NOFOLLOW`; a link that was put in its place meanwhile is refused.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from vq.files.documents import OPEN_FOLDER, FileError, reasons, text_of

MOST_DEPTH = 256
MOST_PATH_BYTES = 4095


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """A folder that the walk goes into: its path from the root, its name in the open folder `within`, its status."""

    path: bytes
    name: bytes
    status: os.stat_result
    within: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """The folder that was entered last and not left yet is done."""

    path: bytes
    status: os.stat_result


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """Anything that is no folder: its path from the root, its name in the open folder `within`, its status."""

    path: bytes
    name: bytes
    status: os.stat_result
    within: int


Step = Entered | Left | Met


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    path: bytes
    folder: int
    status: os.stat_result
    names: Iterator[bytes]


def walk(root: int) -> Generator[Step, None, None]:
    """The steps below the open folder `root`, names in byte order; close the iterator to close its folders.

    Raises `FileError` with the path for a folder that cannot be read, one more than 256 deep, and a path of more
    than 4,095 bytes.
    """
    levels = [_Level(path=b"", folder=root, status=os.fstat(root), names=_names(b"", root))]
    try:
        while levels:
            level = levels[-1]
            name = next(level.names, None)
            if name is not None:
                yield _step(level, name, levels)
                continue
            levels.pop()
            if levels:
                os.close(level.folder)
                yield Left(path=level.path, status=level.status)
    finally:
        for level in levels[1:]:
            os.close(level.folder)


def refuse_long_path(path: bytes) -> None:
    """Nothing, or the `FileError` that no program could open the `path`."""
    if len(path) > MOST_PATH_BYTES:
        raise FileError(f"a path of {len(path)} bytes; expected at most {MOST_PATH_BYTES}")


def _step(level: _Level, name: bytes, levels: list[_Level]) -> Step:
    path = level.path + b"/" + name if level.path else name
    with reasons(text_of(path)):
        refuse_long_path(path)
        status = os.stat(name, dir_fd=level.folder, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode):
            return Met(path=path, name=name, status=status, within=level.folder)
        if len(levels) > MOST_DEPTH:
            raise FileError(f"lies more than {MOST_DEPTH} folders deep")
        folder = os.open(name, OPEN_FOLDER, dir_fd=level.folder)
        status = os.fstat(folder)
        levels.append(_Level(path=path, folder=folder, status=status, names=_names(path, folder)))
        return Entered(path=path, name=name, status=status, within=level.folder)


def _names(path: bytes, folder: int) -> Iterator[bytes]:
    with reasons(text_of(path or b".")):
        names = sorted(map(os.fsencode, os.listdir(folder)))
    yield from names
