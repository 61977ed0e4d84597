"""Commit steps of jobs' lives: the job, its row of the history and what its dependents learn, in one transaction.

Observe, advance, commit, act: what is returned is to be done after the commit, and may be done again. Only the daemon
advances jobs, and one that could not commit is given up.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from vq.jobs.effects import Act, Effect, RunEndHook, SettleDependents, TakePlace, WriteHistoryRow
from vq.jobs.events import DependencyReplaced, Event
from vq.jobs.history_row import HistoryRow
from vq.jobs.ids import job_id, sequence_of
from vq.jobs.lifecycle import TransitionError, advance, dependency_event
from vq.jobs.record import Job
from vq.store.connection import Store
from vq.store.history import append_row
from vq.store.requests import delete_request
from vq.store.rows import fetch_job, insert_dependency, insert_job, next_sequence, take_dependents, update_job

Happened = Sequence[tuple[str, Event]]
Decide = Callable[[Mapping[str, Job], tuple[HistoryRow, ...]], Happened]


@dataclass(frozen=True, slots=True, kw_only=True)
class Advanced:
    """What was committed: the jobs that changed or are new, the rows written, what to do now, and what was refused."""

    jobs: Mapping[str, Job]
    rows: tuple[HistoryRow, ...]
    acts: tuple[Act, ...]
    refused: tuple[TransitionError, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeper:
    """Who advances jobs. Those that are `known` are not read; with `hooks` an end is remembered until its hook ran.

    What is known is how the store has it, because nobody else advances jobs.
    """

    known: Mapping[str, Job] = field(default_factory=dict)
    hooks: bool = False


_ANYBODY = Keeper()


@dataclass(slots=True, kw_only=True)
class _Steps:
    """One transaction: jobs as they were and are, and what they have still to learn of each other."""

    connection: sqlite3.Connection
    known: Mapping[str, Job]
    learn: deque[tuple[str, Event]] = field(default_factory=deque)
    before: dict[str, Job] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    rows: list[HistoryRow] = field(default_factory=list)
    acts: list[Act] = field(default_factory=list)
    refused: list[TransitionError] = field(default_factory=list)

    def take(self, identifier: str, event: Event) -> None:
        """Take an event, and then what follows from it for other jobs, and from that, to the last of them."""
        try:
            self._step(identifier, event)
        except TransitionError as refused:
            self.refused.append(refused)
        while self.learn:
            dependent, learnt = self.learn.popleft()
            # It may have ended meanwhile, by a kill or by another job that it depended on.
            if not self._job(dependent).state.ended:
                self._step(dependent, learnt)

    def _step(self, identifier: str, event: Event) -> None:
        self.jobs[identifier], effects = advance(self._job(identifier), event)
        for effect in effects:
            self._follow(effect)

    def _follow(self, effect: Effect) -> None:
        match effect:
            case WriteHistoryRow():
                append_row(self.connection, effect.row, sequence_of(effect.job), effect.attempt)
                self.rows.append(effect.row)
            case SettleDependents():
                for dependent in take_dependents(self.connection, effect.job):
                    event = dependency_event(self._job(dependent), effect.job, effect.state, effect.at_ms)
                    self.learn.append((dependent, event))
            case TakePlace():
                self._replace(effect)
            case _:
                self.acts.append(effect)

    def _job(self, identifier: str) -> Job:
        if identifier not in self.jobs:
            job = self.known.get(identifier) or fetch_job(self.connection, identifier)
            self.jobs[identifier] = self.before[identifier] = job
        return self.jobs[identifier]

    def _replace(self, effect: TakePlace) -> None:
        identifier = job_id(next_sequence(self.connection))
        successor = replace(effect.successor, identity=replace(effect.successor.identity, id=identifier))
        insert_job(self.connection, successor, _digests(self.connection, effect.of))
        self.jobs[identifier] = self.before[identifier] = successor
        for dependent in take_dependents(self.connection, effect.of):
            insert_dependency(self.connection, identifier, dependent)
            event = DependencyReplaced(at_ms=effect.at_ms, job=effect.of, successor=identifier)
            self.learn.append((dependent, event))


def advance_jobs(
    store: Store,
    happened: Happened,
    *,
    answered: Iterable[int] = (),
    then: Decide | None = None,
    keeper: Keeper = _ANYBODY,
) -> Advanced:
    """Take the steps that `happened`, in order, each an id and an event, and commit them together.

    With `then`, what it decides by the jobs as these steps have left them, and the rows written, is taken after them
    and committed with them. `answered` are the requests that they answer, which are gone then. A step that the life of
    a job does not take is returned as refused, and the others are taken. Raises `UsageError` for an id that no job has,
    and `StoreError`; nothing is changed then.
    """
    with store.writing() as connection:
        steps = _Steps(connection=connection, known=keeper.known)
        for identifier, event in happened:
            steps.take(identifier, event)
        if then is not None:
            for identifier, event in then(dict(steps.jobs), tuple(steps.rows)):
                steps.take(identifier, event)
        ended = {act.job for act in steps.acts if isinstance(act, RunEndHook)} if keeper.hooks else set()
        for identifier, job in steps.jobs.items():
            if job is not steps.before[identifier]:
                update_job(connection, steps.before[identifier], job, hook_due=identifier in ended)
        for request in answered:
            delete_request(connection, request)
    return Advanced(jobs=steps.jobs, rows=tuple(steps.rows), acts=tuple(steps.acts), refused=tuple(steps.refused))


def _digests(connection: sqlite3.Connection, identifier: str) -> tuple[str | None, str | None, str | None]:
    """The digests of a job's environment, estimate and calibration."""
    environment, estimate, calibration = connection.execute(
        "SELECT environment_sha256, estimate_sha256, calibration_sha256 FROM jobs WHERE sequence = ?",
        (sequence_of(identifier),),
    ).fetchone()
    return environment, estimate, calibration
