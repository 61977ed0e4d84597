"""Remove what ended jobs left: workspaces, logs and payloads, and their records where that is asked for.

What a job that is not purged still needs stays: its payload, and a workspace that it goes on in.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass

from vq.actions.place import Place
from vq.files.documents import OPEN_FOLDER, reasons
from vq.files.snapshots import withdraw
from vq.files.staging import open_staging
from vq.files.trees import closing_descriptor, remove_tree
from vq.store.layout import WORKSPACES, log_paths, workspace_folder
from vq.store.purging import Candidate, Kept, delete_records, ended_before, needed_since


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """The jobs of which something was, or in a dry run would be, removed, and how many workspaces and payloads."""

    jobs: tuple[str, ...]
    workspaces: int
    payloads: int
    records: int


def purge(place: Place, before_ms: int, *, records: bool, for_real: bool) -> Purged:
    """Remove what the jobs left that ended before `before_ms`; a dry run only says what. Raises `VqError`."""
    if not for_real:
        with place.store.reading() as connection:
            candidates, kept = ended_before(connection, before_ms), needed_since(connection, before_ms)
        return _purged(place, candidates, kept, records=records)
    # Snapshots are withdrawn in the transaction, so that no submission counts on one that is about to go.
    with open_staging(place.staging) as staging:
        with place.store.writing() as connection:
            candidates, kept = ended_before(connection, before_ms), needed_since(connection, before_ms)
            purged = _purged(place, candidates, kept, records=records)
            if records:
                delete_records(connection, [candidate.job for candidate in candidates])
            for payload in _payloads(place, kept):
                withdraw(staging, payload, place.snapshots)
        for candidate in candidates:
            _remove_files(place, candidate, kept)
    return purged


def _purged(place: Place, candidates: list[Candidate], kept: Kept, *, records: bool) -> Purged:
    payloads = _payloads(place, kept)
    workspaces = {candidate.job: _workspace(place, candidate, kept) for candidate in candidates}
    touched = [
        candidate.job
        for candidate in candidates
        if records
        or workspaces[candidate.job] is not None
        or candidate.payload_sha256 in payloads
        or any(os.path.lexists(path) for path in _logs(place, candidate))
    ]
    return Purged(
        jobs=tuple(touched),
        workspaces=len({path for path in workspaces.values() if path is not None}),
        payloads=len(payloads),
        records=len(candidates) if records else 0,
    )


def _payloads(place: Place, kept: Kept) -> list[str]:
    """The snapshots that nobody needs, also those of submissions that could not be recorded in the end."""
    if not os.path.isdir(place.snapshots):
        return []
    with reasons(place.snapshots):
        return sorted(set(os.listdir(place.snapshots)) - kept.payloads)


def _workspace(place: Place, candidate: Candidate, kept: Kept) -> str | None:
    """The workspace to remove, which may be an earlier job's; never anything outside the state folder."""
    own = workspace_folder(place.folder, candidate.job)
    path = candidate.workspace or own
    inside = os.path.dirname(path) == os.path.dirname(own)
    return path if inside and path not in kept.workspaces and os.path.lexists(path) else None


def _logs(place: Place, candidate: Candidate) -> list[str]:
    return [
        path for attempt in range(1, candidate.attempts + 1) for path in log_paths(place.folder, candidate.job, attempt)
    ]


def _remove_files(place: Place, candidate: Candidate, kept: Kept) -> None:
    for path in _logs(place, candidate):
        with reasons(path), suppress(FileNotFoundError):
            os.unlink(path)
    workspace = _workspace(place, candidate, kept)
    if workspace is not None:
        folder = f"{place.folder}/{WORKSPACES}"
        with reasons(workspace), closing_descriptor(os.open(folder, OPEN_FOLDER)) as within:
            remove_tree(os.fsencode(os.path.basename(workspace)), within)
