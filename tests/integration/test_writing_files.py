"""`-o`: written whole or not at all, and never over anything."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.command import INSTALLED, Run
from support.documents import MANIFEST, case, plain_direct, receipt, write_set
from vq.errors import VqError
from vq.files.documents import FileError, refuse_existing, write_new


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.system").write_text(MANIFEST)
    write_set(tmp_path, [(case(), receipt(), plain_direct())])
    return tmp_path


WRITERS = {
    "estimate": ["estimate", "m.system", "-o", "OUT"],
    "calibrate": ["estimate-calibrate", "set.json", "-o", "OUT", "--min-cases", "1"],
}


def command(writer: str, out: str) -> list[str]:
    return [out if word == "OUT" else word for word in WRITERS[writer]]


@pytest.mark.parametrize("writer", WRITERS)
def test_it_is_written_and_nothing_else(here: Path, vq: Run, writer: str) -> None:
    before = set(os.listdir())
    result = vq(*command(writer, "out.json"))
    assert result.status == 0, result.err
    assert set(os.listdir()) - before == {"out.json"}
    text = (here / "out.json").read_text(encoding="utf-8")
    assert text.endswith("}\n")
    assert text.isascii()
    result = vq(*command(writer, "again.json"), "--json")
    assert (here / "again.json").read_text(encoding="utf-8") == text == result.out


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("kind", ["file", "empty", "folder", "link", "dangling", "fifo"])
def test_nothing_is_ever_overwritten(here: Path, vq: Run, writer: str, kind: str) -> None:
    out = here / "out.json"
    make: dict[str, Callable[[], object]] = {
        "file": lambda: out.write_text("mine"),
        "empty": out.touch,
        "folder": out.mkdir,
        "link": lambda: out.symlink_to("m.system"),
        "dangling": lambda: out.symlink_to("nowhere"),
        "fifo": lambda: os.mkfifo(out),
    }
    make[kind]()
    before = sorted(os.listdir()), os.lstat(out)
    result = vq(*command(writer, "out.json"), "--json")
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith("vq: error: out.json: exists already, and is never overwritten")
    assert (sorted(os.listdir()), os.lstat(out)) == before


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("missing/out.json", "missing/out.json: no such folder"),
        ("m.system/out.json", "m.system/out.json: "),
        ("", "expected the name of a file"),
        ("x" * 300, "file name too long"),
    ],
)
def test_where_it_cannot_be_written(here: Path, vq: Run, writer: str, out: str, message: str) -> None:
    before = sorted(os.listdir(here))
    result = vq(*command(writer, out), "--json")
    assert (result.status, result.out) == (1, "")
    assert message in result.err
    assert sorted(os.listdir(here)) == before


@pytest.mark.parametrize(
    "name", ["x" * 255, "é" * 127, "\u4e16" * 85, "\U0001f600" * 63, "new\nline", os.fsdecode(b"\xff")]
)
def test_any_name_that_the_system_takes(here: Path, vq: Run, name: str) -> None:
    assert vq(*command("estimate", name)).status == 0
    assert json.loads((here / name).read_text())["schema_name"] == "vq.resource-estimate/1"


def test_in_another_folder(here: Path, vq: Run) -> None:
    (here / "sub").mkdir()
    assert vq(*command("estimate", "sub/out.json")).status == 0
    assert os.listdir("sub") == ["out.json"]


def test_a_failure_on_the_way_leaves_nothing(here: Path) -> None:
    def pieces() -> Iterator[str]:
        yield "{"
        raise RuntimeError

    before = sorted(os.listdir())
    with pytest.raises(RuntimeError):
        write_new("out.json", pieces())
    assert sorted(os.listdir()) == before == sorted(os.listdir(here))


def test_who_comes_second_is_told(here: Path) -> None:
    def pieces() -> Iterator[str]:
        yield "first"
        # Another writer is faster.
        (here / "out.json").write_text("other")
        yield "rest"

    with pytest.raises(FileError, match=r"out\.json: exists already"):
        write_new("out.json", pieces())
    assert (here / "out.json").read_text() == "other"
    assert not [name for name in os.listdir() if name.endswith(".tmp")]


def test_of_two_writers_at_once_one_wins(here: Path) -> None:
    for number in range(5):
        arguments = command("calibrate", f"out-{number}.json")
        running = [
            subprocess.Popen([INSTALLED, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            for _ in range(2)
        ]
        ends = [(process.communicate()[1], process.returncode) for process in running]
        assert sorted(status for _, status in ends) == [0, 1]
        assert b"exists already" in next(err for err, status in ends if status)
        assert json.loads((here / f"out-{number}.json").read_text())["schema_name"] == "vq.estimate-calibration/1"


KILLED = """
import os, signal, sys
from vq.files.documents import write_new

def pieces():
    yield "{" * 100_000
    print("halfway", flush=True)
    signal.pause()

write_new("out.json", pieces())
"""


def test_a_kill_in_the_middle_leaves_no_target(here: Path, vq: Run) -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"halfway\n"
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert not os.path.lexists("out.json")
    assert vq(*command("estimate", "out.json")).status == 0


def test_an_interrupt_in_the_middle_leaves_nothing(here: Path) -> None:
    before = sorted(os.listdir())
    with subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.wait()
    assert sorted(os.listdir(here)) == before


def test_a_full_disk_is_told_and_leaves_nothing(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    before = sorted(os.listdir())
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(VqError, match=r"out\.json: no space left on device"):
        write_new("out.json", ["x"])
    assert sorted(os.listdir(here)) == before


@pytest.mark.parametrize("path", [".", "..", "m.system", "m.system/x"])
def test_what_stands_there_is_told_before_the_work(here: Path, path: str) -> None:
    assert here
    with pytest.raises(FileError):
        refuse_existing(path)


@pytest.mark.parametrize("path", ["", ".", "..", "sub/", "sub/."])
def test_a_target_needs_a_name(here: Path, path: str) -> None:
    (here / "sub").mkdir()
    with pytest.raises(FileError):
        write_new(path, ["x"])
    assert os.listdir("sub") == []
