"""The record of a job as a JSON document, and a strict reader of it.

Times are integer milliseconds, sizes as named, unknown is null. The attached estimates are no part of it: they are
kept by digest, and stand beside the record where it is shown.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from vq.errors import BadDataError
from vq.jobs.ids import ID_PATTERN
from vq.jobs.record import (
    Array,
    Attempt,
    Dependency,
    Identity,
    Job,
    Life,
    Limit,
    MemorySource,
    Need,
    Reserve,
    State,
    WallSource,
    Work,
)
from vq.shapes import BOOLEAN, LARGEST, SHA256_OR_NULL, Kind, Listing, Record, integer, matching, number, one_of, text

if TYPE_CHECKING:
    from vq.jobs.reasons import Reason

_MS = 1000

_ID = matching(ID_PATTERN, "a job id")
_ID_OR_NULL = matching(ID_PATTERN, "a job id", null=True)
_TIME = integer(0)
_TIME_OR_NULL = integer(0, null=True)
_TEXT = text()
_TEXT_OR_NULL = text(null=True)
_NAME = text(least=1)
_POSITIVE = integer(1)
_POSITIVE_OR_NULL = integer(1, null=True)
_COUNT = integer(0)
_INTEGER = integer(-LARGEST, LARGEST)
_OBJECT_OR_NULL = Kind("an object or null", lambda v: v is None or type(v) is dict)

_SHAPE = Record(
    {
        "id": _ID,
        "repository": _TEXT,
        "workflow": _TEXT_OR_NULL,
        "name": _NAME,
        "profile": _NAME,
        "tags": Listing(_NAME),
        "submitter": _TEXT,
        "host": _TEXT,
        "command": Listing(_TEXT, least=1),
        "workspace": _TEXT_OR_NULL,
        "cwd": _TEXT_OR_NULL,
        "payload_sha256": SHA256_OR_NULL,
        "here": BOOLEAN,
        "cpus": _POSITIVE,
        "mem_mb": _POSITIVE,
        "mem_mb_source": one_of(MemorySource, null=True),
        "wall_time_seconds": _POSITIVE_OR_NULL,
        "wall_time_source": one_of(WallSource, null=True),
        "reserve": one_of(Reserve),
        "priority": _INTEGER,
        "depends_on": Listing(Record({"job": _ID, "kind": one_of(Need)})),
        "array": Record({"group": _ID, "index": _COUNT, "total": _POSITIVE}, nullable=True),
        "retry": _COUNT,
        "oom_retry_mb": _POSITIVE_OR_NULL,
        "auto_resume": BOOLEAN,
        "not_before": _TIME_OR_NULL,
        "state": one_of(State),
        "reason": _OBJECT_OR_NULL,
        "held": BOOLEAN,
        "waiting_for": Listing(_ID),
        "kill_requested": BOOLEAN,
        "paused": BOOLEAN,
        "paused_at": _TIME_OR_NULL,
        "paused_seconds": number(),
        "limit_fired": one_of(Limit, null=True),
        "queued_at": _TIME,
        "eligible_at": _TIME_OR_NULL,
        "started_at": _TIME_OR_NULL,
        "finished_at": _TIME_OR_NULL,
        "settled_at": _TIME_OR_NULL,
        "exit_code": Kind("an integer or null", lambda v: v is None or type(v) is int),
        "signal": _POSITIVE_OR_NULL,
        "attempt": _COUNT,
        "attempts": Listing(
            Record(
                {
                    "state": one_of(State),
                    "limit_fired": one_of(Limit, null=True),
                    "mem_mb": _POSITIVE,
                    "started_at": _TIME_OR_NULL,
                    "finished_at": _TIME_OR_NULL,
                }
            )
        ),
        "parent": _ID_OR_NULL,
        "boot_id": _TEXT_OR_NULL,
        "reserved_bytes": integer(0, null=True),
        "basis": _OBJECT_OR_NULL,
        "cpu_reserved_millicores": integer(0, null=True),
        "cpu_basis": _OBJECT_OR_NULL,
        "stdout_path": _TEXT_OR_NULL,
        "stderr_path": _TEXT_OR_NULL,
        "usage": _OBJECT_OR_NULL,
    }
)


def job_document(job: Job) -> dict[str, Any]:
    """The record as a JSON document, keys in the order of the record."""
    identity = job.identity
    return {
        "id": identity.id,
        "repository": identity.repository,
        "workflow": identity.workflow,
        "name": identity.name,
        "profile": identity.profile,
        "tags": list(identity.tags),
        "submitter": identity.submitter,
        "host": identity.host,
        **_work_document(job.work),
        **_life_document(job.life),
        "usage": job.usage,
    }


def _work_document(work: Work) -> dict[str, Any]:
    array = work.array
    return {
        "command": list(work.command),
        "workspace": work.workspace,
        "cwd": work.cwd,
        "payload_sha256": work.payload_sha256,
        "here": work.here,
        "cpus": work.cpus,
        "mem_mb": work.mem_mb,
        "mem_mb_source": _value(work.mem_mb_source),
        "wall_time_seconds": work.wall_time_seconds,
        "wall_time_source": _value(work.wall_time_source),
        "reserve": work.reserve.value,
        "priority": work.priority,
        "depends_on": [{"job": dependency.job, "kind": dependency.kind.value} for dependency in work.depends_on],
        "array": None if array is None else {"group": array.group, "index": array.index, "total": array.total},
        "retry": work.retry,
        "oom_retry_mb": work.oom_retry_mb,
        "auto_resume": work.auto_resume,
        "not_before": work.not_before_ms,
    }


def _life_document(life: Life) -> dict[str, Any]:
    return {
        "state": life.state.value,
        "reason": _reason_document(life.reason),
        "held": life.held,
        "waiting_for": list(life.waiting_for),
        "kill_requested": life.kill_requested,
        "paused": life.paused,
        "paused_at": life.paused_at_ms,
        "paused_seconds": life.paused_ms / _MS if life.paused_ms % _MS else life.paused_ms // _MS,
        "limit_fired": _value(life.limit_fired),
        "queued_at": life.queued_at_ms,
        "eligible_at": life.eligible_at_ms,
        "started_at": life.started_at_ms,
        "finished_at": life.finished_at_ms,
        "settled_at": life.settled_at_ms,
        "exit_code": life.exit_code,
        "signal": life.signal,
        "attempt": life.attempt,
        "attempts": [
            {
                "state": attempt.state.value,
                "limit_fired": _value(attempt.limit_fired),
                "mem_mb": attempt.mem_mb,
                "started_at": attempt.started_at_ms,
                "finished_at": attempt.finished_at_ms,
            }
            for attempt in life.attempts
        ],
        "parent": life.parent,
        "boot_id": life.boot_id,
        "reserved_bytes": life.reserved_bytes,
        "basis": life.basis,
        "cpu_reserved_millicores": life.cpu_reserved_millicores,
        "cpu_basis": life.cpu_basis,
        "stdout_path": life.stdout_path,
        "stderr_path": life.stderr_path,
    }


def _reason_document(reason: Reason | None) -> dict[str, Any] | None:
    if reason is None:
        return None
    from vq.jobs.reasons import reason_document  # noqa: PLC0415 - a new job has none

    return reason_document(reason)


def _value(word: StrEnum | None) -> str | None:
    """A word as plain text: a shape takes nothing else for a string."""
    return None if word is None else word.value


def read_job(document: dict[str, Any]) -> Job:
    """The job in a parsed record; raises `BadDataError` for another shape, or a life that contradicts itself."""
    _SHAPE.check(document)
    life = _read_life(document)
    if life.state.ended is (life.settled_at_ms is None):
        raise BadDataError("a time exactly where the job has ended", path=("settled_at",), found=life.settled_at_ms)
    if life.attempt != len(life.attempts) + (life.state is State.RUNNING):
        raise BadDataError("one entry for each attempt that is over", path=("attempts",), found=document["attempts"])
    if life.paused is not document["paused"]:
        raise BadDataError("true exactly where paused_at is a time", path=("paused",), found=document["paused"])
    identity = Identity(
        id=document["id"],
        repository=document["repository"],
        workflow=document["workflow"],
        name=document["name"],
        profile=document["profile"],
        tags=tuple(document["tags"]),
        submitter=document["submitter"],
        host=document["host"],
    )
    return Job(identity=identity, work=_read_work(document), life=life, usage=document["usage"])


def _read_work(document: dict[str, Any]) -> Work:
    memory_source, wall_source, array = (document[key] for key in ("mem_mb_source", "wall_time_source", "array"))
    return Work(
        command=tuple(document["command"]),
        workspace=document["workspace"],
        cwd=document["cwd"],
        payload_sha256=document["payload_sha256"],
        here=document["here"],
        cpus=document["cpus"],
        mem_mb=document["mem_mb"],
        mem_mb_source=None if memory_source is None else MemorySource(memory_source),
        wall_time_seconds=document["wall_time_seconds"],
        wall_time_source=None if wall_source is None else WallSource(wall_source),
        reserve=Reserve(document["reserve"]),
        priority=document["priority"],
        depends_on=tuple(Dependency(job=item["job"], kind=Need(item["kind"])) for item in document["depends_on"]),
        array=None if array is None else Array(**array),
        retry=document["retry"],
        oom_retry_mb=document["oom_retry_mb"],
        auto_resume=document["auto_resume"],
        not_before_ms=document["not_before"],
    )


def _read_life(document: dict[str, Any]) -> Life:
    limit, reason = document["limit_fired"], document["reason"]
    return Life(
        state=State(document["state"]),
        reason=None if reason is None else _read_reason(reason),
        held=document["held"],
        waiting_for=tuple(document["waiting_for"]),
        kill_requested=document["kill_requested"],
        paused_at_ms=document["paused_at"],
        paused_ms=round(document["paused_seconds"] * _MS),
        limit_fired=None if limit is None else Limit(limit),
        queued_at_ms=document["queued_at"],
        eligible_at_ms=document["eligible_at"],
        started_at_ms=document["started_at"],
        finished_at_ms=document["finished_at"],
        settled_at_ms=document["settled_at"],
        exit_code=document["exit_code"],
        signal=document["signal"],
        attempt=document["attempt"],
        attempts=tuple(_read_attempt(item) for item in document["attempts"]),
        parent=document["parent"],
        boot_id=document["boot_id"],
        reserved_bytes=document["reserved_bytes"],
        basis=document["basis"],
        cpu_reserved_millicores=document["cpu_reserved_millicores"],
        cpu_basis=document["cpu_basis"],
        stdout_path=document["stdout_path"],
        stderr_path=document["stderr_path"],
    )


def _read_reason(document: Any) -> Reason:
    from vq.jobs.reasons import read_reason  # noqa: PLC0415 - as above

    return read_reason(document, ("reason",))


def _read_attempt(item: dict[str, Any]) -> Attempt:
    return Attempt(
        state=State(item["state"]),
        limit_fired=None if item["limit_fired"] is None else Limit(item["limit_fired"]),
        mem_mb=item["mem_mb"],
        started_at_ms=item["started_at"],
        finished_at_ms=item["finished_at"],
    )
