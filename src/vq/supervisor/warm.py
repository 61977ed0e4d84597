"""Many supervisors from one warm process: forked, they start in a millisecond and share what they have loaded.

It reads the paths of specs from its standard input, one a line, and forks a supervisor for each, which leaves the
session and outlives it. For each it writes `began PID PATH`, and when it has ended `ended STATUS PATH`. At the end of
its input it ends itself; the supervisors go on.
"""

from __future__ import annotations

import gc
import os

from vq.supervisor.libc import give_back_memory
from vq.supervisor.process import run
from vq.supervisor.waking import Waking

_PIECE = 64 * 1024


def serve() -> int:
    """Fork a supervisor for each line of standard input, until there is no more."""
    gc.collect()
    give_back_memory()
    # What is frozen is not looked through again, so that its pages stay shared.
    gc.freeze()
    waking = Waking()
    waking.add(0)
    running: dict[int, str] = {}
    rest = b""
    while True:
        ready = waking.sleep(None)
        if 0 in ready:
            piece = os.read(0, _PIECE)
            if not piece:
                return 0
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                path = os.fsdecode(line)
                pid = _fork(path, waking)
                running[pid] = path
                _say(f"began {pid} {path}")
        _reap(running)


def _fork(path: str, waking: Waking) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        waking.close()
        os.setsid()
        status = run(path)
    finally:
        os._exit(status)


def _reap(running: dict[int, str]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        _say(f"ended {os.waitstatus_to_exitcode(status)} {running.pop(pid)}")


def _say(line: str) -> None:
    try:
        os.write(1, os.fsencode(f"{line}\n"))
    except (BrokenPipeError, BlockingIOError):
        return
