"""Folders and single files as payloads: what is carried, what is refused, and what happens while it is copied."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.payload_trees import listing, staged_folder
from vq.files.contents import Directory, File, Link
from vq.files.documents import MIB, FileError
from vq.files.payloads import Payload, stage_file, stage_folder, stage_nothing
from vq.files.snapshots import publish
from vq.files.staging import open_staging
from vq.files.trees import open_regular, remove_tree


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir()
    return made


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A folder that any user reaches, and this process without the rights of root."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o777)  # noqa: S103 - it lies in the folder of temporary files
        is_root = os.geteuid() == 0
        if is_root:
            os.seteuid(65534)
        try:
            yield Path(name)
        finally:
            if is_root:
                os.seteuid(0)


def _published(tmp_path: Path, folder: Path) -> tuple[Payload, Path]:
    with open_staging(str(tmp_path / "staging")) as staging:
        payload = stage_folder(staging, str(folder))
        publish(staging, payload, str(tmp_path / "snapshots"))
    return payload, tmp_path / "snapshots" / payload.digest


def _refusal(tmp_path: Path, folder: Path, state: Path | None = None) -> str:
    with open_staging(str(tmp_path / "staging")) as staging, pytest.raises(FileError) as caught:
        stage_folder(staging, str(folder), state_folder=str(state) if state else None)
    assert os.listdir(tmp_path / "staging") == []
    return str(caught.value)


def test_links_are_carried_as_they_are(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    for name, target in [
        ("to file", "../outside/secret"),
        ("to folder", "../outside"),
        ("absolute", "/etc"),
        ("dangling", "nowhere"),
        ("loop", "loop"),
        ("up", "."),
    ]:
        (folder / name).symlink_to(target)
    payload, snapshot = _published(tmp_path, folder)
    assert all(isinstance(entry, Link) for entry in payload.entries)
    assert len(payload.entries) == 6
    assert listing(snapshot) == listing(folder)


def test_permissions_and_times_are_kept_where_harmless(tmp_path: Path, folder: Path) -> None:
    (folder / "program").write_text("#!/bin/sh\n")
    (folder / "program").chmod(0o6755)
    (folder / "input").write_text("x")
    (folder / "input").chmod(0o440)
    (folder / "inner").mkdir()
    (folder / "inner" / "file").write_text("y")
    (folder / "inner").chmod(0o1555)
    (folder / "link").symlink_to("input")
    for name in ("program", "input", "inner"):
        os.utime(folder / name, ns=(5, 1_234_567_890_123_456_789))
    os.utime(folder / "link", ns=(5, 1_000_000_000_000_000_001), follow_symlinks=False)
    _, snapshot = _published(tmp_path, folder)
    modes = {name: (snapshot / name).stat().st_mode & 0o7777 for name in ("program", "input", "inner")}
    assert modes == {"program": 0o755, "input": 0o440, "inner": 0o755}
    assert {(snapshot / name).stat().st_mtime_ns for name in modes} == {1_234_567_890_123_456_789}
    assert (snapshot / "link").lstat().st_mtime_ns == 1_000_000_000_000_000_001


def test_other_permissions_and_times_do_not_count(tmp_path: Path, folder: Path) -> None:
    (folder / "file").write_text("x")
    digests = set()
    for mode, time in [(0o644, 0), (0o600, 10**9), (0o4640, 5), (0o655, 1)]:
        (folder / "file").chmod(mode)
        os.utime(folder / "file", (time, time))
        digests.add(staged_folder(tmp_path / "staging", folder).digest)
    assert len(digests) == 1
    (folder / "file").chmod(0o744)
    assert staged_folder(tmp_path / "staging", folder).digest not in digests


def test_special_files_are_refused_by_name(tmp_path: Path, folder: Path) -> None:
    (folder / "data").mkdir()
    special = folder / "data" / "special"
    os.mkfifo(special)
    assert _refusal(tmp_path, folder) == (
        f"{folder}: data/special: is a FIFO, socket or device; a payload carries folders, regular files and links"
    )
    special.unlink()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(special))
        assert "data/special: is a FIFO, socket or device" in _refusal(tmp_path, folder)
    special.unlink()
    (folder / "_vq").mkdir()
    os.mkfifo(folder / "_vq" / "fifo")
    assert "_vq/fifo: is a FIFO, socket or device" in _refusal(tmp_path, folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_devices_are_refused(tmp_path: Path, folder: Path) -> None:
    os.mknod(folder / "null", 0o20666, os.makedev(1, 3))
    assert "null: is a FIFO, socket or device" in _refusal(tmp_path, folder)


def test_the_state_folder_is_not_copied_into_itself(tmp_path: Path) -> None:
    state = tmp_path / "home" / "state"
    state.mkdir(parents=True)
    for top in (state.parent, state, tmp_path):
        with open_staging(str(state / "staging")) as staging, pytest.raises(FileError, match="is the state folder"):
            stage_folder(staging, str(top), state_folder=str(state))
    with open_staging(str(state / "staging")) as staging, pytest.raises(FileError, match="is the state folder"):
        stage_folder(staging, str(state / "staging"))
    with open_staging(str(tmp_path / "elsewhere")) as staging, pytest.raises(FileError, match="is the state folder"):
        stage_folder(staging, str(state), state_folder=str(state))
    with open_staging(str(tmp_path / "elsewhere")) as staging, pytest.raises(FileError, match="absent: no such file"):
        stage_folder(staging, str(state), state_folder=str(tmp_path / "absent"))
    (state / "workspace").mkdir()
    (state / "workspace" / "result").write_text("a")
    with open_staging(str(state / "staging")) as staging:
        payload = stage_folder(staging, str(state / "workspace"), state_folder=str(state))
        assert len(payload.entries) == 1


def test_the_folder_itself_is_no_link_and_no_file(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "fifo")
    for name in ("link", "link/", "link/."):
        assert "is a" in _refusal(tmp_path, Path(f"{tmp_path}/{name}"))
        with open_staging(str(tmp_path / "staging")) as staging, pytest.raises(FileError):
            stage_folder(staging, f"{tmp_path}/{name}")
    for name in ("file", "fifo", "absent"):
        _refusal(tmp_path, tmp_path / name)
    with open_staging(str(tmp_path / "staging")) as staging:
        assert stage_folder(staging, f"{folder}/./").entries == ()


def test_reserved_files_count_and_are_not_staged(tmp_path: Path, folder: Path) -> None:
    (folder / "_vq" / "deep").mkdir(parents=True)
    (folder / "_vq" / "deep" / "input").write_text("12345")
    (folder / "_vq" / "link").symlink_to("deep/input")
    (folder / "x").mkdir()
    (folder / "x" / "_vq").write_text("kept")
    payload, snapshot = _published(tmp_path, folder)
    assert [file.path for file in payload.beside] == [b"_vq/deep/input"]
    assert sorted(listing(snapshot)) == [b"x", b"x/_vq"]
    assert payload.size_bytes == 4


def test_what_cannot_be_read_is_named(open_place: Path) -> None:
    folder = open_place / "folder"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "secret").write_text("x")
    (folder / "inner" / "secret").chmod(0)
    assert _refusal(open_place, folder) == f"{folder}: inner/secret: permission denied"
    (folder / "inner").chmod(0)
    assert _refusal(open_place, folder) == f"{folder}: inner: permission denied"
    (folder / "inner").chmod(0o700)
    (folder / "inner" / "secret").unlink()


def test_folders_that_their_owner_may_not_write_to_are_removed(open_place: Path) -> None:
    folder = open_place / "folder"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "file").write_text("x")
    (folder / "a" / "b").chmod(0o500)
    (folder / "a").chmod(0o500)
    staged_folder(open_place / "staging", folder)
    assert os.listdir(open_place / "staging") == []
    for name in ("a", "a/b"):
        (folder / name).chmod(0o700)


def test_a_tree_is_removed_whatever_its_permissions(open_place: Path) -> None:
    (open_place / "tree" / "a" / "b").mkdir(parents=True)
    (open_place / "tree" / "a" / "b" / "file").write_text("x")
    (open_place / "outside").mkdir(mode=0o500)
    (open_place / "tree" / "link").symlink_to(open_place / "outside")
    for name, mode in [("a/b", 0o000), ("a", 0o500), (".", 0o400)]:
        (open_place / "tree" / name).chmod(mode)
    within = os.open(open_place, os.O_RDONLY)
    remove_tree(b"tree", within)
    assert os.listdir(within) == ["outside"]
    assert (open_place / "outside").stat().st_mode & 0o777 == 0o500
    (open_place / "link").symlink_to(open_place / "outside")
    with pytest.raises(NotADirectoryError):
        remove_tree(b"link", within)
    os.close(within)


def test_only_regular_files_are_opened_as_such(folder: Path) -> None:
    os.mkfifo(folder / "fifo")
    (folder / "link").symlink_to("fifo")
    within = os.open(folder, os.O_RDONLY)
    before = len(os.listdir("/proc/self/fd"))
    for name in (b"fifo", b".", b"link"):
        with pytest.raises((FileError, OSError)):
            open_regular(name, within)
    assert len(os.listdir("/proc/self/fd")) == before
    os.close(within)


def test_deep_and_long_paths_are_bounded(tmp_path: Path, folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d", dir_fd=descriptor)
        inner = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)
    assert "lies more than 256 folders deep" in _refusal(tmp_path, folder)
    other = tmp_path / "other"
    other.mkdir()
    descriptor = os.open(other, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=descriptor)
        inner = os.open("d" * 250, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)
    assert "expected at most 4095" in _refusal(tmp_path, other)


def _large(path: Path, size_bytes: int = 9 * MIB) -> None:
    path.write_bytes(os.urandom(MIB) * (size_bytes // MIB))


def test_progress_is_told_up_to_the_end(tmp_path: Path, folder: Path) -> None:
    _large(folder / "a", 18 * MIB)
    (folder / "b").write_text("12345")
    (folder / "_vq").mkdir()
    (folder / "_vq" / "c").write_text("123")
    told: list[tuple[int, int]] = []
    with open_staging(str(tmp_path / "staging")) as staging:
        stage_folder(staging, str(folder), progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (18 * MIB + 8, 18 * MIB + 8)
    assert len(told) == 5


@pytest.mark.parametrize("change", ["grow", "shrink", "write", "touch"])
def test_a_file_that_changes_while_it_is_copied_is_refused(tmp_path: Path, folder: Path, change: str) -> None:
    large = folder / "large"
    _large(large)

    def alter(_done: int, _total: int) -> None:
        match change:
            case "grow" if large.stat().st_size < 90 * MIB:
                # Faster than it is read.
                with large.open("ab") as file:
                    file.write(bytes(8 * MIB))
            case "shrink":
                os.truncate(large, MIB)
            case "write":
                with large.open("r+b") as file:
                    file.write(b"other")
            case _:
                os.utime(large, (1, 1))

    with open_staging(str(tmp_path / "staging")) as staging, pytest.raises(FileError) as caught:
        stage_folder(staging, str(folder), progress=alter)
    assert str(caught.value).startswith(f"{folder}: large: changed while it was copied")
    assert large.stat().st_size < 40 * MIB
    assert os.listdir(tmp_path / "staging") == []


def test_a_folder_that_becomes_a_link_while_it_is_copied_is_not_followed(tmp_path: Path, folder: Path) -> None:
    _large(folder / "a")
    (folder / "b").mkdir()
    (folder / "b" / "inside").write_text("inside")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")

    def swap(_done: int, _total: int) -> None:
        if not (folder / "b").is_symlink():
            (folder / "b").rename(tmp_path / "moved")
            (folder / "b").symlink_to(outside)

    with open_staging(str(tmp_path / "staging")) as staging:
        payload = stage_folder(staging, str(folder), progress=swap)
    assert payload.entries[1:] == (Link(path=b"b", target=os.fsencode(outside)),)


def test_a_file_that_becomes_a_fifo_or_is_gone_is_refused(tmp_path: Path, folder: Path) -> None:
    _large(folder / "a")
    (folder / "b").write_text("x")

    def swap(_done: int, _total: int) -> None:
        if (folder / "b").is_file():
            (folder / "b").unlink()
            os.mkfifo(folder / "b")

    with open_staging(str(tmp_path / "staging")) as staging, pytest.raises(FileError, match="b: is a FIFO"):
        stage_folder(staging, str(folder), progress=swap)
    (folder / "b").unlink()
    (folder / "b").write_text("x")
    with open_staging(str(tmp_path / "staging")) as staging, pytest.raises(FileError, match="b: no such file"):
        stage_folder(staging, str(folder), progress=lambda *_: (folder / "b").unlink(missing_ok=True))


def test_no_race_leads_outside(tmp_path: Path, folder: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "name").write_text("outside")
    inner = folder / "inner"
    inner.mkdir()
    (inner / "name").write_text("inside")
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            inner.rename(tmp_path / "moved")
            inner.symlink_to(outside)
            inner.unlink()
            (tmp_path / "moved").rename(inner)

    swapper = threading.Thread(target=swap)
    swapper.start()
    inside = File(path=b"inner/name", size_bytes=6, executable=False, sha256=hashlib.sha256(b"inside").digest())
    allowed = {(Directory(path=b"inner"), inside), (Link(path=b"inner", target=os.fsencode(outside)),), ()}
    seen, errors = set(), []
    try:
        for _ in range(400):
            try:
                seen.add(staged_folder(tmp_path / "staging", folder).entries)
            except FileError as error:
                errors.append(str(error))
    finally:
        done.set()
        swapper.join()
    assert seen <= allowed
    assert all("inner" in error for error in errors)


SWAP_BEFORE_OPENING = """
import os, shutil, sys
from vq.files.documents import FileError
from vq.files.payloads import stage_folder
from vq.files.staging import open_staging
top, name, replacement = sys.argv[1:]
path = top + "/folder/" + name

