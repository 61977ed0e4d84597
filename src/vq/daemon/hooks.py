"""End hooks: a program that gets the record of each job that ended on its standard input.

That a hook is due is committed with the end of the job, and that it ran once it has; so it runs again when the daemon
is killed in between.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Iterable

from vq.errors import UsageError
from vq.store.connection import Store
from vq.store.jobs import full_record, hook_ran, hooks_due

AT_ONCE = 4
LONGEST_SECONDS = 60.0

_log = logging.getLogger(__name__)


class Hooks:
    """Runs the hook for one job after another, a few at once, each for at most a minute."""

    def __init__(self, command: tuple[str, ...], due: Iterable[str]) -> None:
        self._command = command
        self._due = deque(due)
        self._running: dict[str, tuple[subprocess.Popen[bytes], float]] = {}

    def add(self, job: str) -> None:
        """Run the hook for a job that has ended."""
        if self._command:
            self._due.append(job)

    def see(self, store: Store) -> None:
        """Run the hook also for jobs that ended as they were submitted."""
        if self._command:
            known = {*self._due, *self._running}
            self._due.extend(job for job in hooks_due(store) if job not in known)

    @property
    def is_busy(self) -> bool:
        """Whether any runs or is to run."""
        return bool(self._due or self._running)

    def turn(self, store: Store) -> None:
        """Note those that have ended, end those that take too long, start those there is room for."""
        now = time.monotonic()
        ran = []
        for job, (process, until) in list(self._running.items()):
            if process.poll() is None and now >= until:
                process.kill()
                process.wait()
            if process.returncode is not None:
                if process.returncode:
                    _log.warning("%s: its end hook ended with status %d", job, process.returncode)
                ran.append(job)
                del self._running[job]
        while self._due and len(self._running) < AT_ONCE:
            job = self._due.popleft()
            try:
                self._running[job] = (self._start(store, job), now + LONGEST_SECONDS)
            except (OSError, UsageError) as error:  # the record may have been purged
                _log.warning("%s: the end hook cannot be run: %s", job, error)
                ran.append(job)
        if ran:
            hook_ran(store, ran)

    def close(self) -> None:
        """End what runs: it will be run again."""
        for process, _ in self._running.values():
            process.kill()
            process.wait()

    def _start(self, store: Store, job: str) -> subprocess.Popen[bytes]:
        # A file, not a pipe: a hook that does not read must not keep us waiting.
        with tempfile.TemporaryFile() as record:
            record.write(json.dumps(full_record(store, job)).encode())
            record.seek(0)
            null = subprocess.DEVNULL
            return subprocess.Popen(  # noqa: S603 - the command of the user's own configuration
                self._command, stdin=record, stdout=null, stderr=null, cwd="/", env=dict(os.environ)
            )
