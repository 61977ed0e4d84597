"""Why a job is where it is: by the plan that the daemon starts jobs by, computed from the store, also while it is down.

What jobs use is read from their control groups; where that cannot be told a job counts with what is reserved for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vq.actions.looking import host_beside, host_remembered, in_start_order, running_jobs, uses_of
from vq.actions.place import Place
from vq.actions.remembering import Remembering
from vq.admission import plan
from vq.admission.predictor import CpuPrediction, Prediction
from vq.config.values import Config
from vq.daemon.admission import rules_of
from vq.daemon.known import array_is_full, place_of, reason_of, running_job, waiting_job
from vq.jobs.reasons import Kind, Reason
from vq.jobs.record import Job, State
from vq.jobs.waiting import waits_for
from vq.store import jobs as stored
from vq.store.settings import is_draining


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """What is or would be reserved, in bytes and millicores, and what that goes by; None where it is not known."""

    memory: int | None
    basis: Mapping[str, Any] | None
    cpu: int | None
    cpu_basis: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A job, why it is where it is, and how many wait before it.

    The reason is None where it can start now, or there is nothing to say.
    """

    job: Job
    reason: Reason | None
    ahead: int
    prediction: Predicted


def explain(place: Place, identifier: str, config: Config, now_ms: int) -> Explained:
    """Why the job of an id is where it is; raises `UsageError` for an id that no job has."""
    job = stored.read(place.store, identifier)
    if job.state is State.RUNNING:
        return Explained(job=job, reason=job.life.reason, ahead=0, prediction=_reserved_now(place, job, config, now_ms))
    if job.state is not State.PENDING:
        return Explained(job=job, reason=job.life.reason, ahead=0, prediction=_as_recorded(job))
    jobs = stored.active(place.store)
    pending = sorted((other for other in jobs if other.state is State.PENDING), key=place_of)
    running = in_start_order(other for other in jobs if other.state is State.RUNNING)
    kept, uses = _kept_back(place, pending, running, now_ms), uses_of(place, running)
    look = plan.Look(
        now=now_ms,
        rules=rules_of(config),
        waiting=tuple(waiting_job(other, _as_kept(kept[other.id])) for other in pending if _in_look(kept[other.id])),
        running=tuple(running_job(other) for other in running),
        uses=uses,
        host=(host_beside(uses), host_remembered(place, now_ms)),
    )
    predictor = Remembering(config, place.store, now_ms)
    explained = plan.explain(look, predictor).get(identifier)
    ahead = next(number for number, other in enumerate(pending) if other.id == identifier)
    if explained is None:
        reservation = plan.plan(look, predictor).reservations.get(identifier)
        memory, cpu = (None, None) if reservation is None else (reservation.memory, reservation.cpu)
        return Explained(job=job, reason=kept[identifier], ahead=ahead, prediction=_predicted(memory, cpu))
    reason = kept[identifier] or reason_of(explained.reason)
    return Explained(job=job, reason=reason, ahead=ahead, prediction=_predicted(explained.memory, explained.cpu))


def reservations(place: Place, running: Sequence[Job], config: Config, now_ms: int) -> dict[str, plan.Reservation]:
    """What running jobs have of the budgets now, by their ids: predictions have moved since they started."""
    uses = uses_of(place, running)
    look = plan.Look(
        now=now_ms,
        rules=rules_of(config),
        waiting=(),
        running=tuple(running_job(job) for job in running),
        uses=uses,
    )
    return dict(plan.plan(look, Remembering(config, place.store, now_ms)).reservations)


def _reserved_now(place: Place, job: Job, config: Config, now_ms: int) -> Predicted:
    """What is reserved for a running job by now; what it started with, where limits are what is reserved."""
    found = None
    if job.life.basis is not None:
        found = reservations(place, running_jobs(place), config, now_ms).get(job.id)
    if found is None:
        return _as_recorded(job)
    cpu = found.cpu if job.life.cpu_basis is not None else None
    life = job.life
    return Predicted(
        memory=found.memory.memory,
        basis=found.memory.basis.as_data(),
        cpu=life.cpu_reserved_millicores if cpu is None else cpu.cpu,
        cpu_basis=None if cpu is None else cpu.basis.as_data(),
    )


def _as_recorded(job: Job) -> Predicted:
    life = job.life
    return Predicted(
        memory=life.reserved_bytes, basis=life.basis, cpu=life.cpu_reserved_millicores, cpu_basis=life.cpu_basis
    )


def _kept_back(place: Place, pending: Sequence[Job], running: Sequence[Job], now_ms: int) -> dict[str, Reason | None]:
    """What of its own keeps each waiting job, None where nothing does."""
    draining = is_draining(place.store)
    started = Counter(job.work.array.group for job in running if job.work.array is not None)
    at_once: dict[str, int | None] = {}
    kept: dict[str, Reason | None] = {}
    for job in pending:
        reason = waits_for(job, now_ms)
        if reason is None and draining:
            reason = Reason(kind=Kind.DRAIN)
        if reason is None and job.work.array is not None:
            group = job.work.array.group
            if group not in at_once:
                at_once[group] = stored.array_at_once(place.store, group)
            most = at_once[group]
            started[group] += 1
            if most is not None and started[group] > most:
                reason = array_is_full(group, most)
        kept[job.id] = reason
    return kept


def _in_look(reason: Reason | None) -> bool:
    """Whether admission has a word for what keeps a job; an array that runs as many as it may is not its business."""
    return reason is None or reason.kind is not Kind.ARRAY


def _as_kept(reason: Reason | None) -> plan.Kept | None:
    return None if reason is None else plan.Held()


def _predicted(memory: Prediction | None, cpu: CpuPrediction | None) -> Predicted:
    return Predicted(
        memory=None if memory is None else memory.memory,
        basis=None if memory is None else memory.basis.as_data(),
        cpu=None if cpu is None else cpu.cpu,
        cpu_basis=None if cpu is None else cpu.basis.as_data(),
    )