def swap(event, arguments):
    # Python tells of a file just before it opens it: later than any look at it.
    if event == "open" and arguments[0] == name.encode() and os.path.exists(top + "/" + replacement):
        os.rename(path, top + "/moved")
        os.rename(top + "/" + replacement, path)

sys.addaudithook(swap)
try:
    with open_staging(top + "/staging") as staging:
        print(stage_folder(staging, top + "/folder"))
except FileError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("name", "replacement", "message"),
    [
        ("inner", "link to folder", "inner: a folder in this path is a link, or not a folder"),
        ("inner", "fifo", "inner: a folder in this path is a link, or not a folder"),
        ("file", "link to file", "file: is a symbolic link; name the file itself"),
        ("file", "fifo", "file: is a FIFO, socket or device"),
        ("file", "outside", "file: is a FIFO, socket or device"),
    ],
)
def test_what_is_swapped_between_looking_and_opening_is_refused(
    tmp_path: Path, folder: Path, name: str, replacement: str, message: str
) -> None:
    (folder / "inner").mkdir()
    (folder / "file").write_text("inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    (tmp_path / "link to folder").symlink_to(tmp_path / "outside")
    (tmp_path / "link to file").symlink_to(tmp_path / "outside" / "secret")
    os.mkfifo(tmp_path / "fifo")
    output = subprocess.run(
        [sys.executable, "-c", SWAP_BEFORE_OPENING, str(tmp_path), name, replacement],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert output.startswith(f"{folder}: {message}")
    assert os.listdir(tmp_path / "staging") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reads what nobody may")
def test_what_root_alone_could_read_can_be_read_by_its_owner(tmp_path: Path, folder: Path) -> None:
    (folder / "file").write_text("x")
    (folder / "file").chmod(0)
    _, snapshot = _published(tmp_path, folder)
    assert (snapshot / "file").stat().st_mode & 0o777 == 0o400


def test_an_error_of_the_progress_leaves_nothing(tmp_path: Path, folder: Path) -> None:
    _large(folder / "a")

    def interrupt(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), open_staging(str(tmp_path / "staging")) as staging:
        stage_folder(staging, str(folder), progress=interrupt)
    assert os.listdir(tmp_path / "staging") == []


def test_a_single_file_is_staged_under_its_name(tmp_path: Path, folder: Path) -> None:
    name = os.fsdecode(b"caf\xe9\nno")
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)
    with open_staging(str(tmp_path / "staging")) as staging:
        payload = stage_file(staging, f"{folder}/{name}")
        publish(staging, payload, str(tmp_path / "snapshots"))
    assert payload.digest == staged_folder(tmp_path / "staging", folder).digest
    assert listing(tmp_path / "snapshots" / payload.digest) == listing(folder)


def test_a_single_file_is_a_regular_file(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "file").write_text("x")
    (folder / "link").symlink_to("file")
    os.mkfifo(folder / "fifo")
    for path, message in [
        ("link", "link: is a link; name the file itself"),
        (".", ".: expected a file; a folder is submitted with -d"),
        ("fifo", "fifo: is a FIFO, socket or device"),
        ("../folder", "../folder: is a folder; submit it with -d"),
        ("absent", "absent: no such file"),
        ("file/x", "file/x: a folder in this path is a link, or not a folder"),
    ]:
        with open_staging(str(tmp_path / "staging")) as staging, pytest.raises(FileError) as caught:
            stage_file(staging, path)
        assert str(caught.value).startswith(message)
    with open_staging(str(tmp_path / "staging")) as staging:
        assert [entry.path for entry in stage_file(staging, "file").entries] == [b"file"]


def test_no_payload_is_that_of_an_empty_folder(tmp_path: Path, folder: Path) -> None:
    assert stage_nothing() == staged_folder(tmp_path / "staging", folder)
