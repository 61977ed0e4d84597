"""PySCF for the tests: whether it is here, and the example with few of its molecules."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
JOBS = ROOT / "examples" / "pyscf" / "jobs"

needs_pyscf = pytest.mark.skipif(
    importlib.util.find_spec("pyscf") is None, reason="PySCF is missing: pip install -e '.[pyscf]'"
)


def own_queue(folder: Path) -> dict[str, str]:
    """The environment of a shell that finds the installed commands, with a queue and settings of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("VQ_")}
    return {
        **kept,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LC_ALL": "C.UTF-8",
        "VQ_STATE_DIR": str(folder / "state"),
        "XDG_CONFIG_HOME": str(folder / "config"),
    }


def with_few_molecules(folder: Path, molecules: set[str]) -> Path:
    """A copy of the examples in which the sets have these molecules only."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    for name in ("training", "held-out"):
        for path in (folder / "examples" / "pyscf" / "jobs" / name).iterdir():
            if path.stem not in molecules:
                path.unlink()
    return folder / "examples" / "pyscf"
