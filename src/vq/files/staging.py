"""Private staging folders: what is made in one is published whole by a rename, or removed.

A staging folder is locked for as long as its process uses it, and the lock goes with the process. So `sweep_staging`
removes exactly what a killed process left behind, whatever the clock says.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from vq.files.documents import OPEN_FOLDER, is_same_file, reasons
from vq.files.trees import OWNER_ALL, closing_descriptor, make_folder, remove_tree

TREE = b"tree"
_NAME = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Staging:
    """A locked staging folder: the path to show, the open folder, and the open, empty folder `TREE` in it."""

    path: str
    folder: int
    tree: int


@contextmanager
def open_staging(path: str) -> Iterator[Staging]:
    """A new staging folder below the folder `path` (made if it is not there), removed at the end with what is left.

    Raises `FileError`.
    """
    with _open_root(path) as root:
        with reasons(path):
            name, folder = _make_locked(root)
        try:
            with reasons(path):
                tree = make_folder(TREE, folder)
            try:
                yield Staging(path=path, folder=folder, tree=tree)
            finally:
                os.close(tree)
        finally:
            with reasons(path), closing_descriptor(folder), suppress(FileNotFoundError):
                remove_tree(name, root)


def sweep_staging(path: str) -> int:
    """How many staging folders below `path` were left by processes that are gone, and are now removed.

    Folders in use and all that is no staging folder stay. Raises `FileError`.
    """
    removed = 0
    with _open_root(path) as root, reasons(path):
        with os.scandir(root) as entries:
            names = [
                entry.name for entry in entries if _NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
            ]
        for name in names:
            # Another sweep, or the end of the process itself, may be quicker.
            with suppress(FileNotFoundError):
                removed += _remove_if_left(os.fsencode(name), root)
    return removed


def _remove_if_left(name: bytes, root: int) -> bool:
    with closing_descriptor(os.open(name, OPEN_FOLDER, dir_fd=root)) as folder:
        if not _lock(folder):
            return False
        remove_tree(name, root)
        return True


@contextmanager
def _open_root(path: str) -> Iterator[int]:
    with reasons(path):
        with suppress(FileExistsError):
            os.mkdir(path, OWNER_ALL)
        root = os.open(path, OPEN_FOLDER)
    with closing_descriptor(root):
        yield root


def _make_locked(root: int) -> tuple[bytes, int]:
    """The name and descriptor of a new folder that no sweep took between its making and its locking."""
    while True:
        name = secrets.token_hex(16).encode()
        with suppress(FileNotFoundError):
            folder = make_folder(name, root)
            if _lock(folder) and _stands(name, root, folder):
                return name, folder
            os.close(folder)


def _stands(name: bytes, root: int, folder: int) -> bool:
    try:
        return is_same_file(os.fstat(folder), os.stat(name, dir_fd=root, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _lock(folder: int) -> bool:
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
