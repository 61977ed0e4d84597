"""Laws of the life of a job: whatever happens to it, in whatever order, is taken by the table or refused by it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import made_jobs
from made_jobs import OTHER, events, jobs, results, started
from vq.errors import VqError
from vq.jobs.document import job_document, read_job
from vq.jobs.effects import (
    Effect,
    RunEndHook,
    SettleDependents,
    StartAttempt,
    TakePlace,
    WriteHistoryRow,
)
from vq.jobs.events import Ended, Event, HostRebooted, KillRequested, Lost, Result, Started, Stopping
from vq.jobs.lifecycle import TABLE, TransitionError, advance, dependency_event, repairs
from vq.jobs.record import Job, Limit, MemorySource, Need, Reserve, State

steps = st.lists(events, max_size=12)


def aimed(job: Job, event: Event) -> Event:
    """Most events as they would come to this job: of the attempt that runs, and not before its time."""
    if isinstance(event, Started):
        return replace(event, at_ms=max(event.at_ms, job.life.eligible_at_ms or 0))
    if isinstance(event, Ended | Stopping | Lost | HostRebooted) and event.attempt > 1:
        return replace(event, attempt=job.life.attempt)
    return event


def life(job: Job, happened: list[Event]) -> Iterator[tuple[Job, Event, Job, tuple[Effect, ...]]]:
    """Every step that the table takes: the job before, the event, the job after, and what follows."""
    for drawn in happened:
        event = aimed(job, drawn)
        try:
            after, effects = advance(job, event)
        except TransitionError:
            continue
        yield job, event, after, effects
        job = after


@given(jobs, steps)
def test_an_event_advances_the_job_or_is_refused_by_our_own_error(job: Job, happened: list[Event]) -> None:
    for event in happened:
        with suppress(VqError):
            job, _ = advance(job, event)


@given(jobs, steps, events)
def test_an_end_never_changes(job: Job, happened: list[Event], late: Event) -> None:
    for *_, after, _ in life(job, happened):
        if after.state.ended:
            with pytest.raises(TransitionError, match="has ended"):
                advance(after, late)


@given(jobs, steps)
def test_attempts_are_counted_one_by_one_and_at_most_one_runs(job: Job, happened: list[Event]) -> None:
    for before, event, after, effects in life(job, happened):
        begun = [effect for effect in effects if isinstance(effect, StartAttempt)]
        assert after.life.attempt == before.life.attempt + len(begun)
        assert len(begun) == isinstance(event, Started)
        assert all(effect.attempt == after.life.attempt and before.state is State.PENDING for effect in begun)
        assert after.life.attempt == len(after.life.attempts) + (after.state is State.RUNNING)
        assert after.life.attempts[: len(before.life.attempts)] == before.life.attempts


@given(jobs, steps)
def test_what_is_reserved_is_what_runs(job: Job, happened: list[Event]) -> None:
    for _, event, after, _ in life(job, happened):
        if isinstance(event, Started):
            assert after.life.reserved_bytes == event.reserved_bytes <= after.work.cap_bytes
            if after.work.reserve is Reserve.CAP or after.life.outgrew:
                assert after.life.reserved_bytes == after.work.cap_bytes
        if after.state is State.PENDING:
            assert after.life.reserved_bytes is None
            assert after.life.cpu_reserved_millicores is None
        if after.state is State.RUNNING:
            assert after.life.reserved_bytes is not None
            assert not after.life.held
            assert not after.life.waiting_for
            assert after.life.eligible_at_ms is not None


@given(jobs, steps)
def test_attempts_are_bounded_by_what_was_asked_and_none_follows_a_kill(job: Job, happened: list[Event]) -> None:
    for before, _, after, _ in life(job, happened):
        failed = sum(attempt.state is State.FAILED for attempt in after.life.attempts)
        own = sum(attempt.limit_fired is Limit.JOB for attempt in after.life.attempts)
        host = sum(attempt.limit_fired is Limit.HOST for attempt in after.life.attempts)
        assert failed <= job.work.retry + 1
        assert own <= 2
        assert host <= 2
        if before.life.kill_requested:
            assert after.state is State.RUNNING or after.state.ended
        if after.work.mem_mb_source is MemorySource.OOM_RETRY and job.work.mem_mb_source is not MemorySource.OOM_RETRY:
            assert own == 1 or after.state.ended or after.state is State.RUNNING


@given(jobs, steps)
def test_each_attempt_that_ran_leaves_one_row_and_each_end_is_told_once(job: Job, happened: list[Event]) -> None:
    rows: list[int] = []
    for before, event, after, effects in life(job, happened):
        new = [effect for effect in effects if isinstance(effect, WriteHistoryRow)]
        rows += [effect.attempt for effect in new]
        if new:
            assert new[0].row.started_at == before.life.started_at_ms
            assert new[0].row.memory_cap == before.work.cap_bytes
        told = [effect for effect in effects if isinstance(effect, SettleDependents | TakePlace)]
        assert len(told) == after.state.ended
        assert sum(isinstance(effect, RunEndHook) for effect in effects) == after.state.ended
        if isinstance(event, Ended) and event.result.exec_error is None:
            assert len(new) == 1
    assert len(rows) == len(set(rows))


@given(jobs, steps)
def test_the_record_reads_back_as_it_was_written(job: Job, happened: list[Event]) -> None:
    for reached in (job, *(after for _, _, after, _ in life(job, happened))):
        assert read_job(json.loads(json.dumps(job_document(reached)))) == reached


@given(jobs, steps)
def test_what_may_not_have_been_done_before_a_crash_is_the_same_however_often_it_is_done(
    job: Job, happened: list[Event]
) -> None:
    for *_, after, effects in life(job, happened):
        again = repairs(after)
        assert bool(again) is (after.state is State.RUNNING)
        assert [effect for effect in effects if isinstance(effect, StartAttempt)] in ([], list(again)[:1])
        for effect in effects:
            if after.state is State.RUNNING and type(effect).__name__ in ("StopAttempt", "FreezeAttempt"):
                assert effect in again


@given(results)
def test_every_end_is_one_of_the_states_that_the_evidence_allows(result: Result) -> None:
    running, _ = advance(made_jobs.job(), started())
    event = Ended(at_ms=running.life.queued_at_ms, attempt=1, result=result, requeue_outgrown=False)
    after, _ = advance(running, event)
    evidence = event.result
    if after.state is State.COMPLETED:
        assert evidence.exit_code == 0
        assert (evidence.stopped_by, evidence.limit_fired, evidence.exec_error) == (None, None, None)
    if evidence.limit_fired and evidence.exec_error is None:
        assert after.state is State.OOM_KILLED
        assert after.life.limit_fired is evidence.limit_fired
    if evidence.stopped_by is not None:
        assert after.state is not State.COMPLETED
        assert after.state is not State.FAILED or evidence.exec_error
    assert after.state not in (State.INTERRUPTED, State.ABORTED_BY_QUEUE)


@given(jobs, st.sampled_from([state for state in State if state.ended]))
def test_a_dependency_is_met_exactly_when_every_need_of_that_job_is(job: Job, state: State) -> None:
    event = dependency_event(job, OTHER, state, 1)
    strict = any(need.job == OTHER and need.kind is Need.COMPLETED for need in job.work.depends_on)
    assert (type(event).__name__ == "DependencyFailed") is (strict and state is not State.COMPLETED)


def test_no_end_stands_in_the_table() -> None:
    assert set(TABLE) == {State.PENDING, State.RUNNING}
    assert KillRequested in TABLE[State.PENDING]
    assert KillRequested in TABLE[State.RUNNING]


def ready(job: Job) -> Job:
    """The job, free to start: it waits for nobody and for no time."""
    life = replace(job.life, waiting_for=(), eligible_at_ms=job.life.queued_at_ms)
    return replace(job, work=replace(job.work, not_before_ms=None), life=life)


def attempted(job: Job, result: Result) -> Job:
    """The job after one more attempt, with its whole limit reserved, that ended with `result`."""
    begin = job.life.eligible_at_ms or 0
    job, _ = advance(job, started(begin, job.work.mem_mb))
    job, _ = advance(job, Ended(at_ms=begin + 1, attempt=job.life.attempt, result=result))
    return job


@given(jobs)
def test_a_job_that_always_fails_is_tried_as_often_as_was_asked(job: Job) -> None:
    job = ready(job)
    while not job.state.ended:
        assert job.life.attempt <= job.work.retry
        job = attempted(job, Result(exit_code=1))
    assert job.state is State.FAILED
    assert job.life.attempt == job.work.retry + 1


@given(jobs, st.sampled_from(Limit))
def test_a_job_that_always_meets_a_limit_is_tried_at_most_once_more(job: Job, limit: Limit) -> None:
    larger = job.work.oom_retry_mb is not None and job.work.oom_retry_mb > job.work.mem_mb
    job = ready(job)
    while not job.state.ended:
        assert job.life.attempt <= 1
        job = attempted(job, Result(exit_code=137, limit_fired=limit))
    assert job.state is State.OOM_KILLED
    assert job.life.attempt == 1 + (larger if limit is Limit.JOB else True)


@given(jobs, results)
def test_a_job_that_was_to_be_killed_ends_with_its_attempt(job: Job, result: Result) -> None:
    begun, _ = advance(ready(job), started(job.life.queued_at_ms, job.work.mem_mb))
    asked, _ = advance(begun, KillRequested(at_ms=job.life.queued_at_ms))
    over, _ = advance(asked, Ended(at_ms=job.life.queued_at_ms + 1, attempt=1, result=result))
    assert over.state.ended


@given(jobs, st.integers(0, 100))
def test_after_the_host_s_limit_the_whole_of_its_own_is_reserved(job: Job, reserved_mb: int) -> None:
    waiting = attempted(ready(job), Result(exit_code=137, limit_fired=Limit.HOST))
    event = started((waiting.life.eligible_at_ms or 0) + 1, reserved_mb)
    if reserved_mb == waiting.work.mem_mb:
        assert advance(waiting, event)[0].life.reserved_bytes == waiting.work.cap_bytes
    else:
        with pytest.raises(TransitionError, match="expected exactly"):
            advance(waiting, event)
