"""Processes as `/proc` shows them: who they are, whose children, what they hold, and a signal that cannot go astray.

A process id alone is worth nothing, as the kernel hands it out again: a process is its id with its start time.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from vq.readings.kernel import read_bytes, read_text, write_text

KIB = 1024
MOST_OOM_SCORE = 1000
"""What makes a process the first to go where memory ran out, by the kernel's `oom_score_adj`."""

_FORKED_NOT_EXECUTED = 0x40
_ZOMBIE = "ZX"
# Not every kernel is built with it (CONFIG_PROC_CHILDREN).
_TELLS_CHILDREN = os.path.exists(f"/proc/self/task/{os.getpid()}/children")
# The folder of threads is linked to by its name, by itself, and by each thread.
_LINKS_OF_ONE_THREAD = 3
_SIGCHLD_BIT = 1 << (signal.SIGCHLD - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process for certain: its id and its start time in clock ticks since boot."""

    pid: int
    start_ticks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stat:
    """What `/proc/PID/stat` says, also of a zombie.

    `child_faults` are the minor page faults of children that it waited for: 0 means that it waited for none.
    `executed` is False as long as it runs the program of the process that forked it.
    """

    pid: int
    name: str
    state: str
    parent: int
    session: int
    executed: bool
    child_faults: int
    start_ticks: int

    @property
    def process(self) -> Process:
        """Its identity."""
        return Process(pid=self.pid, start_ticks=self.start_ticks)

    @property
    def ended(self) -> bool:
        """Whether it only waits to be reaped."""
        return self.state in _ZOMBIE

    @property
    def stopped(self) -> bool:
        """Whether a signal or a tracer stopped it."""
        return self.state in "Tt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What `/proc/PID/status` says: anonymous and shared memory (shared pages counted whole), and SIGCHLD ignored."""

    held_bytes: int
    ignores_children: bool


def parse_stat(text: str) -> Stat:
    """The line of `/proc/PID/stat`; the name stands in parentheses and may hold any character."""
    pid, _, rest = text.partition(" (")
    name, _, rest = rest.rpartition(") ")
    fields = rest.split()
    return Stat(
        pid=int(pid),
        name=name,
        state=fields[0],
        parent=int(fields[1]),
        session=int(fields[3]),
        executed=not int(fields[6]) & _FORKED_NOT_EXECUTED,
        child_faults=int(fields[8]),
        start_ticks=int(fields[19]),
    )


def parse_status(text: str) -> Status:
    """The lines of `/proc/PID/status` that matter here."""
    held = ignored = 0
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name in ("RssAnon", "RssShmem"):
            held += int(value.split()[0]) * KIB
        elif name == "SigIgn":
            ignored = int(value, 16)
    return Status(held_bytes=held, ignores_children=bool(ignored & _SIGCHLD_BIT))


def parse_pss(text: str) -> int | None:
    """Pss in bytes of a `smaps_rollup`, without files where the kernel tells them apart; None without any Pss."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name in ("Pss", "Pss_Anon", "Pss_Shmem"):
            found[name] = int(value.split()[0]) * KIB
    if "Pss_Anon" in found:
        return found["Pss_Anon"] + found.get("Pss_Shmem", 0)
    return found.get("Pss")


def read_stat(pid: int) -> Stat | None:
    """What there is to know of a process, None when it is gone."""
    text = read_text(f"/proc/{pid}/stat")
    return parse_stat(text) if text else None


def read_status(pid: int) -> Status | None:
    """What a process holds and ignores, None when it is gone."""
    text = read_text(f"/proc/{pid}/status")
    return parse_status(text) if text else None


def read_pss(pid: int) -> int | None:
    """The proportional share of memory (bytes, without files) of a process: 0 when it is gone, None when not told."""
    try:
        text = read_text(f"/proc/{pid}/smaps_rollup")
    except PermissionError:
        return None
    if text is None:
        return 0 if os.path.exists("/proc/self/smaps_rollup") else None
    return parse_pss(text) if text else 0


def identify(pid: int) -> Process | None:
    """The process that has this id now."""
    stat = read_stat(pid)
    return None if stat is None else stat.process


def is_alive(process: Process) -> bool:
    """Whether this very process still runs; a zombie does not."""
    stat = read_stat(process.pid)
    return stat is not None and stat.start_ticks == process.start_ticks and not stat.ended


def send(process: Process, number: int) -> bool:
    """Whether the signal went to this very process; False when it is gone."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        return _send_before_linux_5_3(process, number)
    try:
        # The descriptor holds on to whoever has the id now; only then does the start time prove who that is.
        if identify(process.pid) != process:
            return False
        signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)
    return True


