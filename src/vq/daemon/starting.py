"""Start a daemon that outlives whoever starts it, and end one."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

from vq.daemon.presence import Presence, present
from vq.errors import VqError
from vq.files.documents import reasons
from vq.hosts.local.attempts import digest_of
from vq.readings import processes
from vq.store.folder import prepare_folder
from vq.supervisor.spec import MARK

READY = b"ready\n"
BUSY = b"busy\n"

LOG = "daemon.log"
_LOOK_SECONDS = 0.01
_PATIENCE_SECONDS = 60.0
_MOST_SAID = 4096


class DaemonError(VqError):
    """The daemon could not be started, or does not end."""


def start(state_folder: str) -> bool:
    """Whether a daemon was started; False: one ran already. One is ready when this returns.

    Raises `DaemonError` with what the daemon had to say, or where a job of the queue itself would start it. Raises
    `StateError` or `FileError` for a state folder that cannot be used.
    """
    if present(state_folder) is not None:
        return False
    refuse_to_jobs(state_folder)
    prepare_folder(state_folder)
    said = _spawn(state_folder)
    if said == READY:
        return True
    if said == BUSY:
        _await(state_folder)
        return False
    text = said.decode(errors="replace").strip() or "it ended without a word"
    raise DaemonError(f"the daemon did not start: {text}", hint=f"more may stand in {state_folder}/{LOG}")


def refuse_to_jobs(state_folder: str) -> None:
    """Nothing; for a job of the queue, with which whatever it starts ends, the `DaemonError` that says so."""
    if os.environ.get(MARK, "").endswith(f".{digest_of(state_folder)}"):
        raise DaemonError(
            "started by a job, a daemon would end with it, and so would the jobs that it starts",
            hint="vq daemon start, outside of the queue's jobs",
        )


def stop(state_folder: str) -> Presence | None:
    """The daemon that was asked to end and has ended; None when none ran. The jobs go on."""
    presence = present(state_folder)
    if presence is None:
        return None
    processes.send(presence.process, signal.SIGTERM)
    until = time.monotonic() + _PATIENCE_SECONDS
    while processes.is_alive(presence.process):
        if time.monotonic() > until:
            raise DaemonError(f"the daemon (process {presence.pid}) does not end", hint="look what keeps it")
        time.sleep(_LOOK_SECONDS)
    return presence


def _spawn(state_folder: str) -> bytes:
    """What a new daemon says once it is ready, or why it is not."""
    with reasons(f"{state_folder}/{LOG}"):
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        log = os.open(f"{state_folder}/{LOG}", flags, 0o600)
    reader, writer = os.pipe2(os.O_CLOEXEC)
    os.set_inheritable(writer, True)  # noqa: FBT003 - its only way
    # -P: what lies in the current folder is not imported.
    command = [sys.executable, "-P", "-m", "vq.daemon", state_folder, str(writer)]
    streams: list[Any] = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    streams += [(os.POSIX_SPAWN_DUP2, log, number) for number in (1, 2)]
    try:
        os.posix_spawn(sys.executable, command, os.environ, file_actions=streams, setsid=True)
    finally:
        os.close(log)
        os.close(writer)
    with open(reader, "rb") as answer:
        return answer.read(_MOST_SAID)


def _await(state_folder: str) -> None:
    until = time.monotonic() + _PATIENCE_SECONDS
    while present(state_folder) is None:
        if time.monotonic() > until:
            raise DaemonError("another daemon holds the state folder and does not become ready", where=state_folder)
        time.sleep(_LOOK_SECONDS)
