"""The life of a job, case by case."""

from __future__ import annotations

import pytest

from made_jobs import MIB, NOW, OTHER, ended, job, started
from vq.jobs.effects import (
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
    Result,
    Resumed,
    Stopping,
)
from vq.jobs.history_row import HistoryRow
from vq.jobs.lifecycle import TransitionError, advance, repairs
from vq.jobs.reasons import Kind, StopCause
from vq.jobs.record import Dependency, Job, Limit, MemorySource, Need, Reserve, State, WallSource
from vq.jobs.waiting import backoff_ms, waits_for

SECOND = 1000


def after(subject: Job, *happened: Event) -> Job:
    for event in happened:
        subject, _ = advance(subject, event)
    return subject


def running(**changes: object) -> Job:
    return after(job(**changes), started())  # type: ignore[arg-type]


def kind(subject: Job) -> Kind | None:
    return None if subject.life.reason is None else subject.life.reason.kind


@pytest.mark.parametrize(
    ("evidence", "state", "reason", "outcome"),
    [
        (Result(exit_code=0), State.COMPLETED, None, "completed"),
        (Result(exit_code=3), State.FAILED, None, "failed"),
        (Result(exit_code=139, signal=11), State.FAILED, None, "failed"),
        (Result(exit_code=127, exec_error="no such file"), State.FAILED, Kind.EXEC, "failed"),
        (Result(exit_code=0, limit_fired=Limit.JOB), State.OOM_KILLED, Kind.OOM, "oom_killed"),
        (Result(exit_code=137, signal=9, limit_fired=Limit.HOST), State.OOM_KILLED, Kind.OOM, "oom_killed"),
        (Result(exit_code=143, stopped_by=StopCause.OOM), State.OOM_KILLED, Kind.OOM, "oom_killed"),
        (Result(exit_code=143, stopped_by=StopCause.OUTGREW), State.OOM_KILLED, Kind.OOM, "oom_killed"),
        (Result(exit_code=0, stopped_by=StopCause.WALL_LIMIT), State.TIME_EXCEEDED, Kind.WALL_LIMIT, "time_exceeded"),
        (Result(exit_code=143, stopped_by=StopCause.KILL), State.KILLED, Kind.KILL, "killed"),
        (Result(exit_code=143, stopped_by=StopCause.STARVED), State.STARVED, Kind.STARVED, None),
    ],
)
def test_the_evidence_decides_the_state(
    evidence: Result, state: State, reason: Kind | None, outcome: str | None
) -> None:
    done = after(running(), Ended(at_ms=NOW, attempt=1, result=evidence, requeue_outgrown=False))
    assert done.state is state
    assert kind(done) is reason
    assert done.state.outcome == outcome
    assert done.life.exit_code == evidence.exit_code
    assert done.life.signal == evidence.signal


def test_an_end_is_recorded_told_and_hooked() -> None:
    done, effects = advance(running(), ended(usage={"job_peak_bytes": 7}))
    assert done.life.finished_at_ms == done.life.settled_at_ms == NOW + SECOND
    assert done.usage == {"job_peak_bytes": 7}
    assert [type(effect) for effect in effects] == [WriteHistoryRow, SettleDependents, RunEndHook]


def test_a_limit_that_fired_is_named_with_its_origin_and_what_raises_it() -> None:
    done = after(running(), ended(code=137, limit_fired=Limit.JOB, usage={"job_peak_bytes": 99 * MIB}))
    assert done.life.limit_fired is Limit.JOB
    assert done.life.reason is not None
    assert done.life.reason.text == (
        "met its memory limit of 100 MiB (as asked for); it was seen to use 99 MiB;"
        " vq resubmit JOB --mem-mb N raises it"
    )


