"""The attempts that run: started, told what is wanted of them, and seen to their end, each end reported once.

What is seen becomes an event of the job's life; nothing is cleared away before that event is committed (`over`). An
attempt is in one of three ways:

- *launched*: we started its supervisor and have not heard that this one has ended. Its result is all there is to look
  for; its lock is left alone, because the supervisor may be about to take it.
- *adrift*: it has begun, and nobody would tell us that its supervisor vanished; so its lock is tried.
- *left over*: its supervisor vanished without a result; what it left is ended before the attempt counts as lost.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from vq.daemon.known import Known
from vq.errors import VqError
from vq.hosts.local.attempts import Attempts, Enforcement, NotBegun, Running, Unwatched
from vq.hosts.local.launching import Gone, Launcher
from vq.hosts.local.preparing import Preparing
from vq.hosts.local.results import Finished
from vq.jobs.effects import FreezeAttempt, StopAttempt, ThawAttempt
from vq.jobs.events import CouldNotStart, Ended, Event, HostRebooted, Lost
from vq.jobs.reasons import StopCause
from vq.jobs.record import Job
from vq.store.advancing import Happened
from vq.supervisor.attempt import FAILED
from vq.supervisor.requests import Request, ask

MOST_LAUNCHES = 5
"""So often a supervisor is started that ends before it has begun, and does not say why."""

Signal = StopAttempt | FreezeAttempt | ThawAttempt

_WHY = {StopCause.STARVED: "starved", StopCause.OUTGREW: "outgrew"}
_log = logging.getLogger(__name__)


class Watch:
    """Looks after every attempt that runs; `requeue` is whether one that the host's limit ended starts again."""

    def __init__(
        self, attempts: Attempts, starting: tuple[Launcher, Preparing], known: Known, *, boot_id: str, requeue: bool
    ) -> None:
        self._attempts = attempts
        self._launcher, self._preparing = starting
        self._known = known
        self._boot_id = boot_id
        self._requeue = requeue
        self._launched: dict[str, str] = {}
        self._launches: dict[str, int] = {}
        self._adrift: dict[str, None] = {}
        self._left_over: dict[str, None] = {}
        self._failed: dict[str, str] = {}
        self._unheard: dict[str, list[Request]] = {}
        self._to_clear: list[tuple[str, int]] = []

    @property
    def is_pressed(self) -> bool:
        """Whether something is to be tried again in a moment."""
        return bool(self._unheard or self._left_over or self._failed)

    # What is done.

    def start(self, job: Job, environment: Mapping[str, str] | None, enforcement: Enforcement) -> None:
        """Start the attempt of a job that runs, unless it has begun; may be done again."""
        attempt = (job.id, job.life.attempt)
        if self._attempts.must_copy(job):
            self._preparing.begin(
                attempt, lambda progress: self._attempts.prepare(job, environment, enforcement, progress)
            )
            return
        try:
            self._prepared(attempt, self._attempts.prepare(job, environment, enforcement))
        except (VqError, OSError) as error:
            self._prepared(attempt, str(error))

    def signal(self, job: Job, act: Signal) -> None:
        """Tell the supervisor what is wanted, as soon as it listens; may be done again."""
        match act:
            case StopAttempt():
                cause = None if job.life.reason is None else job.life.reason.details.get("cause")
                why = _WHY.get(StopCause(cause)) if job.life.reason is not None and cause is not None else None
                request = Request(action="kill-now" if act.at_once else "kill", why=why or "user")
            case FreezeAttempt():
                request = Request(action="pause")
            case ThawAttempt():
                request = Request(action="resume")
        self._unheard.setdefault(job.id, []).append(request)
        self._tell(job)

    def adopt(self, job: Job) -> None:
        """Look after an attempt that an earlier daemon started."""
        self._adrift[job.id] = None

    def over(self, job: Job) -> None:
        """The end of this attempt is recorded: look after it no longer."""
        self._launched.pop(self._attempts.spec_path(job), None)
        for known in (self._launches, self._adrift, self._left_over, self._failed, self._unheard):
            known.pop(job.id, None)
        self._to_clear.append((job.id, job.life.attempt))

    def clear(self) -> None:
        """Remove what attempts that are over have left; nobody waits for it, and a sweep does it after a kill."""
        while self._to_clear:
            self._attempts.forget(*self._to_clear.pop())

    # What is seen.

    def observe(self, lines: Iterable[str], now_ms: int) -> Happened:
        """What happened to attempts that told of it, or that we are waiting on."""
        for identifier in list(self._unheard):
            self._tell(self._known.running[identifier])
        for attempt, came_to in self._preparing.finished():
            self._prepared(attempt, came_to)
        happened: dict[str, Event] = {}
        for line in lines:
            named = self._attempts.named(line)
            job = None if named is None else self._known.running.get(named[0])
            if job is not None and named == (job.id, job.life.attempt) and job.id not in happened:
                self._note(happened, job, self._ended(job, self._attempts.result(job)))
        for gone in self._launcher.gone():
            self._supervisor_gone(gone, happened, now_ms)
        for identifier in list(self._left_over):
            self._look_for_left_over(self._known.running[identifier], happened, now_ms)
        for identifier, error in self._failed.items():
            self._note(happened, self._known.running[identifier], CouldNotStart(at_ms=now_ms, error=error))
        return list(happened.items())

    def look_at_all(self, now_ms: int) -> Happened:
        """What happened to any attempt, told or not."""
        happened: dict[str, Event] = {}
        for job in list(self._known.running.values()):
            try:
                if job.id in self._adrift:
                    self._look_at_adrift(job, happened, now_ms)
                elif job.id not in self._left_over:
                    self._note(happened, job, self._ended(job, self._attempts.result(job)))
            except OSError as error:
                # What is wrong with one attempt is not to hold up the others.
                _log.warning("%s cannot be looked at: %s", job.id, error)
        return list(happened.items())

    def _look_at_adrift(self, job: Job, happened: dict[str, Event], now_ms: int) -> None:
        if job.life.boot_id != self._boot_id:
            event = self._ended(job, self._attempts.result(job))
            lost = HostRebooted(at_ms=now_ms, attempt=job.life.attempt)
            self._note(happened, job, lost if event is None else event)
            return
        seen = self._attempts.see(job)
        match seen:
            case Finished():
                self._note(happened, job, self._ended(job, seen))
            case Unwatched():
                self._left_over[job.id] = None
                self._look_for_left_over(job, happened, now_ms)
            case NotBegun():
                # Whoever had its lock has given up.
                del self._adrift[job.id]
                self._launch(job)
            case Running():
                pass

    def _look_for_left_over(self, job: Job, happened: dict[str, Event], now_ms: int) -> None:
        if self._attempts.end_left_over(job):
            event = self._ended(job, self._attempts.result(job))
            lost = Lost(at_ms=now_ms, attempt=job.life.attempt)
            self._note(happened, job, lost if event is None else event)

    def _supervisor_gone(self, gone: Gone, happened: dict[str, Event], now_ms: int) -> None:
        identifier = self._launched.pop(gone.spec_path, None)
        job = None if identifier is None else self._known.running.get(identifier)
        if job is None or self._attempts.spec_path(job) != gone.spec_path:
            return
        if job.id in happened:
            self._adrift[job.id] = None
        elif (ended := self._ended(job, self._attempts.result(job))) is not None:
            self._note(happened, job, ended)
            self._adrift[job.id] = None
        elif self._attempts.has_begun(job):
            self._adrift[job.id] = None
            self._look_at_adrift(job, happened, now_ms)
        elif not self._attempts.is_prepared(job):
            # Somebody removed its folder; whether anything of it ran before, nobody can say any more.
            self._left_over[job.id] = None
            self._look_for_left_over(job, happened, now_ms)
        elif gone.status == FAILED or self._launches.get(job.id, 0) >= MOST_LAUNCHES:
            said = self._attempts.seal(job)
            if said is None:
                self._adrift[job.id] = None
            else:
                self._failed[job.id] = said
        else:
            self._launch(job)

    def _prepared(self, attempt: tuple[str, int], came_to: bool | str) -> None:  # noqa: FBT001 - an answer or an error
        """Go on with an attempt: everything is in place, or it has begun already, or this error stood in the way."""
        job = self._known.running.get(attempt[0])
        if job is None or job.life.attempt != attempt[1]:
            return
        if isinstance(came_to, str):
            self._failed[job.id] = came_to
        elif came_to:
            self._launch(job)
        else:
            self._adrift[job.id] = None

    def _launch(self, job: Job) -> None:
        path = self._attempts.spec_path(job)
        self._launches[job.id] = self._launches.get(job.id, 0) + 1
        self._launcher.launch(path)
        self._launched[path] = job.id

    def _tell(self, job: Job) -> None:
        requests = self._unheard.pop(job.id)
        folder = self._attempts.folder(job)
        while requests and ask(folder, requests[0]):
            del requests[0]
        if requests:
            self._unheard[job.id] = requests

    def _ended(self, job: Job, result: Finished | None) -> Event | None:
        """The event that a result is."""
        if result is None:
            return None
        at_ms = max(result.at_ms, job.life.started_at_ms or 0)
        if result.error is not None:
            return CouldNotStart(at_ms=at_ms, error=result.error)
        if result.no_receipt is not None:
            _log.warning("%s: no receipt was left: %s", job.id, result.no_receipt)
        return Ended(at_ms=at_ms, attempt=job.life.attempt, result=result.result, requeue_outgrown=self._requeue)

    def _note(self, happened: dict[str, Event], job: Job, event: Event | None) -> None:
        if event is not None:
            happened.setdefault(job.id, event)
