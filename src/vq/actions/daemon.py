"""The daemon as commands meet it: started when it is needed, woken when there is news, looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vq.actions.place import config_of_file
from vq.actions.waking import poke
from vq.daemon.presence import present
from vq.daemon.starting import refuse_to_jobs, start, stop
from vq.store.connection import open_store
from vq.store.settings import is_draining, set_draining


def start_daemon(state_folder: str) -> bool:
    """Whether a daemon was started; False: one served the folder already. One is ready when this returns.

    Raises `VqError` with what the daemon had to say.
    """
    return start(state_folder)


def restart_daemon(state_folder: str, environment: Mapping[str, str]) -> None:
    """End the daemon, if one runs, and start one. Raises `VqError`, and where none could be started, none is ended."""
    refuse_to_jobs(state_folder)
    config_of_file(environment)
    stop(state_folder)
    start(state_folder)


def stop_daemon(state_folder: str) -> bool:
    """Whether there was a daemon, which has ended when this returns; its jobs go on. Raises `VqError`."""
    return stop(state_folder) is not None


def run_daemon(state_folder: str, ready: Callable[[], None]) -> bool:
    """Be the daemon in this process until a signal ends it; False: another one runs. Raises `VqError`."""
    refuse_to_jobs(state_folder)
    from vq.daemon.serving import serve  # noqa: PLC0415 - a daemon's weight is no other command's

    return serve(state_folder, ready)


def daemon_status(state_folder: str) -> dict[str, Any]:
    """`running`, and of a daemon that runs `pid`, `version` and `started_at` (ms of the epoch), else null."""
    presence = present(state_folder)
    if presence is None:
        return {"running": False, "pid": None, "version": None, "started_at": None}
    return {
        "running": True,
        "pid": presence.pid,
        "version": presence.version,
        "started_at": presence.started_at,
    }


def is_running(state_folder: str) -> bool:
    """Whether a daemon serves the folder and is ready."""
    return present(state_folder) is not None


def drains(state_folder: str) -> bool:
    """Whether the queue is to start nothing new. Raises `VqError`."""
    with open_store(state_folder) as store:
        return is_draining(store)


def drain(state_folder: str, *, draining: bool) -> None:
    """Let the queue start nothing new, or go on; it holds for daemons to come. Raises `VqError`."""
    with open_store(state_folder) as store:
        set_draining(store, draining=draining)
    poke(state_folder)
