"""Read what a job wrote: its two logs, whole, from near their ends, or as they grow."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import BinaryIO

from vq.actions.place import Place
from vq.errors import UsageError, VqError
from vq.files.documents import KIB, reasons
from vq.jobs.record import Job, State
from vq.store import jobs as stored
from vq.store.layout import log_paths

_PIECE = 64 * KIB
_LOOK_SECONDS = 0.05

Piece = tuple[bool, bytes]
"""Whether it is of the job's stderr, and the bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which logs: of the last attempt or another; only the last lines (None: all); only stderr."""

    attempt: int | None = None
    lines: int | None = None
    only_stderr: bool = False


def read_logs(place: Place, identifier: str, wanted: Wanted) -> Iterator[Piece]:
    """What a job has written by now, stdout before stderr; raises `VqError` where the logs are gone.

    Nothing, for a job that has not started.
    """
    job = stored.read(place.store, identifier)
    attempt = _attempt(job, wanted)
    if attempt == 0:
        return
    with ExitStack() as stack:
        for is_stderr, log in _opened(place, job, attempt, wanted, stack):
            yield from ((is_stderr, piece) for piece in _rest(log))


def follow_logs(place: Place, identifier: str, wanted: Wanted) -> Iterator[Piece | None]:
    """What a job has written and writes, until it has ended; None where there is nothing new for the moment.

    Of a job that is tried again, the next attempt's logs follow.
    """
    attempt = 0
    with ExitStack() as stack:
        logs: list[tuple[bool, BinaryIO]] = []
        while True:
            job = stored.read(place.store, identifier)
            if job.life.attempt > attempt and _has_logs(place, job):
                for is_stderr, log in logs:
                    yield from ((is_stderr, piece) for piece in _rest(log))
                attempt = job.life.attempt
                logs = _opened(place, job, attempt, wanted, stack)
                wanted = replace(wanted, lines=None)
            for is_stderr, log in logs:
                yield from ((is_stderr, piece) for piece in _rest(log))
            if job.state.ended:
                return
            yield None
            time.sleep(_LOOK_SECONDS)


def _attempt(job: Job, wanted: Wanted) -> int:
    attempt = job.life.attempt if wanted.attempt is None else wanted.attempt
    if attempt > job.life.attempt:
        raise UsageError(f"--attempt: {job.id} has had {job.life.attempt} attempts", hint="vq status shows them")
    return attempt


def _has_logs(place: Place, job: Job) -> bool:
    return job.state is not State.PENDING and os.path.exists(log_paths(place.folder, job.id, job.life.attempt)[1])


def _opened(place: Place, job: Job, attempt: int, wanted: Wanted, stack: ExitStack) -> list[tuple[bool, BinaryIO]]:
    paths = log_paths(place.folder, job.id, attempt)
    opened = []
    for is_stderr, path in ((False, paths[0]), (True, paths[1])):
        if wanted.only_stderr and not is_stderr:
            continue
        try:
            log: BinaryIO = stack.enter_context(open(path, "rb"))  # noqa: SIM115 - open until the stack ends
        except FileNotFoundError:
            raise VqError(
                f"the logs of attempt {attempt} of {job.id} are gone, or were never written",
                hint=None if job.life.reason is None else job.life.reason.text,
            ) from None
        if wanted.lines is not None:
            with reasons(path):
                _skip_to_last(log, wanted.lines)
        opened.append((is_stderr, log))
    return opened


def _rest(log: BinaryIO) -> Iterator[bytes]:
    return iter(_reader(log), b"")


def _reader(log: BinaryIO) -> Callable[[], bytes]:
    return lambda: log.read(_PIECE)


def _skip_to_last(log: BinaryIO, lines: int) -> None:
    """Put the file at the beginning of its last lines, read backwards in pieces."""
    end = log.seek(0, os.SEEK_END)
    place, missing = end, lines + 1
    while place > 0 and missing > 0:
        start = max(0, place - _PIECE)
        log.seek(start)
        piece = log.read(place - start)
        if place == end and not piece.endswith(b"\n"):
            missing -= 1
        while missing > 0:
            found = piece.rfind(b"\n")
            if found < 0:
                break
            missing -= 1
            place = start + found
            piece = piece[:found]
        else:
            log.seek(min(place + 1, end))
            return
        place = start
    log.seek(0)
