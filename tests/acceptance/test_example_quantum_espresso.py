"""The Quantum ESPRESSO example: its inputs, its report, and its short form with real runs of pw.x."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from supervised import SLOWNESS
from vq.canonical import digest, parse

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "quantum-espresso"
MEASURED = EXAMPLE / "measured"
VQ = str(Path(sys.executable).with_name("vq"))
SETS = {"training": 4, "held-out": 2, "limited": 2}

specification = importlib.util.spec_from_file_location("materials", EXAMPLE / "materials.py")
assert specification is not None
assert specification.loader is not None
materials = importlib.util.module_from_spec(specification)
sys.modules["materials"] = materials
specification.loader.exec_module(materials)

pytestmark = pytest.mark.timeout(300 * SLOWNESS)
needs_pw = pytest.mark.skipif(
    shutil.which("pw.x") is None or not os.path.isdir(materials.PSEUDOPOTENTIALS),
    reason="pw.x or its pseudopotentials are missing: apt-get install quantum-espresso quantum-espresso-data",
)


def script(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLE / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def load(path: Path) -> dict[str, Any]:
    return parse(path.read_bytes())


def vq(out: Path, queue: str, *words: str) -> str:
    environment = {**os.environ, "VQ_STATE_DIR": str(out / "queues" / queue), "XDG_CONFIG_HOME": str(out / "config")}
    return subprocess.run([VQ, *words], env=environment, capture_output=True, text=True, check=False).stdout


def test_the_inputs_are_many_different_and_each_of_one_set() -> None:
    calculations = materials.CALCULATIONS
    names = [calculation.name for calculation in calculations]
    texts = {materials.text(calculation) for calculation in calculations}
    assert len(set(names)) == len(texts) == len(names) >= 24
    assert {calculation.material for calculation in calculations} == set(materials.MATERIALS)
    for material in materials.MATERIALS:
        assert materials.set_of(material) == (
            "held-out" if sha256(material.encode()).digest()[0] >= 128 else "training"
        )


@pytest.mark.parametrize("calculation", materials.CALCULATIONS, ids=lambda calculation: str(calculation.name))
def test_an_input_counts_its_atoms_and_none_stands_on_another(calculation: Any) -> None:
    text = materials.text(calculation)
    positions = text.split("ATOMIC_POSITIONS angstrom\n")[1].split("K_POINTS")[0].splitlines()
    counted = re.search(r"nat = (\d+), ntyp = (\d+)", text)
    assert counted is not None
    assert len(set(positions)) == len(positions) == int(counted[1])
    assert len({line.split()[0] for line in positions}) == int(counted[2])
    places = [[float(part) for part in line.split()[1:]] for line in positions]
    nearest = [
        sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) ** 0.5
        for number, first in enumerate(places)
        for second in places[:number]
    ]
    assert min(nearest, default=1.0) > 0.9


def test_inputs_are_written_once_and_another_one_is_not_written_over(tmp_path: Path) -> None:
    for _ in range(2):
        assert script("materials.py", tmp_path).returncode == 0
    first = tmp_path / materials.CALCULATIONS[0].name / "pw.in"
    first.write_text("mine")
    assert "holds another input" in script("materials.py", tmp_path).stderr
    assert first.read_text() == "mine"


def test_the_page_is_what_the_measured_sets_say(tmp_path: Path) -> None:
    made = script("report.py", MEASURED, tmp_path)
    assert made.returncode == 0, made.stderr
    for path in sorted(tmp_path.rglob("*.*")):
        shipped = ROOT / "docs" / path.relative_to(tmp_path)
        assert shipped.read_bytes() == path.read_bytes(), "report.py examples/quantum-espresso/measured docs"


def test_without_pw_and_without_a_way_to_install_it_the_packages_are_named(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLE / "run.py"), str(tmp_path / "out")]
    ended = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert (
        "apt-get install --yes --quiet --no-install-recommends quantum-espresso quantum-espresso-data" in ended.stderr
    )
    assert not (tmp_path / "out").exists()


def test_a_report_names_a_run_that_it_does_not_know(tmp_path: Path) -> None:
    shutil.copytree(MEASURED, tmp_path / "sets")
    receipt = tmp_path / "sets" / "training" / load(MEASURED / "training" / "set.json")["cases"][0]["estimate"]
    document = load(receipt)
    document["inputs"][0]["sha256"] = "0" * 64
    receipt.write_text(json.dumps(document))
    made = script("report.py", tmp_path / "sets", tmp_path / "docs")
    assert made.returncode == 1
    assert "training, case a1: expected an input that materials.py makes" in made.stderr


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a short form that was interrupted while its first jobs ran, and then run to its end."""
    out = tmp_path_factory.mktemp("quantum-espresso") / "out"
    command = [sys.executable, str(EXAMPLE / "run.py"), "--short", str(out)]
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as begun:
            assert begun.stdout is not None
            assert any("vq wait" in line for line in begun.stdout)
            begun.send_signal(signal.SIGINT)
        assert begun.returncode == 130
        assert not (out / "sets").exists()
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        yield out
    finally:
        for queue in os.listdir(out / "queues"):
            vq(out, queue, "kill", "--all", "--now")
            vq(out, queue, "daemon", "stop")


@needs_pw
def test_the_short_form_makes_three_sets_of_completed_single_processes(short: Path) -> None:
    for name, count in SETS.items():
        cases = load(short / "sets" / name / "set.json")["cases"]
        assert len(cases) == count
        for case in cases:
            usage = load(short / "sets" / name / case["usage"])
            assert (case["outcome"], usage["process_count"], usage["status"]) == ("completed", 1, "ok")


@needs_pw
def test_an_interruption_repeats_no_job(short: Path) -> None:
    for name, count in SETS.items():
        jobs = json.loads(vq(short, name, "queue", "--all", "--json"))["jobs"]
        assert sorted(job["id"] for job in jobs) == [f"a{number}" for number in range(1, count + 1)]
        attempts = [json.loads(vq(short, name, "status", job["id"], "--json"))["attempt"] for job in jobs]
        assert attempts == [1] * count
    before = digest(load(short / "sets" / "limited" / "set.json"))
    assert script("run.py", "--short", short).returncode == 0
    assert digest(load(short / "sets" / "limited" / "set.json")) == before


@needs_pw
def test_the_limits_come_from_the_calibration_and_hold(short: Path) -> None:
    for case in load(short / "sets" / "limited" / "set.json")["cases"]:
        job = json.loads(vq(short, "limited", "status", case["case_id"], "--json"))
        assert job["mem_mb_source"] == "calibrated-estimate"
        calibrated = load(short / "dry-runs" / job["name"] / "calibrated.json")
        assert job["mem_mb"] == -(-calibrated["calibrated_peak_bytes"] // 2**20)


@needs_pw
def test_the_short_form_has_a_report(short: Path, tmp_path: Path) -> None:
    made = script("report.py", short / "sets", tmp_path)
    assert made.returncode == 1
    assert "expected runs of one group, at least 5 of them" in made.stderr
    made = script("report.py", "--min-cases", 4, short / "sets", tmp_path)
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith("2 of 2 limits held. No run was killed.\n")
