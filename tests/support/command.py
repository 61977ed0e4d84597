"""`vq` run in this process, and the installed `vq` run as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from supervised import SLOWNESS

INSTALLED = str(Path(sys.executable).with_name("vq"))
ROOT = Path(__file__).resolve().parents[2]


class Result(NamedTuple):
    """How a command ended, and what it printed."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON document on its stdout."""
        return json.loads(self.out)


Run = Callable[..., Result]
"""Runs `vq` with the arguments in this process."""


def run_installed(
    *arguments: str | bytes | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Result:
    """The installed command as a process of its own; `env` is added to this process's environment."""
    done = subprocess.run(
        [INSTALLED, *arguments],
        capture_output=True,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        timeout=60 * SLOWNESS,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return Result(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


def importing(folder: Path) -> dict[str, str]:
    """An environment whose Python finds the modules in `folder`, and what this one's finds by `PYTHONPATH`."""
    known = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(known)}
