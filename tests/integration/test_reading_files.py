"""Which files are read, and which are refused, through the command that a person types."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from support.command import INSTALLED, Run, run_installed
from support.documents import MANIFEST, MIB, case, evidence, plain_direct, receipt, write_json, write_set
from vq.files.documents import FileError, Folder, hash_file, read_file


def manifest(folder: Path) -> Path:
    path = folder / "m.system"
    path.write_text(MANIFEST)
    return path


def fifo(path: Path) -> None:
    os.mkfifo(path)


def socket_file(path: Path) -> None:
    # A socket's address has at most 108 bytes; a temporary folder's may have more.
    here = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(here)


def folder(path: Path) -> None:
    path.mkdir()


def dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def link(path: Path) -> None:
    target = path.with_name("target")
    target.write_text(MANIFEST)
    path.symlink_to(target)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


KINDS: dict[Callable[[Path], None], str] = {
    fifo: "expected a regular file",
    socket_file: "is not a regular file",
    folder: "is a folder",
    dangling: "is a symbolic link",
    link: "is a symbolic link",
    device: "is a symbolic link",
}

READERS = {
    "manifest": ["estimate", "X"],
    "features": ["estimate", "m.system", "--features", "X"],
    "calibration": ["estimate", "m.system", "--calibration", "X", "--hardware-class", "a"],
    "judged calibration": ["estimate-evaluate", "set.json", "--calibration", "X"],
    "set": ["estimate-evaluate", "X"],
    "training set": ["estimate-calibrate", "X", "-o", "out.json"],
    "document": ["digest", "X"],
}


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("reader", READERS)
def test_only_a_regular_file_is_read(
    vq: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None], reader: str
) -> None:
    monkeypatch.chdir(tmp_path)
    manifest(tmp_path)
    write_set(tmp_path, [(case(), receipt(), plain_direct())])
    make(tmp_path / "X")
    result = vq(*READERS[reader])
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith(f"vq: error: X: {KINDS[make]}") or KINDS[make] in result.err
    assert "X: " in result.err
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null", "/dev/tty", "/dev/stdin"])
@pytest.mark.parametrize("reader", READERS)
def test_a_device_is_refused(vq: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, reader: str) -> None:
    monkeypatch.chdir(tmp_path)
    manifest(tmp_path)
    write_set(tmp_path, [(case(), receipt(), plain_direct())])
    result = vq(*(name if word == "X" else word for word in READERS[reader]))
    assert (result.status, result.out) == (1, "")
    assert name in result.err


@pytest.mark.parametrize("reader", READERS)
def test_a_missing_file_is_bad_data(vq: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str) -> None:
    monkeypatch.chdir(tmp_path)
    manifest(tmp_path)
    write_set(tmp_path, [(case(), receipt(), plain_direct())])
    result = vq(*READERS[reader])
    assert (result.status, result.out, result.err) == (1, "", "vq: error: X: no such file\n")


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("key", ["estimate", "usage"])
def test_only_regular_files_are_receipts(vq: Run, tmp_path: Path, make: Callable[[Path], None], key: str) -> None:
    path = write_set(tmp_path, [(case(), receipt(), plain_direct())])
    victim = tmp_path / f"c0.{key}.json"
    victim.unlink()
    make(victim)
    result = vq("estimate-evaluate", path)
    assert (result.status, result.out) == (1, "")
    assert f"case c0, {key} receipt: " in result.err
    assert KINDS[make] in result.err


BAD_PATHS = [
    "../c0.usage.json",
    "a/../c0.usage.json",
    "./c0.usage.json",
    "a/./b.json",
    "a//b.json",
    "/c0.usage.json",
    "//c0.usage.json",
    "a/",
    "/",
    ".",
    "..",
    "a/b.json\0",
    "a\0/b.json",
    "\0",
]


@pytest.mark.parametrize("bad", [*BAD_PATHS, "ABSOLUTE"], ids=ascii)
@pytest.mark.parametrize("key", ["estimate", "usage"])
def test_a_path_of_a_set_stays_inside_its_folder(vq: Run, tmp_path: Path, bad: str, key: str) -> None:
    inside = tmp_path / "set"
    path = write_set(inside, [(case(), receipt(), plain_direct())])
    document = receipt() if key == "estimate" else plain_direct()
    for name in ("c0.usage.json", "set/c0.usage.json", "set/a/b.json"):
        write_json(tmp_path / name, document)
    shown = str(inside / f"c0.{key}.json") if bad == "ABSOLUTE" else bad
    write_json(path, {**evaluation_of(path), "cases": [case(**{key: shown})]})
    result = vq("estimate-evaluate", path)
    assert (result.status, result.out) == (1, "")
    assert f"case c0, {key} receipt: " in result.err
    assert "expected a relative path" in result.err


def evaluation_of(path: Path) -> dict[str, object]:
    return {"schema_name": "vq.estimate-evaluation-set/1", "set_id": path.parent.name}


@pytest.mark.parametrize("depth", [1, 2])
def test_no_component_of_a_path_in_a_set_is_a_link(vq: Run, tmp_path: Path, depth: int) -> None:
    real = tmp_path / "set" / "real" / "deep"
    write_json(real / "u.json", plain_direct())
    path = write_set(tmp_path / "set", [(case(usage="real/deep/u.json"), receipt(), plain_direct())])
    assert vq("estimate-evaluate", path).status == 0
    place = real.parents[depth - 2] if depth == 2 else real
    moved = tmp_path / "set" / "moved"
    place.rename(moved)
    place.symlink_to(moved, target_is_directory=True)
    result = vq("estimate-evaluate", path)
    assert (result.status, result.out) == (1, "")
    assert "a folder in this path is a link" in result.err


def test_a_folder_of_links_before_the_set_is_the_callers_choice(vq: Run, tmp_path: Path) -> None:
    write_set(tmp_path / "real", [(case(), receipt(), plain_direct())])
    (tmp_path / "way").symlink_to(tmp_path / "real", target_is_directory=True)
    assert vq("estimate-evaluate", tmp_path / "way" / "set.json").status == 0


def test_names_in_a_set_are_utf8_in_any_locale(tmp_path: Path) -> None:
    name = "\u20ac/\U0001f600ü.json"
    write_set(tmp_path, [(case(usage=name), receipt(), plain_direct())])
    for env in ({}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"LC_ALL": "POSIX"}):
        result = run_installed("estimate-evaluate", "set.json", "-q", cwd=tmp_path, env=env)
        assert (result.status, result.out) == (0, "0.00 of 1\n"), result.err


def test_a_file_may_have_its_limit_and_no_byte_more(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 1000)
    assert len(read_file(str(path), 1000)) == 1000
    with pytest.raises(FileError, match="has 1000 bytes; expected at most 999"):
        read_file(str(path), 999)


LIMITS = {
    "manifest": (["estimate", "X", "-q"], MIB, MANIFEST.encode()),
    "features": (["estimate", "m.system", "--features", "X", "-q"], 64 * 1024, b'{"schema_version": 1}'),
    "document": (["digest", "X"], 64 * MIB, b"{}"),
}


@pytest.mark.parametrize("reader", LIMITS)
def test_the_limits_are_exact(vq: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str) -> None:
    monkeypatch.chdir(tmp_path)
    manifest(tmp_path)
    arguments, limit, start = LIMITS[reader]
    filler = b"#" if reader == "manifest" else b" "
    (tmp_path / "X").write_bytes(start + filler * (limit - len(start)))
    assert vq(*arguments).status == 0
    with (tmp_path / "X").open("ab") as file:
        file.write(filler)
    result = vq(*arguments)
    assert (result.status, result.out) == (1, "")
    assert f"expected at most {limit}" in result.err


@pytest.mark.parametrize(("key", "limit"), [("estimate", 256 * 1024), ("usage", 64 * 1024)])
def test_the_limits_of_receipts_are_exact(vq: Run, tmp_path: Path, key: str, limit: int) -> None:
    path = write_set(tmp_path, [(case(), receipt(), plain_direct())])
    victim = tmp_path / f"c0.{key}.json"
    victim.write_bytes(victim.read_bytes().ljust(limit))
    assert vq("estimate-evaluate", path).status == 0
    victim.write_bytes(victim.read_bytes() + b" ")
    assert f"expected at most {limit}" in vq("estimate-evaluate", path).err


def test_a_file_of_the_kernel_that_never_ends_is_not_read_to_no_end(vq: Run, tmp_path: Path) -> None:
    for name in ("/proc/self/pagemap", "/proc/self/status"):
        result = vq("estimate", manifest(tmp_path), "--input", name)
        assert (result.status, result.out) == (1, "")
        assert f"{name}: changed while it was read" in result.err


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 10)
    read = os.read

    def growing(descriptor: int, size: int) -> bytes:
        data = read(descriptor, size)
        with path.open("ab") as file:
            file.write(b"y")
        return data

    monkeypatch.setattr(os, "read", growing)
    with pytest.raises(FileError, match="changed while it was read"):
        read_file(str(path), 1000)


def test_a_file_rewritten_at_its_size_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 10)
    read = os.read

    def rewriting(descriptor: int, size: int) -> bytes:
        data = read(descriptor, size)
        path.write_bytes(b"y" * 10)
        os.utime(path, ns=(1, 1))  # two writes may fall into one tick of the file system's clock
        return data

    monkeypatch.setattr(os, "read", rewriting)
    with pytest.raises(FileError, match="changed while it was read"):
        read_file(str(path), 1000)


def test_a_file_that_shrinks_while_it_is_hashed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 10)

    def shrinking(*_: object) -> int:
        os.truncate(path, 3)
        return 0

    monkeypatch.setattr(os, "readv", shrinking)
    descriptor = os.open(path, os.O_RDONLY)
    with pytest.raises(FileError, match="changed while it was read"):
        hash_file(descriptor, sha256(), 1000)
    os.close(descriptor)


def test_a_file_read_in_pieces_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(100)))
    read = os.read
    monkeypatch.setattr(os, "read", lambda descriptor, size: read(descriptor, min(size, 7)))
    assert read_file(str(path), 1000) == bytes(range(100))


def test_what_the_system_says_is_a_message(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="file name too long"):
        read_file(str(tmp_path / ("x" * 300)), 10)
    with pytest.raises(FileError, match="not a folder"):
        read_file(str(manifest(tmp_path) / "below"), 10)


# Loaded before the rights are dropped: the interpreter itself may lie where others may not read.
UNREADABLE = """
import os, sys
import vq.cli.estimate, vq.actions.estimate, vq.files.inputs, vq.estimates.receipt
os.setgroups([]); os.setgid(65534); os.setuid(65534)
from vq.cli import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can try what others may not read")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path, *tmp_path.parents[:3]):
        place.chmod(0o755)
    path = manifest(tmp_path)
    (tmp_path / "calc").mkdir()
    (tmp_path / "calc" / "secret").write_text("x")
    (tmp_path / "calc" / "secret").chmod(0)
    (tmp_path / "closed").mkdir(mode=0)
    arguments = [["--input", "calc/secret"], ["--input", "calc"], ["--input", "closed"], ["--input", "."]]
    for extra in arguments:
        done = subprocess.run(
            [sys.executable, "-c", UNREADABLE, "estimate", str(path), *extra],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )
        assert (done.returncode, done.stdout) == (1, ""), done.stderr
        assert "permission denied" in done.stderr