def test_a_plain_failure_is_tried_again_after_a_growing_wait() -> None:
    subject = running(retry=2)
    waiting = after(subject, ended(code=1))
    assert waiting.state is State.PENDING
    assert kind(waiting) is Kind.RETRY
    assert waiting.life.eligible_at_ms == NOW + SECOND + 10_000
    assert waiting.life.reserved_bytes is None
    with pytest.raises(TransitionError, match="not to start now"):
        advance(waiting, started(NOW + SECOND + 9_999))
    second = after(waiting, started(NOW + 20_000), ended(NOW + 30_000, 2, 1))
    assert second.life.eligible_at_ms == NOW + 30_000 + 20_000
    third = after(second, started(NOW + 60_000), ended(NOW + 61_000, 3, 1))
    assert third.state is State.FAILED
    assert [attempt.state for attempt in third.life.attempts] == [State.FAILED] * 3


def test_the_wait_doubles_up_to_ten_minutes() -> None:
    assert [backoff_ms(failures) for failures in (1, 2, 3, 6, 7, 8, 10**9)] == [
        10_000,
        20_000,
        40_000,
        320_000,
        600_000,
        600_000,
        600_000,
    ]


def test_a_program_that_cannot_be_run_is_not_tried_again_and_leaves_no_row() -> None:
    done, effects = advance(running(retry=3), ended(code=126, exec_error="permission denied"))
    assert done.state is State.FAILED
    assert not [effect for effect in effects if isinstance(effect, WriteHistoryRow)]
    assert done.life.reason is not None
    assert done.life.reason.text == "true cannot be run: permission denied"


def test_after_a_proven_oom_one_attempt_has_the_larger_limit() -> None:
    waiting = after(running(oom_retry_mb=200), ended(code=137, limit_fired=Limit.JOB))
    assert waiting.work.mem_mb == 200
    assert waiting.work.mem_mb_source is MemorySource.OOM_RETRY
    assert waiting.life.limit_fired is None
    assert waiting.life.reason is not None
    assert "gets a larger one" in waiting.life.reason.text
    done = after(waiting, started(NOW + 5000, 200), ended(NOW + 6000, 2, 137, limit_fired=Limit.JOB))
    assert done.state is State.OOM_KILLED
    assert [attempt.mem_mb for attempt in done.life.attempts] == [100, 200]


@pytest.mark.parametrize("limit", [None, 50, 100])
def test_an_oom_limit_that_is_no_larger_is_no_retry(limit: int | None) -> None:
    done = after(running(oom_retry_mb=limit), ended(code=137, limit_fired=Limit.JOB))
    assert done.state is State.OOM_KILLED
    assert done.work.mem_mb == 100


def test_an_oom_of_the_host_is_no_oom_retry() -> None:
    event = Ended(at_ms=NOW, attempt=1, result=Result(exit_code=137, limit_fired=Limit.HOST), requeue_outgrown=False)
    assert after(running(oom_retry_mb=200), event).state is State.OOM_KILLED


def test_what_outgrew_the_host_starts_once_more_with_its_whole_limit_reserved() -> None:
    waiting = after(
        after(job(), started(reserved_mb=10)),
        Stopping(at_ms=NOW, attempt=1, cause=StopCause.OUTGREW),
        ended(code=143, stopped_by=StopCause.OUTGREW),
    )
    assert waiting.state is State.PENDING
    assert kind(waiting) is Kind.OUTGREW
    assert waiting.life.attempts[0].limit_fired is Limit.HOST
    with pytest.raises(TransitionError, match="expected exactly 104857600"):
        advance(waiting, started(NOW + 2000, reserved_mb=10))
    done = after(waiting, started(NOW + 2000), ended(NOW + 3000, 2, 137, limit_fired=Limit.HOST))
    assert done.state is State.OOM_KILLED


def test_more_than_the_limit_is_never_reserved_and_the_whole_of_it_where_asked() -> None:
    with pytest.raises(TransitionError, match="at most"):
        advance(job(), started(reserved_mb=101))
    with pytest.raises(TransitionError, match="exactly"):
        advance(job(reserve=Reserve.CAP), started(reserved_mb=99))


