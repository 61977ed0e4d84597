"""`vq estimate*` and `vq digest` start no process, open no socket and read nothing but what they were told to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.command import ROOT
from support.documents import MANIFEST, calibration, case, plain_direct, receipt, write_json, write_set

AUDITED = """
import json, os, sys

events = []
allowed = [os.path.realpath(path) for path in json.loads(os.environ["ALLOWED"])]

def inside(path):
    if isinstance(path, int):
        return True
    real = os.path.realpath(os.fsdecode(path))
    return any(real == one or real.startswith(one + "/") for one in allowed)

STARTS = ("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "pty.", "socket.", "urllib.",
          "http.", "ftplib.", "smtplib.", "ctypes.dlopen", "sqlite3.", "webbrowser.", "os.kill", "signal.")
PATHS = ("open", "os.listdir", "os.scandir", "os.remove", "os.rename", "os.link", "os.mkdir", "os.chdir", "os.symlink")

def hook(event, arguments):
    if event.startswith(STARTS) or (event in PATHS and arguments and not inside(arguments[0])):
        events.append(f"{event} {arguments[:1]!r}")

sys.addaudithook(hook)
from vq.cli import run
status = run(sys.argv[1:])
sys.stdout.flush()
print("\\n".join(events), file=sys.stderr)
sys.exit(status)
"""

COMMANDS = {
    "estimate": ["estimate", "m.system", "--input", "calc", "--features", "f.json", "-o", "out.json"],
    "estimate json": ["estimate", "m.system", "--input", "calc/a", "--json"],
    "apply": ["estimate", "m.system", "--calibration", "cal.json", "--hardware-class", "class-a"],
    "evaluate": ["estimate-evaluate", "set.json"],
    "judge": ["estimate-evaluate", "set.json", "--calibration", "cal.json", "--json"],
    "calibrate": ["estimate-calibrate", "set.json", "-o", "fit.json"],
    "digest": ["digest", "set.json", "cal.json"],
    "refused": ["estimate-evaluate", "calc/a"],
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.system").write_text(MANIFEST)
    write_json(tmp_path / "f.json", {"schema_version": 1})
    write_json(tmp_path / "calc" / "a", 1)
    write_json(tmp_path / "cal.json", calibration())
    write_set(tmp_path, [(case(), receipt(), plain_direct())])
    return tmp_path


def audited(here: Path, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    python = [sys.prefix, sys.base_prefix, *(path for path in sys.path if path), str(ROOT / "src")]
    # Coverage of this process writes its own file beside the project.
    own = [path for path in (os.environ.get("COVERAGE_PROCESS_CONFIG"),) if path]
    allowed = [str(here), *python, *own, str(ROOT / "pyproject.toml"), os.devnull]
    env = {key: value for key, value in os.environ.items() if not key.startswith("COV")}
    return subprocess.run(
        [sys.executable, "-c", AUDITED, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**env, "ALLOWED": json.dumps(allowed)},
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_only_what_it_was_told_to(here: Path, name: str) -> None:
    done = audited(here, COMMANDS[name])
    assert done.returncode == (name == "refused"), done.stderr
    noted = [line for line in done.stderr.splitlines() if line and not line.startswith("vq: ")]
    assert noted == []


def test_the_hook_would_notice(here: Path) -> None:
    outside = here.parent / "outside.json"
    write_json(outside, {})
    done = audited(here, ["digest", str(outside)])
    assert "open ('" in done.stderr
    assert "outside.json" in done.stderr


LOADED = """
import sys
from vq.cli import run
status = run(sys.argv[1:])
print("\\n".join(sorted(sys.modules)), file=sys.stderr)
sys.exit(status)
"""

HEAVY = (
    "numpy",
    "rich",
    "asyncio",
    "socket",
    "ssl",
    "http",
    "urllib.request",
    "multiprocessing",
    "concurrent",
    "subprocess",
    "sqlite3",
    "matplotlib",
    "importlib.resources",
    "unittest",
    "email.mime",
    "xml",
)


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["estimate", "m.system", "--json"], ["estimate-evaluate", "set.json"], ["digest", "set.json"]],
    ids=lambda arguments: arguments[0],
)
def test_nothing_heavy_is_loaded(here: Path, arguments: list[str]) -> None:
    env = {key: value for key, value in os.environ.items() if not key.startswith("COV")}
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments], capture_output=True, text=True, check=False, env=env
    )
    assert done.returncode == 0
    loaded = set(done.stderr.split())
    assert [name for name in HEAVY if name in loaded] == []
    assert "vq.cli.commands" in loaded
    if arguments == ["--help"]:
        assert not any(name.startswith(("vq.estimates", "vq.actions", "vq.files")) for name in loaded)


BOUNDED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
from vq.cli import run
sys.exit(run(sys.argv[1:]))
"""