def _send_before_linux_5_3(process: Process, number: int) -> bool:
    if identify(process.pid) != process:
        return False
    try:
        os.kill(process.pid, number)
    except ProcessLookupError:
        return False
    return True


def offer_to_the_kernel(pid: int) -> None:
    """Have the kernel end this process before others of the same group, should memory run out; it may be gone."""
    with suppress(OSError):
        write_text(f"/proc/{pid}/oom_score_adj", str(MOST_OOM_SCORE))


def children(pid: int) -> tuple[int, ...]:
    """The children of a process, zombies too; one that ends meanwhile may hide another until the next look."""
    if not _TELLS_CHILDREN:
        return tuple(stat.pid for stat in every() if stat.parent == pid)
    folder = f"/proc/{pid}/task"
    try:
        is_single = os.stat(folder).st_nlink == _LINKS_OF_ONE_THREAD
        threads = [str(pid)] if is_single else os.listdir(folder)
    except (FileNotFoundError, ProcessLookupError):
        return ()
    texts = (read_text(f"{folder}/{thread}/children") for thread in threads)
    return tuple(int(word) for text in texts if text for word in text.split())


def descendants(pid: int) -> tuple[Stat, ...]:
    """Everything below a process, without it and without zombies."""
    found: dict[int, Stat] = {}
    waiting = list(children(pid))
    while waiting:
        inner = waiting.pop()
        stat = None if inner in found else read_stat(inner)
        if stat is not None:
            found[inner] = stat
            waiting.extend(children(inner))
    return tuple(stat for stat in found.values() if not stat.ended)


def every() -> Iterator[Stat]:
    """Every process of this machine."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            stat = read_stat(int(name))
            if stat is not None:
                yield stat


def marked(mark: str, since_ticks: int) -> tuple[Process, ...]:
    """The processes with `mark` (`NAME=value`) in their environment that began at `since_ticks` or later, and theirs.

    A process that emptied its environment is still found below one that did not.
    """
    found: dict[int, Process] = {}
    for stat in every():
        if stat.start_ticks >= since_ticks and not stat.ended and _has_mark(stat.pid, mark.encode()):
            found[stat.pid] = stat.process
            found.update((inner.pid, inner.process) for inner in descendants(stat.pid))
    found.pop(os.getpid(), None)
    return tuple(found.values())


def values_of(variable: str) -> frozenset[str]:
    """What a variable of the environment is set to in any process that may be looked at."""
    start = f"{variable}=".encode()
    found: set[str] = set()
    for stat in every():
        found.update(os.fsdecode(entry[len(start) :]) for entry in _environment(stat.pid) if entry.startswith(start))
    return frozenset(found)


@cache
def boot_id() -> str:
    """The identity of this boot of the machine: process ids mean nothing across two."""
    return (read_text("/proc/sys/kernel/random/boot_id") or "").strip()


def _has_mark(pid: int, mark: bytes) -> bool:
    return mark in _environment(pid)


def _environment(pid: int) -> list[bytes]:
    with suppress(PermissionError):
        return (read_bytes(f"/proc/{pid}/environ") or b"").split(b"\0")
    return []
