"""The comparison of calibration methods: what the script prints is what the how-to shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "how-to" / "calibrate.md"


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "examples" / script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_page_shows_what_the_script_prints(tmp_path: Path) -> None:
    assert run("vasp/make_sets.py", tmp_path / "sets").returncode == 0
    page = PAGE.read_text(encoding="utf-8").splitlines()
    shipped = {"Quantum ESPRESSO": "quantum-espresso", "PySCF": "pyscf"}
    measured = {name: ROOT / "examples" / folder / "measured" for name, folder in shipped.items()}
    for name, folder in {"VASP": tmp_path / "sets", **measured}.items():
        ended = run("compare_methods.py", name, *(folder / title / "set.json" for title in ("training", "held-out")))
        assert (ended.returncode, ended.stderr) == (0, "")
        rows = ended.stdout.splitlines()
        assert len(rows) == 7
        assert all(row in page for row in rows), f"docs/how-to/calibrate.md shows:\n{ended.stdout}"


def test_it_ends_where_a_command_fails(tmp_path: Path) -> None:
    ended = run("compare_methods.py", "none", tmp_path / "a", tmp_path / "b")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "vq: error: " in ended.stderr
