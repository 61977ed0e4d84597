"""The PySCF example: its molecules and estimates, what was measured of it, and the demonstration, run for real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from supervised import SLOWNESS
from support.command import run_installed
from support.real_program import JOBS, ROOT, needs_pyscf, with_few_molecules
from vq.canonical import digest, parse

MEASURED = ROOT / "examples" / "pyscf" / "measured"
README = ROOT / "examples" / "pyscf" / "README.md"
FEW = {"hf", "formaldehyde", "carbon-monoxide", "benzene", "ethene", "methane"}
MIB = 2**20


def scf(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(JOBS / "scf.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def load(path: Path) -> dict[str, Any]:
    return parse(path.read_bytes())


def rows() -> list[list[str]]:
    """The table of molecules in the README: n, molecule, basis, set, estimate."""
    lines = README.read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")]
    return [row for row in cells if len(row) == 5 and row[0].isdigit()]


def file_of(row: list[str]) -> Path:
    name = {"hydrogen fluoride": "hf"}.get(row[1], row[1].replace(" ", "-"))
    return JOBS / ("" if row[3].startswith("neither") else row[3]) / f"{name}.xyz"


def test_the_split_is_the_one_that_the_readme_describes() -> None:
    table = [row for row in rows() if not row[3].startswith("neither")]
    assert table == sorted(table, key=lambda row: (int(row[0]), row[1]))
    assert [row[3] for row in table] == [("training", "held-out")[index % 2] for index in range(len(table))]
    assert {file_of(row) for row in rows()} == set(JOBS.rglob("*.xyz"))


@needs_pyscf
def test_a_dry_run_writes_what_vq_reads(tmp_path: Path) -> None:
    ended = scf("--dry-run", tmp_path, *(file_of(row) for row in rows()))
    assert ended.returncode == 0, ended.stderr
    for row in rows():
        name = file_of(row).stem
        features = tmp_path / f"{name}.features.json"
        found = run_installed("estimate", tmp_path / f"{name}.system", "--features", features, "--json")
        assert found.status == 0, found.err
        receipt = found.document
        assert (receipt["program"], receipt["evidence"]["nbf"]) == ("vibe-qc", int(row[0]))
        assert receipt["program_version"].startswith("pyscf-")
        assert (receipt["features"]["method"], receipt["features"]["basis"]) == ("RHF", row[2].lower())
        assert f"{receipt['memory']['effective_job_memory_bytes'] / MIB:.1f} MiB" == row[4]
    assert scf("--dry-run", tmp_path, file_of(rows()[0])).returncode == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\nHe\nHe 0 0 0\n", "line 2: expected basis=NAME"),
        ("", "line 2: expected basis=NAME"),
        ("1\nbasis=sto-3g\nHe 0 0\n", "line 3: expected a symbol and three numbers"),
        ("1\nbasis=sto-3g\nHe 0 0 nothing\n", "line 3: expected a symbol and three numbers"),
        ("2\nbasis=sto-3g\nHe 0 0 0\n", "line 1: expected the number of atoms, which is 1"),
        ("0\nbasis=sto-3g\n", "line 1: expected the number of atoms"),
    ],
)
def test_a_file_that_is_no_molecule_is_refused_by_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.xyz").write_text(text)
    ended = scf(tmp_path / "x.xyz")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"x.xyz: {message}" in ended.stderr


def test_what_was_measured_is_of_the_files_that_are_here() -> None:
    here = {digest_of: path for path in JOBS.rglob("*.*") for digest_of in [_sha256(path)]}
    for name in ("training", "held-out"):
        cases = load(MEASURED / name / "set.json")["cases"]
        inputs = [load(MEASURED / name / case["estimate"])["inputs"] for case in cases]
        found = sorted(here[file["sha256"]] for files in inputs for file in files)
        molecules = [path for path in found if path.suffix == ".xyz"]
        assert molecules == sorted((JOBS / name).iterdir())
        assert {path.name for path in found if path not in molecules} == {"scf.py"}, "make demo, and copy its sets"


def _sha256(path: Path) -> str:
    from hashlib import sha256  # noqa: PLC0415

    return sha256(path.read_bytes()).hexdigest()


def test_the_readmes_say_what_was_measured(tmp_path: Path) -> None:
    held_out, calibration = MEASURED / "held-out" / "set.json", MEASURED / "calibration.json"
    picture = tmp_path / "held-out.svg"
    judged = run_installed(
        "estimate-evaluate", held_out, "--calibration", calibration, "--plot", picture, "--json"
    ).document
    assert picture.read_bytes() == (ROOT / "docs" / "images" / "pyscf-held-out.svg").read_bytes(), "draw it again"
    again = tmp_path / "calibration.json"
    assert run_installed("estimate-calibrate", MEASURED / "training" / "set.json", "-o", again).status == 0
    assert load(again) == load(calibration)
    text = " ".join(README.read_text(encoding="utf-8").split())
    (group,) = load(calibration)["groups"]
    assert group["decided"] == group["exact"] == 7
    assert f"factor is {group['multiplier']}" in text
    ratio = judged["overall"]["memory"]["ratio"]
    assert f"{ratio['median']:.2f} times as much at the median, and {ratio['max']:.2f} times at most" in text
    after = judged["overall"]["memory"]["calibrated"]["verdicts"]
    assert f"too low in {after['underpredicted']} of {judged['set']['cases']}" in text
    over = [case["calibrated_peak_bytes"] / case["measured_peak_bytes"] for case in judged["cases"]]
    assert f"{median(over):.1f} times what the runs held at the median, and {max(over):.1f} times at most" in text
    missing = sorted(_missing(name, case) for name in ("training", "held-out") for case in _cases(name))
    assert f"between {missing[0] / MIB:.0f} and {missing[-1] / MIB:.0f} MiB" in text


def _cases(name: str) -> list[dict[str, Any]]:
    shown = run_installed("estimate-evaluate", MEASURED / name / "set.json", "--json")
    cases: list[dict[str, Any]] = shown.document["cases"]
    return cases


def _missing(name: str, case: dict[str, Any]) -> float:
    """The measured peak less the arrays of the formula, which is the figure without its margin of a tenth."""
    assert load(MEASURED / name / "usage" / f"{case['case_id']}.json")["process_count"] == 1
    return float(case["measured_peak_bytes"]) - float(case["predicted_peak_bytes"]) / 1.1


@needs_pyscf
@pytest.mark.timeout(900 if SLOWNESS == 1 else 3600)
def test_the_demonstration_runs_the_whole_loop(tmp_path: Path) -> None:
    """A short form: five training molecules, one held-out molecule, and the two jobs with a limit."""
    example = with_few_molecules(tmp_path, FEW)
    (tmp_path / "temporary").mkdir()
    out = tmp_path / "out"
    (out / "estimates").mkdir(parents=True)
    (out / "estimates" / "phenol.system").write_text("left by an earlier one")
    (out / "mine").write_text("kept")
    ended = subprocess.run(
        [sys.executable, str(example / "demo.py"), str(out)],
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (out / "mine").read_text() == "kept"
    assert os.listdir(tmp_path / "temporary") == [], "its queue has ended with it"
    page = ended.stdout.replace(str(out), "demo-out/pyscf").replace(str(tmp_path / "temporary"), "queue").splitlines()
    assert [line for line in page if len(line) > 80] == []
    assert "$ vq daemon stop\ndaemon stopped" in ended.stdout
    report, calibration = load(out / "held-out.json"), load(out / "calibration.json")
    assert calibration["training_set"]["sha256"] == digest(load(out / "training" / "set.json"))
    (case,) = report["cases"]
    (group,) = calibration["groups"]
    assert (group["decided"], group["exact"], group["multiplier_is_lower_bound"]) == (5, 5, False)
    assert case["measured_peak_bytes"] > 50 * MIB
    learnt = " ".join(ended.stdout.split("What was learnt\n")[1].split())
    assert f"the figure was too low in {int(case['memory'] == 'underpredicted')} of 1 held-out runs" in learnt
    assert f"The 5 training runs gave the factor {group['multiplier']}." in learnt
    limit = -(-json.loads((out / "phenol.json").read_text())["calibrated_peak_bytes"] // MIB)
    assert f"Phenol got {limit} MiB from the calibrated figure and was COMPLETED" in learnt
    assert f"mem_mb: {limit} (calibrated estimate)" in ended.stdout
    assert (out / "held-out.svg").stat().st_size > 1000


@needs_pyscf
def test_the_demonstration_stops_where_a_command_fails_and_leaves_no_queue(tmp_path: Path) -> None:
    example = with_few_molecules(tmp_path, {"methane"})
    (example / "jobs" / "held-out" / "methane.xyz").write_text("no molecule")
    (tmp_path / "temporary").mkdir()
    ended = subprocess.run(
        [sys.executable, str(example / "demo.py"), str(tmp_path / "out")],
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "scf.py: error: " in ended.stdout
    assert "ended with exit status 1" in ended.stderr
    assert "What was learnt" not in ended.stdout
    assert os.listdir(tmp_path / "temporary") == []