def test_a_kill_is_asked_for_with_grace_and_then_at_once() -> None:
    ending, effects = advance(running(), KillRequested(at_ms=NOW))
    assert effects == (StopAttempt(job="a1", attempt=1, at_once=False),)
    assert ending.state is State.RUNNING
    assert kind(ending) is Kind.ENDING
    hastier, effects = advance(ending, KillRequested(at_ms=NOW, at_once=True))
    assert effects == (StopAttempt(job="a1", attempt=1, at_once=True),)
    same, effects = advance(hastier, KillRequested(at_ms=NOW))
    assert effects == (StopAttempt(job="a1", attempt=1, at_once=True),)
    assert repairs(same) == (StartAttempt(job="a1", attempt=1), StopAttempt(job="a1", attempt=1, at_once=True))


def test_no_attempt_follows_once_a_kill_was_asked_for() -> None:
    asked = after(running(retry=5, oom_retry_mb=500), KillRequested(at_ms=NOW))
    assert after(asked, ended(code=1)).state is State.FAILED
    assert after(asked, ended(code=1, limit_fired=Limit.JOB)).state is State.OOM_KILLED
    assert after(asked, ended(code=1, limit_fired=Limit.HOST)).state is State.OOM_KILLED
    assert after(asked, ended(code=0)).state is State.COMPLETED


def test_a_waiting_job_is_killed_without_a_row() -> None:
    done, effects = advance(job(), KillRequested(at_ms=NOW))
    assert done.state is State.KILLED
    assert done.life.finished_at_ms is None
    assert done.life.settled_at_ms == NOW
    assert [type(effect) for effect in effects] == [SettleDependents, RunEndHook]


def test_the_first_cause_of_an_end_stays() -> None:
    stopping = after(
        running(), Stopping(at_ms=NOW, attempt=1, cause=StopCause.WALL_LIMIT), KillRequested(at_ms=NOW, at_once=True)
    )
    assert stopping.life.reason is not None
    assert stopping.life.reason.details == {"cause": "wall_limit", "at_once": True}
    assert stopping.life.reason.text == "being ended: its time limit"


def test_time_paused_is_added_up_and_the_supervisor_knows_it_better() -> None:
    paused, effects = advance(running(), Paused(at_ms=NOW + 1000))
    assert effects == (FreezeAttempt(job="a1", attempt=1),)
    assert paused.life.paused
    assert repairs(paused)[1:] == effects
    assert advance(paused, Paused(at_ms=NOW + 2000)) == (paused, ())
    going, effects = advance(paused, Resumed(at_ms=NOW + 4000))
    assert effects == (ThawAttempt(job="a1", attempt=1),)
    assert going.life.paused_ms == 3000
    assert advance(going, Resumed(at_ms=NOW + 5000)) == (going, ())
    assert after(going, ended()).life.paused_ms == 3000
    assert after(going, ended(paused_ms=2950)).life.paused_ms == 2950


def test_a_clock_set_back_takes_no_paused_time_away() -> None:
    assert after(running(), Paused(at_ms=NOW + 1000), Resumed(at_ms=NOW)).life.paused_ms == 0


def test_a_paused_job_is_thawed_to_be_killed_and_is_not_paused_again() -> None:
    ending = after(running(), Paused(at_ms=NOW), KillRequested(at_ms=NOW + 10))
    assert not ending.life.paused
    assert ending.life.paused_ms == 10
    with pytest.raises(TransitionError, match="being ended"):
        advance(ending, Paused(at_ms=NOW))


def test_a_waiting_job_is_held_and_released() -> None:
    held = after(job(), Paused(at_ms=NOW + 1))
    assert kind(held) is Kind.HELD
    with pytest.raises(TransitionError, match="held"):
        advance(held, started())
    free = after(held, Resumed(at_ms=NOW + 9))
    assert free.life.eligible_at_ms == NOW + 9
    assert free.life.reason is None
    assert after(free, started(NOW + 9)).state is State.RUNNING
    assert advance(free, Resumed(at_ms=NOW + 99)) == (free, ())


