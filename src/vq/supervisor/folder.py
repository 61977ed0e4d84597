"""The folder of an attempt: its lock, its `attempt.json`, and a result for which the disk has already made room."""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, get_args

from vq.errors import VqError
from vq.estimates.usage import read_usage
from vq.files.documents import MIB, PART, read_json
from vq.readings.group import PATHS_OR_NULL, GroupPaths, paths_from
from vq.shapes import ANY_OBJECT, LARGEST, Record, constant, integer, number, one_of, text
from vq.supervisor.decisions import EndKind, LimitFired

ATTEMPT_SCHEMA = "vq.attempt.v1"
RESULT_SCHEMA = "vq.attempt-result.v1"

RESERVED_BYTES = 8 * 1024
"""A result takes up so much, whatever it says, so that no room is given back for the next attempt to take anew."""
ATTEMPT = "attempt.json"

_ATTEMPT_SHAPE = Record(
    {
        "schema": constant(ATTEMPT_SCHEMA),
        "attempt": text(),
        "boot_id": text(),
        "since_ticks": integer(0),
        "supervisor_pid": integer(1),
        "mark": text(),
        "result_path": text(),
        "group": PATHS_OR_NULL,
    }
)
_INTEGER_OR_NULL = integer(-LARGEST, null=True)
_RESULT_SHAPE = Record(
    {
        "schema": constant(RESULT_SCHEMA),
        "attempt": text(),
        "boot_id": text(),
        "enforcement": text(),
        "end": one_of(get_args(EndKind)),
        "exit_code": _INTEGER_OR_NULL,
        "signal": _INTEGER_OR_NULL,
        "limit_fired": one_of(get_args(LimitFired), null=True),
        "oom_kills": integer(0, null=True),
        "text": text(null=True),
        "why": text(null=True),
        "started_at_ms": integer(0),
        "finished_at_ms": integer(0),
        "paused_seconds": number(),
        "left_over": integer(0),
        "usage": ANY_OBJECT,
    },
    {"own_ooms": integer(0, null=True), "no_receipt": text()},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What is known of an attempt that began: who supervises it, on which boot, and where its processes are."""

    attempt: str
    boot_id: str
    since_ticks: int
    supervisor_pid: int
    mark: str
    result_path: str
    group: GroupPaths | None

    def document(self) -> dict[str, Any]:
        """This as JSON, `vq.attempt.v1`."""
        return {
            "schema": ATTEMPT_SCHEMA,
            "attempt": self.attempt,
            "boot_id": self.boot_id,
            "since_ticks": self.since_ticks,
            "supervisor_pid": self.supervisor_pid,
            "mark": self.mark,
            "result_path": self.result_path,
            "group": None if self.group is None else self.group.document(),
        }


def take_lock(folder: str) -> int | None:
    """A descriptor that holds the attempt's exclusive lock until it is closed; None when another holds it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def write_attempt(folder: str, attempt: Attempt) -> None:
    """Leave `attempt.json`, whole or not at all; raises `OSError`, also when one is there already."""
    temporary = f"{folder}/{ATTEMPT}{PART}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _write_all(descriptor, json.dumps(attempt.document()).encode())
    finally:
        os.close(descriptor)
    try:
        os.link(temporary, f"{folder}/{ATTEMPT}")
    finally:
        os.unlink(temporary)


def has_attempt(folder: str) -> bool:
    """Whether a supervisor has begun the attempt in `folder`, whatever became of what it left."""
    return os.path.lexists(f"{folder}/{ATTEMPT}")


def read_attempt(folder: str) -> Attempt | None:
    """What `write_attempt` left; None when the attempt never began, or what is there now is none."""
    try:
        document = read_json(f"{folder}/{ATTEMPT}", MIB)
        _ATTEMPT_SHAPE.check(document)
    except VqError:
        return None
    known = {key: value for key, value in document.items() if key != "schema"}
    known["group"] = None if known["group"] is None else paths_from(known["group"])
    return Attempt(**known)


def read_result(path: str, attempt: str) -> dict[str, Any] | None:
    """The result document of an attempt at `path`, its receipt one that can be read; None as long as there is none."""
    # A daemon asks this of every running job once a second, and an answer is cheaper than an error.
    if not os.path.lexists(path):
        return None
    try:
        document: dict[str, Any] = read_json(path, MIB)
        _RESULT_SHAPE.check(document)
        read_usage(document["usage"])
    except VqError:
        return None
    return document if document["attempt"] == attempt else None


class ResultFile:
    """The result to be: room on the disk is taken before the job starts, so that a full disk loses no end."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._staged = path + PART
        # Not emptied first: it may be of an attempt that is over, and its room is room. And open for reading: on a file
        # system that reserves nothing (ext3) the C library reads what is there, and writes where nothing is.
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._descriptor = os.open(self._staged, flags, 0o600)
        try:
            os.posix_fallocate(self._descriptor, 0, RESERVED_BYTES)
        except OSError:
            self.give_up()
            raise

    def write(self, document: dict[str, Any]) -> None:
        """Put the result in place, whole or not at all: what it says is on disk before it has its name."""
        data = json.dumps(document, allow_nan=False).encode().ljust(RESERVED_BYTES - 1) + b"\n"
        _write_all(self._descriptor, data)
        os.ftruncate(self._descriptor, len(data))
        os.fdatasync(self._descriptor)
        os.rename(self._staged, self._path)
        os.close(self._descriptor)

    def give_up(self) -> None:
        """Leave nothing."""
        os.close(self._descriptor)
        with suppress(FileNotFoundError):
            os.unlink(self._staged)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