def test_a_set_in_many_folders_keeps_few_of_them_open(tmp_path: Path) -> None:
    for number in range(200):
        write_json(tmp_path / str(number) / "x.json", number)
    with Folder(str(tmp_path)) as inside:
        for number in [*range(200), *range(200)]:
            assert inside.read(f"{number}/x.json", 10) == str(number).encode()
        assert len(os.listdir("/proc/self/fd")) < 150


def test_a_set_in_many_folders_is_read_by_a_process_that_may_open_few_files(tmp_path: Path) -> None:
    rows = []
    for number in range(60):
        paths = {"estimate": f"a/{number}/e.json", "usage": f"b/{number}/u.json"}
        rows.append((case(f"c{number}", **paths), receipt(), plain_direct(user_cpu_seconds=number)))
    write_set(tmp_path, rows)
    few = f'ulimit -n 20; exec "{INSTALLED}" estimate-evaluate set.json -q'
    done = subprocess.run(["sh", "-c", few], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0.00 of 60\n", "")


def test_features_are_placed_by_their_file(vq: Run, tmp_path: Path) -> None:
    features = write_json(tmp_path / "f.json", evidence(basis="sto-3g"))
    result = vq("estimate", manifest(tmp_path), "--features", features)
    assert (result.status, result.out) == (1, "")
    assert f"{features}: $.basis: expected no contradiction" in result.err
