"""Many supervisors from one warm process: forked, they start in a millisecond and share what they have loaded.

It reads the paths of specs from its standard input, one a line. Each goes to a supervisor that has nothing to do, or
to a new one, forked, which leaves the session and outlives it. When that attempt is over it writes `ended STATUS PATH`.
At the end of its input it ends itself; the supervisors go on to the end of their attempts.

A supervisor looks after one attempt at a time, so that everything below it is of one job. When nothing is left of that
job it says so and waits for the next: a fork, and a copy of every page that it touches, are then spared. One whose
attempt did not go well ends, and so does one that nobody has needed for a while.
"""

from __future__ import annotations

import gc
import os
import time
from contextlib import suppress

from vq.supervisor.libc import give_back_memory
from vq.supervisor.process import detach, run
from vq.supervisor.waking import Waking

IDLE_SECONDS = 2.0
MOST_IDLE = 16
MOST_ATTEMPTS = 200
"""So many attempts a supervisor takes, one after the other: whatever the spec of one has it hold, ends with it."""

_PIECE = 64 * 1024


def serve() -> int:
    """Have a supervisor for each line of standard input, until there is no more."""
    gc.collect()
    give_back_memory()
    # What is frozen is not looked through again, so that its pages stay shared.
    gc.freeze()
    return _Warm().serve()


class _Warm:
    """The supervisors of one warm process: what each is at, and how those that wait are told."""

    def __init__(self) -> None:
        self._waking = Waking()
        self._free, self._freed = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._waking.add(0)
        self._waking.add(self._free)
        self._at: dict[int, str] = {}
        self._orders: dict[int, int] = {}
        self._idle: dict[int, float] = {}
        self._rest = b""
        self._rest_of_free = b""

    def serve(self) -> int:
        """Work until the end of the input."""
        while True:
            ready = self._waking.sleep(IDLE_SECONDS if self._idle else None)
            # First, so that those that have become free are there for what comes.
            self._hear_free()
            self._reap()
            if 0 in ready and not self._hear():
                return 0
            self._dismiss()

    def _hear(self) -> bool:
        piece = os.read(0, _PIECE)
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            pid = self._idle.popitem()[0] if self._idle else self._fork()
            with suppress(BrokenPipeError):  # it has just been killed, which will be said
                os.write(self._orders[pid], line + b"\n")
            self._at[pid] = os.fsdecode(line)
        return bool(piece)

    def _hear_free(self) -> None:
        with suppress(BlockingIOError):
            *pids, self._rest_of_free = (self._rest_of_free + os.read(self._free, _PIECE)).split(b"\n")
            for pid in map(int, pids):
                # One that was killed right after it wrote this has been reaped, and its end has been said.
                if pid in self._at:
                    _say(f"ended 0 {self._at.pop(pid)}")
                    self._idle[pid] = time.monotonic()

    def _reap(self) -> None:
        while self._orders:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            os.close(self._orders.pop(pid))
            self._idle.pop(pid, None)
            if pid in self._at:
                _say(f"ended {os.waitstatus_to_exitcode(status)} {self._at.pop(pid)}")

    def _dismiss(self) -> None:
        """Let those end that have waited too long, or are too many; of their end is heard as of any."""
        latest = time.monotonic() - IDLE_SECONDS
        for pid, since in list(self._idle.items()):
            if since > latest and len(self._idle) <= MOST_IDLE:
                return
            del self._idle[pid]
            with suppress(BrokenPipeError):
                os.write(self._orders[pid], b"\n")

    def _fork(self) -> int:
        reading, writing = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid:
            os.close(reading)
            self._orders[pid] = writing
            return pid
        status = 1
        try:
            self._waking.close()
            # Whoever holds an end of these would keep another supervisor waiting for ever.
            for descriptor in (writing, self._free, *self._orders.values()):
                os.close(descriptor)
            detach()
            status = _take_attempts(reading, self._freed)
        finally:
            os._exit(status)


def _take_attempts(orders: int, freed: int) -> int:
    """Supervise one attempt after the other, as they come, while each goes well; the exit status of the last."""
    for taken in range(1, MOST_ATTEMPTS + 1):
        path = _line(orders)
        if not path:
            return 0
        status = run(os.fsdecode(path))
        if status or taken == MOST_ATTEMPTS:
            return status
        try:
            os.write(freed, b"%d\n" % os.getpid())
        except (BrokenPipeError, BlockingIOError):
            return 0
    return 0


def _line(descriptor: int) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(descriptor, _PIECE)
        if not piece:
            return b""
        line += piece
    return line[:-1]


def _say(line: str) -> None:
    try:
        os.write(1, os.fsencode(f"{line}\n"))
    except (BrokenPipeError, BlockingIOError):
        return
