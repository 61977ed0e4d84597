"""The ended jobs that an estimate is attached to, with what was estimated and what was used."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vq.jobs.record import Job
from vq.store.connection import Store
from vq.store.rows import decoded


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimated:
    """A job that has ended, and the bare receipt of its estimate."""

    job: Job
    receipt: dict[str, Any]


def ended_with_estimate(store: Store, tag: str | None = None) -> Iterator[Estimated]:
    """Every ended job with an estimate (and this tag), in the order of submission, as they are at one moment."""
    with store.reading() as connection:
        rows = connection.execute(
            "SELECT record, usage, document FROM jobs JOIN documents ON sha256 = estimate_sha256"
            " WHERE settled_at IS NOT NULL AND (? IS NULL OR sequence IN (SELECT job FROM tags WHERE tag = ?))"
            " ORDER BY sequence",
            (tag, tag),
        )
        for record, usage, document in rows:
            yield Estimated(job=decoded(record, usage), receipt=json.loads(document))
