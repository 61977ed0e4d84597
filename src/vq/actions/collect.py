"""Collect what the queue has measured into an evaluation set: estimates and usage receipts of ended jobs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from vq.actions.place import Place
from vq.canonical import pretty
from vq.errors import BadDataError, UsageError, VqError
from vq.estimates.cases import NAME, SET_SCHEMA
from vq.estimates.receipt import read_receipt
from vq.estimates.usage import read_usage
from vq.files.documents import write_new
from vq.files.folders import new_folder, refuse_used_folder
from vq.jobs.record import Job, Limit, State
from vq.store.estimates import Estimated, ended_with_estimate
from vq.wording import MIB, escape

NO_OUTCOME = "no_evaluable_outcome"
INVALID_RECEIPT = "invalid_receipt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """The set that was written: its id and folder, how many cases, and who was left out and why."""

    set_id: str
    out: str
    cases: int
    skipped: tuple[tuple[str, str], ...]


def collect(
    place: Place, out: str, hardware_class: str, *, set_id: str | None = None, tag: str | None = None
) -> Collected:
    """Write the set of all ended jobs with an estimate (and this tag) to the folder `out`, whole or not at all.

    Raises `VqError`, also where there is no case at all.
    """
    set_id = _set_id(out, set_id)
    refuse_used_folder(out.rstrip("/") or out)
    cases: list[dict[str, Any]] = []
    skipped: list[tuple[str, str]] = []
    with new_folder(out) as folder:
        for name in ("estimates", "usage"):
            os.mkdir(os.path.join(folder, name))
        for estimated in ended_with_estimate(place.store, tag):
            reason = _left_out(estimated)
            if reason is not None:
                skipped.append((estimated.job.id, reason))
                continue
            cases.append(_write_case(folder, estimated, hardware_class))
        if not cases:
            raise VqError(
                f"no job {_tagged(tag)}that ended has an estimate that can be evaluated ({len(skipped)} skipped)",
                hint="attach estimates with vq submit --estimate FILE, and collect once the jobs have ended",
            )
        document = {"schema_name": SET_SCHEMA, "set_id": set_id, "cases": cases}
        write_new(os.path.join(folder, "set.json"), [pretty(document)])
    return Collected(set_id=set_id, out=out, cases=len(cases), skipped=tuple(skipped))


def _tagged(tag: str | None) -> str:
    return "" if tag is None else f"with the tag {escape(tag)} "


def _set_id(out: str, set_id: str | None) -> str:
    if set_id is not None:
        if not NAME.accepts(set_id):
            raise UsageError(f"--set-id: expected {NAME.expected}")
        return set_id
    name = os.path.basename(os.path.abspath(out))
    if not NAME.accepts(name):
        raise UsageError(
            "the name of the folder is not suitable as the id of the set", where=out, hint="give one with --set-id ID"
        )
    return name


def _left_out(estimated: Estimated) -> str | None:
    """Why a job makes no case; None where it makes one."""
    if estimated.job.state.outcome is None:
        return NO_OUTCOME
    try:
        read_receipt(estimated.receipt)
        if estimated.job.usage is not None:
            read_usage(dict(estimated.job.usage))
    except BadDataError:
        return INVALID_RECEIPT
    return None


def _write_case(folder: str, estimated: Estimated, hardware_class: str) -> dict[str, Any]:
    """Write the receipts of a job; the case as the set has it."""
    job = estimated.job
    estimate, usage = f"estimates/{job.id}.json", None
    write_new(os.path.join(folder, estimate), [pretty(estimated.receipt)])
    if job.usage is not None:
        usage = f"usage/{job.id}.json"
        write_new(os.path.join(folder, usage), [pretty(dict(job.usage))])
    return {
        "case_id": job.id,
        "estimate": estimate,
        "usage": usage,
        "outcome": job.state.outcome,
        "hardware_class": hardware_class,
        **_limits(job),
    }


def _limits(job: Job) -> dict[str, Any]:
    """The limit that ended a job, where one of its own did."""
    if job.state is State.OOM_KILLED and job.life.limit_fired is Limit.JOB:
        return {"memory_limit_bytes": job.life.attempts[-1].mem_mb * MIB, "memory_limit_scope": "job"}
    if job.state is State.TIME_EXCEEDED and job.work.wall_time_seconds is not None:
        return {"wall_limit_seconds": job.work.wall_time_seconds}
    return {}