def test_a_failed_job_that_is_held_and_released_waits_as_long_as_it_would_have() -> None:
    failed = after(running(retry=2), ended(at_ms=NOW, code=1))
    free = after(failed, Paused(at_ms=NOW + 1 * SECOND), Resumed(at_ms=NOW + 2 * SECOND))
    assert free.life.reason == failed.life.reason
    assert waits_for(free, NOW + 9 * SECOND) is not None
    assert waits_for(free, NOW + 10 * SECOND) is None
    late = after(failed, Paused(at_ms=NOW + 1 * SECOND), Resumed(at_ms=NOW + 20 * SECOND))
    assert waits_for(late, NOW + 20 * SECOND) is None


def test_a_held_job_that_waits_for_another_still_waits_when_it_is_released() -> None:
    depends = job(depends_on=(Dependency(job=OTHER, kind=Need.COMPLETED),))
    free = after(depends, Paused(at_ms=NOW), Resumed(at_ms=NOW))
    assert free.life.eligible_at_ms is None
    ready = after(free, DependencyMet(at_ms=NOW + 5, job=OTHER))
    assert ready.life.eligible_at_ms == NOW + 5


def test_a_supervisor_that_vanished_leaves_no_guess() -> None:
    done, effects = advance(running(retry=3, auto_resume=True), Lost(at_ms=NOW + 7, attempt=1))
    assert done.state is State.INTERRUPTED
    assert done.life.finished_at_ms is None
    assert done.life.settled_at_ms == NOW + 7
    assert done.life.attempts[0].finished_at_ms is None
    assert [type(effect) for effect in effects] == [WriteHistoryRow, SettleDependents, RunEndHook]


def test_after_a_reboot_a_new_job_takes_the_place_where_that_was_asked() -> None:
    _, effects = advance(running(), HostRebooted(at_ms=NOW, attempt=1))
    assert not [effect for effect in effects if isinstance(effect, TakePlace)]
    subject = after(running(auto_resume=True, retry=2, oom_retry_mb=300), ended(code=1), started(NOW + 20_000))
    done, effects = advance(subject, HostRebooted(at_ms=NOW + 30_000, attempt=2))
    assert done.state is State.INTERRUPTED
    assert [type(effect) for effect in effects] == [WriteHistoryRow, TakePlace, RunEndHook]
    place = effects[1]
    assert isinstance(place, TakePlace)
    assert place.successor.life.parent == "a1"
    assert place.successor.work.workspace == "/w/a1"
    assert place.successor.work.retry == 1
    assert place.successor.work.oom_retry_mb == 300
    assert place.successor.state is State.PENDING


def test_who_takes_the_place_keeps_what_was_learnt_of_memory() -> None:
    subject = after(running(auto_resume=True, oom_retry_mb=300), ended(code=137, limit_fired=Limit.JOB))
    subject = after(subject, started(NOW + 2000, 300), ended(NOW + 3000, 2, 137, limit_fired=Limit.HOST))
    _, effects = advance(after(subject, started(NOW + 4000, 300)), HostRebooted(at_ms=NOW + 5000, attempt=3))
    place = effects[1]
    assert isinstance(place, TakePlace)
    assert place.successor.work.mem_mb == 300
    assert place.successor.work.oom_retry_mb is None
    assert place.successor.work.reserve is Reserve.CAP


def test_nothing_takes_the_place_of_a_job_that_was_to_be_killed() -> None:
    ending = after(running(auto_resume=True), KillRequested(at_ms=NOW))
    _, effects = advance(ending, HostRebooted(at_ms=NOW, attempt=1))
    assert [type(effect) for effect in effects] == [WriteHistoryRow, SettleDependents, RunEndHook]


def test_what_is_said_of_an_earlier_attempt_is_refused() -> None:
    second = after(running(retry=1), ended(code=1), started(NOW + 20_000))
    late: list[Event] = [
        ended(),
        Lost(at_ms=NOW, attempt=1),
        HostRebooted(at_ms=NOW, attempt=1),
        Stopping(at_ms=NOW, attempt=1, cause=StopCause.KILL),
    ]
    for event in late:
        with pytest.raises(TransitionError, match="attempt 1 is late"):
            advance(second, event)


