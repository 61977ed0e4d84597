"""The state folder: where it lies, that it is ours alone, and that its file system can hold a database in use."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping

from vq.errors import UsageError, VqError
from vq.files.documents import reasons

FOLDER_MODE = 0o700

NETWORK = frozenset(
    (
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "fuse.glusterfs",
        "fuse.sshfs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "panfs",
        "smb3",
        "smbfs",
        "wekafs",
    )
)
"""File systems of more than one host: SQLite's write-ahead log needs memory that all its users share."""

_MOUNTS = "/proc/self/mountinfo"
_OCTAL = r"\\([0-7]{3})"


class StateError(VqError):
    """A state folder or a store that cannot be used; `where` is its path."""


def state_folder(environment: Mapping[str, str]) -> str:
    """Where the state lies: `VQ_STATE_DIR`, else `$XDG_STATE_HOME/vq`, else `~/.local/state/vq`.

    Raises `UsageError` for a `VQ_STATE_DIR` that is no absolute path: each command would mean another folder.
    """
    own = environment.get("VQ_STATE_DIR", "")
    if own:
        if not os.path.isabs(own):
            raise UsageError(f"VQ_STATE_DIR is {own!r}; expected an absolute path")
        return os.path.normpath(own)
    base = environment.get("XDG_STATE_HOME", "")
    # The base directory specification has a relative path ignored.
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "vq")


def prepare_folder(path: str) -> None:
    """Make the state folder if there is none; raises `StateError` for one that is not ours, or on a network."""
    with reasons(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        try:
            os.mkdir(path, FOLDER_MODE)
        except FileExistsError:
            _refuse_foreign(path, os.stat(path))
    kind = _file_system(path)
    if kind in NETWORK:
        hint = "set VQ_STATE_DIR, or XDG_STATE_HOME, to a folder on a disk of this host"
        raise StateError(f"lies on a network file system ({kind}), which cannot hold the queue", where=path, hint=hint)


def _refuse_foreign(path: str, status: os.stat_result) -> None:
    if not stat.S_ISDIR(status.st_mode):
        raise StateError("is not a folder", where=path)
    if status.st_uid != os.getuid():
        raise StateError("belongs to another user", where=path, hint="set VQ_STATE_DIR to a folder of your own")
    if stat.S_IMODE(status.st_mode) & 0o077:
        hint = f"chmod 700 {path}, or name another folder in VQ_STATE_DIR"
        raise StateError("is open to other users, and jobs' environments lie in it", where=path, hint=hint)


def _file_system(path: str) -> str | None:
    try:
        with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as mounts:
            return file_system_type(mounts.read(), os.path.realpath(path))
    except OSError:
        return None  # not known is not a network


def file_system_type(mounts: str, path: str) -> str | None:
    """The type of the file system that `path` (absolute, without links) lies on, by the text of a mountinfo file.

    Of the mounts above the path it is the deepest, and of several on one place the last.
    """
    best, kind = -1, None
    for line in mounts.splitlines():
        fields, _, rest = line.partition(" - ")
        place = fields.split(" ")[4]
        if "\\" in place:
            place = re.sub(_OCTAL, lambda found: chr(int(found[1], 8)), place)
        inside = place in ("/", path) or path.startswith(f"{place}/")
        if inside and len(place) >= best:
            best, kind = len(place), rest.split(" ")[0]
    return kind
