"""Whether a daemon serves a state folder: an exclusive lock while it lives, and a note of who it is once it is ready.

A process id is trusted only with its start time and the boot it belongs to.
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from vq.errors import BadDataError
from vq.files.documents import KIB, FileError, read_json, replace_private
from vq.readings import processes
from vq.readings.processes import Process
from vq.shapes import Kind, Record, integer, text

if TYPE_CHECKING:
    from vq.hosts.local.attempts import Enforcement

_LOCK = "daemon.lock"
_NOTE = "daemon.json"
_MOST_BYTES = 4 * KIB
_FOLDERS = Kind("an object", lambda v: type(v) is dict)
_SHAPE = Record(
    {
        "pid": integer(1),
        "start_ticks": integer(0),
        "boot_id": text(),
        "version": text(),
        "started_at": integer(0),
    },
    {
        "enforcement": text(),
        "group": Record(
            {"version": integer(1, 2), "folders": Kind("an object", lambda v: type(v) is dict)}, nullable=True
        ),
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """A daemon that is ready: its process, on which boot, its version, and since when (milliseconds of the epoch).

    `enforcement` is the mode in force, and `group` the document of the group of all jobs, None by sampling.
    """

    pid: int
    start_ticks: int
    boot_id: str
    version: str
    started_at: int
    enforcement: str = "sampled"
    group: dict[str, Any] | None = None

    @property
    def process(self) -> Process:
        """Its process."""
        return Process(pid=self.pid, start_ticks=self.start_ticks)


def take_lock(folder: str) -> int | None:
    """A descriptor that holds the state folder for one daemon until it is closed; None when another has it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(f"{folder}/{_LOCK}", flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def announce(folder: str, version: str, started_at_ms: int, enforcement: Enforcement) -> Presence:
    """Say that this process is the daemon and ready; only the holder of the lock does."""
    own = processes.identify(os.getpid())
    presence = Presence(
        pid=os.getpid(),
        start_ticks=0 if own is None else own.start_ticks,
        boot_id=processes.boot_id(),
        version=version,
        started_at=started_at_ms,
        enforcement="sampled" if enforcement.parent is None else enforcement.mode,
        group=None if enforcement.parent is None else enforcement.parent.document(),
    )
    replace_private(f"{folder}/{_NOTE}", json.dumps(asdict(presence)))
    return presence


def present(folder: str) -> Presence | None:
    """The daemon that serves the state folder and is ready; None when there is none."""
    try:
        document: Any = read_json(f"{folder}/{_NOTE}", _MOST_BYTES)
        _SHAPE.check(document)
    except (FileError, BadDataError):
        return None
    presence = Presence(**document)
    lives = presence.boot_id == processes.boot_id() and processes.is_alive(presence.process)
    return presence if lives else None
