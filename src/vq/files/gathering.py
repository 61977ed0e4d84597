"""Copy what a job left, whole or by a pattern, out of its workspace: links as links, nothing followed."""

from __future__ import annotations

import os
import stat
from contextlib import closing
from dataclasses import dataclass
from fnmatch import fnmatchcase

from vq.files.copying import Meter, Progress, copy_only, refuse_full_disk
from vq.files.documents import OPEN_FOLDER, reasons, text_of
from vq.files.trees import Copier, closing_descriptor
from vq.files.walking import Entered, Left, Met, walk


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """How many files and links were copied, and the special files that were left out."""

    files: int
    left_out: tuple[str, ...]


def gather(source: str, target: str, pattern: str | None = None, *, progress: Progress | None = None) -> Gathered:
    """Copy what lies below the folder `source` into the empty folder `target`; raises `FileError`.

    With a pattern (`*`, `?`, `[…]`), only what has it as its name or its path, and the folders on the way there.
    """
    with reasons(source):
        opened = os.open(source, OPEN_FOLDER)
    with closing_descriptor(opened) as root:
        wanted, size_bytes, left_out = _survey(root, pattern)
        with reasons(target):
            into = os.open(target, OPEN_FOLDER)
        with closing_descriptor(into):
            refuse_full_disk(into, size_bytes)
            meter = Meter(total_bytes=size_bytes, progress=progress)
            files = 0
            with closing(walk(root)) as steps, Copier(target=into, fill=_fill, meter=meter) as copier:
                for step in steps:
                    if step.path in wanted:
                        copier.take(step)
                        files += isinstance(step, Met)
            meter.finish()
    return Gathered(files=files, left_out=tuple(left_out))


def _survey(root: int, pattern: str | None) -> tuple[set[bytes], int, list[str]]:
    """The paths to copy, the bytes of their files, and the special files met."""
    wanted: set[bytes] = set()
    size_bytes, left_out = 0, []
    with closing(walk(root)) as steps:
        for step in steps:
            match step:
                case Met():
                    if not _has(step.path, pattern):
                        continue
                    if not (stat.S_ISREG(step.status.st_mode) or stat.S_ISLNK(step.status.st_mode)):
                        left_out.append(text_of(step.path))
                        continue
                    size_bytes += step.status.st_size
                    wanted.add(step.path)
                    _add_folders(step.path, wanted)
                case Entered() if pattern is None:
                    wanted.add(step.path)
                case Entered() | Left():
                    pass
    return wanted, size_bytes, left_out


def _add_folders(path: bytes, wanted: set[bytes]) -> None:
    above = path.rpartition(b"/")[0]
    while above and above not in wanted:
        wanted.add(above)
        above = above.rpartition(b"/")[0]


def _has(path: bytes, pattern: str | None) -> bool:
    if pattern is None:
        return True
    text = os.fsdecode(path)
    return fnmatchcase(text, pattern) or fnmatchcase(text.rpartition("/")[2], pattern)


def _fill(source: int, target: int, meter: Meter) -> tuple[int, bytes]:
    copy_only(source, target, meter)
    return 0, b""
