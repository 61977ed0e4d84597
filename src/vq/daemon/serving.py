"""A daemon from its lock to its end: one for each state folder, until a signal ends it. The jobs outlive it."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.metadata import version
from types import FrameType

from vq.config.resolve import load
from vq.config.values import Config
from vq.daemon.admission import Admission
from vq.daemon.experience import Experience
from vq.daemon.hooks import Hooks
from vq.daemon.known import Known
from vq.daemon.loop import Daemon, Parts
from vq.daemon.mailbox import Mailbox
from vq.daemon.presence import announce, take_lock
from vq.daemon.watch import Watch
from vq.errors import VqError
from vq.files.fifo import tell
from vq.files.staging import sweep_staging
from vq.hosts.local.attempts import Attempts
from vq.hosts.local.facts import facts
from vq.hosts.local.launching import Launcher
from vq.hosts.local.machine import Machine
from vq.hosts.local.preparing import Preparing
from vq.readings import processes
from vq.store.connection import Opener, Store, open_store
from vq.store.folder import prepare_folder
from vq.store.jobs import hooks_due
from vq.store.layout import NEWS, staging_folder, wake_path
from vq.store.settings import forget_config, store_config

_PAUSE_SECONDS = 1.0
_log = logging.getLogger(__name__)


def serve(state_folder: str, ready: Callable[[], None]) -> bool:
    """Be the daemon of a state folder until a signal ends this process's service; False: another one is.

    `ready` is called once submissions are seen. Raises `VqError` for a configuration, a store or a folder that cannot
    be used.
    """
    prepare_folder(state_folder)
    with ExitStack() as stack:
        lock = take_lock(state_folder)
        if lock is None:
            return False
        stack.callback(os.close, lock)
        config = load(os.environ, facts())
        store = stack.enter_context(open_store(state_folder, Opener.DAEMON))
        store_config(store, config)
        stopped = _stopped_by_signals(state_folder)
        with opened(state_folder, store, config, now_ms) as daemon:
            daemon.begin()
            announce(state_folder, version("vq"), now_ms(), daemon.enforcement)
            ready()
            _work(daemon, stopped)
        while not stopped():
            time.sleep(_PAUSE_SECONDS)
            with opened(state_folder, store, config, now_ms) as daemon:
                _work(daemon, stopped, begin=True)
        # Submissions are then checked against the file, as the next daemon reads it.
        with suppress(VqError):
            forget_config(store)
    return True


def _work(daemon: Daemon, stopped: Callable[[], bool], *, begin: bool = False) -> None:
    """Take turns until a signal or an error: then the next daemon begins with what the store says."""
    try:
        if begin:
            daemon.begin()
        while not stopped():
            daemon.turn()
    except (VqError, OSError) as error:
        _log.error("begins anew: %s", error)


@contextmanager
def opened(state_folder: str, store: Store, config: Config, clock_ms: Callable[[], int]) -> Iterator[Daemon]:
    """A daemon that has yet to begin, on a state folder that the caller has for itself."""
    with ExitStack() as stack:
        sweep_staging(staging_folder(state_folder))
        machine = Machine(state_folder, config.host)
        stack.callback(machine.close)
        mailbox = Mailbox(wake_path(state_folder))
        stack.callback(mailbox.close)
        launcher = Launcher()
        stack.callback(launcher.close)
        preparing = Preparing(lambda: wake(state_folder))
        stack.callback(preparing.close)
        hooks = Hooks(config.on_end, hooks_due(store) if config.on_end else ())
        stack.callback(hooks.close)
        attempts, known, boot_id = Attempts(state_folder, machine.enforcement.parent), Known(), processes.boot_id()
        stack.callback(attempts.close)
        requeue = config.host.on_host_oom == "requeue"
        parts = Parts(
            store=store,
            config=config,
            known=known,
            attempts=attempts,
            machine=machine,
            launcher=launcher,
            watch=Watch(attempts, (launcher, preparing), known, boot_id=boot_id, requeue=requeue),
            admission=Admission(config, Experience(config, store), machine, attempts),
            hooks=hooks,
            mailbox=mailbox,
            boot_id=boot_id,
        )
        yield Daemon(parts, clock_ms)


def now_ms() -> int:
    """The time, in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def wake(state_folder: str) -> None:
    """Have the daemon of a state folder look at what is new, if there is one."""
    tell(wake_path(state_folder), NEWS)


def _stopped_by_signals(state_folder: str) -> Callable[[], bool]:
    """Whether a signal has asked to stop; the signal also wakes the loop."""
    heard: list[int] = []

    def hear(number: int, _: FrameType | None) -> None:
        heard.append(number)
        wake(state_folder)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, hear)
    return lambda: bool(heard)
