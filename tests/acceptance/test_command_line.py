"""What a person sees of every command: exit statuses, help, messages, and never a traceback."""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
import pytest

from support.command import INSTALLED, Run, run_installed
from support.documents import (
    MANIFEST,
    calibration,
    case,
    direct,
    plain_direct,
    receipt,
    scheduler,
    write_json,
    write_set,
)
from vq.cli import run
from vq.cli.commands import COMMANDS, ELSEWHERE, SECTIONS
from vq.cli.commands import vq as root
from vq.cli.options import summary
from vq.cli.submit import submit
from vq.cli.submitting import OPTIONS_ELSEWHERE
from vq.errors import UsageError


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one of each: manifest, set, calibration."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.system").write_text(MANIFEST)
    write_set(tmp_path, [(case(), receipt(), plain_direct())])
    write_json(tmp_path / "cal.json", calibration())
    return tmp_path


JUDGE = ("estimate-evaluate", "set.json", "--calibration", "cal.json")
EVERY: dict[str, tuple[str, ...]] = {
    "help": ("--help",),
    "version": ("--version",),
    "estimate": ("estimate", "m.system", "--input", "m.system", "--memory-mb", "7"),
    "apply": ("estimate", "m.system", "--calibration", "cal.json", "--hardware-class", "class-a"),
    "evaluate": ("estimate-evaluate", "set.json"),
    "judge": JUDGE,
    "calibrate": ("estimate-calibrate", "set.json", "-o", "OUT.json", "--min-cases", "1"),
    "digest": ("digest", "set.json", "cal.json"),
    "completion": ("completion", "fish"),
}
WITH_JSON = [name for name in EVERY if name not in ("help", "version", "completion")]


@pytest.mark.parametrize("name", EVERY)
def test_every_command_ends_well(here: Path, vq: Run, name: str) -> None:
    result = vq(*EVERY[name])
    assert (result.status, result.err) == (0, "")
    assert result.out.endswith("\n")
    assert "\x1b" not in result.out


@pytest.mark.parametrize("name", WITH_JSON)
def test_quiet_is_one_line_and_json_a_document(here: Path, vq: Run, name: str) -> None:
    quiet = vq(*EVERY[name], "--quiet")
    assert len(quiet.out.splitlines()) == (2 if name == "digest" else 1)
    (here / "OUT.json").unlink(missing_ok=True)
    assert vq(*EVERY[name], "--json").document


def test_quiet_is_the_bare_result(here: Path, vq: Run) -> None:
    assert vq("estimate", "m.system", "-q").out == "1000000\n"
    (here / "n.system").write_text(MANIFEST.replace("estimate_bytes = 1000000", ""))
    assert vq("estimate", "n.system", "-q").out == "unknown\n"
    write_json(here / "f.json", {"schema_version": 1, "algorithm": "direct", "memory_scope": "job"})
    apply = ("estimate", "m.system", "--features", "f.json", "--calibration", "cal.json", "--hardware-class")
    assert vq(*apply, "class-a", "-q").out == "1250000\n"
    assert vq(*apply, "another", "-q").out == "uncalibrated\n"
    assert vq("estimate-evaluate", "set.json", "-q").out == "0.00 of 1\n"
    assert vq("digest", "cal.json", "-q").out == vq("digest", "cal.json").out.split()[0] + "\n"
    assert vq(*EVERY["calibrate"], "-q").out.strip() == json.loads((here / "OUT.json").read_text())["calibration_id"]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("nosuch",),
        ("estimate",),
        ("estimate", "a", "b"),
        ("estimate", "m.system", "--nosuch"),
        ("estimate", "m.system", "--memory-mb", "0"),
        ("estimate", "m.system", "--memory-mb", "x"),
        ("estimate", "m.system", "--memory-mb", "1.0"),
        ("estimate", "m.system", "--memory-mb", str(2**33)),
        ("estimate", "m.system", "--calibration", "cal.json"),
        ("estimate", "m.system", "--hardware-class", "class-a"),
        ("estimate", "m.system", "--calibration", "cal.json", "--hardware-class", ""),
        ("estimate", "m.system", "--calibration", "cal.json", "--hardware-class", "a b"),
        ("estimate", "m.system", "--calibration", "cal.json", "--hardware-class", "x" * 65),
        ("estimate", "m.system", "--calibration", "cal.json", "--hardware-class", "a\n"),
        ("estimate-evaluate",),
        ("estimate-calibrate", "set.json"),
        ("estimate-calibrate", "set.json", "-o", "x", "--min-cases", "0"),
        ("estimate-calibrate", "set.json", "-o", "x", "--min-cases", str(2**53)),
        ("digest",),
        ("completion",),
        ("completion", "tcsh"),
    ],
)
def test_wrong_usage_is_2_and_names_the_help(here: Path, vq: Run, arguments: tuple[str, ...]) -> None:
    before = sorted(os.listdir())
    result = vq(*arguments)
    assert (result.status, result.out) == (2, "")
    assert "--help" in result.err
    assert "Traceback" not in result.err
    assert max(len(line) for line in result.err.splitlines()) <= 200
    assert sorted(os.listdir(here)) == before


