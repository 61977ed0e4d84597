"""`--input`: what is fingerprinted, in which order, under which name, and what is refused."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from support.command import INSTALLED, Result, Run
from support.documents import MANIFEST, MIB
from vq.files import inputs


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.system").write_text(MANIFEST)
    return tmp_path


def estimate(vq: Run, *paths: str, more: tuple[str, ...] = ()) -> Result:
    return vq("estimate", "m.system", "--json", *(word for path in paths for word in ("--input", path)), *more)


def names(result: Result) -> list[str]:
    assert result.status == 0, result.err
    return [item["path"] for item in result.document["inputs"]]


def refused(result: Result, message: str) -> None:
    assert (result.status, result.out) == (1, "")
    assert message in result.err


def tree(folder: Path, *paths: str | bytes) -> None:
    for path in paths:
        whole = os.path.join(os.fsencode(folder), os.fsencode(path))
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "wb") as file:
            file.write(os.fsencode(path))


def test_a_file(here: Path, vq: Run) -> None:
    tree(here, "x/calc.py")
    result = estimate(vq, "x/calc.py")
    assert result.document["inputs"] == [{"path": "calc.py", "bytes": 9, "sha256": sha256(b"x/calc.py").hexdigest()}]


def test_the_order_is_of_bytes_component_by_component(here: Path, vq: Run) -> None:
    tree(here, "c/a/z", "c/a.txt", "c/a b", "c/A", "c/a/B/c", "c/.hidden", "c/é", "c/z/é/x", "c/a-", b"c/\xff")
    assert names(estimate(vq, "c")) == [
        "c/.hidden",
        "c/A",
        "c/a/B/c",
        "c/a/z",
        "c/a b",
        "c/a-",
        "c/a.txt",
        "c/z/é/x",
        "c/é",
        "c/\\xff",
    ]


def test_the_order_of_options_is_kept(here: Path, vq: Run) -> None:
    tree(here, "b/1", "a/1", "c")
    assert names(estimate(vq, "c", "b", "a")) == ["c", "b/1", "a/1"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"\xff\xfe", "\\xff\\xfe"),
        (b"caf\xe9.py", "caf\\xe9.py"),
        ("é".encode(), "é"),
        (b"back\\xslash", "back\\xslash"),
        (b"new\nline", "new\nline"),
        (b"\x1b[31mred", "\x1b[31mred"),
        ("\u202egpj".encode(), "\u202egpj"),
        (b"\xed\xa0\x80", "\\xed\\xa0\\x80"),
        ("\U0001f600".encode(), "\U0001f600"),
        (b"x" * 255, "x" * 255),
    ],
)
def test_a_name_is_told_as_it_is(here: Path, vq: Run, name: bytes, shown: str) -> None:
    tree(here, b"c/" + name)
    (here / "l").mkdir()
    result = estimate(vq, "c")
    assert names(result) == [f"c/{shown}"]
    os.rename(os.path.join(b"c", name), name)
    assert names(estimate(vq, os.fsdecode(name))) == [shown]
    text = vq("estimate", "m.system", "--input", os.fsdecode(name))
    assert text.status == 0
    os.symlink("nowhere", os.path.join(b"l", name))
    failure = vq("estimate", "m.system", "--input", os.fsdecode(b"l/" + name))
    assert failure.status == 1
    for output in (text.out, failure.err):
        assert output.isascii() or output.replace("\n", "").isprintable()


@pytest.mark.parametrize("spelling", ["c", "c/", "./c", "c/.", "c//", "x/../c", "ABSOLUTE"])
def test_the_name_is_that_of_the_absolute_path(here: Path, vq: Run, spelling: str) -> None:
    tree(here, "c/f", "x/f")
    assert names(estimate(vq, str(here / "c") if spelling == "ABSOLUTE" else spelling)) == ["c/f"]


def test_the_name_of_a_dot(here: Path, vq: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(here, "c/d/f")
    monkeypatch.chdir(here / "c")
    assert [item["path"] for item in vq("estimate", "../m.system", "--json", "--input", ".").document["inputs"]] == [
        "c/d/f"
    ]
    monkeypatch.chdir(here / "c" / "d")
    found = vq("estimate", "../../m.system", "--json", "--input", "..")
    assert [item["path"] for item in found.document["inputs"]] == ["c/d/f"]


@pytest.mark.parametrize(
    ("one", "two"), [("c", "c"), ("c", "c/"), ("c", "./c"), ("c", "x/../c"), ("c/f", "c//f"), ("c", "ABSOLUTE")]
)
def test_a_path_given_twice_is_refused(here: Path, vq: Run, one: str, two: str) -> None:
    tree(here, "c/f", "x/f")
    refused(estimate(vq, one, str(here / "c") if two == "ABSOLUTE" else two), "this input is given twice")


def test_a_folder_beside_a_file_inside_it_is_allowed(here: Path, vq: Run) -> None:
    tree(here, "c/f", "c/g/h")
    assert names(estimate(vq, "c", "c/f", "c/g")) == ["c/f", "c/g/h", "f", "g/h"]


def test_two_hard_links_are_two_paths(here: Path, vq: Run) -> None:
    tree(here, "f")
    os.link("f", "g")
    assert names(estimate(vq, "f", "g")) == ["f", "g"]


@pytest.mark.parametrize("spelling", ["link", "link/", "link/.", "link//", "link/./", "./link/"])
def test_a_link_is_refused_however_it_is_spelt(here: Path, vq: Run, spelling: str) -> None:
    tree(here, "c/f")
    os.symlink("c", "link")
    refused(estimate(vq, spelling), "is a symbolic link")
    os.unlink("link")
    os.symlink("c/f", "link")
    refused(estimate(vq, spelling), "is a symbolic link")


def test_a_link_before_the_last_component_is_the_callers_choice(here: Path, vq: Run) -> None:
    tree(here, "c/d/f")
    os.symlink("c", "link")
    assert names(estimate(vq, "link/d")) == ["d/f"]


@pytest.mark.parametrize("kind", ["fifo", "socket", "dangling", "missing", "/dev/zero", "/dev/null"])
def test_special_files_are_refused(here: Path, vq: Run, kind: str) -> None:
    make_special(kind)
    result = estimate(vq, kind if kind.startswith("/") else "X")
    refused(result, "no such file" if kind == "missing" else "is ")


def make_special(kind: str, name: str = "X") -> None:
    if kind == "fifo":
        os.mkfifo(name)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(name)
    elif kind == "dangling":
        os.symlink("nowhere", name)


def test_links_and_special_files_in_a_folder_are_counted(here: Path, vq: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(here, "c/f", "c/d/g", "e/f")
    monkeypatch.chdir(here / "c")
    make_special("fifo", "d/p")
    make_special("socket", "s")
    make_special("dangling", "l")
    os.symlink("/", "d/root")
    os.symlink("f", "d/f")
    monkeypatch.chdir(here)
    os.symlink("f", "e/l")
    result = estimate(vq, "c", "e")
    assert names(result) == ["c/d/g", "c/f", "e/f"]
    assert result.document["warnings"] == [
        "c: 3 links and 2 special files left out",
        "e: 1 link and 0 special files left out",
    ]
    assert result.err.splitlines() == [f"vq: warning: {text}" for text in result.document["warnings"]]


@pytest.mark.parametrize("content", ["", "links", "folders"])
def test_a_folder_without_a_regular_file_is_refused(here: Path, vq: Run, content: str) -> None:
    (here / "c").mkdir()
    if content == "links":
        os.symlink("../m.system", "c/l")
    elif content == "folders":
        (here / "c" / "d" / "e").mkdir(parents=True)
    refused(estimate(vq, "c"), "c: no regular file in this folder")


def test_64_files_are_the_most_over_all_inputs(here: Path, vq: Run) -> None:
    tree(here, *(f"c/{number}" for number in range(40)), *(f"d/{number}" for number in range(23)), "f", "g")
    assert len(names(estimate(vq, "c", "d", "f"))) == 64
    refused(estimate(vq, "c", "d", "f", "g"), "g: one file too many; at most 64")
    refused(estimate(vq, "f", "g", "c", "d"), "at most 64 input files")


def test_64_mib_are_the_most_of_one_file(here: Path, vq: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert inputs.MOST_BYTES == 64 * MIB
    monkeypatch.setattr(inputs, "MOST_BYTES", 1000)
    (here / "c").mkdir()
    (here / "c" / "f").write_bytes(b"x" * 1000)
    assert names(estimate(vq, "c", "c/f")) == ["c/f", "f"]
    (here / "c" / "f").write_bytes(b"x" * 1001)
    refused(estimate(vq, "c/f"), "c/f: has 1001 bytes; expected at most 1000")
    refused(estimate(vq, "c"), "c/f: has 1001 bytes; expected at most 1000")


def test_a_sparse_file_past_64_mib_is_refused(here: Path, vq: Run) -> None:
    with open("f", "wb") as file:
        file.truncate(64 * MIB + 1)
    refused(estimate(vq, "f"), f"expected at most {64 * MIB}")


def test_10000_entries_are_the_most_of_a_walk(here: Path, vq: Run) -> None:
    assert inputs.MOST_ENTRIES == 10_000
    os.mkdir("c")
    for number in range(100):
        os.mkdir(f"c/{number}")
        for inner in range(99):
            os.mkdir(f"c/{number}/{inner}")
    tree(here, "d/f")
    refused(estimate(vq, "c", "d"), "c: no regular file in this folder")
    tree(here, "c/0/0/f")
    refused(estimate(vq, "c", "d"), "a walk from here meets more than 10000 entries")
    os.rmdir("c/1/1")
    assert names(estimate(vq, "c", "d")) == ["c/0/0/f", "d/f"]


def test_a_deep_folder_is_walked(here: Path, vq: Run) -> None:
    os.mkdir("c")
    os.chdir("c")
    for _ in range(300):
        os.mkdir("deep" * 5)
        os.chdir("deep" * 5)
    with open("f", "w", encoding="utf-8") as file:
        file.write("x")
    os.chdir(here)
    assert names(estimate(vq, "c")) == ["c/" + "/".join(["deep" * 5] * 300) + "/f"]


def test_the_commands_own_output_is_left_out(here: Path) -> None:
    tree(here, "c/f")
    with open("c/out.json", "wb") as out:
        done = subprocess.run(
            [INSTALLED, "estimate", "m.system", "--input", "c", "--json"],
            stdout=out,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 0
    document = json.loads((here / "c" / "out.json").read_bytes())
    assert [item["path"] for item in document["inputs"]] == ["c/f"]
    assert document["warnings"] == ["c/out.json: left out, it is this command's own output"]
    assert done.stderr == b"vq: warning: c/out.json: left out, it is this command's own output\n"


def test_a_folder_of_nothing_but_the_own_output_is_refused(here: Path) -> None:
    (here / "c").mkdir()
    with open("c/out.json", "wb") as out:
        done = subprocess.run(
            [INSTALLED, "estimate", "m.system", "--input", "c", "--json"],
            stdout=out,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert b"no regular file" in done.stderr
    assert (here / "c" / "out.json").read_bytes() == b""


def test_a_qvf_is_one_file(here: Path, vq: Run) -> None:
    tree(here, "calc.qvf")
    assert names(estimate(vq, "calc.qvf")) == ["calc.qvf"]


def test_a_folder_swapped_for_a_link_during_the_walk_leads_nowhere(
    here: Path, vq: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(here, "c/a/f", "c/b/f", "outside/secret")
    stat = os.stat

    def swapping(path: Any, **options: Any) -> os.stat_result:
        status = stat(path, **options)
        if path == b"b" and "dir_fd" in options and not os.path.islink("c/b"):
            os.rename("c/b", "moved")
            os.symlink("../outside", "c/b")
        return status

    monkeypatch.setattr(os, "stat", swapping)
    refused(estimate(vq, "c"), "c/b: a folder in this path is a link, or not a folder")


def test_a_file_swapped_for_a_fifo_during_the_walk_is_refused(
    here: Path, vq: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(here, "c/f")
    stat = os.stat

    def swapping(path: Any, **options: Any) -> os.stat_result:
        status = stat(path, **options)
        if path == b"f" and "dir_fd" in options:
            os.unlink("c/f")
            os.mkfifo("c/f")
        return status

    monkeypatch.setattr(os, "stat", swapping)
    refused(estimate(vq, "c"), "c/f: is a FIFO, socket or device")


def test_no_descriptor_is_left_open(here: Path, vq: Run) -> None:
    tree(here, "c/a/f", "c/b/c/f", "c/z")
    estimate(vq, "c")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        estimate(vq, "c")
        (here / "c" / "b" / "c" / "p").unlink(missing_ok=True)
        os.symlink("nowhere", "c/b/c/p")
        refused(estimate(vq, "c", "c/b/c/p"), "is a symbolic link")
    tree(here, *(f"c/b/c/{number}" for number in range(65)))
    refused(estimate(vq, "c"), "at most 64 input files")
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_digest_changes_with_manifest_evidence_and_inputs(here: Path, vq: Run) -> None:
    tree(here, "c/f")
    (here / "f.json").write_text('{"schema_version": 1}')

    def digest_now(*more: str) -> str:
        return str(estimate(vq, "c", more=more).document["input_digest"])

    seen = {digest_now(), digest_now("--features", "f.json")}
    (here / "f.json").write_text('{"schema_version":1}')
    seen.add(digest_now("--features", "f.json"))
    (here / "c" / "f").write_text("other")
    seen.add(digest_now())
    os.rename("c/f", "c/g")
    seen.add(digest_now())
    (here / "m.system").write_text(MANIFEST + "\n")
    seen.add(digest_now())
    assert len(seen) == 6
    assert digest_now() in seen
    assert digest_now("--memory-mb", "5") in seen
