from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from vq.canonical import digest

SVG = "{http://www.w3.org/2000/svg}"
VQ = str(Path(sys.executable).parent / "vq")
MIB = 2**20
VERDICTS = ("underpredicted", "within", "not_refuted", "censored", "excluded")
HOSTILE = '</text><script>alert(1)</script>&"\u202e\x1b[31m'


def receipt(method: str, predicted: int | None) -> dict[str, Any]:
    manifest = hashlib.sha256(b"manifest").hexdigest()
    return {
        "schema_name": "vq.resource-estimate/1",
        "estimator": "some-program/1",
        "program": "some-program",
        "program_version": "1.0",
        "features": {"method": method},
        "evidence": None,
        "manifest": {"sha256": manifest, "bytes": 8},
        "inputs": [],
        "input_digest": digest({"evidence": None, "inputs": [], "manifest": manifest}),
        "memory": {
            "predicted_peak_bytes": predicted,
            "scope": "job",
            "safety_margin": None if predicted is None else "none",
            "raw_bytes": None,
            "margin_factor": None,
            "override": None,
            "effective_job_memory_bytes": predicted,
        },
        "runtime": {"lower_seconds": None, "upper_seconds": None},
        "scratch_bytes": None,
        "cpu_layouts": None,
        "calibration": {"status": "uncalibrated"},
        "unknown": [],
        "limitations": [],
        "warnings": [],
    }


def usage(measured_kb: int) -> dict[str, Any]:
    return {
        "schema": "vq.direct-resource-usage.v1",
        "collector": "posix-wait4",
        "status": "ok",
        "scope": "effective-command",
        "command_status": "succeeded",
        "command_exit_code": 0,
        "wall_seconds": 1.5,
        "user_cpu_seconds": 1,
        "system_cpu_seconds": 0,
        "active_cpu_seconds": 1,
        "peak_rss_kb": measured_kb,
        "peak_rss_mb": measured_kb / 1024,
        "process_count": 1,
        "metric_sources": None,
        "aggregation_semantics": {"case": str(measured_kb)},
    }


def write(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document), encoding="utf-8")


@pytest.fixture
def evaluation_set(tmp_path: Path) -> Path:
    figures = [("RKS", 100 * MIB, 150), ("RKS", 100 * MIB, 90), (HOSTILE, 100 * MIB, 80), ("RKS", None, 70)]
    cases = []
    for number, (method, predicted, measured_mb) in enumerate(figures):
        write(tmp_path / f"e{number}.json", receipt(method, predicted))
        write(tmp_path / f"u{number}.json", usage(measured_mb * 1024))
        cases.append(
            {
                "case_id": f"case-{number}",
                "estimate": f"e{number}.json",
                "usage": f"u{number}.json",
                "outcome": "completed",
                "hardware_class": "class-a",
            }
        )
    document = {"schema_name": "vq.estimate-evaluation-set/1", "set_id": "held-out:1", "cases": cases}
    write(tmp_path / "set.json", document)
    return tmp_path / "set.json"


