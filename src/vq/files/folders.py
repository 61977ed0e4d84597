"""A new folder, made beside its place and moved there whole: it is complete, or not there at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from vq.files.documents import FileError, reasons

_NOT_EMPTY = "has something in it, and is never written over"
_HINT = "name a folder that is absent or empty"


@contextmanager
def new_folder(path: str) -> Iterator[str]:
    """The path of a folder to fill, which stands at `path` once the block has ended well, else nowhere.

    `path` is absent or an empty folder; raises `FileError` for a link, anything else that stands there, and what the
    system refuses.
    """
    path = path.rstrip("/") or path
    refuse_used_folder(path)
    above, name = os.path.split(os.path.abspath(path))
    filled = os.path.join(above, f".{name[:100]}.{os.urandom(6).hex()}.tmp")
    with reasons(path):
        os.mkdir(filled)
    try:
        yield filled
        with reasons(path):
            _sync(filled)
            _move(filled, path)
            _sync(above)
    finally:
        shutil.rmtree(filled, ignore_errors=True)


def refuse_used_folder(path: str) -> None:
    """Nothing, or the `FileError` that `path` is neither absent nor an empty folder."""
    with reasons(path):
        if os.path.islink(path):
            raise FileError("is a link", hint=_HINT)
        if not os.path.lexists(path):
            return
        if not os.path.isdir(path):
            raise FileError("is no folder", hint=_HINT)
        if os.listdir(path):
            raise FileError(_NOT_EMPTY, hint=_HINT)


def _move(filled: str, path: str) -> None:
    try:
        os.rename(filled, path)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        raise FileError(_NOT_EMPTY, where=path, hint=_HINT) from None


def _sync(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
