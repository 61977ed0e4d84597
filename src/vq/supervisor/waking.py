"""What the supervisor sleeps on: the end of a child, a request, memory that ran out, or a time."""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from types import FrameType

_PIECE = 4096


class Waking:
    """Wakes for SIGCHLD and for whatever is added; closes nothing that was added."""

    def __init__(self) -> None:
        self._reading, self._writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _nothing)
        self._poll = select.poll()
        self.add(self._reading)

    def add(self, descriptor: int) -> None:
        """Wake also when `descriptor` can be read."""
        self._poll.register(descriptor, select.POLLIN)

    def sleep(self, seconds: float | None) -> frozenset[int]:
        """The descriptors that can be read, after at most so long (None: until one can)."""
        # Rounded up: a millisecond early would mean to wake again for nothing.
        ready = self._poll.poll(None if seconds is None else int(max(0.0, seconds) * 1000 + 0.999))
        with suppress(BlockingIOError):
            os.read(self._reading, _PIECE)
        return frozenset(descriptor for descriptor, _ in ready)

    def close(self) -> None:
        """Sleep no more."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.close(self._reading)
        os.close(self._writing)


def _nothing(number: int, frame: FrameType | None) -> None:
    """A signal that is ignored would have the kernel reap our children itself."""
