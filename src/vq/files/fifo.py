"""Tell a line to whoever reads a FIFO, if anybody does: how commands wake the daemon, and the daemon supervisors."""

from __future__ import annotations

import errno
import os

_NOBODY = frozenset({errno.ENXIO, errno.ENOENT, errno.EPIPE})


def tell(path: str, line: str) -> bool:
    """Whether somebody reads the FIFO at `path` and was told `line`; never waits."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in _NOBODY:
            return False
        raise
    try:
        # Up to PIPE_BUF bytes go whole or not at all.
        os.write(descriptor, f"{line}\n".encode())
    except (BlockingIOError, BrokenPipeError):
        return False
    finally:
        os.close(descriptor)
    return True