def test_the_largest_memory_that_fits(here: Path, vq: Run) -> None:
    document = vq("estimate", "m.system", "--memory-mb", str(2**33 - 1), "--json").document
    assert document["memory"]["override"]["bytes"] == (2**33 - 1) * 2**20 <= 2**53 - 1


def test_without_arguments_the_help_is_shown(vq: Run) -> None:
    result = vq()
    assert (result.status, result.out) == (2, "")
    assert result.err == vq("--help").out


def test_each_command_stands_in_one_section() -> None:
    assert sorted(name for names in SECTIONS.values() for name in names) == sorted(COMMANDS)


def test_the_table_of_commands_says_what_the_commands_say(vq: Run) -> None:
    listed = vq("--help").out
    for name, entry in COMMANDS.items():
        command = getattr(importlib.import_module(f"vq.cli.{entry.module}"), entry.function)
        verb, said = entry.summary.split()[0], command.help.splitlines()[0]
        assert said.split()[0].rstrip(":") == verb, (said, entry.summary)
        assert re.search(rf"^  {name} +{re.escape(entry.summary)}$", listed, re.MULTILINE), name


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_the_help_of_every_command_has_an_example(vq: Run, name: str, option: str) -> None:
    result = vq(name, option)
    assert (result.status, result.err) == (0, "")
    _, examples = result.out.split("Examples:")
    assert f"  vq {name} " in examples
    assert all(len(line) <= 80 for line in result.out.splitlines())


@pytest.mark.parametrize("name", ["daemon", "history", "config"])
def test_a_group_says_all_of_what_its_commands_do(vq: Run, name: str) -> None:
    shown = vq(name, "--help").out
    entry = COMMANDS[name]
    group = getattr(importlib.import_module(f"vq.cli.{entry.module}"), entry.function)
    said = " ".join(shown.split())
    assert all(f" {inner} {summary(command)}" in said for inner, command in group.commands.items())
    assert "..." not in shown.split("Commands:")[1]
    assert all(len(line) <= 80 for line in shown.splitlines())


@pytest.mark.parametrize(
    ("option", "meant"),
    [("-J", "--name"), ("-c4", "--cpus"), ("--dependency=afterok:1", "--depends-on"), ("--chdir=.", "--dir")],
)
@pytest.mark.parametrize("command", ["submit", "run"])
def test_an_option_of_another_queue_is_told_what_it_is_called_here(
    command: str, option: str, meant: str, vq: Run
) -> None:
    ended = vq(command, option, "--", "true")
    assert ended.status == 2
    assert f"Did you mean '{meant}'?" in ended.err


@pytest.mark.parametrize("option", ["--gres=gpu:1", "--gpus", "-G1", "--gpus-per-task=1"])
def test_of_gpus_it_is_said_what_to_do_instead(option: str, vq: Run) -> None:
    for words in ((option,), ("localhost", option)):
        ended = vq("submit", *words, "--", "true")
        assert ended.status == 2
        assert "vq does not manage GPUs\n" in ended.err
        assert "slots = 1" in ended.err


@pytest.mark.parametrize(
    ("option", "instead"),
    [
        ("--wrap=sleep 3", "vq submit -- sh -c 'COMMAND'"),
        ("-o", "vq logs JOB"),
        ("--error=run.err", "vq logs JOB"),
        ("--hold", "vq pause JOB"),
        ("--nodes=1", "leave it out"),
        ("--mem-per-cpu=1G", "--mem SIZE"),
        ("--mail-user=me", "hooks.on_end"),
    ],
)
def test_of_an_option_without_an_equal_it_is_said_what_to_do_instead(option: str, instead: str, vq: Run) -> None:
    ended = vq("submit", option, "--", "true")
    assert ended.status == 2
    assert f"there is no {option.partition('=')[0]}: " in ended.err
    assert instead in ended.err


