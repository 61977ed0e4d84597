"""Trees of folders, files and links, copied into an open folder by descriptors and removed again, however deep."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from vq.files.contents import Directory, Entry, File, Link
from vq.files.copying import Meter, set_mode_and_time
from vq.files.documents import OPEN_FILE, OPEN_FOLDER, FileError, reasons, text_of
from vq.files.walking import Entered, Left, Met, Step

NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
OWNER_ALL = 0o700
OWNER_READS = 0o400
OWNER_RUNS = 0o100

Fill = Callable[[int, int, Meter], tuple[int, bytes]]
"""Fills the open file given second from the one given first; says its size and, where it hashes, the SHA-256."""


@dataclass(slots=True, kw_only=True)
class Copier:
    """Makes below the open folder `target` what a walk meets elsewhere, one step after the other.

    Permissions (without setuid, setgid and sticky) and times are kept, owners are not. The owner can always read
    what was copied, and write to its folders: a copy that its owner cannot read or remove would be of no use.
    """

    target: int
    fill: Fill
    meter: Meter
    _inner: list[int] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for folder in self._inner:
            os.close(folder)
        self._inner.clear()

    def take(self, step: Step) -> Entry | None:
        """The entry made for a step, None for a folder that was left; raises `FileError` with its path."""
        with reasons(text_of(step.path)):
            within = self._inner[-1] if self._inner else self.target
            match step:
                case Entered():
                    self._inner.append(make_folder(step.name, within))
                    return Directory(path=step.path)
                case Left():
                    set_mode_and_time(within, step.status.st_mode | OWNER_ALL, step.status.st_mtime_ns)
                    os.close(self._inner.pop())
                    return None
                case Met() if stat.S_ISLNK(step.status.st_mode):
                    return _copy_link(step, within)
                case Met():
                    return self.copy_file(step, within)

    def copy_file(self, step: Met, within: int) -> File:
        """The entry of the regular file met, copied into the open folder `within`; raises `FileError`, `OSError`."""
        with closing_descriptor(open_regular(step.name, step.within)) as source:
            status = os.fstat(source)
            with closing_descriptor(os.open(step.name, NEW_FILE, 0o600, dir_fd=within)) as target:
                size, sha256 = self.fill(source, target, self.meter)
                set_mode_and_time(target, status.st_mode | OWNER_READS, status.st_mtime_ns)
        executable = bool(status.st_mode & OWNER_RUNS)
        return File(path=step.path, size_bytes=size, sha256=sha256, executable=executable)


@contextmanager
def closing_descriptor(descriptor: int) -> Iterator[int]:
    """An open descriptor, closed at the end."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_regular(name: bytes, within: int) -> int:
    """The descriptor of a regular file, opened without waiting for a FIFO; raises `FileError` for anything else."""
    descriptor = os.open(name, OPEN_FILE, dir_fd=within)
    try:
        refuse_special(os.fstat(descriptor).st_mode)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def refuse_special(mode: int) -> None:
    """Nothing, or the `FileError` that this is something other than a regular file."""
    if not stat.S_ISREG(mode):
        raise FileError(
            "is a FIFO, socket or device; a payload carries folders, regular files and links",
            hint="remove it, or submit from a folder without it",
        )


def make_folder(name: bytes, within: int) -> int:
    """The descriptor of a folder just made, for its owner alone."""
    os.mkdir(name, OWNER_ALL, dir_fd=within)
    folder = os.open(name, OPEN_FOLDER, dir_fd=within)
    os.fchmod(folder, OWNER_ALL)
    return folder


def remove_tree(name: bytes, within: int) -> None:
    """Remove the folder `name` of the open folder `within` and all below it; links in it are removed, not followed.

    Folders further down are first moved up to the top, so that no depth exhausts descriptors. Raises `OSError`.
    """
    with closing_descriptor(_open_writable(name, within)) as root:
        while names := _folders_left(root):
            for inner in names:
                _move_up(inner, root)
    os.rmdir(name, dir_fd=within)


def _move_up(name: bytes, root: int) -> None:
    with closing_descriptor(_open_writable(name, root)) as folder:
        for inner in _folders_left(folder):
            # Who moves a folder must be allowed to write to it.
            os.close(_open_writable(inner, folder))
            os.rename(inner, secrets.token_hex(16), src_dir_fd=folder, dst_dir_fd=root)
    os.rmdir(name, dir_fd=root)


def _folders_left(folder: int) -> list[bytes]:
    """The names of the folders in an open folder from which everything else was just removed."""
    folders = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(os.fsencode(entry.name))
            else:
                os.unlink(entry.name, dir_fd=folder)
    return folders


def _open_writable(name: bytes, within: int) -> int:
    """The descriptor of a folder whose owner, if it was not so before, may now read and write it."""
    flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    with closing_descriptor(os.open(name, flags, dir_fd=within)) as handle:
        if os.fstat(handle).st_mode & OWNER_ALL != OWNER_ALL:
            # A handle cannot be changed by fchmod, and its name could by now be a link.
            os.chmod(f"/proc/self/fd/{handle}", OWNER_ALL)
        return os.open(".", OPEN_FOLDER, dir_fd=handle)


def _copy_link(step: Met, within: int) -> Link:
    target = os.readlink(step.name, dir_fd=step.within)
    os.symlink(target, step.name, dir_fd=within)
    times = (step.status.st_mtime_ns, step.status.st_mtime_ns)
    os.utime(step.name, ns=times, dir_fd=within, follow_symlinks=False)
    return Link(path=step.path, target=target)
