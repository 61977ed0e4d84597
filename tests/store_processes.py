"""Real processes that use a store: each runs a few lines of Python and talks by lines on its pipes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.command import importing

_BEGIN = """
import sys
from made_jobs import *
from vq.jobs.lifecycle import advance
from vq.store.advancing import advance_jobs
from vq.store.connection import Opener, open_store
from vq.store.submitting import Claim, Submission, submit
folder = sys.argv[1]
def say(*words):
    print(*words, flush=True)
"""


@contextmanager
def python(folder: str, code: str) -> Iterator[subprocess.Popen[str]]:
    """A process that runs `code` on the store in `folder`; killed with SIGKILL at the end, if it still runs."""
    environment = importing(Path(__file__).parent)
    argv = [sys.executable, "-c", _BEGIN + code, folder]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def line(process: subprocess.Popen[str]) -> list[str]:
    """The words of the next line that the process says."""
    assert process.stdout is not None
    return process.stdout.readline().split()


def go(process: subprocess.Popen[str]) -> None:
    """Let a process that waits for a line go on."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
