"""Read a file whole, unchanged and without following a link; write one whole or not at all.

A file is opened by descriptor, never blocks (a FIFO is refused, not waited for), must be a regular file, and must be
the same before and after it was read. `Folder` reads many files below one folder, and no path can lead out of it.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterable
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

from vq.errors import VqError
from vq.files.placing import give_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from hashlib import _Hash
    from types import TracebackType

OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
OPEN_FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC

KIB = 1024
MIB = 1024 * KIB
PART = ".part"
"""The suffix of a file that is not in place yet."""

_CHUNK = 256 * KIB
_FOLDERS_OPEN = 64
_TOO_MANY = (errno.EMFILE, errno.ENFILE)

_NO_NAME = ("", ".", "..")
_RELATIVE = "expected a relative path without empty components, `.` or `..`"


class FileError(VqError):
    """A file that cannot be read or written; `where` is its path."""


def read_file(path: str, limit: int) -> bytes:
    """The bytes of the regular file at `path`, at most `limit` of them; raises `FileError`."""
    with reasons(path):
        return _read_and_close(os.open(path, OPEN_FILE), limit)


def read_json(path: str, limit: int) -> Any:
    """What the JSON in the file at `path` says, whatever that is; raises `FileError`, also for what is no JSON."""
    data = read_file(path, limit)
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FileError("is no JSON, or is nested too deeply", where=path) from error


def replace_private(path: str, text: str) -> None:
    """Put a small file in place whole, over one before it, for its owner only; raises `OSError`.

    It is not forced to disk. What is not in place yet has the suffix `PART`, and is written over.
    """
    staged = path + PART
    descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(staged, path)


class Folder:
    """The folder of a set file: reads files below it by relative path, following no link in any component."""

    def __init__(self, path: str) -> None:
        self.path = path
        with reasons(path):
            self._root = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._folders: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close_folders()
        os.close(self._root)

    def read(self, relative: str, limit: int) -> bytes:
        """The bytes of the regular file at `relative`, at most `limit` of them; raises `FileError`.

        A path comes from a document and names the same UTF-8 bytes whatever the locale says of file names.
        """
        try:
            return _read_and_close(self._opened(relative), limit)
        except (FileError, OSError):
            with reasons(f"{self.path}/{relative}" if self.path != "." else relative):
                raise

    def _opened(self, relative: str) -> int:
        with_folder, slash, name = relative.rpartition("/")
        if name in _NO_NAME or "\0" in relative:
            raise FileError(_RELATIVE)
        try:
            return self._open(with_folder if slash else None, name)
        except OSError as error:
            if error.errno not in _TOO_MANY or not self._folders:
                raise
            # This process may hold fewer open than usual: those kept for speed go first.
            self._close_folders()
            return self._open(with_folder if slash else None, name)

    def _open(self, folder: str | None, name: str) -> int:
        within = self._root if folder is None else self._folder(folder)
        return os.open(name.encode(), OPEN_FILE, dir_fd=within)

    def _folder(self, relative: str) -> int:
        known = self._folders.get(relative)
        if known is not None:
            return known
        if len(self._folders) >= _FOLDERS_OPEN:
            self._close_folders()
        current = self._root
        for name in relative.split("/"):
            try:
                if name in _NO_NAME:
                    raise FileError(_RELATIVE)
                inner = os.open(name.encode(), OPEN_FOLDER, dir_fd=current)
            finally:
                if current != self._root:
                    os.close(current)
            current = inner
        self._folders[relative] = current
        return current

    def _close_folders(self) -> None:
        for folder in self._folders.values():
            os.close(folder)
        self._folders.clear()


def hash_file(descriptor: int, hasher: _Hash, limit: int) -> int:
    """The size of the regular file open at `descriptor`, its bytes fed to `hasher` in small pieces.

    Raises `FileError` for another kind of file, one larger than `limit` bytes, or one that changes meanwhile.
    """
    before = _regular(os.fstat(descriptor), limit)
    buffer = bytearray(_CHUNK)
    view = memoryview(buffer)
    size = 0
    # Past its size at the start a file has changed; one that grows without end is not read to no end.
    while size <= before.st_size and (count := os.readv(descriptor, [buffer])):
        hasher.update(view[:count])
        size += count
    _unchanged(before, os.fstat(descriptor), size)
    return size


def write_new(path: str, pieces: Iterable[str]) -> None:
    """Write a new file at `path` from pieces of text: whole or not at all, on disk when this returns.

    Raises `FileError` if anything, a dangling link too, already stands there; it is never overwritten.
    """
    with _new_name(path) as (name, within):
        _write_and_link(name, within, pieces)


def refuse_existing(path: str) -> None:
    """Nothing, or the `FileError` that `write_new` would begin with, before the work that leads to it."""
    with _new_name(path):
        pass


def is_same_file(status: os.stat_result, other: os.stat_result) -> bool:
    """Whether two readings are of one file on one device."""
    return (status.st_dev, status.st_ino) == (other.st_dev, other.st_ino)


def text_of(path: bytes) -> str:
    r"""A path as documents name it: UTF-8, and a byte that is none as `\xNN`."""
    return path.decode("utf-8", "backslashreplace")


@contextmanager
def reasons(where: str) -> Iterator[None]:
    """Turn what the system says about `where` into a `FileError` that a person can act on."""
    try:
        yield
    except FileError as error:
        if error.where is None:
            error.where = where
        raise
    except OSError as error:
        raise FileError(_reason(error), where=where) from error


def _reason(error: OSError) -> str:
    match error.errno:
        case errno.ELOOP:
            return "is a symbolic link; name the file itself"
        case errno.ENOENT:
            return "no such file"
        case errno.ENOTDIR:
            return "a folder in this path is a link, or not a folder"
        case errno.ENXIO | errno.ENODEV:
            return "is not a regular file"
        case errno.EEXIST:
            return "exists already, and is never overwritten; choose another name"
        case _:
            return (os.strerror(error.errno) if error.errno else str(error)).lower()


def _read_and_close(descriptor: int, limit: int) -> bytes:
    try:
        before = _regular(os.fstat(descriptor), limit)
        data = os.read(descriptor, before.st_size + 1)
        while len(data) < before.st_size and (more := os.read(descriptor, before.st_size + 1 - len(data))):
            data += more
        _unchanged(before, os.fstat(descriptor), len(data))
        return data
    finally:
        os.close(descriptor)


def _regular(status: os.stat_result, limit: int) -> os.stat_result:
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a FIFO, socket or device"
        raise FileError(f"is {kind}; expected a regular file")
    if status.st_size > limit:
        raise FileError(f"has {status.st_size} bytes; expected at most {limit}")
    return status


def _unchanged(before: os.stat_result, after: os.stat_result, size: int) -> None:
    same = (
        size == before.st_size == after.st_size
        and before.st_mtime_ns == after.st_mtime_ns
        and before.st_ctime_ns == after.st_ctime_ns
    )
    if not same:
        raise FileError("changed while it was read; try again once nothing writes to it")


@contextmanager
def _new_name(path: str) -> Iterator[tuple[str, int]]:
    """The name of a file to be made and the folder that is open for it, in which nothing has that name."""
    folder, name = os.path.split(path)
    with reasons(path):
        if not name or name in (".", ".."):
            raise FileError("expected the name of a file to write")
        try:
            within = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise FileError("no such folder to write it in") from error
        try:
            _refuse_existing(name, within)
            yield name, within
        finally:
            os.close(within)


def _refuse_existing(name: str, within: int) -> None:
    try:
        os.stat(name, dir_fd=within, follow_symlinks=False)
    except FileNotFoundError:
        return
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def _write_and_link(name: str, within: int, pieces: Iterable[str]) -> None:
    temporary = f".vq-{os.urandom(8).hex()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o666, dir_fd=within)
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        if not give_name(temporary, name, within):
            text = "the file system there has no way to make a file whole that writes over none"
            raise FileError(text, hint="choose a folder on another one, or have it written to standard output")
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=within)
    os.fsync(within)
