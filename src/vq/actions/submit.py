"""Submit jobs: everything is checked first, on the staged copy of what they bring, and all are accepted or none.

A refusal leaves nothing behind: no record, no snapshot, no staging, no claim on a key.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from vq.actions.bringing import Bringing, Brought, Progress, absent_arguments, brought, refuse_absent_program
from vq.actions.environments import captured
from vq.actions.limits import Limits, limits_of
from vq.actions.naming import name_of, repository_of
from vq.actions.orders import ArrayOrder, Order
from vq.actions.place import Place, config_in_force
from vq.config.values import Config
from vq.errors import UsageError
from vq.files.documents import reasons
from vq.jobs.record import Array, Identity, Job, Reserve, State, Work, new_job
from vq.jobs.times import moment_ms
from vq.store import submitting
from vq.store.submitting import Claim, Submission
from vq.wording import MIB, human_bytes

if TYPE_CHECKING:
    from vq.actions.attached import Attached

HOST = "localhost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One submission: the orders of its jobs, what they all bring along, an array, and an idempotency key."""

    orders: Sequence[Order]
    bringing: Bringing
    array: ArrayOrder | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """The ids and states of the jobs; whether they were there before; what a person should know."""

    jobs: tuple[tuple[str, State | None], ...]
    host: str
    existing: bool
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """An order with what was decided of it before anything is staged."""

    order: Order
    attached: Attached | None
    limits: Limits
    not_before_ms: int | None


def submit(
    place: Place, request: Request, environment: Mapping[str, str], *, progress: Progress | None = None
) -> Submitted:
    """Accept the jobs of a request; on disk when this returns. Raises `VqError`; nothing is left then."""
    if request.key is not None:
        from vq.jobs.intent import check_key  # noqa: PLC0415 - few submissions have a key

        check_key(request.key)
        if request.array is not None or len(request.orders) != 1:
            raise UsageError("--idempotency-key is for single jobs", hint="submit each job with a key of its own")
    config = config_in_force(place, environment)
    prepared = _prepare(request.orders, config)
    with brought(place, request.bringing, progress) as having:
        _check_all(prepared, having, environment)
        claim = None
        if request.key is not None:
            claim = Claim(key=request.key, intent=_intent(prepared[0], having))
        accepted = submitting.submit(
            place.store,
            _submissions(prepared, having, request, environment),
            claim,
            publish=having.publish,
            hooks=bool(config.on_end),
        )
    return Submitted(
        jobs=accepted.jobs,
        host=HOST,
        existing=accepted.existing,
        warnings=tuple(_warnings(prepared, having)),
        notes=() if accepted.existing else tuple(_notes(prepared)),
    )


def _prepare(orders: Sequence[Order], config: Config) -> list[_Prepared]:
    now = datetime.now().astimezone()
    estimates: dict[str, Attached] = {}
    prepared = []
    for order in orders:
        with order.written.placed():
            prepared.append(_prepare_one(order, estimates, config, now))
    return prepared


def _prepare_one(order: Order, estimates: dict[str, Attached], config: Config, now: datetime) -> _Prepared:
    """An order prepared; `estimates` are those read so far, by their paths."""
    attached, not_before_ms = None, None
    if order.estimate is not None:
        from vq.actions.attached import read_attached  # noqa: PLC0415 - few submissions have an estimate

        attached = estimates.get(order.estimate) or read_attached(order.estimate)
        estimates[order.estimate] = attached
    if order.not_before is not None:
        with order.written.placed("not-before"):
            not_before_ms = moment_ms(order.not_before, now)
    return _Prepared(
        order=order,
        attached=attached,
        limits=limits_of(order, attached, config),
        not_before_ms=not_before_ms,
    )


def _check_all(prepared: Sequence[_Prepared], having: Brought, environment: Mapping[str, str]) -> None:
    """Nothing, or the refusal of a job whose estimate is of other inputs or whose program is not where it starts."""
    matched: set[int] = set()
    for one in prepared:
        with one.order.written.placed():
            refuse_absent_program(one.order.command, having, environment)
        attached = one.attached
        if attached is None or id(attached) in matched or not attached.inputs:
            continue
        if having.payload is None:
            what = "--here brings no copy" if having.here is not None else "the submission brings no files"
            raise UsageError(
                f"the estimate is bound to input files, and {what} to compare them with",
                where=attached.where,
                hint="bring the inputs along with -d DIR or --compressed FILE",
            )
        from vq.files.matching import refuse_unmatched  # noqa: PLC0415 - few submissions have an estimate

        refuse_unmatched(attached.inputs, having.payload)
        matched.add(id(attached))


