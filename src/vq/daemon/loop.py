"""The loop: observe what happened, advance the jobs by it, see what may start then, commit, act.

One turn reads the mailbox and the new submissions, the ends of attempts, and the clock. All that happened, and what may
start because of it, is committed in one transaction, and only then acted on. If it cannot be committed (a full disk),
this daemon is given up and the next begins with what the store says: nothing has been acted on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from vq.config.values import Config
from vq.daemon.admission import Admission
from vq.daemon.hooks import Hooks
from vq.daemon.known import Known, rank_of
from vq.daemon.mailbox import Mailbox
from vq.daemon.told import MOST_TOLD, Told
from vq.daemon.watch import Watch
from vq.hosts.local.attempts import Attempts, Enforcement
from vq.hosts.local.launching import Launcher
from vq.hosts.local.machine import Machine
from vq.jobs.effects import Act, RunEndHook, StartAttempt
from vq.jobs.events import Event, Started
from vq.jobs.history_row import HistoryRow
from vq.jobs.lifecycle import repairs
from vq.jobs.record import Job
from vq.store.advancing import Happened, Keeper, advance_jobs
from vq.store.connection import Store
from vq.store.jobs import active, array_at_once, environment, submitted_after
from vq.store.requests import MOST_AT_ONCE, Waiting, waiting_requests
from vq.store.settings import is_draining

TICK_SECONDS = 1.0
"""Everything is looked at again this often, whether anybody told of it or not."""
CLOSE_SECONDS = 0.1
"""While most of the memory budget is in use."""
PRESSED_SECONDS = 0.02

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a daemon is made of."""

    store: Store
    config: Config
    known: Known
    attempts: Attempts
    machine: Machine
    launcher: Launcher
    watch: Watch
    admission: Admission
    hooks: Hooks
    mailbox: Mailbox
    told: Told
    boot_id: str


