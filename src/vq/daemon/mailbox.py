"""What wakes the daemon: a FIFO in the state folder that commands and supervisors write a line to.

A line is the name of an attempt whose result is there, or any other word: then there is news in the store. A line that
is lost costs time only, as everything is looked at again every second.
"""

from __future__ import annotations

import os
import select
import stat
from contextlib import suppress

from vq.files.documents import FileError, reasons

_PIECE = 64 * 1024
_MS = 1000


class Mailbox:
    """The FIFO, and whatever else is to wake the daemon."""

    def __init__(self, path: str) -> None:
        """Raises `FileError` where something else stands in the place of the FIFO."""
        with reasons(path):
            with suppress(FileExistsError):
                os.mkfifo(path, 0o600)
            # Open for writing too: otherwise the last writer's leaving would look like an end for ever.
            self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
            if not stat.S_ISFIFO(os.fstat(self._descriptor).st_mode):
                raise FileError("is no FIFO", hint="remove it")
        self._rest = b""

    def sleep(self, seconds: float, others: tuple[int, ...]) -> None:
        """Sleep so long, or until there is a line or one of the other descriptors can be read."""
        poll = select.poll()
        for descriptor in (self._descriptor, *others):
            poll.register(descriptor, select.POLLIN)
        # Rounded up: a millisecond early would mean to wake again for nothing.
        poll.poll(int(max(0.0, seconds) * _MS + 0.999))

    def lines(self) -> list[str]:
        """The lines that have come."""
        found: list[bytes] = []
        with suppress(BlockingIOError):
            while piece := os.read(self._descriptor, _PIECE):
                *lines, self._rest = (self._rest + piece).split(b"\n")
                found += lines
        return [line.decode("ascii", "replace") for line in found]

    def close(self) -> None:
        """Listen no longer; the FIFO stays for the next daemon."""
        os.close(self._descriptor)