@pytest.mark.parametrize("begun", [False, True])
def test_what_the_queue_could_not_start_never_ran(begun: bool) -> None:  # noqa: FBT001 - a case
    subject = running() if begun else job()
    done, effects = advance(subject, CouldNotStart(at_ms=NOW, error="no space for its workspace"))
    assert done.state is State.ABORTED_BY_QUEUE
    assert done.life.started_at_ms is None
    assert len(done.life.attempts) == begun
    assert not [effect for effect in effects if isinstance(effect, WriteHistoryRow)]
    assert done.life.reason is not None
    assert done.life.reason.text == "the queue could not start it: no space for its workspace"


def test_a_job_waits_for_each_that_it_depends_on() -> None:
    needs = (Dependency(job=OTHER, kind=Need.COMPLETED), Dependency(job="a8", kind=Need.ENDED))
    subject = job(depends_on=needs, not_before_ms=NOW + 500)
    assert subject.life.eligible_at_ms is None
    half = after(subject, DependencyMet(at_ms=NOW + 1, job=OTHER))
    assert half.life.waiting_for == ("a8",)
    moved = after(half, DependencyReplaced(at_ms=NOW, job="a8", successor="b10"))
    assert moved.life.waiting_for == ("b10",)
    assert [need.job for need in moved.work.depends_on] == [OTHER, "b10"]
    assert after(moved, DependencyMet(at_ms=NOW + 2, job="b10")).life.eligible_at_ms == NOW + 500


def test_a_dependency_that_failed_aborts() -> None:
    subject = job(depends_on=(Dependency(job=OTHER, kind=Need.COMPLETED),))
    done = after(subject, DependencyFailed(at_ms=NOW, job=OTHER, state=State.KILLED))
    assert done.state is State.ABORTED_BY_QUEUE
    assert done.life.reason is not None
    assert done.life.reason.text == "a7, which it depends on, ended as KILLED"


def test_a_waiting_job_is_edited_and_a_running_one_is_not() -> None:
    changes = Edited(at_ms=NOW, cpus=2, mem_mb=300, wall_time_seconds=60, priority=3, name="other", tags=("x",))
    edited = after(job(mem_mb_source=MemorySource.CALIBRATED), changes)
    assert (edited.work.cpus, edited.work.mem_mb, edited.work.wall_time_seconds, edited.work.priority) == (
        2,
        300,
        60,
        3,
    )
    assert edited.work.mem_mb_source is MemorySource.EXPLICIT
    assert edited.work.wall_time_source is WallSource.EXPLICIT
    assert (edited.identity.name, edited.identity.tags) == ("other", ("x",))
    assert after(job(), Edited(at_ms=NOW)) == job()
    with pytest.raises(TransitionError, match="is running, which Edited does not change"):
        advance(running(), changes)
    with pytest.raises(TransitionError, match="1 or more"):
        advance(job(), Edited(at_ms=NOW, cpus=0))


def row_of(subject: Job, event: Event) -> HistoryRow:
    _, effects = advance(subject, event)
    first = effects[0]
    assert isinstance(first, WriteHistoryRow)
    return first.row


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        (Result(exit_code=0, own_cap=False, hit_cap=True), (False, False, True, True, False)),
        (Result(exit_code=1), (False, None, None, False, False)),
        (Result(exit_code=1, stopped_by=StopCause.KILL), (False, None, None, False, True)),
        (Result(exit_code=1, stopped_by=StopCause.WALL_LIMIT), (False, None, None, False, True)),
        (Result(exit_code=1, stopped_by=StopCause.STARVED), (False, None, None, False, True)),
        (Result(exit_code=0, limit_fired=Limit.JOB, own_cap=False), (True, True, True, False, False)),
        (Result(exit_code=1, limit_fired=Limit.HOST, own_cap=True), (True, False, False, False, False)),
    ],
)
def test_the_end_decides_what_its_row_says(evidence: Result, said: tuple[bool | None, ...]) -> None:
    row = row_of(running(), Ended(at_ms=NOW, attempt=1, result=evidence))
    assert (row.oom_killed, row.own_cap, row.hit_cap, row.succeeded, row.cancelled) == said


