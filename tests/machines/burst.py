"""Inside a virtual machine whose power is cut: submit without end, and after the next boot say what is there.

`burst FOLDER` starts a daemon and submits from several processes; each acknowledgement is written to the folder given,
which lies outside the machine, once `vq submit` has printed it. `look FOLDER` is for the boot after the cut. Every job
leaves a line outside the machine each time that it runs.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sqlite3
import sys
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from vq.cli import run

WRITERS = 2
MOST = 60
DISK = Path("/mnt/disk")
CONFIG = '[host]\nmemory_max = "800M"\ncpus = 2\n'
COMMAND = 'echo ran >> "$0/ran/$VQ_JOB_ID"; sleep "$2"; test -z "$1" || test "$1" = "$(cat input)"'


def vq(*words: str) -> str:
    """What a command prints; it is one that succeeds."""
    said, talk = io.StringIO(), io.StringIO()
    with redirect_stdout(said), redirect_stderr(talk):
        status = run(words)
    if status:
        raise SystemExit(f"vq {' '.join(words)}: {talk.getvalue()}")
    return said.getvalue()


def document(*words: str) -> Any:
    return json.loads(vq(*words, "--json"))


def submit(outside: Path, writer: int, number: int) -> None:
    """One submission of a kind by its number, and its acknowledgement."""
    name, payload, seconds = f"w{writer}-{number}", "", "0"
    words = ["--name", name, "--mem-mb", "20"]
    match number % 4:
        case 0 | 1:
            payload = name
            if number % 8 == 0:  # runs when the power goes, and is to go on with what it was given
                seconds = "2"
                words.append("--auto-resume")
            folder = Path(tempfile.gettempdir(), f"payload-{writer}")
            folder.mkdir(exist_ok=True)
            (folder / "input").write_text(payload)
            words += ["-d", str(folder)]
        case 2:
            words += ["--array", "3"]
        case 3:
            words += ["--idempotency-key", name]
        case _:
            pass
    identifiers = vq("submit", *words, "--", "sh", "-c", COMMAND, str(outside), payload, seconds).split()
    with (outside / f"acknowledged-{writer}").open("a") as file:
        file.writelines(f"{identifier} {name}\n" for identifier in identifiers)
        file.flush()
        os.fsync(file.fileno())


def burst(outside: Path) -> None:
    """Submit until the power is cut; on a fast machine it may be cut a while after the last submission."""
    (outside / "ran").mkdir()
    (DISK / "config" / "vq").mkdir(parents=True)
    (DISK / "config" / "vq" / "config.toml").write_text(CONFIG)
    vq("daemon", "start")
    for writer in range(WRITERS):
        if not os.fork():
            for number in range(MOST):
                submit(outside, writer, number)
            os._exit(0)
    for _ in range(WRITERS):
        os.wait()
    signal.pause()


def look(outside: Path) -> None:
    """Say what the store holds, let a daemon end it all, and say how it ended."""
    began = time.monotonic()
    connection = sqlite3.connect(DISK / "state" / "vq.db")
    sound = [row[0] for row in connection.execute("PRAGMA integrity_check")]
    sound += [str(row) for row in connection.execute("PRAGMA foreign_key_check")]
    connection.close()
    before = document("queue", "--all")["jobs"]
    vq("daemon", "start")
    # One that was interrupted and goes on has a successor, which is there once the daemon has seen it.
    while active := [job["id"] for job in document("queue", "--all")["jobs"] if job["state"] in ("PENDING", "RUNNING")]:
        run(["wait", *active, "--timeout", "2400", "--json"])
    rows = vq("history", "export").splitlines()
    vq("daemon", "stop")
    found = {
        "integrity": sound,
        "before": before,
        "after": document("queue", "--all")["jobs"],
        "history_rows": len(rows),
        "seconds": round(time.monotonic() - began),
    }
    (outside / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    os.environ |= {"VQ_STATE_DIR": str(DISK / "state"), "XDG_CONFIG_HOME": str(DISK / "config")}
    {"burst": burst, "look": look}[sys.argv[1]](Path(sys.argv[2]))
