"""Snapshots: one folder for each payload digest, complete or not there, and the workspaces made from them.

A staged payload becomes a snapshot by one rename, so that two submitters of one payload end with one snapshot, and a
kill leaves none by halves. A workspace is a copy: it shares blocks at most, never a file that could be written to.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

from vq.files.copying import Meter, Progress, copy_only, refuse_full_disk
from vq.files.documents import OPEN_FOLDER, FileError, reasons
from vq.files.linux import sync_file_system
from vq.files.payloads import Payload
from vq.files.staging import TREE, Staging
from vq.files.trees import OWNER_ALL, Copier, closing_descriptor, open_regular
from vq.files.walking import Entered, Met, walk

_DIGEST = re.compile(r"[0-9a-f]{64}")
_SYNCED_ONE_BY_ONE = 32
_STANDS_ALREADY = (errno.ENOTEMPTY, errno.EEXIST)


def publish(staging: Staging, payload: Payload, snapshots: str) -> bool:
    """Whether the staged payload became a new snapshot in the folder `snapshots`; false: it was there already.

    On disk when this returns; raises `FileError`. To keep a snapshot from being withdrawn between its publishing and
    the record that names it, publish and withdraw within the transactions that write and end such records; call
    `make_durable` before, so that the transaction waits for a rename alone.
    """
    with _open(snapshots) as folder:
        if not _stands(payload.digest, folder):
            make_durable(staging, payload)
        published = _moved(staging, payload.digest, folder)
        os.fsync(folder)
        return published


def make_durable(staging: Staging, payload: Payload) -> None:
    """Bring what is staged to disk, file by file if they are few; raises `FileError`."""
    with reasons(staging.path):
        if len(payload.entries) > _SYNCED_ONE_BY_ONE:
            sync_file_system(staging.tree)
            return
        with closing(walk(staging.tree)) as steps:
            for step in steps:
                match step:
                    case Met() if stat.S_ISREG(step.status.st_mode):
                        _sync(open_regular(step.name, step.within))
                    case Entered():
                        _sync(os.open(step.name, OPEN_FOLDER, dir_fd=step.within))
                    case _:
                        pass
        os.fsync(staging.tree)


def has_snapshot(digest: str, snapshots: str) -> bool:
    """Whether the folder `snapshots` has the payload of this digest; raises `FileError`."""
    with _open(snapshots) as folder:
        return _stands(digest, folder)


def withdraw(staging: Staging, digest: str, snapshots: str) -> bool:
    """Whether the snapshot was there; it now lies in `staging`, with whose end it is removed. Raises `FileError`."""
    with _open(snapshots) as folder:
        try:
            os.rename(_name(digest), _name(digest), src_dir_fd=folder, dst_dir_fd=staging.folder)
        except FileNotFoundError:
            return False
        os.fsync(folder)
        return True


def make_workspace(
    staging: Staging, digest: str, snapshots: str, destination: str, *, progress: Progress | None = None
) -> None:
    """Copy a snapshot to `destination`, which is absent or an empty folder before, and complete afterwards.

    Raises `FileError` for a snapshot that is not there, a disk without room, and a destination that cannot be used.
    """
    _copy(staging, digest, snapshots, progress)
    _place(staging, destination)


def make_durable_workspace(
    staging: Staging, digest: str, snapshots: str, destination: str, *, progress: Progress | None = None
) -> None:
    """As `make_workspace`, and after a power cut it is complete, too, if it is there."""
    _copy(staging, digest, snapshots, progress)
    with reasons(staging.path):
        sync_file_system(staging.tree)
    _place(staging, destination)


def _copy(staging: Staging, digest: str, snapshots: str, progress: Progress | None) -> None:
    with _open(snapshots) as folder, closing_descriptor(os.open(_name(digest), OPEN_FOLDER, dir_fd=folder)) as source:
        with closing(walk(source)) as steps:
            sizes = [
                step.status.st_size for step in steps if isinstance(step, Met) and stat.S_ISREG(step.status.st_mode)
            ]
        refuse_full_disk(staging.folder, sum(sizes))
        meter = Meter(total_bytes=sum(sizes), progress=progress)
        with closing(walk(source)) as steps, Copier(target=staging.tree, fill=_fill, meter=meter) as copier:
            for step in steps:
                copier.take(step)
        meter.finish()


def _place(staging: Staging, destination: str) -> None:
    with reasons(destination):
        os.rename(TREE, destination, src_dir_fd=staging.folder)


def _fill(source: int, target: int, meter: Meter) -> tuple[int, bytes]:
    copy_only(source, target, meter)
    return 0, b""


def _sync(descriptor: int) -> None:
    with closing_descriptor(descriptor):
        os.fsync(descriptor)


def _moved(staging: Staging, digest: str, folder: int) -> bool:
    try:
        os.rename(TREE, _name(digest), src_dir_fd=staging.folder, dst_dir_fd=folder)
    except OSError as error:
        if error.errno not in _STANDS_ALREADY:
            raise
        return False
    return True


def _stands(digest: str, folder: int) -> bool:
    with suppress(FileNotFoundError):
        return stat.S_ISDIR(os.stat(_name(digest), dir_fd=folder, follow_symlinks=False).st_mode)
    return False


def _name(digest: str) -> str:
    if not _DIGEST.fullmatch(digest):
        raise FileError("expected the digest of a payload: 64 lowercase hexadecimal digits", where=digest)
    return digest


@contextmanager
def _open(path: str) -> Iterator[int]:
    """The open folder of snapshots, made if it is not there; errors of what is done in it name it."""
    with reasons(path):
        with suppress(FileExistsError):
            os.mkdir(path, OWNER_ALL)
        with closing_descriptor(os.open(path, OPEN_FOLDER)) as folder:
            yield folder
