"""What starts now, and what is stopped: by the live plan, and by what the host and its jobs use."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from vq.admission.host import HostMemory, Remembered
from vq.admission.plan import Look, Reservation, plan, plan_and_explain
from vq.admission.predictor import Prediction
from vq.admission.rules import CpuAdmission, Policy, Rules
from vq.config.values import Config
from vq.daemon.experience import Experience
from vq.daemon.guard import ALERT_PERCENT, Idleness, fills, is_close, least_reserved, outgrown, past
from vq.daemon.known import Due, JobKind, Known, is_whole, key_of, kind_of, reason_of
from vq.hosts.local.attempts import Attempts
from vq.hosts.local.machine import Machine
from vq.jobs.events import Ended, Started, Stopping
from vq.jobs.history_row import HistoryRow
from vq.jobs.reasons import Reason, StopCause
from vq.jobs.record import CPU_MILLICORES, Job, Limit
from vq.store.advancing import Happened

FRESH_SECONDS = 0.5
"""A reading of the host and of what jobs use is good for so long."""


def rules_of(config: Config) -> Rules:
    """The policy and the budgets of a configuration."""
    host = config.host
    by = CpuAdmission(host.cpu_admission)
    return Rules(
        policy=Policy(host.admission),
        memory=host.memory_max_bytes,
        cpu=None if by is CpuAdmission.OFF else int(host.cpus * CPU_MILLICORES * host.cpu_overcommit),
        slots={name: profile.slots for name, profile in config.profiles.items()},
        cpu_admission=by,
        barrier_after_ms=host.barrier_after_ms,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """What running jobs use, in bytes by their ids, and the host beside them."""

    uses: Mapping[str, int | None]
    memory: HostMemory


class Admission:
    """Decides starts; remembers the last readings, what the last plan left, and what runs have taught it."""

    def __init__(self, config: Config, experience: Experience, machine: Machine, attempts: Attempts) -> None:
        self._rules = rules_of(config)
        self._experience = experience
        self._machine = machine
        self._attempts = attempts
        self.remembered = Remembered()
        """What the last look remembers of the host, for the next one."""
        self._readings: Readings | None = None
        self._read_at = 0.0
        self._budget = config.host.memory_max_bytes
        self._idleness = Idleness(config.host.starved_after_ms)
        self.is_close = False
        """Whether so much of the budget is in use that it is looked at often."""
        self.explained: Mapping[JobKind, Reason] = {}
        """What the last look found to keep the first jobs that wait on, by what it took them for."""

    def learn(self, rows: tuple[HistoryRow, ...]) -> None:
        """Know runs that have just ended."""
        self._experience.learn(rows)

    def catch_up(self) -> bool:
        """Whether the history had to be read anew, and was."""
        return self._experience.catch_up()

    def starts(
        self, known: Known, due: Due, now_ms: int, boot_id: str, *, explain: int = 0
    ) -> list[tuple[str, Started]]:
        """The jobs to start now, in order, each with what it reserves; `explain` so many of those due."""
        self.explained = {}
        # Where nobody waits there is nothing to decide, but what is remembered of the host is not for ever.
        if not due.waiting and self.remembered == Remembered():
            return []
        readings = self.readings(known)
        look = Look(
            now=now_ms,
            rules=self._rules,
            waiting=due.waiting,
            running=tuple(known.in_look.values()),
            uses=readings.uses,
            host=(readings.memory, self.remembered),
        )
        decided, explained = plan_and_explain(look, self._experience.predictor, first=explain)
        self.remembered = decided.remembered
        self.explained = {
            kind_of(one): reason_of(explained[one.id].reason) for one in due.waiting if one.id in explained
        }
        return [
            (identifier, self._started(known.jobs[identifier], decided.reservations[identifier], now_ms, boot_id))
            for identifier in decided.starts
        ]

    def followed(self, known: Known, happened: Happened, now_ms: int) -> Happened:
        """What happened, each end with what was reserved for the attempt at last, before any of these ends is learned.

        Predictions move what a running job reserves; its row says where that stood, as a replay's does. Of one that the
        host's limit ended it says by what it was judged.
        """
        ended = [known.running[job] for job, event in happened if isinstance(event, Ended) and job in known.running]
        reserved = self._reserved(known, ended, now_ms)

        def follow(job: Job, event: Ended) -> Ended:
            now, result = reserved[job.id], event.result
            by_host = result.limit_fired is Limit.HOST or result.stopped_by is StopCause.OUTGREW
            if by_host and least_reserved(job, now.memory) < now.memory:
                return event
            return replace(event, reserved_bytes=now.memory, basis=now.basis.as_data())

        return [
            (job, follow(known.running[job], event) if isinstance(event, Ended) and job in reserved else event)
            for job, event in happened
        ]

    def stops(self, known: Known, now_ms: int) -> list[tuple[str, Stopping]]:
        """The running jobs that the queue itself stops now."""
        running = known.running.values()
        found: list[tuple[str, Stopping]] = []
        was_close, self.is_close = self.is_close, False
        if self._rules.policy is Policy.MEASURED and running:
            uses = self.readings(known, fresh_seconds=0.0 if was_close else FRESH_SECONDS).uses
            half = fills(uses, self._budget, ALERT_PERCENT)
            predicted = self._reserved(known, running, now_ms) if half else {}
            reserved = {identifier: prediction.memory for identifier, prediction in predicted.items()}
            self.is_close = is_close(running, uses, self._budget, reserved)
            for each in running if half else ():
                # We may come too late: memory can fill up between two looks.
                if past(each, uses, reserved) > 0:
                    self._machine.offer(self._attempts.folder(each))
            job = outgrown(running, uses, self._budget, reserved)
            if job is not None:
                found.append(_stopping(job, now_ms, StopCause.OUTGREW))
        if self._idleness.matters:
            for job in running:
                cpu_seconds = self._machine.cpu_seconds(self._attempts.folder(job))
                if self._idleness.starved(job, cpu_seconds, now_ms):
                    found.append(_stopping(job, now_ms, StopCause.STARVED))
        return found

    def readings(self, known: Known, *, fresh_seconds: float = FRESH_SECONDS) -> Readings:
        """What is in use, read anew where the last reading is older than that."""
        now = time.monotonic()
        if self._readings is None or now - self._read_at >= fresh_seconds:
            uses = {job.id: self._machine.use_bytes(self._attempts.folder(job)) for job in known.running.values()}
            self._readings = Readings(uses=uses, memory=self._machine.memory(uses))
            self._read_at = now
        return self._readings

    def over(self, job: Job) -> None:
        """Think no longer of what an attempt uses."""
        self._machine.forget(self._attempts.folder(job))
        self._idleness.forget(job)

    def _reserved(self, known: Known, jobs: Collection[Job], now_ms: int) -> dict[str, Prediction]:
        """What is predicted now for running jobs, by their ids; nothing where their limits are what is reserved.

        Of the others only copies of theirs matter.
        """
        if self._rules.policy is not Policy.MEASURED or not jobs:
            return {}
        keys = {key_of(job) for job in jobs}
        copies = tuple(job for job in known.in_look.values() if job.key in keys)
        sampled = dict.fromkeys((job.id for job in copies), 0)
        look = Look(now=now_ms, rules=self._rules, waiting=(), running=copies, uses=sampled)
        predicted = plan(look, self._experience.predictor).reservations
        return {job.id: predicted[job.id].memory for job in jobs if not is_whole(job)}

    def _started(self, job: Job, reservation: Reservation, now_ms: int, boot_id: str) -> Started:
        place = self._attempts.place(job)
        by_memory = self._rules.policy is Policy.MEASURED
        by_cpu = self._rules.cpu_by is CpuAdmission.MEASURED
        return Started(
            at_ms=now_ms,
            boot_id=boot_id,
            reserved_bytes=job.work.cap_bytes if is_whole(job) else reservation.memory.memory,
            basis=reservation.memory.basis.as_data() if by_memory else None,
            cpu_reserved_millicores=reservation.cpu.cpu,
            cpu_basis=reservation.cpu.basis.as_data() if by_cpu else None,
            workspace=place.workspace,
            cwd=place.cwd,
            stdout_path=place.stdout_path,
            stderr_path=place.stderr_path,
        )


def _stopping(job: Job, now_ms: int, cause: StopCause) -> tuple[str, Stopping]:
    return job.id, Stopping(at_ms=now_ms, attempt=job.life.attempt, cause=cause)