def commands(group: click.Group) -> Iterator[click.Command]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        yield from commands(found) if isinstance(found, click.Group) else [found]


def test_of_quiet_each_command_says_what_is_still_printed() -> None:
    texts = {
        command.name: option.help
        for command in commands(root)
        for option in command.params
        if isinstance(option, click.Option) and "--quiet" in option.opts
    }
    assert len(texts) > 10
    assert all(re.match(r"Print (only|nothing)", text or "") for text in texts.values()), texts
    assert texts["status"] == "Print only the state."


def test_every_option_of_another_queue_leads_to_one_of_ours() -> None:
    known = {word for parameter in submit.params for word in parameter.opts}
    assert set(OPTIONS_ELSEWHERE.values()) <= known
    assert known.isdisjoint(OPTIONS_ELSEWHERE)


def reports_go_to(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = partial(tempfile.NamedTemporaryFile, dir=folder)
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", there)


def test_a_bug_is_reported_in_a_file(here: Path, vq: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("it \x1b[31mbroke")

    reports_go_to(here, monkeypatch)
    monkeypatch.setattr("vq.cli.evaluate.evaluate_set", broken)
    result = vq("estimate-evaluate", "set.json", "--json")
    assert (result.status, result.out) == (1, "")
    message, hint = result.err.splitlines()
    assert message == "vq: error: a bug in vq: RuntimeError: it \\x1b[31mbroke"
    (report,) = here.glob("vq-report-*.txt")
    assert str(report) in hint
    assert "Traceback" in report.read_text()
    assert "in broken" in report.read_text()


def test_a_bug_without_a_place_for_the_report(here: Path, vq: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError

    reports_go_to(here / "missing", monkeypatch)
    monkeypatch.setattr("vq.cli.evaluate.evaluate_set", broken)
    result = vq("estimate-evaluate", "set.json")
    assert result.status == 1
    assert "a bug in vq: RuntimeError" in result.err
    assert "no report could be written" in result.err


def test_no_memory_is_no_bug(here: Path) -> None:
    (here / "long.json").write_text('{"a":[' + ",".join(['{"a":1.5}'] * 1_000_000) + "]}")
    few = f'ulimit -v 120000; exec "{INSTALLED}" digest long.json'
    done = subprocess.run(["sh", "-c", few], capture_output=True, text=True, cwd=here, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("vq: error: out of memory\n")


def test_a_hint_is_shown(here: Path, vq: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*_: object) -> None:
        raise UsageError("no", hint="do that")

    monkeypatch.setattr("vq.cli.evaluate.evaluate_set", refusing)
    assert vq("estimate-evaluate", "set.json") == (2, "", "vq: error: no\n  do that\n")


INTERRUPTED = """
import os, signal, sys
import vq.cli.evaluate
vq.cli.evaluate.evaluate_set = lambda *_: (os.kill(os.getpid(), signal.SIGINT), signal.pause())
sys.argv = ["vq", "estimate-evaluate", "set.json"]
from vq.cli import main
main()
"""


def test_an_interrupt_is_130(here: Path) -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "")


@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&- <&-"])
@pytest.mark.parametrize("arguments", ["--help", "estimate m.system --input m.system", "estimate nosuch"])
def test_closed_streams_are_no_trouble(here: Path, redirection: str, arguments: str) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" {arguments} {redirection}', INSTALLED],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == (arguments == "estimate nosuch")
    assert "Traceback" not in done.stderr
    assert "bug" not in done.stderr


def test_a_file_written_with_closed_streams_holds_the_document_only(here: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" estimate m.system -o out.json >&- 2>&- <&-', INSTALLED], check=False
    )
    assert done.returncode == 0
    assert (here / "out.json").read_text().startswith("{\n")
    assert json.loads((here / "out.json").read_text())


@pytest.mark.parametrize("name", ["help", "estimate", "judge --json", "digest", "digest --json"])
def test_a_full_disk_behind_stdout_is_told(here: Path, name: str) -> None:
    command, *more = name.split()
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" "$@" > /dev/full', INSTALLED, *EVERY[command], *more],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == "vq: error: output: no space left on device\n"


@pytest.mark.parametrize("arguments", ["--help", "estimate-evaluate big/set.json --json", "estimate-evaluate set.json"])
def test_a_reader_that_goes_away_is_no_trouble(here: Path, arguments: str) -> None:
    rows = [(case(f"c{number}"), receipt(), direct(samples=number)) for number in range(300)]
    write_set(here / "big", rows)
    done = subprocess.run(
        ["/bin/bash", "-o", "pipefail", "-c", f'"$0" {arguments} | head -c 1', INSTALLED],
        capture_output=True,
        text=True,
        check=False,
    )
    assert len(done.stdout) == 1
    assert done.stderr == ""
    assert done.returncode in (0, 1)


@pytest.mark.parametrize("arguments", ["--help", "digest set.json", "digest set.json --json", "estimate m.system"])
def test_a_reader_that_never_came_is_no_trouble(here: Path, arguments: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([INSTALLED, *arguments.split()], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


LOCALES = [
    {"LC_ALL": "C"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "POSIX", "PYTHONIOENCODING": "latin-1"},
    {"LC_ALL": "en_US.ISO-8859-1", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
]


@pytest.mark.parametrize("env", LOCALES, ids=str)
@pytest.mark.parametrize("name", ["estimate", "judge"])
def test_any_locale_will_do(here: Path, env: dict[str, str], name: str) -> None:
    method = MANIFEST.replace('"RKS"', '"\u20acRKS"')
    (here / "m.system").write_text(method, encoding="utf-8")
    write_set(here, [(case(), receipt(method="\u20acRKS"), plain_direct())])
    result = run_installed(*EVERY[name], env=env, cwd=here)
    assert (result.status, result.err) == (0, "")
    strange = os.fsdecode("é\u20ac".encode() + b"\xff")
    os.rename("m.system", strange)
    for json_too in ((), ("--json",)):
        result = run_installed("estimate", os.fsencode(strange), "--input", os.fsencode(strange), *json_too, env=env)
        assert (result.status, result.err) == (0, "")
    assert result.document["inputs"][0]["path"] == "é\u20ac\\xff"
    result = run_installed("digest", os.fsencode(strange), env=env)
    assert result.status == 1
    assert "bug" not in result.err
    os.rename(strange, "m.system")


@pytest.mark.parametrize("name", WITH_JSON)
def test_the_same_documents_give_the_same_bytes(here: Path, name: str) -> None:
    seen = set()
    for seed in ("0", "1", "12345"):
        (here / "OUT.json").unlink(missing_ok=True)
        result = run_installed(*EVERY[name], "--json", env={"PYTHONHASHSEED": seed, "TZ": f"UTC-{seed[0]}"}, cwd=here)
        assert result.status == 0
        seen.add(result.out)
    assert len(seen) == 1


def test_without_a_calibration_the_report_is_byte_for_byte_what_it_was(here: Path, vq: Run) -> None:
    plain = vq("estimate-evaluate", "set.json", "--json").out
    assert "calibra" not in plain
    with_it = vq(*JUDGE, "--json").document
    assert with_it["calibration"]["calibration_id"] == calibration()["calibration_id"]
    assert json.loads(plain)["overall"]["cases"] == 1


def test_the_training_set_and_its_cases_are_refused(here: Path, vq: Run) -> None:
    assert vq(*EVERY["calibrate"]).status == 0
    result = vq("estimate-evaluate", "set.json", "--calibration", "OUT.json", "--json")
    assert (result.status, result.out) == (1, "")
    assert "set.json: expected a held-out set; this is held-out" in result.err
    rows: list[Any] = [(case("x"), receipt(), plain_direct()), (case("y"), receipt(), direct())]
    write_set(here / "other", rows, "other")
    result = vq("estimate-evaluate", "other/set.json", "--calibration", "OUT.json", "--json")
    assert (result.status, result.out) == (1, "")
    assert "1 stood in its training set: x (same usage receipt)" in result.err


def test_warnings_stand_on_stderr_too(here: Path, vq: Run) -> None:
    write_set(here / "w", [(case(name), receipt(), scheduler()) for name in "ab"])
    for arguments in (("estimate-evaluate", "w/set.json"), ("estimate-calibrate", "w/set.json", "-o", "w.json")):
        result = vq(*arguments, "--json")
        assert result.err == "vq: warning: cases a and b have the same scheduler receipt\n"


def test_python_m_vq_is_vq(here: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "vq", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, run_installed("--version").out)


def test_run_takes_a_status_from_click() -> None:
    assert run(["--version"]) == 0


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cancel", "did you mean vq kill JOB?"),
        ("ls", "did you mean vq queue?"),
        ("help", "did you mean vq --help?"),
        ("sumbit", "did you mean vq submit?"),
        ("restart", "did you mean vq daemon restart?"),
        ("clean", "did you mean vq purge --older-than 7d?"),
        ("scontrol hold 17", "did you mean vq pause JOB?"),
        ("scontrol update job=17", "did you mean vq edit JOB?"),
        ("scontrol reconfigure", "did you mean vq edit JOB?"),
        ("sh -c 'echo $X'", "to run it as a job: vq submit -- sh -c 'echo $X'"),
        ("compile", "vq --help lists the commands"),
    ],
)
def test_a_name_of_another_queue_is_told_what_it_is_called_here(name: str, hint: str, vq: Run) -> None:
    ended = vq(*shlex.split(name))
    assert ended.status == 2
    assert ended.err.splitlines() == [f"vq: error: there is no command '{name.partition(' ')[0]}'", f"  {hint}"]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("status", "vq queue shows the jobs and their ids; see vq status --help"),
        ("queue a1", "vq status JOB shows one job; see vq queue --help"),
        ("purge", "such as vq purge --older-than 30d; see vq purge --help"),
        ("advise rows.jsonl", "the rows to learn from: --history ROWS.jsonl; see vq advise --help"),
        ("logs a1 a2", "see vq logs --help"),
    ],
)
def test_a_word_too_few_or_too_many_is_told_what_helps(words: str, hint: str, vq: Run) -> None:
    ended = vq(*words.split())
    assert ended.status == 2
    assert ended.err.splitlines()[1:] == [f"  {hint}"]


def test_every_name_of_another_queue_leads_to_a_command() -> None:
    assert ELSEWHERE.keys().isdisjoint(COMMANDS)
    assert {meant.split()[0] for meant in ELSEWHERE.values()} <= {*COMMANDS, "--help", "--version"}


def test_an_output_of_another_program_is_told_by_its_words(here: Path, vq: Run) -> None:
    (here / "pw.out").write_text("\n     Program PWSCF v.6.7MaX starts on 30Nov2026\n")
    ended = vq("estimate", "pw.out")
    assert ended.status == 1
    assert "--program quantum-espresso" in ended.err


def test_a_file_that_no_program_is_known_by_leads_to_the_option(here: Path, vq: Run) -> None:
    (here / "some.out").write_text("what is this?\n")
    for options, said in (
        ((), "read as a file of vibe-qc; of another program: --program auto|quantum-espresso|vasp\n"),
        (
            ("--program", "vasp"),
            "read as a file of vasp; of another program: --program auto|vibe-qc|quantum-espresso\n",
        ),
    ):
        assert said in vq("estimate", "some.out", *options).err
    (here / "begun.system").write_text(MANIFEST.replace("dry_run", "finished"))
    assert "--program" not in vq("estimate", "begun.system").err


def test_a_document_in_place_of_another_is_told_as_what_it_is(here: Path, vq: Run) -> None:
    (here / "receipt.json").write_text(vq("estimate", "m.system", "--json").out)
    a_set = "expected is an evaluation set, which vq estimate-collect makes"
    a_calibration = "expected is a calibration, which vq estimate-calibrate makes"
    label = ("--hardware-class", "class-a")
    for words, said in (
        (("estimate-evaluate", "cal.json"), f"this is a calibration; {a_set}"),
        (("estimate-calibrate", "receipt.json", "-o", "x.json"), f"this is an estimate; {a_set}"),
        (("estimate-evaluate", "set.json", "--calibration", "set.json"), f"this is an evaluation set; {a_calibration}"),
        (("estimate", "m.system", "--calibration", "receipt.json", *label), f"this is an estimate; {a_calibration}"),
        (("estimate", "set.json"), "this is an evaluation set; expected is what a program printed or wrote beforehand"),
    ):
        ended = vq(*words)
        assert (ended.status, ended.out) == (1, "")
        assert ended.err.endswith(f"\n  {said}\n"), ended.err
    document = json.loads((here / "set.json").read_text())
    document["cases"][0]["usage"] = document["cases"][0]["estimate"]
    (here / "swapped.json").write_text(json.dumps(document))
    ended = vq("estimate-evaluate", "swapped.json")
    assert "this is an estimate; expected is a usage receipt, which a run of a job makes" in ended.err
    (here / "broken.json").write_text('{"schema_name": "vq.estimate-calibration/9"}')
    ended = vq("estimate-evaluate", "set.json", "--calibration", "broken.json")
    assert (ended.status, "this is" in ended.err) == (1, False)