def test_an_interrupted_run_has_a_row_that_says_nothing_of_memory() -> None:
    row = row_of(running(), Lost(at_ms=NOW, attempt=1))
    assert (row.memory_peak, row.page_cache, row.finished_at, row.succeeded, row.cancelled) == (
        0,
        True,
        None,
        False,
        False,
    )


@pytest.mark.parametrize(
    ("usage", "peak"),
    [
        ({"job_peak_bytes": 5, "peak_rss_kb": 1, "cgroup_peak_bytes": 9}, (5, False)),
        ({"job_peak_bytes": None, "peak_rss_kb": 1, "cgroup_peak_bytes": 9}, (1024, False)),
        ({"job_peak_bytes": 0, "peak_rss_kb": 1, "cgroup_peak_bytes": 9}, (1024, False)),
        ({"cgroup_peak_bytes": 9}, (9, True)),
        (None, (0, True)),
    ],
)
def test_the_peak_of_a_row_is_the_best_that_is_known(usage: dict[str, int] | None, peak: tuple[int, bool]) -> None:
    row = row_of(running(), ended(usage=usage))
    assert (row.memory_peak, row.page_cache) == peak


def test_a_row_has_what_was_asked_reserved_and_when() -> None:
    row = row_of(running(), ended(usage={"average_cpu_millicores": 999.6}))
    assert row == HistoryRow(
        repository="owner/name",
        workflow=None,
        name="true",
        profile="default",
        memory_cap=100 * MIB,
        cpu_cap=1000,
        memory_peak=0,
        page_cache=True,
        cpu_average=1000,
        queued_at=NOW,
        started_at=NOW,
        finished_at=NOW + SECOND,
        oom_killed=False,
        hit_cap=None,
        own_cap=None,
        succeeded=True,
        cancelled=False,
        reserved=100 * MIB,
    )
    by_caps = after(job(), started(basis=None))
    assert row_of(by_caps, ended()).reserved is None


def test_a_row_says_what_was_reserved_at_last() -> None:
    end = ended(reserved_bytes=60 * MIB, basis={"kind": "job", "runs": 4})
    assert row_of(running(), end).reserved == 60 * MIB
    assert (life := after(running(), end).life).basis == {"kind": "job", "runs": 4}
    assert life.reserved_bytes == 60 * MIB


def test_a_later_attempt_counts_as_queued_when_the_one_before_it_finished() -> None:
    second = after(running(retry=1), ended(code=1), started(NOW + 20_000))
    assert row_of(second, ended(NOW + 30_000, 2)).queued_at == NOW + SECOND


def test_a_job_that_runs_is_started_again_after_a_crash_and_no_other_is() -> None:
    assert repairs(running()) == (StartAttempt(job="a1", attempt=1),)
    assert repairs(job()) == repairs(after(running(), ended())) == ()


def test_what_a_job_waits_for_is_said_in_the_order_of_admission() -> None:
    needs = (Dependency(job=OTHER, kind=Need.COMPLETED),)
    subject = job(depends_on=needs, not_before_ms=NOW + 500)
    held = after(subject, Paused(at_ms=NOW))

    def waits(waiting: Job, at_ms: int) -> Kind | None:
        reason = waits_for(waiting, at_ms)
        return None if reason is None else reason.kind

    assert waits(held, NOW) is Kind.HELD
    assert waits(subject, NOW) is Kind.NOT_BEFORE
    assert waits(subject, NOW + 500) is Kind.DEPENDENCY
    assert waits(after(subject, DependencyMet(at_ms=NOW, job=OTHER)), NOW + 500) is None
    again = after(running(retry=1), ended(code=1))
    assert waits(again, NOW + SECOND) is Kind.RETRY
    assert waits(again, NOW + SECOND + 10_000) is None


def test_a_clock_set_back_holds_up_nothing_but_what_has_a_time_of_its_own() -> None:
    yesterday = NOW - 86_400_000
    assert after(job(), started(yesterday)).state is State.RUNNING
    assert after(running(retry=1), ended(code=1), started(yesterday)).state is State.RUNNING
    with pytest.raises(TransitionError, match="not to start before"):
        advance(job(not_before_ms=NOW), started(yesterday))
