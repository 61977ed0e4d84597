"""The life of a job: one table of states and events, and one function, `advance`, that goes by it.

PENDING takes Started, KillRequested, Paused and Resumed (hold and release), Edited, CouldNotStart and what becomes of
the jobs it depends on. RUNNING takes Ended, Stopping, KillRequested, Paused, Resumed, Lost, HostRebooted and
CouldNotStart. An end takes nothing: it never changes. What the table does not hold raises `TransitionError`.

Once a kill was asked for no attempt follows, whatever `vq.jobs.again` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from vq.errors import VqError
from vq.jobs.again import back_off, next_attempt, successor
from vq.jobs.effects import (
    Act,
    Effect,
    FreezeAttempt,
    RunEndHook,
    SettleDependents,
    StartAttempt,
    StopAttempt,
    TakePlace,
    ThawAttempt,
    WriteHistoryRow,
)
from vq.jobs.events import (
    CouldNotStart,
    DependencyFailed,
    DependencyMet,
    DependencyReplaced,
    Edited,
    Ended,
    Event,
    HostRebooted,
    KillRequested,
    Lost,
    Paused,
    Resumed,
    Started,
    Stopping,
)
from vq.jobs.history_row import Caps, history_row
from vq.jobs.outcome import Outcome, outcome
from vq.jobs.reasons import Kind, Reason, StopCause
from vq.jobs.record import (
    Attempt,
    Job,
    Life,
    MemorySource,
    Reserve,
    State,
    WallSource,
)
from vq.jobs.waiting import waits_for

Advanced = tuple[Job, tuple[Effect, ...]]


class TransitionError(VqError):
    """An event that the state of the job does not take; `where` is the job."""


def advance(job: Job, event: Event) -> Advanced:
    """The job after `event`, and what follows from it; raises `TransitionError` for what cannot happen to it now."""
    step = TABLE.get(job.state, {}).get(type(event))
    if step is None:
        what = "has ended" if job.state.ended else "is " + job.state.lower()
        message = f"{what}{f' as {job.state}' if job.state.ended else ''}, which {_name(event)} does not change"
        raise TransitionError(message, where=job.id)
    return step(job, event)


def repairs(job: Job) -> tuple[Act, ...]:
    """What to do again for a job that may not have been done before a crash; each may be done twice."""
    life = job.life
    if job.state is not State.RUNNING:
        return ()
    acts: list[Act] = [StartAttempt(job=job.id, attempt=life.attempt)]
    if (ending := _ending(life)) is not None:
        acts.append(StopAttempt(job=job.id, attempt=life.attempt, at_once=ending["at_once"]))
    elif life.paused:
        acts.append(FreezeAttempt(job=job.id, attempt=life.attempt))
    return tuple(acts)


def dependency_event(job: Job, on: str, state: State, at_ms: int) -> DependencyMet | DependencyFailed:
    """What the end of the job `on` in `state` means for a job that depends on it."""
    needs = [dependency.kind for dependency in job.work.depends_on if dependency.job == on]
    if all(need.met_by(state) for need in needs):
        return DependencyMet(at_ms=at_ms, job=on)
    return DependencyFailed(at_ms=at_ms, job=on, state=state)


def _started(job: Job, event: Started) -> Advanced:
    life, cap_bytes = job.life, job.work.cap_bytes
    waits = waits_for(job, event.at_ms)
    if waits is not None:
        raise TransitionError(f"is not to start now: {waits.text}", where=job.id)
    whole = life.outgrew or job.work.reserve is Reserve.CAP
    if not (cap_bytes if whole else 0) <= event.reserved_bytes <= cap_bytes:
        raise TransitionError(
            f"reserves {event.reserved_bytes} bytes; expected {'exactly' if whole else 'at most'} {cap_bytes}",
            where=job.id,
        )
    attempt = life.attempt + 1
    started = replace(
        life,
        state=State.RUNNING,
        reason=None,
        paused_at_ms=None,
        paused_ms=0,
        limit_fired=None,
        started_at_ms=event.at_ms,
        finished_at_ms=None,
        exit_code=None,
        signal=None,
        attempt=attempt,
        boot_id=event.boot_id,
        reserved_bytes=event.reserved_bytes,
        basis=event.basis,
        cpu_reserved_millicores=event.cpu_reserved_millicores,
        cpu_basis=event.cpu_basis,
        stdout_path=event.stdout_path,
        stderr_path=event.stderr_path,
    )
    work = replace(job.work, workspace=event.workspace, cwd=event.cwd)
    return replace(job, work=work, life=started, usage=None), (StartAttempt(job=job.id, attempt=attempt),)


def _kill_pending(job: Job, event: KillRequested) -> Advanced:
    killed = replace(job.life, kill_requested=True)
    return _end(replace(job, life=killed), Outcome(state=State.KILLED, reason=Reason(kind=Kind.KILL)), event.at_ms)


def _kill_running(job: Job, event: KillRequested) -> Advanced:
    asked = replace(job, life=replace(job.life, kill_requested=True))
    return _stop(asked, StopCause.KILL, event.at_ms, at_once=event.at_once)


def _stopping(job: Job, event: Stopping) -> Advanced:
    _same_attempt(job, event.attempt)
    return _stop(job, event.cause, event.at_ms, at_once=False)


def _stop(job: Job, cause: StopCause, at_ms: int, *, at_once: bool) -> Advanced:
    """The job on its way to its end; the first cause stays, and more haste is never taken back."""
    before = _ending(job.life)
    if before is not None:
        cause, at_once = before["cause"], at_once or before["at_once"]
    reason = Reason(kind=Kind.ENDING, details={"cause": str(cause), "at_once": at_once})
    stop = StopAttempt(job=job.id, attempt=job.life.attempt, at_once=at_once)
    return replace(job, life=replace(_thawed(job.life, at_ms), reason=reason)), (stop,)


def _hold(job: Job, _: Paused) -> Advanced:
    return replace(job, life=replace(job.life, held=True, reason=Reason(kind=Kind.HELD))), ()


def _release(job: Job, event: Resumed) -> Advanced:
    life = job.life
    if not life.held:
        return job, ()
    eligible = None if life.eligible_at_ms is None else max(life.eligible_at_ms, event.at_ms)
    return replace(job, life=replace(life, held=False, reason=back_off(life), eligible_at_ms=eligible)), ()


def _pause(job: Job, event: Paused) -> Advanced:
    if _ending(job.life) is not None:
        raise TransitionError("is being ended and cannot be paused", where=job.id)
    if job.life.paused:
        return job, ()
    paused = replace(job.life, paused_at_ms=event.at_ms)
    return replace(job, life=paused), (FreezeAttempt(job=job.id, attempt=job.life.attempt),)


def _go_on(job: Job, event: Resumed) -> Advanced:
    if not job.life.paused:
        return job, ()
    return replace(job, life=_thawed(job.life, event.at_ms)), (ThawAttempt(job=job.id, attempt=job.life.attempt),)


def _ended(job: Job, event: Ended) -> Advanced:
    _same_attempt(job, event.attempt)
    result = event.result
    how = outcome(job, result)
    life = _thawed(job.life, event.at_ms)
    if event.reserved_bytes is not None:
        life = replace(life, reserved_bytes=event.reserved_bytes, basis=event.basis)
    life = replace(
        life,
        paused_ms=life.paused_ms if result.paused_ms is None else result.paused_ms,
        limit_fired=how.limit_fired,
        finished_at_ms=event.at_ms,
        exit_code=result.exit_code,
        signal=result.signal,
    )
    over = _over(replace(job, life=life, usage=result.usage), how, event.at_ms)
    # A program that could not be run has used nothing that a later run could go by.
    caps = Caps(result.own_cap, result.hit_cap)
    rows = () if result.exec_error is not None else (_row(over, caps),)
    again = None if life.kill_requested else next_attempt(over, how, event)
    if again is not None:
        return again, rows
    end, effects = _end(over, how, event.at_ms)
    return end, (*rows, *effects)


def _lost(job: Job, event: Lost) -> Advanced:
    _same_attempt(job, event.attempt)
    return _interrupted(job, event.at_ms, "supervisor")


def _rebooted(job: Job, event: HostRebooted) -> Advanced:
    _same_attempt(job, event.attempt)
    end, effects = _interrupted(job, event.at_ms, "host")
    if not job.work.auto_resume or job.life.kill_requested:
        return end, effects
    place = TakePlace(of=job.id, successor=successor(end, event.at_ms), at_ms=event.at_ms)
    return end, tuple(place if isinstance(effect, SettleDependents) else effect for effect in effects)


def _interrupted(job: Job, at_ms: int, what: str) -> Advanced:
    how = Outcome(state=State.INTERRUPTED, reason=Reason(kind=Kind.LOST, details={"what": what}))
    over = _over(replace(job, life=_thawed(job.life, at_ms)), how, None)
    end, effects = _end(over, how, at_ms)
    return end, (_row(over, Caps(None, None)), *effects)


def _could_not_start(job: Job, event: CouldNotStart) -> Advanced:
    reason = Reason(kind=Kind.NOT_STARTED, details={"error": event.error})
    how = Outcome(state=State.ABORTED_BY_QUEUE, reason=reason)
    if job.state is State.RUNNING:
        life = replace(_thawed(job.life, event.at_ms), started_at_ms=None)
        job = _over(replace(job, life=life), how, None)
    return _end(job, how, event.at_ms)


def _dependency_met(job: Job, event: DependencyMet) -> Advanced:
    life = job.life
    waiting_for = tuple(other for other in life.waiting_for if other != event.job)
    if waiting_for or not life.waiting_for:
        return replace(job, life=replace(life, waiting_for=waiting_for)), ()
    eligible = max(event.at_ms, job.work.not_before_ms or 0)
    return replace(job, life=replace(life, waiting_for=(), eligible_at_ms=eligible)), ()


def _dependency_failed(job: Job, event: DependencyFailed) -> Advanced:
    reason = Reason(kind=Kind.DEPENDENCY, details={"job": event.job, "state": str(event.state)})
    return _end(job, Outcome(state=State.ABORTED_BY_QUEUE, reason=reason), event.at_ms)


def _dependency_replaced(job: Job, event: DependencyReplaced) -> Advanced:
    depends_on = tuple(
        replace(dependency, job=event.successor) if dependency.job == event.job else dependency
        for dependency in job.work.depends_on
    )
    waiting_for = tuple(event.successor if other == event.job else other for other in job.life.waiting_for)
    return replace(
        job, work=replace(job.work, depends_on=depends_on), life=replace(job.life, waiting_for=waiting_for)
    ), ()


def _edited(job: Job, event: Edited) -> Advanced:
    numbers = (event.cpus, event.mem_mb, event.wall_time_seconds)
    if any(number is not None and number < 1 for number in numbers):
        raise TransitionError("expected limits of 1 or more", where=job.id)
    work, identity = job.work, job.identity
    if event.mem_mb is not None:
        work = replace(work, mem_mb=event.mem_mb, mem_mb_source=MemorySource.EXPLICIT)
    if event.wall_time_seconds is not None:
        work = replace(work, wall_time_seconds=event.wall_time_seconds, wall_time_source=WallSource.EXPLICIT)
    work = replace(
        work,
        cpus=work.cpus if event.cpus is None else event.cpus,
        priority=work.priority if event.priority is None else event.priority,
    )
    identity = replace(
        identity,
        name=identity.name if event.name is None else event.name,
        tags=identity.tags if event.tags is None else event.tags,
    )
    return replace(job, identity=identity, work=work), ()


def _same_attempt(job: Job, attempt: int) -> None:
    if attempt != job.life.attempt:
        raise TransitionError(
            f"runs attempt {job.life.attempt}; what is said of attempt {attempt} is late", where=job.id
        )


def _over(job: Job, how: Outcome, finished_at_ms: int | None) -> Job:
    life = job.life
    attempt = Attempt(
        state=how.state,
        limit_fired=how.limit_fired,
        mem_mb=job.work.mem_mb,
        started_at_ms=life.started_at_ms,
        finished_at_ms=finished_at_ms,
    )
    return replace(job, life=replace(life, attempts=(*life.attempts, attempt)))


def _end(job: Job, how: Outcome, at_ms: int) -> Advanced:
    """The job at its end; `eligible_at_ms` stays as it was."""
    ended = replace(
        job.life, state=how.state, reason=how.reason, held=False, waiting_for=(), paused_at_ms=None, settled_at_ms=at_ms
    )
    return replace(job, life=ended), (
        SettleDependents(job=job.id, state=how.state, at_ms=at_ms),
        RunEndHook(job=job.id),
    )


def _thawed(life: Life, at_ms: int) -> Life:
    if life.paused_at_ms is None:
        return life
    return replace(life, paused_at_ms=None, paused_ms=life.paused_ms + max(0, at_ms - life.paused_at_ms))


def _ending(life: Life) -> Mapping[str, Any] | None:
    """Why and how hastily it is being ended; None when it is not."""
    return life.reason.details if life.reason is not None and life.reason.kind is Kind.ENDING else None


def _row(job: Job, caps: Caps) -> WriteHistoryRow:
    return WriteHistoryRow(job=job.id, attempt=job.life.attempt, row=history_row(job, caps))


def _name(event: Event) -> str:
    return type(event).__name__


TABLE: Mapping[State, Mapping[type[Event], Callable[[Job, Any], Advanced]]] = {
    State.PENDING: {
        Started: _started,
        KillRequested: _kill_pending,
        Paused: _hold,
        Resumed: _release,
        Edited: _edited,
        CouldNotStart: _could_not_start,
        DependencyMet: _dependency_met,
        DependencyFailed: _dependency_failed,
        DependencyReplaced: _dependency_replaced,
    },
    State.RUNNING: {
        Ended: _ended,
        Stopping: _stopping,
        KillRequested: _kill_running,
        Paused: _pause,
        Resumed: _go_on,
        Lost: _lost,
        HostRebooted: _rebooted,
        CouldNotStart: _could_not_start,
    },
}
"""The one table: what a state takes, and the step that it makes; a state that stands not here is an end."""
