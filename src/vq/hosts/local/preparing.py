"""Work on attempts that may take long, such as copying a workspace, done beside the daemon's loop."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from threading import Event

from vq.errors import VqError
from vq.files.copying import Progress

AT_ONCE = 2


class StoppedError(VqError):
    """It was given up because the daemon ends; the next one begins it anew."""


class Preparing:
    """A few threads; what each piece of work came to is told to who asks, and `wake` is called when there is any."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._pool = ThreadPoolExecutor(AT_ONCE)
        self._stopped = Event()
        self._done: SimpleQueue[tuple[tuple[str, int], bool | str]] = SimpleQueue()

    def begin(self, attempt: tuple[str, int], work: Callable[[Progress], bool]) -> None:
        """Do `work` for an attempt (job and number), as soon as a thread is free."""
        self._pool.submit(self._do, attempt, work)

    def finished(self) -> list[tuple[tuple[str, int], bool | str]]:
        """The attempts whose work is over since the last call: with what it came to, or the text of its error."""
        found = []
        while True:
            try:
                found.append(self._done.get_nowait())
            except Empty:
                return found

    def close(self) -> None:
        """Give up what is not over."""
        self._stopped.set()
        self._pool.shutdown(cancel_futures=True)

    def _do(self, attempt: tuple[str, int], work: Callable[[Progress], bool]) -> None:
        try:
            came_to: bool | str = work(self._go_on)
        except StoppedError:
            return
        except (VqError, OSError) as error:
            came_to = str(error)
        self._done.put((attempt, came_to))
        self._wake()

    def _go_on(self, *_: int) -> None:
        if self._stopped.is_set():
            raise StoppedError("the daemon ends")
