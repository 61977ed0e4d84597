"""Why each of many jobs waits, in little time: `vq explain` works it out anew for one.

What keeps a job of its own stands in its record. Whether there is room for it the daemon says, for the first that wait:
it looks at them all the time, and knows the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from vq.actions.place import Place
from vq.daemon.told import told
from vq.jobs.document import read_job
from vq.jobs.reasons import Kind, Reason
from vq.jobs.record import State
from vq.jobs.waiting import waits_for
from vq.store.settings import is_draining


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Why jobs wait, by their ids; of one that is not there nobody knows more than that it is in line.

    `is_served` says whether a daemon runs, where that matters: without one nothing starts.
    """

    reasons: Mapping[str, Reason]
    is_served: bool = True


def why_waiting(place: Place, records: Iterable[dict[str, Any]], now_ms: int) -> Waits:
    """Why each of the records waits that is of a pending job."""
    jobs = [read_job({**record, "usage": None}) for record in records if record["state"] == State.PENDING]
    own = {job.id: reason for job in jobs if (reason := waits_for(job, now_ms)) is not None}
    others = [job.id for job in jobs if job.id not in own]
    if not others:
        return Waits(reasons=own, is_served=not own or _is_served(place))
    if is_draining(place.store):
        return Waits(reasons=own | dict.fromkeys(others, Reason(kind=Kind.DRAIN)))
    said = told(place.folder, now_ms).reasons
    found = {job: said[job] for job in others if job in said}
    return Waits(reasons=own | found, is_served=bool(said) or _is_served(place))


def _is_served(place: Place) -> bool:
    from vq.daemon.presence import present  # noqa: PLC0415 - who was told why jobs wait knows it

    return present(place.folder) is not None