def vq(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([VQ, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60)


def test_the_picture_has_the_points_counts_and_diagonals_of_the_report(evaluation_set: Path) -> None:
    target = evaluation_set.parent / "plot.svg"
    done = vq("estimate-evaluate", evaluation_set, "--plot", target)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].split() == ["picture:", str(target)]
    text = target.read_text(encoding="utf-8")
    root = ET.fromstring(text)  # noqa: S314 - the command's own output
    marks = {verdict: len(root.findall(f"{SVG}g/{SVG}g[@class='{verdict}']/{SVG}path")) for verdict in VERDICTS}
    assert marks == {"underpredicted": 1, "within": 2, "not_refuted": 0, "censored": 0, "excluded": 0}
    shown = ["".join(words.itertext()) for words in root.iter(f"{SVG}text")]
    assert "set held-out:1: 4 cases, 3 drawn" in shown
    assert [shown[shown.index(name) + 1] for name in ("underpredicted", "within")] == ["1", "2"]
    assert "Not drawn: 1 of 4 cases: 1 without a predicted figure (1 no prediction)." in shown
    assert len(root.findall(f".//{SVG}path[@class='diagonal']")) == 2
    assert "<script" not in text.lower()
    assert all(line.isprintable() for line in text.splitlines())


def test_the_json_document_is_the_same_with_a_picture_and_the_picture_the_same_each_time(evaluation_set: Path) -> None:
    folder = evaluation_set.parent
    bare = vq("estimate-evaluate", evaluation_set, "--json")
    for name in ("one.svg", "two.SVG"):
        done = vq("estimate-evaluate", evaluation_set, "--json", "--plot", folder / name)
        assert (done.returncode, done.stdout, done.stderr) == (0, bare.stdout, "")
    assert (folder / "one.svg").read_bytes() == (folder / "two.SVG").read_bytes()
    assert vq("estimate-evaluate", evaluation_set, "-q", "--plot", folder / "three.svg").stdout == "0.33 of 3\n"


def test_a_calibration_is_named_in_the_picture(evaluation_set: Path) -> None:
    folder = evaluation_set.parent
    calibration, training = folder / "calibration.json", folder / "training.json"
    write(folder / "u9.json", usage(120 * 1024))
    case = {
        "case_id": "t",
        "estimate": "e0.json",
        "usage": "u9.json",
        "outcome": "completed",
        "hardware_class": "class-a",
    }
    write(training, {"schema_name": "vq.estimate-evaluation-set/1", "set_id": "training", "cases": [case]})
    assert vq("estimate-calibrate", training, "-o", calibration, "--min-cases", "1").returncode == 0
    target = folder / "plot.svg"
    done = vq("estimate-evaluate", evaluation_set, "--calibration", calibration, "--plot", target)
    assert done.returncode == 0, done.stderr
    text = target.read_text(encoding="utf-8")
    assert f"Calibration {json.loads(calibration.read_text(encoding='utf-8'))['calibration_id']}." in text
    assert len(ET.fromstring(text).findall(f".//{SVG}path[@class='calibrated']")) == 2  # noqa: S314 - as above


def test_an_existing_file_is_refused_before_the_set_is_read_and_never_overwritten(tmp_path: Path) -> None:
    there, link = tmp_path / "there.svg", tmp_path / "link.svg"
    there.write_text("mine", encoding="utf-8")
    link.symlink_to(tmp_path / "nowhere.svg")
    for target in (there, link):
        done = vq("estimate-evaluate", tmp_path / "no-such-set.json", "--plot", target)
        assert (done.returncode, done.stdout) == (1, "")
        assert f"{target}: exists already" in done.stderr
    assert there.read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "nowhere.svg").exists()


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("plot.png", 2, "a name that ends in .svg"),
        ("", 2, "a name that ends in .svg"),
        ("nowhere/plot.svg", 1, "no such folder"),
    ],
)
def test_a_name_that_cannot_be_written_is_refused_before_the_set_is_read(
    tmp_path: Path, name: str, status: int, said: str
) -> None:
    done = vq("estimate-evaluate", tmp_path / "no-such-set.json", "--plot", f"{tmp_path}/{name}" if name else "")
    assert (done.returncode, done.stdout) == (status, "")
    assert said in done.stderr
    assert "no-such-set" not in done.stderr


def test_a_refused_set_leaves_no_picture(evaluation_set: Path) -> None:
    (evaluation_set.parent / "u0.json").write_text("{}", encoding="utf-8")
    done = vq("estimate-evaluate", evaluation_set, "--plot", evaluation_set.parent / "plot.svg")
    assert (done.returncode, done.stdout) == (1, "")
    assert not list(evaluation_set.parent.glob("*.svg"))
    assert not list(evaluation_set.parent.glob(".*"))


def test_no_plotting_library_is_loaded_and_without_the_option_no_picture_code(evaluation_set: Path) -> None:
    code = (
        "import sys; from vq.cli import run; run(sys.argv[1:]);"
        "print(sorted({name for name in sys.modules if name.split('.')[0] in ('matplotlib', 'numpy', 'PIL')"
        " or name.startswith('vq.plots')}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "estimate-evaluate", str(evaluation_set), "-q"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.splitlines()[-1] == "[]"
