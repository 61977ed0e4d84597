"""The VASP example: its sets, its split, its rule of units, and the demonstration that is run on it."""

from __future__ import annotations

import csv
import os
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from vq.actions.evaluation import evaluate_set
from vq.canonical import digest, parse
from vq.estimates.cases import read_set
from vq.estimates.evidence import read_evidence
from vq.estimates.receipt import read_receipt
from vq.estimates.usage import read_usage

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "vasp"
RUNS = EXAMPLE / "runs.csv"
SETS = ("training", "held-out")


def make_sets(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLE / "make_sets.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def load(path: Path) -> dict[str, Any]:
    return parse(path.read_bytes())


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The sets, and what the script reported."""
    out = tmp_path_factory.mktemp("vasp") / "sets"
    ended = make_sets(out)
    assert ended.returncode == 0, ended.stderr
    return out, ended.stdout


@pytest.fixture
def cases(made: tuple[Path, str]) -> list[tuple[str, dict[str, str], dict[str, Any]]]:
    """Each case with the name of its set and the row that it was made of."""
    rows = table(RUNS)
    found = []
    for name in SETS:
        document = load(made[0] / name / "set.json")
        read_set(load(made[0] / name / "set.json"))
        found += [(name, rows[int(case["case_id"].removeprefix("row-")) - 2], case) for case in document["cases"]]
    return found


def project_folder(row: dict[str, str]) -> str:
    return "/".join([row["repo"], *row["path"].split("/")[:3]])


def test_each_row_is_one_case(cases: list[tuple[str, dict[str, str], dict[str, Any]]]) -> None:
    rows = table(RUNS)
    assert len(rows) == len(cases) == 197
    assert len({(row["repo"], row["path"]) for row in rows}) == 197
    assert {case["case_id"] for _, _, case in cases} == {f"row-{number:03}" for number in range(2, 199)}


def test_the_readers_accept_every_receipt(made: tuple[Path, str]) -> None:
    for name in SETS:
        report = evaluate_set(str(made[0] / name / "set.json"), None, iter)
        assert report.warnings == ()
        counts = report.overall.memory.counts
        assert counts["underpredicted"] + counts["within"] == len(report.rows)


def test_a_receipt_says_what_its_row_says(
    made: tuple[Path, str], cases: list[tuple[str, dict[str, str], dict[str, Any]]]
) -> None:
    lines = RUNS.read_bytes().splitlines()
    for name, row, case in cases:
        folder = made[0] / name
        document = load(folder / case["estimate"])
        receipt = read_receipt(document)
        line = lines[int(case["case_id"].removeprefix("row-")) - 1]
        assert document["manifest"] == {"sha256": sha256(line).hexdigest(), "bytes": len(line)}
        assert receipt.estimator == "vasp-outcar/1"
        assert f"vasp.{receipt.program_version}" == row["vasp"]
        assert receipt.method == {"T": "HYBRID-DFT", "F": "DFT"}[row["lhf"]]
        assert receipt.algorithm == f"IALGO-{row['ialgo']}"
        assert receipt.scope == "rank"
        assert receipt.predicted_peak_bytes == float(row["estimate_rank0_kb"]) * 1024
        assert document["memory"]["safety_margin"] == "none"
        assert f"Source: {row['repo']}, {row['path']}." in document["limitations"]
        evidence = read_evidence((folder / "evidence" / f"{case['case_id']}.json").read_bytes())
        assert document["evidence"] == evidence.document()
        assert document["evidence"].get("mpi_ranks") == (int(row["ranks"]) if row["ranks"] else None)


def test_the_split_is_by_project_folder(cases: list[tuple[str, dict[str, str], dict[str, Any]]]) -> None:
    folders: dict[str, set[str]] = {name: set() for name in SETS}
    for name, row, _ in cases:
        folder = project_folder(row)
        assert name == ("training" if sha256(folder.encode()).digest()[0] < 0x80 else "held-out")
        folders[name].add(folder)
    assert all(folders.values())
    assert not folders["training"] & folders["held-out"]


def test_the_unit_rule_finds_the_rows_that_the_check_names(
    made: tuple[Path, str], cases: list[tuple[str, dict[str, str], dict[str, Any]]]
) -> None:
    check = {(row["repo"], row["path"]): row for row in table(EXAMPLE / "units_check.csv")}
    reported = {int(number) for number in re.findall(r"^  row +(\d+): ", made[1], re.MULTILINE)}
    in_bytes = set()
    for name, row, case in cases:
        checked = check.pop((row["repo"], row["path"]))
        usage = load(made[0] / name / case["usage"])
        assert usage["peak_rss_kb"] == float(checked["max_memory_kb_corrected"])
        source = usage["metric_sources"]["peak_rss_kb"]
        is_bytes = checked["max_memory_unit_as_printed"] != "kB"
        assert ("number of bytes" in source) == is_bytes
        if is_bytes:
            assert f" {float(row['max_memory_kb']):.0f} as printed" in source
            in_bytes.add(int(case["case_id"].removeprefix("row-")))
    assert not check
    assert reported == in_bytes
    assert len(reported) == 20


def test_cpu_time_stands_only_where_it_is_the_commands(
    made: tuple[Path, str], cases: list[tuple[str, dict[str, str], dict[str, Any]]]
) -> None:
    for name, row, case in cases:
        document = load(made[0] / name / case["usage"])
        usage = read_usage(document)
        assert usage.wall_seconds == float(row["elapsed_s"])
        assert document["process_count"] is None
        assert document["active_cpu_seconds"] == (float(row["cpu_s"]) if row["ranks"] == "1" else None)


def test_the_output_is_the_same_bytes_each_time(made: tuple[Path, str], tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    assert make_sets(tmp_path / "again").stdout == made[1]
    again = files_of(tmp_path / "again")
    assert again == files_of(made[0])
    assert len(again) == 3 * 197 + 2
    assert not any(str(ROOT).encode() in data or str(tmp_path).encode() in data for data in again.values())


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("out", "link"):
        ended = make_sets(tmp_path / name)
        assert ended.returncode == 1
        assert f"{tmp_path / name}: expected an absent or empty folder" in ended.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "out"]
    assert (tmp_path / "out" / "mine").read_text() == "kept"


def _replaced(field: str, value: str) -> str:
    header, first = RUNS.read_text().splitlines()[:2]
    cells = first.split(",")
    cells[header.split(",").index(field)] = value
    return f"{header}\n{','.join(cells)}\n"


def _broken_tables() -> Iterator[tuple[str, str]]:
    text = RUNS.read_text().splitlines()
    yield f"{text[0]},more\n{text[1]}\n", "row 1: expected the columns"
    yield f"{text[0]}\n", "row 2: expected at least one run"
    yield f"{text[0]}\n{text[1]},1\n", "row 2: expected 16 fields, found 17"
    yield f"{text[0]}\n\n", "row 2: expected 16 fields, found 0"
    yield f"{text[0]}\n{text[1]}\n{text[1]}\n", "row 3, path: expected each file once"
    for field, value in (
        ("repo", ""),
        ("vasp", "6.2.0"),
        ("ranks", "0"),
        ("lhf", "maybe"),
        ("nsw", "-1"),
        ("elapsed_s", "nan"),
        ("estimate_rank0_kb", "45121.5"),
        ("max_memory_kb", "1e6"),
    ):
        yield _replaced(field, value), f"row 2, {field}: expected "
    # 512 times the estimate of 45121 kB, and no whole number of pages: neither reading makes sense.
    yield _replaced("max_memory_kb", str(512 * 45121)), "row 2, max_memory_kb: expected less than 512 times"


@pytest.mark.parametrize(("text", "message"), list(_broken_tables()))
def test_a_broken_table_is_refused_by_row_and_field(tmp_path: Path, text: str, message: str) -> None:
    runs = tmp_path / "runs.csv"
    runs.write_text(text)
    ended = make_sets(tmp_path / "out", "--runs", runs)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"{runs}: {message}" in ended.stderr
    assert os.listdir(tmp_path) == ["runs.csv"]


@pytest.fixture(scope="module")
def demonstrated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The demonstration's folder and text, after a second run over the files of the first."""
    out = tmp_path_factory.mktemp("demo") / "out"
    for _ in range(2):
        command = [sys.executable, str(EXAMPLE / "demo.py"), str(out)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=out.parent)
        assert ended.returncode == 0, ended.stderr
        (out / "mine").write_text("kept")
    return out, ended.stdout


def test_the_demonstration_ends_in_what_its_reports_say(demonstrated: tuple[Path, str]) -> None:
    out, text = demonstrated
    learnt = " ".join(text.split("What was learnt\n")[1].split())
    raw, judged, calibration = (
        load(out / name) for name in ("held-out-raw.json", "held-out-calibrated.json", "calibration.json")
    )
    ratios = [case["measured_peak_bytes"] / case["predicted_peak_bytes"] for case in raw["cases"]]
    found = [case for case in judged["cases"] if case["calibrated_memory"] != "uncalibrated"]
    over = [case["calibrated_peak_bytes"] / case["measured_peak_bytes"] for case in found]
    assert f"too low in {sum(ratio > 1 for ratio in ratios)} of {len(ratios)} held-out runs" in learnt
    assert f"{statistics.median(ratios):.2f} times the figure at the median and {max(ratios):.1f} times" in learnt
    fitted = [group for group in calibration["groups"] if group["multiplier"] is not None]
    assert f"a factor to {len(fitted)} of {len(calibration['groups'])} groups" in learnt
    before = sum(case["measured_peak_bytes"] > case["predicted_peak_bytes"] for case in found)
    after = sum(case["measured_peak_bytes"] > case["calibrated_peak_bytes"] for case in found)
    assert f"{len(found)} held-out runs find one" in learnt
    assert f"too low in {before} as printed and in {after} calibrated" in learnt
    assert f"{len(ratios) - len(found)} held-out runs have no factor" in learnt
    assert f"{statistics.median(over):.1f} times the measured peak at the median and {max(over):.1f} times" in learnt


def test_the_demonstration_shows_the_refusal_and_stays_on_the_page(demonstrated: tuple[Path, str]) -> None:
    out, text = demonstrated
    assert 'expected\n"dry_run"' in text
    assert text.count("$ vq estimate ") == 5
    assert "none: no group of the calibration matches this estimate" in text
    page = text.replace(str(out), "demo-out/vasp").splitlines()
    assert [line for line in page if len(line) > 80] == []
    assert (out / "mine").read_text() == "kept"


def test_the_demonstrations_files_belong_together(demonstrated: tuple[Path, str]) -> None:
    out, _ = demonstrated
    raw, judged = load(out / "held-out-raw.json"), load(out / "held-out-calibrated.json")
    assert raw["set"]["sha256"] == judged["set"]["sha256"] == digest(load(out / "sets/held-out/set.json"))
    calibration = load(out / "calibration.json")
    assert calibration["min_cases"] == 5
    assert calibration["training_set"]["sha256"] == digest(load(out / "sets/training/set.json"))
    assert judged["calibration"]["calibration_id"] == calibration["calibration_id"]
    one = load(out / "one-calibrated-estimate.json")
    assert one["status"] == "calibrated"
    assert one["calibration"]["calibration_id"] == calibration["calibration_id"]


def test_the_readmes_picture_is_the_demonstrations(demonstrated: tuple[Path, str]) -> None:
    out, _ = demonstrated
    shown = ROOT / "docs" / "images" / "vasp-held-out.svg"
    assert shown.read_bytes() == (out / "held-out.svg").read_bytes(), "make demo-vasp, and copy its held-out.svg"


def test_the_demonstration_stops_where_a_command_fails(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "examples/vibe-qc/h2-neb.system").write_text("no manifest")
    command = [sys.executable, str(tmp_path / "examples/vasp/demo.py"), str(tmp_path / "out")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "h2-neb.system: expected exit status 0, found 1" in ended.stderr
    assert "What was learnt" not in ended.stdout
    assert os.listdir(tmp_path / "out") == []


def test_what_cannot_be_read_or_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes(RUNS.read_bytes()[:200] + b"\xe9\n")
    (tmp_path / "quote.csv").write_text(RUNS.read_text().splitlines()[0] + '\n"open\n')
    for arguments, message in (
        ((tmp_path / "a", "--runs", tmp_path / "latin.csv"), "latin.csv: expected UTF-8 text; byte 200 is none"),
        ((tmp_path / "a", "--runs", tmp_path / "quote.csv"), "quote.csv: expected CSV"),
        ((tmp_path / "a", "--runs", tmp_path / "none.csv"), "none.csv: no such file or directory"),
        ((tmp_path / "none" / "a",), "none: no such folder; make it first"),
    ):
        ended = make_sets(*arguments)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert message in ended.stderr
    assert sorted(os.listdir(tmp_path)) == ["latin.csv", "quote.csv"]
