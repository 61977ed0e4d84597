"""A queue for a test: a store, a daemon whose turns the test takes itself, and a clock that can be set forward."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from made_jobs import job as made_job
from supervised import SLOWNESS
from vq.config.resolve import Facts, resolve
from vq.config.values import Config
from vq.daemon.loop import Daemon
from vq.daemon.serving import now_ms, opened
from vq.jobs.record import Array, Job, State
from vq.store.connection import Opener, Store, open_store
from vq.store.jobs import read
from vq.store.requests import Request, post
from vq.store.submitting import Submission, submit

GIB = 1 << 30
ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nowhere"}


def config(mode: str, text: str = "") -> Config:
    """What a file with `text` comes to on a host of 2 GiB and 2 CPUs, kills being quick."""
    head = "" if "[host]" in text else "[host]\n"
    text = (head + text).replace("[host]\n", f'[host]\nenforcement = "{mode}"\nkill_grace = "1s"\n', 1)
    return resolve(text, Facts(memory_bytes=2 * GIB, cpus=2), environment={}, flags={})


class Queue:
    """A state folder with a daemon in this process, which is killed and started anew as a test likes."""

    def __init__(self, folder: Path, mode: str) -> None:
        self.folder = str(folder / "state")
        self.mode = mode
        self.text = ""
        self.later_ms = 0
        self.stands_at_ms: int | None = None
        self.store: Store = open_store(self.folder, Opener.DAEMON)
        self._stack = ExitStack()
        self._daemon: Daemon | None = None

    @property
    def daemon(self) -> Daemon:
        """The daemon, which begins when it is first needed."""
        if self._daemon is None:
            store = self._stack.enter_context(open_store(self.folder, Opener.DAEMON))
            opening = opened(self.folder, store, config(self.mode, self.text), self.now_ms)
            self._daemon = self._stack.enter_context(opening)
            self._daemon.begin()
        return self._daemon

    def now_ms(self) -> int:
        """The daemon's clock: set forward by `later_ms`, or standing still where a test moves it itself."""
        return now_ms() + self.later_ms if self.stands_at_ms is None else self.stands_at_ms

    def stop(self) -> None:
        """End the daemon; its jobs go on."""
        self._stack.close()
        self._daemon = None

    def submit(self, *commands: list[str], at_once: int | None = None, **changes: Any) -> list[str]:
        """The ids of jobs that run the commands; with `at_once` they are an array."""
        at_ms = self.now_ms()
        total = len(commands)
        submissions = []
        for index, command in enumerate(commands):
            array = {} if at_once is None else {"array": Array(group="a1", index=index, total=total)}
            changes |= array
            job = made_job(queued_at_ms=at_ms, command=tuple(command), **changes)
            most = at_once if index == 0 else None
            submissions.append(Submission(job=job, environment=ENVIRONMENT, array_at_once=most))
        return [identifier for identifier, _ in submit(self.store, submissions).jobs]

    def ask(self, identifier: str, request: Request) -> None:
        """Leave a request in the mailbox."""
        assert post(self.store, [identifier], request).recorded

    def job(self, identifier: str) -> Job:
        """The record as it is in the store."""
        return read(self.store, identifier)

    def state(self, identifier: str) -> State:
        return self.job(identifier).state

    def until(self, fact: Callable[[], Any], what: str, seconds: float = 30.0, *, step_seconds: float = 0.05) -> Any:
        """Take turns until `fact` is true; fails when it does not come true in time."""
        until = time.monotonic() + seconds * SLOWNESS
        while not (found := fact()):
            assert time.monotonic() < until, f"waited {seconds * SLOWNESS} s: {what}"
            self.daemon.turn(step_seconds)
        return found

    def end(self, identifier: str) -> Job:
        """The record of a job at its end."""
        self.until(lambda: self.state(identifier).ended, f"{identifier} ends")
        return self.job(identifier)

    def running(self, identifier: str) -> Job:
        """The record of a job that has begun to write."""

        def begun() -> bool:
            job = self.job(identifier)
            path = job.life.stdout_path
            return job.state is State.RUNNING and path is not None and Path(path).exists()

        self.until(begun, f"{identifier} runs")
        return self.job(identifier)

    def history(self) -> list[dict[str, Any]]:
        """The rows of the history, with job and attempt."""
        cursor = self.store.connection.execute("SELECT * FROM history ORDER BY sequence")
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]


def python(program: str, *arguments: str) -> list[str]:
    """A small interpreter that runs `program`."""
    return [sys.executable, "-I", "-S", "-c", program, *arguments]


@contextmanager
def queue_in(folder: Path, mode: str) -> Iterator[Queue]:
    """A queue; what it still runs at the end of a test is ended."""
    from vq.jobs.events import KillRequested  # noqa: PLC0415 - needed at the end only

    queue = Queue(folder, mode)
    try:
        yield queue
        for identifier in queue.daemon._parts.known.jobs:  # noqa: SLF001 - what is left over, whoever made it
            post(queue.store, [identifier], KillRequested(at_ms=now_ms(), at_once=True))
        queue.until(lambda: not queue.daemon._parts.known.jobs, "everything has ended")  # noqa: SLF001
    finally:
        queue.stop()
        queue.store.close()
