"""Text for people: 80 columns in a pipe, aligned, escaped, and without colour where none is wanted."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.command import INSTALLED, Run
from support.documents import MANIFEST, calibration, case, direct, group, receipt, runtime_group, write_json, write_set
from vq.cli import output
from vq.wording import broken_up, display_width

LONG = "CAM-B3LYP-D4(BJ)/" * 15
HOSTILE = "\x1b[31mRKS\x07\n\u202egpj\u2066\x9b0m"
COMMANDS = {
    "evaluate": ("estimate-evaluate", "set.json"),
    "judge": ("estimate-evaluate", "set.json", "--calibration", "cal.json"),
    "calibrate": ("estimate-calibrate", "set.json", "-o", "OUT", "--min-cases", "1"),
    "estimate": ("estimate", "m.system", "--features", "f.json", "--input", "m.system", "--memory-mb", "8589934591"),
    "apply": ("estimate", "m.system", "--calibration", "cal.json", "--hardware-class", "class-a"),
}


def prepare(folder: Path, method: str) -> None:
    """A set, a calibration, a manifest and features that are full of `method` and long labels."""
    hardware = "h" * 64
    rows: list[Any] = [
        (case("a", hardware_class=hardware), named(method, 1_000_000), direct(peak_rss_kb=9_999_999)),
        (case("b"), named(method, 1_000_000), direct(process_count=7)),
        (case("c", hardware_class=hardware), named("RKS", 2**53 - 1), direct(process_count=2)),
        (case("d"), named(None, 5), direct(process_count=3)),
    ]
    write_set(folder, rows, "s" * 128)
    long = {
        "program": "program" * 10,
        "program_version": "1.0." * 30,
        "algorithm": "x" * 64,
        "hardware_class": hardware,
    }
    groups = {"groups": [group(method="RKS", **long)], "runtime_groups": [runtime_group(method="RKS", **long)]}
    training = {"set_id": "t" * 128, "sha256": "0" * 64}
    write_json(folder / "cal.json", calibration(training_set=training, **groups))
    quoted = json.dumps(method[:256]).replace('"', "", 0)
    text = MANIFEST.replace('"RKS"', quoted).replace('"PBE"', json.dumps("f" * 256))
    (folder / "m.system").write_text(text, encoding="utf-8")
    write_json(
        folder / "f.json", {"schema_version": 1, "algorithm": "y" * 64, "memory_scope": "rank", "nbf": 2**53 - 1}
    )


def named(method: str | None, figure: int) -> dict[str, Any]:
    return receipt(method=None if method is None else method[:256], figure=figure)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "method", [LONG, "\u4e16\u754c" * 60, "e\u0301" * 100, "RKS"], ids=["long", "wide", "combining", "short"]
)
@pytest.mark.parametrize("name", COMMANDS)
def test_80_columns_are_enough(here: Path, vq: Run, name: str, method: str) -> None:
    prepare(here, method)
    result = vq(*COMMANDS[name])
    assert result.status == 0, result.err
    for line in result.out.splitlines():
        assert display_width(line) <= 80, line
        assert line == line.rstrip()


@pytest.mark.parametrize("name", COMMANDS)
def test_no_name_reaches_a_terminal_raw(here: Path, vq: Run, name: str) -> None:
    prepare(here, HOSTILE)
    for more in ((), ("--quiet",)):
        (here / "OUT").unlink(missing_ok=True)
        result = vq(*COMMANDS[name], *more)
        assert result.status == 0, result.err
        assert (result.out + result.err).replace("\n", "").isprintable()
    if name != "apply":
        (here / "OUT").unlink(missing_ok=True)
        assert vq(*COMMANDS[name], "--json").out.isascii()


def test_nothing_of_a_long_name_is_lost(here: Path, vq: Run) -> None:
    prepare(here, LONG)
    out = vq(*COMMANDS["evaluate"]).out
    column = "".join(line[:18].rstrip() for line in out.splitlines())
    assert LONG[:256] in column.upper()


def test_messages_are_escaped(here: Path, vq: Run) -> None:
    for name in (HOSTILE, os.fsdecode(b"\xff\xfe")):
        for arguments in (
            ("digest", name),
            ("estimate", name),
            ("estimate-evaluate", name),
            (name,),
            ("digest", "--" + name),
        ):
            result = vq(*arguments)
            assert result.status in (1, 2)
            assert result.err.replace("\n", "").isprintable()
            assert 1 <= len(result.err.splitlines()) <= 2


def test_the_table_of_a_report(here: Path, vq: Run) -> None:
    write_set(here, [(case(), receipt(), direct())])
    lines = vq("estimate-evaluate", "set.json").out.splitlines()
    assert lines[0] == "Estimates of held-out: 1 case"
    text = "\n".join(lines)
    for heading in (
        "METHOD",
        "HARDWARE",
        "WITHIN",
        "RATIO MED/MAX",
        "UNDER (lo–hi)",
        "COVERED (lo–hi)",
    ):
        assert heading in text
    assert "0.512/0.512 of 1" in text
    assert "0.00 of 1" in text
    assert "1.00 of 1" in text
    assert "CALIBRATED" not in text
    header = next(line for line in lines if line.startswith("METHOD"))
    row = next(line for line in lines if line.startswith("RKS"))
    assert row.index("class-a") == header.index("HARDWARE")


def test_the_table_never_rounds_a_miss_away(here: Path, vq: Run) -> None:
    over = (case("over"), receipt(figure=1_023_999), direct(peak_rss_kb=1_000))
    fits = [(case(f"c{n}"), receipt(figure=1_024_000), direct(peak_rss_kb=1_000, samples=n)) for n in range(100, 399)]
    write_set(here, [over, *fits])
    assert vq("estimate-evaluate", "set.json", "-q").out == "<0.01 of 300\n"
    assert "1/>1 of 300" in vq("estimate-evaluate", "set.json").out


def test_the_table_of_a_judged_report(here: Path, vq: Run) -> None:
    write_set(here, [(case(), receipt(), direct()), (case("d", hardware_class="other", usage=None), receipt(), None)])
    write_json(here / "cal.json", calibration())
    text = vq(*COMMANDS["judge"]).out
    for heading in ("CALIBRATED UNDER", "UNCALIBRATED", "CALIBRATED COVERED"):
        assert heading in text
    assert calibration()["calibration_id"] in text


def one_line(text: str) -> str:
    """The text without its layout."""
    return " ".join(text.split())


def test_what_an_estimate_says(here: Path, vq: Run) -> None:
    prepare(here, "RKS")
    (here / "m.system").write_text(MANIFEST)
    write_json(here / "cal.json", calibration())
    text = one_line(vq(*COMMANDS["apply"], "--features", "f.json").out)
    assert "Program: vibe-qc 0.17.4 (vibe-qc-dry-run/1)" in text
    assert "Memory: 976.6 KiB (1000000 bytes), scope rank, safety margin included" in text
    assert "For the job: unknown, as the figure is of one rank; if the program prints one of the whole job" in text
    assert "Calibrated memory: none: no group of the calibration matches this estimate" in text
    assert "Calibrated runtime: none: the estimate has no runtime interval" in text
    write_json(here / "f.json", {"schema_version": 1, "algorithm": "direct", "memory_scope": "job"})
    text = one_line(vq(*COMMANDS["apply"], "--features", "f.json", "-o", "out.json").out)
    assert "1.192 MiB (1250000 bytes), the figure x 1.25, the worst ratio in training" in text
    assert "Written to: out.json" in text
    text = one_line(vq("estimate", "m.system").out)
    assert "For the job: unknown, as what the figure covers is not said; if it is the whole job, say" in text
    assert '{"schema_version": 1, "memory_scope": "job"} in a --features file; --memory-mb sets a limit' in text
    text = one_line(vq("estimate", "m.system", "--memory-mb", "7").out)
    assert "Override: 7 MiB" in text
    assert "For the job: 7 MiB (7340032 bytes)" in text


def test_why_there_is_no_calibrated_figure(here: Path, vq: Run) -> None:
    too_few = {"status": "uncalibrated", "multiplier": None, "multiplier_is_lower_bound": None}
    write_json(
        here / "cal.json",
        calibration(min_cases=2, groups=[group(**too_few)], runtime_groups=[runtime_group(**too_few)]),
    )
    (here / "m.system").write_text(MANIFEST)
    write_json(here / "f.json", {"schema_version": 1, "algorithm": "direct", "memory_scope": "job"})
    assert "the matching group had too few cases" in one_line(vq(*COMMANDS["apply"], "--features", "f.json").out)
    (here / "m.system").write_text('[vibeqc]\n[outputs]\nstatus = "dry_run"\n')
    text = one_line(vq(*COMMANDS["apply"]).out)
    assert "Calibrated memory: none: the estimate has no memory figure" in text
    assert "Program: vibe-qc of unknown version" in text
    assert "Features: none reported" in text
    assert "Memory: unknown (scope unspecified)" in text


def test_what_a_fit_says(here: Path, vq: Run) -> None:
    rows: list[Any] = [
        (case("a"), receipt(), direct(peak_rss_kb=2000, process_count=2)),
        (case("b", usage=None), receipt(method="UKS"), None),
        (case("c", usage=None), receipt(version=None), None),
    ]
    write_set(here, rows)
    text = one_line(vq(*COMMANDS["calibrate"]).out)
    assert ">= 2.048" in text
    assert "too few" in text
    assert "Left out: 1 cases of unknown program version or method" in text
    assert "Written to: OUT" in text


def in_a_terminal(arguments: tuple[str, ...], *, status: int = 0, **env: str) -> bytes:
    """What the installed command writes to a terminal of 100 columns, ending with that exit status."""
    leader, follower = pty.openpty()
    own = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    with subprocess.Popen(
        [INSTALLED, *arguments],
        stdout=follower,
        stderr=follower,
        stdin=follower,
        env={**own, "TERM": "xterm", "COLUMNS": "100", **env},
    ) as process:
        os.close(follower)
        chunks = []
        try:
            while chunk := os.read(leader, 65536):
                chunks.append(chunk)
        except OSError:
            pass  # the terminal's other end was closed
        os.close(leader)
        assert process.wait() == status
    return b"".join(chunks)


def test_an_error_is_laid_out_for_a_terminal_and_one_line_elsewhere(here: Path) -> None:
    wrong = ("evaluate-all-the-estimates-of-this-folder",)
    lines = in_a_terminal(wrong, status=2, COLUMNS="40").decode().splitlines()
    assert lines == [
        "vq: error: there is no command",
        "'evaluate-all-the-estimates-of-this-folder'",
        "  vq --help lists the commands",
    ]
    ended = subprocess.run([INSTALLED, *wrong], capture_output=True, text=True, check=False)
    assert ended.stderr.splitlines() == [" ".join(lines[:2]), lines[2]]


def test_colour_is_for_terminals_that_want_it(here: Path, vq: Run) -> None:
    write_set(here, [(case(), receipt(), direct())])
    plain = vq(*COMMANDS["evaluate"]).out
    assert "\x1b" not in plain
    assert b"\x1b[1m" in in_a_terminal(COMMANDS["evaluate"])
    without = in_a_terminal(COMMANDS["evaluate"], NO_COLOR="1")
    assert b"\x1b" not in without
    assert max(len(line) for line in without.decode().splitlines()) > 80


@pytest.mark.parametrize(
    ("text", "width", "pieces"),
    [
        ("", 5, [""]),
        ("abcde", 5, ["abcde"]),
        ("abcdefg", 5, ["abcde", "fg"]),
        ("\u4e16\u754c\u4e16", 5, ["\u4e16\u754c", "\u4e16"]),
        ("e\u0301" * 6, 5, ["e\u0301" * 5, "e\u0301"]),
    ],
)
def test_long_words_are_broken(text: str, width: int, pieces: list[str]) -> None:
    assert broken_up(text, width) == pieces


def test_the_sign_of_a_range_is_one_that_stdout_has(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stream:
        encoding: str | None = "ascii"

    monkeypatch.setattr("sys.stdout", Stream())
    assert output.dash() == "-"
    Stream.encoding = None
    assert output.dash() == "-"
    Stream.encoding = "utf-8"
    assert output.dash() == "–"