def _intent(one: _Prepared, having: Brought) -> str:
    """What the idempotency of a submission goes by: the digest of what stood on the command line."""
    from vq.jobs.intent import Asked, intent_digest  # noqa: PLC0415 - as above

    order, limits, attached = one.order, one.limits, one.attached
    asked = Asked(
        command=order.command,
        payload_sha256=None if having.payload is None else having.payload.digest,
        here=having.here,
        repository=order.repository,
        workflow=order.workflow,
        name=order.name,
        profile=order.profile,
        tags=order.tags,
        cpus=order.cpus,
        mem_mb=limits.mem_mb if order.mem_from_estimate else order.mem_mb,
        mem_mb_source=limits.mem_mb_source if order.mem_from_estimate or order.mem_mb is not None else None,
        wall_time_seconds=limits.wall_time_seconds,
        wall_time_source=limits.wall_time_source,
        reserve=order.reserve,
        priority=order.priority,
        depends_on=order.depends_on,
        retry=order.retry,
        oom_retry=order.oom_retry,
        auto_resume=order.auto_resume,
        not_before=order.not_before,
        clean_env=order.clean_env,
        env=order.env,
        estimate_sha256=None if attached is None else attached.receipt_sha256,
        calibration_sha256=None if attached is None else attached.calibration_sha256,
    )
    return intent_digest(asked)


def _submissions(
    prepared: Sequence[_Prepared], having: Brought, request: Request, environment: Mapping[str, str]
) -> list[Submission]:
    with reasons("the current folder"):
        repository = repository_of(request.bringing.folder or ".")
    submitter = _submitter()
    queued_at_ms = time.time_ns() // 1_000_000
    environments: dict[tuple[bool, tuple[tuple[str, str], ...]], dict[str, str]] = {}
    found = []
    for one in prepared:
        order, attached = one.order, one.attached
        key = (order.clean_env, tuple(order.env.items()))
        if key not in environments:
            environments[key] = captured(order, environment)
        identity = Identity(
            id="",
            repository=order.repository or repository,
            workflow=order.workflow,
            name=order.name or name_of(order.command),
            profile=one.limits.profile,
            tags=order.tags,
            submitter=submitter,
            host=HOST,
        )
        submission = Submission(
            job=new_job(identity, _work(one, having), queued_at_ms),
            environment=environments[key],
            estimate=None if attached is None else attached.receipt,
            calibration=None if attached is None else attached.calibration,
        )
        found.extend([submission] if request.array is None else _elements(submission, request.array))
    return found


def _elements(submission: Submission, array: ArrayOrder) -> list[Submission]:
    return [
        replace(
            submission,
            job=_element(submission.job, index, array.total),
            array_at_once=array.at_once if index == 0 else None,
        )
        for index in range(array.total)
    ]


def _element(job: Job, index: int, total: int) -> Job:
    return replace(job, work=replace(job.work, array=Array(group="", index=index, total=total)))


def _work(one: _Prepared, having: Brought) -> Work:
    order, limits = one.order, one.limits
    return Work(
        command=order.command,
        workspace=None,
        cwd=having.here,
        payload_sha256=None if having.payload is None else having.payload.digest,
        here=having.here is not None,
        cpus=limits.cpus,
        mem_mb=limits.mem_mb,
        mem_mb_source=limits.mem_mb_source,
        wall_time_seconds=limits.wall_time_seconds,
        wall_time_source=limits.wall_time_source,
        reserve=order.reserve or Reserve.MEASURED,
        priority=order.priority or 0,
        depends_on=order.depends_on,
        array=None,
        retry=order.retry or 0,
        oom_retry_mb=limits.oom_retry_mb,
        auto_resume=order.auto_resume,
        not_before_ms=one.not_before_ms,
    )


def _submitter() -> str:
    import pwd  # noqa: PLC0415 - the environment usually knows it

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _warnings(prepared: Sequence[_Prepared], having: Brought) -> list[str]:
    absent = dict.fromkeys(word for one in prepared for word in absent_arguments(one.order.command, having))
    return [
        f"{word} is here, but will not be in the folder that the job starts in; -d . brings this folder along"
        for word in absent
    ]


def _notes(prepared: Sequence[_Prepared]) -> list[str]:
    shares = dict.fromkeys(one.limits.mem_mb for one in prepared if one.limits.mem_mb_source is None)
    return [
        f"memory limit: {human_bytes(mem_mb * MIB)}, its share of the host; --mem-mb sets another" for mem_mb in shares
    ]
