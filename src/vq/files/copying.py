"""One open file copied into another: cloned where the file system can, else in bounded memory, hashed on the way."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass

from vq.files.documents import MIB, FileError
from vq.files.linux import clone
from vq.wording import human_bytes

SPARE_BYTES = 64 * MIB
CHUNK_BYTES = MIB

Progress = Callable[[int, int], None]
"""Told of a long copy as it goes on: the bytes done and the bytes in all."""

_REPORT_EVERY_BYTES = 4 * MIB
_LATEST_SECONDS = 2**34
_NS = 10**9
_PERMISSIONS = 0o777


@dataclass(slots=True, kw_only=True)
class Meter:
    """Counts what a copy has done, and tells `progress` every 4 MiB and at the end."""

    total_bytes: int
    progress: Progress | None
    done_bytes: int = 0
    told_bytes: int = 0

    def add(self, size_bytes: int) -> None:
        """Count `size_bytes` more."""
        self.done_bytes += size_bytes
        if self.done_bytes - self.told_bytes >= _REPORT_EVERY_BYTES:
            self._tell()

    def finish(self) -> None:
        """Tell the last figure, if it was not told."""
        if self.told_bytes != self.done_bytes:
            self._tell()

    def _tell(self) -> None:
        self.told_bytes = self.done_bytes
        if self.progress is not None:
            self.progress(self.done_bytes, self.total_bytes)


def refuse_full_disk(folder: int, payload_bytes: int) -> None:
    """Nothing, or the `FileError` that the disk of the open `folder` has no room for a payload and 64 MiB."""
    status = os.fstatvfs(folder)
    free_bytes = status.f_bavail * status.f_frsize
    if free_bytes < payload_bytes + SPARE_BYTES:
        needed = human_bytes(payload_bytes + SPARE_BYTES)
        raise FileError(
            f"the payload has {human_bytes(payload_bytes)}, and the disk of the queue's state folder has "
            f"{human_bytes(free_bytes)} free; expected at least {needed}",
            hint="free space there, or leave out of the payload what the job does not read",
        )


def copy_and_hash(source: int, target: int, meter: Meter) -> tuple[int, bytes]:
    """The size and SHA-256 of what `target` now holds: the bytes of the open regular file `source`.

    Raises `FileError` when `source` changes meanwhile. A file that grows without end is read to its first size and
    one piece more.
    """
    before = os.fstat(source)
    hasher = hashlib.sha256()
    if before.st_size and clone(source, target):
        size = _feed(target, before.st_size, hasher.update, meter)
    else:

        def take(piece: memoryview) -> None:
            hasher.update(piece)
            write_all(target, piece)

        size = _feed(source, before.st_size, take, meter)
    refuse_changed(before, os.fstat(source), size)
    return size, hasher.digest()


def hash_only(source: int, meter: Meter) -> tuple[int, bytes]:
    """The size and SHA-256 of the open regular file `source`; raises `FileError` when it changes meanwhile."""
    before = os.fstat(source)
    hasher = hashlib.sha256()
    size = _feed(source, before.st_size, hasher.update, meter)
    refuse_changed(before, os.fstat(source), size)
    return size, hasher.digest()


def copy_only(source: int, target: int, meter: Meter) -> None:
    """Fill the open, empty file `target` with the bytes of `source`; raises `FileError` when that changes meanwhile."""
    before = os.fstat(source)
    if before.st_size and clone(source, target):
        size = os.fstat(target).st_size
        meter.add(size)
    else:
        size = _feed(source, before.st_size, lambda piece: write_all(target, piece), meter)
    refuse_changed(before, os.fstat(source), size)


def write_all(target: int, piece: memoryview) -> None:
    """Write the whole piece; raises `OSError`."""
    while piece:
        piece = piece[os.write(target, piece) :]


def refuse_changed(before: os.stat_result, after: os.stat_result, size_bytes: int) -> None:
    """Nothing, or the `FileError` that a file read to `size_bytes` was written to meanwhile."""
    same = (
        size_bytes == before.st_size == after.st_size
        and before.st_mtime_ns == after.st_mtime_ns
        and before.st_ctime_ns == after.st_ctime_ns
    )
    if not same:
        raise FileError("changed while it was copied; try again once nothing writes to it")


def set_mode_and_time(descriptor: int, mode: int, mtime_ns: int) -> None:
    """Give an open file or folder the permissions of `mode`, never setuid, setgid or sticky, and a time in range."""
    os.fchmod(descriptor, mode & _PERMISSIONS)
    within = min(max(mtime_ns, 0), _LATEST_SECONDS * _NS)
    os.utime(descriptor, ns=(within, within))


def _feed(source: int, expected_bytes: int, take: Callable[[memoryview], object], meter: Meter) -> int:
    """The number of bytes read, to the end or just past `expected_bytes`, each piece given to `take`."""
    buffer = bytearray(min(CHUNK_BYTES, expected_bytes + 1))
    view = memoryview(buffer)
    size = 0
    while size <= expected_bytes and (count := os.preadv(source, [buffer], size)):
        take(view[:count])
        size += count
        meter.add(count)
    return size
