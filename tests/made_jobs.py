"""Jobs and events made from a few figures, and Hypothesis strategies of them, for the tests of the queue."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

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
    Started,
    Stopping,
)
from vq.jobs.reasons import StopCause
from vq.jobs.record import (
    Array,
    Dependency,
    Identity,
    Job,
    Limit,
    MemorySource,
    Need,
    Reserve,
    State,
    WallSource,
    Work,
    new_job,
)

MIB = 2**20
NOW = 1_796_000_000_000
OTHER = "a7"


def job(identifier: str = "a1", *, queued_at_ms: int = NOW, **changes: Any) -> Job:
    """A pending job that runs `true`; `changes` are of its work, `tags` and `name` of its identity."""
    who = {key: changes.pop(key) for key in ("name", "tags", "profile", "workflow") if key in changes}
    identity = Identity(
        id=identifier,
        repository="owner/name",
        workflow=None,
        name="true",
        profile="default",
        tags=(),
        submitter="somebody",
        host="localhost",
    )
    work = Work(
        command=("true",),
        workspace=None,
        cwd=None,
        payload_sha256=None,
        here=False,
        cpus=1,
        mem_mb=100,
        mem_mb_source=MemorySource.EXPLICIT,
        wall_time_seconds=None,
        wall_time_source=None,
        reserve=Reserve.MEASURED,
        priority=0,
        depends_on=(),
        array=None,
        retry=0,
        oom_retry_mb=None,
        auto_resume=False,
        not_before_ms=None,
    )
    return new_job(replace(identity, **who), replace(work, **changes), queued_at_ms)


def started(at_ms: int = NOW, reserved_mb: int = 100, **changes: Any) -> Started:
    """The start of an attempt under measured admission."""
    event = Started(
        at_ms=at_ms,
        boot_id="boot-1",
        reserved_bytes=reserved_mb * MIB,
        basis={"kind": "cap"},
        cpu_reserved_millicores=1000,
        cpu_basis={"kind": "cap"},
        workspace="/w/a1",
        cwd="/w/a1",
        stdout_path="/l/a1.1.out",
        stderr_path="/l/a1.1.err",
    )
    return replace(event, **changes)


def ended(at_ms: int = NOW + 1000, attempt: int = 1, code: int = 0, **evidence: Any) -> Ended:
    """The end of an attempt with an exit code and other evidence; `reserved_bytes` and `basis` are the event's own."""
    reserved = {key: evidence.pop(key) for key in ("reserved_bytes", "basis") if key in evidence}
    return Ended(at_ms=at_ms, attempt=attempt, result=Result(exit_code=code, **evidence), **reserved)


_moments = st.integers(NOW, NOW + 10_000_000)
_attempts = st.integers(1, 4)
_names = st.text(min_size=1, max_size=8)

_any_result = st.builds(
    Result,
    exit_code=st.integers(0, 255),
    signal=st.none() | st.integers(1, 64),
    stopped_by=st.none() | st.sampled_from(StopCause),
    limit_fired=st.none() | st.sampled_from(Limit),
    exec_error=st.none() | st.just("no such file"),
    own_cap=st.none() | st.booleans(),
    hit_cap=st.none() | st.booleans(),
    paused_ms=st.none() | st.integers(0, 10_000),
    usage=st.none() | st.just({"job_peak_bytes": 5 * MIB, "average_cpu_millicores": 999.6}),
)
results = st.one_of(
    st.builds(Result, exit_code=st.integers(0, 2)),
    st.builds(Result, exit_code=st.just(137), limit_fired=st.sampled_from(Limit)),
    _any_result,
)

_starts = st.builds(
    started,
    _moments,
    st.sampled_from((50, 100, 200)),
    basis=st.none() | st.just({"kind": "job", "runs": 4}),
)
_ends = st.builds(Ended, at_ms=_moments, attempt=_attempts, result=results, requeue_outgrown=st.booleans())

events: st.SearchStrategy[Event] = st.one_of(
    *[_starts, _ends] * 4,
    st.builds(KillRequested, at_ms=_moments, at_once=st.booleans()),
    st.builds(Paused, at_ms=_moments),
    st.builds(Resumed, at_ms=_moments),
    st.builds(Stopping, at_ms=_moments, attempt=_attempts, cause=st.sampled_from(StopCause)),
    st.builds(Lost, at_ms=_moments, attempt=_attempts),
    st.builds(HostRebooted, at_ms=_moments, attempt=_attempts),
    st.builds(CouldNotStart, at_ms=_moments, error=st.just("no room for a workspace")),
    st.builds(DependencyMet, at_ms=_moments, job=st.sampled_from((OTHER, "a8"))),
    st.builds(
        DependencyFailed,
        at_ms=_moments,
        job=st.just(OTHER),
        state=st.sampled_from([state for state in State if state.ended]),
    ),
    st.builds(DependencyReplaced, at_ms=_moments, job=st.just(OTHER), successor=st.just("a8")),
    st.builds(
        Edited,
        at_ms=_moments,
        cpus=st.none() | st.integers(0, 4),
        mem_mb=st.none() | st.sampled_from((0, 50, 300)),
        wall_time_seconds=st.none() | st.integers(0, 100),
        priority=st.none() | st.integers(-5, 5),
        name=st.none() | _names,
        tags=st.none() | st.just(("t",)),
    ),
)

_dependencies = st.lists(
    st.builds(Dependency, job=st.sampled_from((OTHER, "a9")), kind=st.sampled_from(Need)), max_size=2
).map(tuple)

jobs = st.builds(
    job,
    st.just("a1"),
    name=_names,
    tags=st.lists(_names, max_size=2).map(tuple),
    command=st.lists(st.text(max_size=5), min_size=1, max_size=3).map(tuple),
    workflow=st.none() | _names,
    mem_mb_source=st.none() | st.sampled_from(MemorySource),
    wall_time_seconds=st.none() | st.integers(1, 10_000),
    wall_time_source=st.none() | st.sampled_from(WallSource),
    reserve=st.sampled_from(Reserve),
    priority=st.integers(-5, 5),
    depends_on=_dependencies,
    array=st.none() | st.just(Array(group="a1", index=0, total=3)),
    retry=st.integers(0, 3),
    oom_retry_mb=st.none() | st.sampled_from((50, 200)),
    auto_resume=st.booleans(),
    not_before_ms=st.none() | _moments,
)
