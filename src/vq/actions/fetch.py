"""Fetch what a job left in its workspace."""

from __future__ import annotations

import os

from vq.actions.place import Place
from vq.errors import VqError
from vq.files.copying import Progress
from vq.files.folders import new_folder
from vq.files.gathering import Gathered, gather
from vq.store import jobs as stored


def fetch(
    place: Place, identifier: str, out: str, pattern: str | None = None, *, progress: Progress | None = None
) -> Gathered:
    """Copy the workspace of a job to the folder `out`, absent or empty before, whole or not at all.

    Raises `VqError`, also where nothing has the pattern.
    """
    job = stored.read(place.store, identifier)
    if job.work.here:
        raise VqError(f"{identifier} ran in {job.work.cwd} itself", hint="what it left is there")
    if job.work.workspace is None and job.state.ended:
        raise VqError(f"{identifier} ended without having started, and left nothing", hint=f"vq explain {identifier}")
    if job.work.workspace is None:
        raise VqError(f"{identifier} has not started, and has no workspace yet", hint=f"vq wait {identifier}")
    if not os.path.lexists(job.work.workspace):
        raise VqError(f"the workspace of {identifier} is gone: it was purged, or removed by hand")
    with new_folder(out) as folder:
        gathered = gather(job.work.workspace, folder, pattern, progress=progress)
        if pattern is not None and not gathered.files:
            raise VqError(f"nothing in the workspace of {identifier} has the pattern {pattern}")
    return gathered