class Daemon:
    """One daemon at its work; `clock_ms` says the time in milliseconds since the epoch."""

    def __init__(self, parts: Parts, clock_ms: Callable[[], int]) -> None:
        self._parts = parts
        self._clock_ms = clock_ms
        self._latest: str | None = None
        self._seen_version: int | None = None
        self._is_behind = False
        self._draining = False
        self._next_tick = 0.0
        self._next_due_ms: int | None = None
        self._look = True

    @property
    def enforcement(self) -> Enforcement:
        """How limits are enforced."""
        return self._parts.machine.enforcement

    def begin(self) -> None:
        """Take up every job that has not ended, and do again what may not have been done for those that run."""
        parts = self._parts
        jobs = active(parts.store)
        for job in sorted(jobs, key=rank_of):
            self._put(job)
        parts.attempts.sweep({(job.id, job.life.attempt) for job in parts.known.running.values()})
        if jobs:
            self._latest = jobs[-1].id
        for job in list(parts.known.running.values()):
            if job.life.boot_id == parts.boot_id:
                self._act(repairs(job))
            else:
                parts.watch.adopt(job)

    def turn(self, longest_seconds: float = TICK_SECONDS) -> None:
        """Sleep until something happens, at most so long, and deal with it.

        Raises `StoreError` where it cannot be committed: what this daemon knows may then be ahead of the store, and
        another one has to begin.
        """
        parts = self._parts
        descriptor = parts.launcher.descriptor
        parts.mailbox.sleep(min(longest_seconds, self._patience()), () if descriptor is None else (descriptor,))
        now_ms = self._clock_ms()
        requests = self._news()
        happened: list[tuple[str, Event]] = [(one.job, one.event) for one in requests if one.job in parts.known.jobs]
        happened += parts.watch.observe(parts.mailbox.lines(), now_ms)
        if time.monotonic() >= self._next_tick:
            told = {identifier for identifier, _ in happened}
            seen = (*parts.watch.look_at_all(now_ms), *parts.admission.stops(parts.known, now_ms))
            happened += [one for one in seen if one[0] not in told]
            parts.admission.catch_up()
            parts.machine.settle()
            self._next_tick = time.monotonic() + (CLOSE_SECONDS if parts.admission.is_close else TICK_SECONDS)
            self._look = True
        if happened or requests:
            # A kill that is not read yet may be of the very job that would start.
            self._advance(happened, requests, None if self._is_behind else now_ms)
        elif self._look or (self._next_due_ms is not None and now_ms >= self._next_due_ms):
            starts = self._starts(now_ms)
            if starts:
                self._advance(starts, (), None)
        parts.watch.clear()
        parts.hooks.turn(parts.store)

    def _news(self) -> list[Waiting]:
        """What others have written to the store since the last look: new jobs are known now, requests returned."""
        parts = self._parts
        version = parts.store.changed_by_others()
        if version == self._seen_version:
            return []
        parts.admission.catch_up()
        requests = waiting_requests(parts.store)
        # After the requests: whatever was asked of is known then.
        new = submitted_after(parts.store, self._latest)
        for job in new:
            self._put(job)
        if new:
            self._latest = new[-1].id
        parts.hooks.see(parts.store)
        self._draining = is_draining(parts.store)
        self._is_behind = len(requests) == MOST_AT_ONCE
        self._seen_version = None if self._is_behind else version
        self._look = True
        return requests

    def _advance(self, happened: Happened, requests: Sequence[Waiting], now_ms: int | None) -> None:
        """Advance the jobs by what happened, and at `now_ms` by what may start then; commit it all, and act."""
        parts = self._parts
        happened = parts.admission.followed(parts.known, happened, self._clock_ms())

        def decide(jobs: Mapping[str, Job], rows: tuple[HistoryRow, ...]) -> Happened:
            self._absorb(jobs.values())
            parts.admission.learn(rows)
            return () if now_ms is None else self._starts(now_ms)

        answered = [one.sequence for one in requests]
        keeper = Keeper(known=parts.known.jobs, hooks=bool(parts.config.on_end))
        advanced = advance_jobs(parts.store, happened, answered=answered, then=decide, keeper=keeper)
        for refused in advanced.refused:
            _log.info("%s", refused)
        self._absorb(advanced.jobs.values())
        self._act(advanced.acts)

    def _absorb(self, jobs: Iterable[Job]) -> None:
        """Know jobs as they are now, and think no longer of their attempts that are over."""
        parts = self._parts
        for job in jobs:
            before = parts.known.running.get(job.id)
            self._put(job)
            if before is not None and (job.id not in parts.known.running or job.life.attempt != before.life.attempt):
                parts.watch.over(before)
                parts.admission.over(before)

    def _act(self, acts: Sequence[Act]) -> None:
        parts = self._parts
        for act in acts:
            if isinstance(act, RunEndHook):
                parts.hooks.add(act.job)
                continue
            job = parts.known.running.get(act.job)
            if job is None or job.life.attempt != act.attempt:
                continue  # it has ended meanwhile
            if isinstance(act, StartAttempt):
                parts.watch.start(job, environment(parts.store, job.id), parts.machine.enforcement)
            else:
                parts.watch.signal(job, act)

    def _starts(self, now_ms: int) -> Happened:
        parts = self._parts
        due = parts.known.due(now_ms)
        self._next_due_ms = due.next_at_ms
        explain = MOST_TOLD if parts.told.is_due() else 0
        starts: list[tuple[str, Started]] = []
        if not self._draining:
            starts = parts.admission.starts(parts.known, due, now_ms, parts.boot_id, explain=explain)
            if explain:
                reasons = parts.known.reasons(due, parts.admission.explained, MOST_TOLD)
                parts.told.tell(reasons, parts.admission.remembered, now_ms)
        self._look = parts.known.runs_out(due, (identifier for identifier, _ in starts))
        return starts

    def _put(self, job: Job) -> None:
        array = job.work.array
        if array is not None and array.group not in self._parts.known.at_once:
            self._parts.known.at_once[array.group] = array_at_once(self._parts.store, array.group)
        self._parts.known.put(job)

    def _patience(self) -> float:
        """How long there is nothing to do unless somebody tells us."""
        parts = self._parts
        if self._look or parts.watch.is_pressed or parts.hooks.is_busy:
            return 0.0 if self._look else PRESSED_SECONDS
        seconds = self._next_tick - time.monotonic()
        if self._next_due_ms is not None:
            seconds = min(seconds, (self._next_due_ms - self._clock_ms()) / 1000)
        return max(0.0, seconds)
