"""What Linux offers for many bytes at once, each with a false answer where it does not: clones and one common sync."""

from __future__ import annotations

import errno
import fcntl
import os

_FICLONE = 0x40049409
_CANNOT_CLONE = frozenset({errno.EOPNOTSUPP, errno.ENOTTY, errno.EXDEV, errno.EINVAL, errno.ENOSYS})


def clone(source: int, target: int) -> bool:
    """Whether the open, empty file `target` now shares the blocks of `source`, each copied when one is written to.

    False where the file system cannot; raises `OSError` for what went wrong otherwise, such as a full disk.
    """
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError as error:
        if error.errno in _CANNOT_CLONE:
            return False
        raise
    return True


def sync_file_system(descriptor: int) -> None:
    """Bring to disk all that was written to the file system of an open file; raises `OSError` if that failed."""
    import ctypes  # noqa: PLC0415 - only payloads of many files need it

    library = ctypes.CDLL(None, use_errno=True)
    if library.syncfs(descriptor) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
