"""An archive unpacked into an open folder: read once to check every member, and once more to write.

Members are made by folder descriptors, each name new and never followed. The second reading repeats every check, so
an archive that is exchanged between the two gains nothing.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from vq.files.contents import Directory, Entry, File, Link
from vq.files.copying import Meter, set_mode_and_time, write_all
from vq.files.documents import OPEN_FOLDER, reasons, text_of
from vq.files.members import Member, members
from vq.files.names import Names
from vq.files.streams import Unpacked
from vq.files.trees import NEW_FILE, OWNER_ALL, OWNER_READS, OWNER_RUNS, closing_descriptor

_FOLDERS_OPEN = 64


def checked(descriptor: int) -> Iterator[tuple[bytes, Member, Iterator[memoryview]]]:
    """Each member of the open archive with its sound path, and its contents, to be taken before the next.

    Raises `FileError` for the first thing wrong with the archive, the member's name in `where`.
    """
    names = Names()
    for member, contents in members(Unpacked(descriptor)):
        with reasons(text_of(member.name)):
            path = names.add(member)
        if path:
            yield path, member, contents


def hash_pieces(pieces: Iterator[memoryview], meter: Meter, target: int | None) -> bytes:
    """The SHA-256 of the pieces, each written to the open file `target` if there is one."""
    hasher = hashlib.sha256()
    for piece in pieces:
        hasher.update(piece)
        if target is not None:
            write_all(target, piece)
        meter.add(len(piece))
    return hasher.digest()


@dataclass(slots=True, kw_only=True)
class Unpacking:
    """Makes checked members below the open folder `target`, folders that they lie in as needed.

    Permissions and times are kept as by `Copier`. The times of folders are set by `finish`, after what lies in them.
    """

    target: int
    meter: Meter
    _folders: dict[bytes, Member | None] = field(default_factory=dict)
    _open: dict[bytes, int] = field(default_factory=dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def take(self, path: bytes, member: Member, contents: Iterator[memoryview]) -> Entry | None:
        """The entry of a file or link just made, None for a folder; raises `FileError` with the path."""
        with reasons(text_of(path)):
            if member.is_folder:
                self._make_folders(path)
                self._folders[path] = member
                return None
            parent, _, name = path.rpartition(b"/")
            self._make_folders(parent)
            within = self._folder(parent)
            if member.target is None:
                return self._make_file(path, within, member, contents)
            os.symlink(member.target, name, dir_fd=within)
            return Link(path=path, target=member.target)

    def finish(self) -> list[Entry]:
        """The entries of all folders, which now have their permissions and times."""
        for path, member in self._folders.items():
            if member is not None:
                with reasons(text_of(path)):
                    set_mode_and_time(self._folder(path), member.mode | OWNER_ALL, member.mtime_ns)
        return [Directory(path=path) for path in self._folders]

    def _make_file(self, path: bytes, within: int, member: Member, contents: Iterator[memoryview]) -> File:
        name = path.rpartition(b"/")[2]
        with closing_descriptor(os.open(name, NEW_FILE, 0o600, dir_fd=within)) as target:
            sha256 = hash_pieces(contents, self.meter, target)
            set_mode_and_time(target, member.mode | OWNER_READS, member.mtime_ns)
        executable = bool(member.mode & OWNER_RUNS)
        return File(path=path, size_bytes=member.size_bytes, sha256=sha256, executable=executable)

    def _make_folders(self, path: bytes) -> None:
        missing = []
        while path and path not in self._folders:
            missing.append(path)
            path = path.rpartition(b"/")[0]
        for folder in reversed(missing):
            parent, _, name = folder.rpartition(b"/")
            os.mkdir(name, OWNER_ALL, dir_fd=self._folder(parent))
            self._folders[folder] = None

    def _folder(self, path: bytes) -> int:
        """The descriptor of a folder that was made, opened step by step from the top."""
        if not path:
            return self.target
        if path in self._open:
            return self._open[path]
        if len(self._open) >= _FOLDERS_OPEN:
            self._close()
        current = os.dup(self.target)
        for name in path.split(b"/"):
            with closing_descriptor(current):
                current = os.open(name, OPEN_FOLDER, dir_fd=current)
        self._open[path] = current
        return current

    def _close(self) -> None:
        for folder in self._open.values():
            os.close(folder)
        self._open.clear()
