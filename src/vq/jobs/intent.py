"""Idempotency: the canonical form of what was asked, its digest, and the keys that a submitter may give.

What was asked is what stood on the command line, not what was made of it: two submissions a minute apart with
`--not-before +2h` ask the same. The environment that was captured is no part of it, what was set with `--env` is.
The estimate and its calibration have keys only where one is attached, so that a submission without one keeps the
digest that it has always had.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from vq.canonical import digest
from vq.errors import UsageError
from vq.jobs.record import Dependency, MemorySource, Reserve, WallSource

SCHEMA = "vq.submission-intent/1"

_KEY = r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What one submission asks for; None where nothing was said.

    `payload_sha256` is the digest of what is staged; `here` the folder it is to run in without a copy; `retry_mb` the
    limit after an OOM (None: none); `not_before` as it was written. The digests of the estimate and its calibration
    are those of the documents.
    """

    command: tuple[str, ...]
    payload_sha256: str | None = None
    here: str | None = None
    repository: str | None = None
    workflow: str | None = None
    name: str | None = None
    profile: str | None = None
    tags: tuple[str, ...] = ()
    cpus: int | None = None
    mem_mb: int | None = None
    mem_mb_source: MemorySource | None = None
    wall_time_seconds: int | None = None
    wall_time_source: WallSource | None = None
    reserve: Reserve | None = None
    priority: int | None = None
    depends_on: tuple[Dependency, ...] = ()
    retry: int | None = None
    oom_retry: int | str | None = None
    auto_resume: bool = False
    not_before: str | None = None
    clean_env: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    estimate_sha256: str | None = None
    calibration_sha256: str | None = None


def intent_digest(asked: Asked) -> str:
    """The SHA-256 of the canonical form of what was asked; raises `BadDataError` for text that is not Unicode."""
    document = {
        "schema_name": SCHEMA,
        "command": list(asked.command),
        "payload_sha256": asked.payload_sha256,
        "here": asked.here,
        "repository": asked.repository,
        "workflow": asked.workflow,
        "name": asked.name,
        "profile": asked.profile,
        "tags": sorted(set(asked.tags)),
        "cpus": asked.cpus,
        "mem_mb": asked.mem_mb,
        "mem_mb_source": asked.mem_mb_source,
        "wall_time_seconds": asked.wall_time_seconds,
        "wall_time_source": asked.wall_time_source,
        "reserve": asked.reserve,
        "priority": asked.priority,
        "depends_on": [
            {"job": job, "kind": kind} for job, kind in sorted({(need.job, need.kind) for need in asked.depends_on})
        ],
        "retry": asked.retry,
        "oom_retry": asked.oom_retry,
        "auto_resume": asked.auto_resume,
        "not_before": asked.not_before,
        "clean_env": asked.clean_env,
        "env": dict(asked.env),
    }
    if asked.estimate_sha256 is not None:
        document["estimate_sha256"] = asked.estimate_sha256
    if asked.calibration_sha256 is not None:
        document["calibration_sha256"] = asked.calibration_sha256
    return digest(document)


def check_key(key: str) -> None:
    """Nothing, or the `UsageError` that `key` is no idempotency key."""
    if re.fullmatch(_KEY, key) is None:
        raise UsageError(
            f"{key!r} is no idempotency key",
            hint="1 to 128 of A-Z a-z 0-9 . _ : -, beginning with a letter or a digit",
        )