HEAD = b'[outputs]\nstatus = "dry_run"\n[vibeqc]\n'
SIZE = 2**20 - len(HEAD) - 8
ADVERSARIAL_TOML = {
    "dotted": b"a." * (SIZE // 2) + b"b = 1",
    "quoted": b'"\\"".' * (SIZE // 5) + b"b = 1",
    "header": b"[" + b"a." * (SIZE // 2) + b"b]",
    "spaces": b" " * SIZE,
    "tabs and commas": b",\t" * (SIZE // 2),
    "brackets": b"x = " + b"[" * (SIZE - 4),
    "tables": b"x = " + b"{a=" * (SIZE // 3 - 2),
    "integer": b"x = " + b"9" * (SIZE - 4),
    "hexadecimal": b"x = 0x" + b"f" * (SIZE - 6),
    "unclosed": b'"\\"' * (SIZE // 3),
    "unclosed multiline": b'x = """' + b'\\"""' * (SIZE // 4 - 2),
    "arrays of tables": b"[[a]]\n" * (SIZE // 6),
    "exponent": b"x = 1e" + b"9" * (SIZE - 6),
}

ADVERSARIAL_JSON = {
    "arrays": b'{"a":' + b"[" * 5_000_000,
    "objects": b'{"a":' * 1_000_000,
    "integer": b'{"a": ' + b"9" * 5_000 + b"}",
    "long integer": b'{"a": ' + b"9" * 20_000_000 + b"}",
    "long fraction": b'{"a": 0.' + b"9" * 20_000_000 + b"}",
    "long string": b'{"a": "' + b"\\n" * 10_000_000 + b'"}',
    "duplicates": b'{"a": 1, ' * 500 + b'"a": 1, "a": 2' + b"}" * 500,
    "lone surrogates": b'{"a": ["' + b"\\ud800" * 1_000_000 + b'"]}',
    "surrogate in a long array": b'{"a": [' + b"0," * 2_000_000 + b'"\\ud800"]}',
    "NaN before a long array": b'{"a": NaN, "b": [' + b"0," * 2_000_000 + b"0]}",
    "mark": b"\xef\xbb\xbf{}",
    "overflow": b'{"a": 1e999}',
    "minus zero": b'{"a": -0, "b": -0.0}',
    "nul": b"\x00" * 10_000_000,
}


def bounded(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if not key.startswith("COV")}
    return subprocess.run(
        [sys.executable, "-c", BOUNDED, *arguments], capture_output=True, text=True, check=False, env=env, timeout=60
    )


@pytest.mark.parametrize("name", ADVERSARIAL_TOML)
def test_a_hostile_manifest_ends_in_bounded_time_and_memory(here: Path, name: str) -> None:
    (here / "x.system").write_bytes(HEAD + ADVERSARIAL_TOML[name])
    done = bounded(["estimate", "x.system", "-q"])
    assert done.returncode in (0, 1), done
    assert "bug" not in done.stderr
    assert done.returncode == 0 or done.stderr.startswith("vq: error: x.system: expected ")


@pytest.mark.parametrize("name", ADVERSARIAL_JSON)
def test_a_hostile_document_ends_in_bounded_time_and_memory(here: Path, name: str) -> None:
    (here / "x.json").write_bytes(ADVERSARIAL_JSON[name])
    done = bounded(["digest", "x.json", "-q"])
    valid = name in ("minus zero", "long fraction", "long string")
    assert done.returncode == (0 if valid else 1), done
    assert "bug" not in done.stderr
    assert valid or done.stderr.startswith("vq: error: x.json: ")
