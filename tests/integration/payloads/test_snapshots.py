"""Staging folders, snapshots and workspaces: complete or not there, under kills, races and full disks."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.command import importing
from support.payload_trees import listing, member, packed
from vq.files.documents import MIB, FileError
from vq.files.linux import clone, sync_file_system
from vq.files.payloads import Payload, stage_archive, stage_folder, stage_nothing
from vq.files.snapshots import has_snapshot, make_durable, make_workspace, publish, withdraw
from vq.files.staging import open_staging, sweep_staging

ENVIRONMENT = importing(Path(__file__).parents[2])

STAGE = """
import os, signal, sys
from vq.files.payloads import stage_archive, stage_folder
from vq.files.snapshots import make_workspace, publish
from vq.files.staging import open_staging
kind, top, kills_at = sys.argv[1], sys.argv[2], int(sys.argv[3])
told = 0
def progress(done, total):
    global told
    told += 1
    if told == kills_at:
        print("here", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
with open_staging(top + "/staging") as staging:
    stage = {"folder": stage_folder, "archive": stage_archive}[kind]
    payload = stage(staging, top + "/" + kind, progress=progress)
    publish(staging, payload, top + "/snapshots")
with open_staging(top + "/staging") as staging:
    make_workspace(staging, payload.digest, top + "/snapshots", top + "/work", progress=progress)
"""


class Place:
    """The folders of one test, and what is done in them."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.folder = top / "folder"
        self.staging = str(top / "staging")
        self.snapshots = str(top / "snapshots")
        self.folder.mkdir()
        (self.folder / "inner").mkdir()
        (self.folder / "inner" / "large").write_bytes(os.urandom(MIB) * 18)
        (self.folder / "small").write_text("small")
        (self.folder / "link").symlink_to("small")

    def publish(self) -> Payload:
        with open_staging(self.staging) as staging:
            payload = stage_folder(staging, str(self.folder))
            publish(staging, payload, self.snapshots)
        return payload

    def workspace(self, digest: str, name: str = "work") -> Path:
        with open_staging(self.staging) as staging:
            make_workspace(staging, digest, self.snapshots, str(self.top / name))
        return self.top / name

    def left(self) -> list[str]:
        return os.listdir(self.staging)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def _submitted_at_once(place: Place, count: int) -> list[tuple[bool, str]]:
    at_once = threading.Barrier(count)
    results: list[tuple[bool, str]] = []

    def submit() -> None:
        with open_staging(place.staging) as staging:
            payload = stage_folder(staging, str(place.folder))
            at_once.wait()
            results.append((publish(staging, payload, place.snapshots), payload.digest))

    threads = [threading.Thread(target=submit) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_two_submitters_of_one_payload_leave_one_snapshot(place: Place) -> None:
    (place.folder / "inner" / "large").write_bytes(b"")
    for _ in range(10):
        (place.folder / "small").write_bytes(os.urandom(8))
        results = _submitted_at_once(place, 4)
        assert sorted(published for published, _ in results) == [False, False, False, True]
        (digest,) = {digest for _, digest in results}
        assert listing(Path(place.snapshots) / digest) == listing(place.folder)
    assert place.left() == []
    assert len(os.listdir(place.snapshots)) == 10


def test_a_workspace_shares_no_file_with_its_snapshot(place: Place) -> None:
    digest = place.publish().digest
    work = place.workspace(digest)
    assert listing(work) == listing(place.folder)
    with (work / "inner" / "large").open("r+b") as file:
        file.write(b"written by the job")
    (work / "small").write_text("changed")
    assert listing(place.workspace(digest, "another")) == listing(place.folder)
    assert (work / "small").stat().st_ino != (Path(place.snapshots) / digest / "small").stat().st_ino
    assert place.left() == []


def test_a_workspace_is_made_where_nothing_stands(place: Place) -> None:
    digest = place.publish().digest
    (place.top / "empty").mkdir()
    assert listing(place.workspace(digest, "empty")) == listing(place.folder)
    (place.top / "full").mkdir()
    (place.top / "full" / "file").write_text("x")
    (place.top / "link").symlink_to("elsewhere")
    for name in ("full", "link", "absent/work"):
        with pytest.raises(FileError, match=name):
            place.workspace(digest, name)
    assert listing(place.top / "full") == {b"file": ("file", b"x", 0o644)}
    assert place.left() == []


def test_a_snapshot_is_named_by_a_digest(place: Place) -> None:
    place.publish()
    for digest in ("", "..", "../folder", "a" * 63, "A" * 64):
        with pytest.raises(FileError, match="expected the digest of a payload"):
            place.workspace(digest)
    with pytest.raises(FileError, match=f"{place.snapshots}: no such file"):
        place.workspace("a" * 64)


def test_a_snapshot_is_withdrawn_once(place: Place) -> None:
    digest = place.publish().digest
    assert has_snapshot(digest, place.snapshots)
    with open_staging(place.staging) as staging:
        assert withdraw(staging, digest, place.snapshots)
        assert not has_snapshot(digest, place.snapshots)
        assert not withdraw(staging, digest, place.snapshots)
    assert place.left() == os.listdir(place.snapshots) == []
    assert place.publish().digest == digest
    assert has_snapshot(digest, place.snapshots)


def test_nothing_is_a_payload_too(place: Place) -> None:
    for expected in (True, True):
        # One empty folder takes the place of another, which nobody can tell.
        with open_staging(place.staging) as staging:
            assert publish(staging, stage_nothing(), place.snapshots) is expected
    assert listing(place.workspace(stage_nothing().digest)) == {}


def test_many_files_are_brought_to_disk_in_one_go(place: Place) -> None:
    for index in range(40):
        (place.folder / f"{index}").write_text("x")
    with open_staging(place.staging) as staging:
        make_durable(staging, stage_folder(staging, str(place.folder)))


def test_a_snapshots_folder_that_is_none_is_refused(place: Place) -> None:
    (place.top / "snapshots").symlink_to(place.folder)
    with pytest.raises(FileError, match="snapshots: "):
        place.publish()
    (place.top / "snapshots").unlink()
    with open_staging(place.staging) as staging:
        payload = stage_folder(staging, str(place.folder))
        (place.top / "snapshots").mkdir()
        (place.top / "snapshots" / payload.digest).write_text("in the way")
        with pytest.raises(FileError, match="a link, or not a folder"):
            publish(staging, payload, place.snapshots)


@pytest.mark.parametrize("kind", ["folder", "archive"])
@pytest.mark.parametrize("kills_at", [1, 2, 4, 6, 8])
def test_a_kill_leaves_nothing_by_halves(place: Place, kind: str, kills_at: int) -> None:
    contents = (place.folder / "inner" / "large").read_bytes()
    (place.top / "archive").write_bytes(packed([(member("inner/large", mode=0o644), contents)]))
    killed = subprocess.run(
        [sys.executable, "-c", STAGE, kind, str(place.top), str(kills_at)],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        check=False,
    )
    assert (killed.returncode, killed.stdout) == (-signal.SIGKILL, b"here\n")
    for digest in os.listdir(place.snapshots) if kills_at > 5 else []:
        found = listing(Path(place.snapshots) / digest)
        assert hashlib.sha256(found[b"inner/large"][1]).digest() == hashlib.sha256(contents).digest()
    assert kills_at > 5 or not os.path.exists(place.snapshots)
    assert not (place.top / "work").exists()
    assert len(place.left()) == 1
    assert sweep_staging(place.staging) == 1
    assert place.left() == []
    assert sweep_staging(place.staging) == 0


def test_kills_at_any_moment_leave_whole_snapshots(place: Place) -> None:
    (place.folder / "inner" / "large").write_bytes(b"x" * 5000)
    script = """
import os, sys
from vq.files.payloads import stage_folder
from vq.files.snapshots import publish
from vq.files.staging import open_staging
top = sys.argv[1]
while True:
    with open(top + "/folder/small", "wb") as file:
        file.write(os.urandom(8))
    with open_staging(top + "/staging") as staging:
        publish(staging, stage_folder(staging, top + "/folder"), top + "/snapshots")
    print("published", flush=True)
"""
    for lines in range(1, 16):
        with subprocess.Popen(
            [sys.executable, "-c", script, str(place.top)], env=ENVIRONMENT, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            for _ in range(lines):
                process.stdout.readline()
            process.kill()
        assert sweep_staging(place.staging) <= 1
        assert place.left() == []
    for digest in os.listdir(place.snapshots):
        with open_staging(place.staging) as staging:
            assert stage_folder(staging, f"{place.snapshots}/{digest}").digest == digest


def test_a_sweep_leaves_what_is_in_use_and_what_is_not_its_own(place: Place) -> None:
    with ExitStack() as stack:
        used = [stack.enter_context(open_staging(place.staging)) for _ in range(3)]
        (Path(place.staging) / ("a" * 32)).mkdir()
        (Path(place.staging) / ("b" * 32)).symlink_to(place.folder)
        (Path(place.staging) / ("c" * 32)).write_text("a file")
        (Path(place.staging) / "notes").mkdir()
        assert sweep_staging(place.staging) == 1
        names = set(place.left())
        assert {"b" * 32, "c" * 32, "notes"} < names
        assert len(names) == 6
        for staging in used:
            stage_folder(staging, str(place.folder))
    assert sorted(place.left()) == ["b" * 32, "c" * 32, "notes"]
    assert listing(place.folder)


def test_sweeps_and_submitters_do_not_disturb_each_other(place: Place) -> None:
    (place.folder / "inner" / "large").write_bytes(b"")
    done = threading.Event()

    def sweep() -> None:
        while not done.is_set():
            sweep_staging(place.staging)

    sweeper = threading.Thread(target=sweep)
    place.publish()
    sweeper.start()
    try:
        for _ in range(300):
            with open_staging(place.staging) as staging:
                stage_folder(staging, str(place.folder))
    finally:
        done.set()
        sweeper.join()
    assert place.left() == []


def test_a_very_deep_tree_is_removed(place: Place) -> None:
    with open_staging(place.staging) as staging:
        folder = os.dup(staging.tree)
        for _ in range(1500):
            os.mkdir("d", dir_fd=folder)
            os.symlink("/etc", "link", dir_fd=folder)
            inner = os.open("d", os.O_RDONLY, dir_fd=folder)
            os.close(folder)
            folder = inner
        os.close(folder)
    assert place.left() == []


def test_a_staging_folder_that_somebody_removed_is_no_error(place: Place) -> None:
    with open_staging(place.staging) as staging:
        (name,) = place.left()
        os.rmdir("tree", dir_fd=staging.folder)
        os.rmdir(f"{place.staging}/{name}")


def test_the_staging_folder_is_private(place: Place) -> None:
    old = os.umask(0)
    try:
        with open_staging(place.staging):
            (name,) = place.left()
            for path in (place.staging, f"{place.staging}/{name}", f"{place.staging}/{name}/tree"):
                assert os.stat(path).st_mode & 0o777 == 0o700
    finally:
        os.umask(old)
    (place.top / "link").symlink_to("staging")
    for path in ("link", "absent/staging"):
        with pytest.raises(FileError, match=path), open_staging(str(place.top / path)):
            pass


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100m", "tmpfs", disk], check=False).returncode:
        pytest.skip("only root mounts a small disk")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def test_a_disk_without_room_is_refused_before_anything_is_copied(place: Place, small_disk: Path) -> None:
    (place.folder / "more").write_bytes(bytes(30 * MIB))
    archive = place.top / "archive"
    archive.write_bytes(packed([(member("x"), bytes(48 * MIB))], "gz"))
    with open_staging(str(small_disk / "staging")) as staging:
        for stage, path in ((stage_folder, place.folder), (stage_archive, archive)):
            with pytest.raises(FileError, match=r"has 48 MiB, and the disk .* has 100 MiB free; .* 112 MiB"):
                stage(staging, str(path))
        assert os.listdir(staging.tree) == []


def test_a_disk_that_fills_up_meanwhile_leaves_nothing(place: Place, small_disk: Path) -> None:
    def fill(_done: int, _total: int) -> None:
        descriptor = os.open(small_disk / "filler", os.O_WRONLY | os.O_CREAT)
        status = os.fstatvfs(descriptor)
        os.posix_fallocate(descriptor, 0, max(status.f_bavail * status.f_frsize, os.fstat(descriptor).st_size))
        os.close(descriptor)

    archive = place.top / "archive"
    archive.write_bytes(packed([(member("inner/large"), bytes(18 * MIB))], "gz"))
    for stage, path in ((stage_folder, place.folder), (stage_archive, archive)):
        refused = pytest.raises(FileError, match="inner/large: no space left on device")
        with refused, open_staging(str(small_disk / "staging")) as staging:
            stage(staging, str(path), progress=fill)
        assert os.listdir(small_disk / "staging") == []
        (small_disk / "filler").unlink()


def test_a_limit_on_file_sizes_is_an_error_and_no_signal(place: Place) -> None:
    script = """
import resource, sys
from vq.files.documents import FileError
from vq.files.payloads import stage_folder
from vq.files.staging import open_staging
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    with open_staging(sys.argv[1] + "/staging") as staging:
        stage_folder(staging, sys.argv[1] + "/folder")
except FileError as error:
    print(error)
"""
    output = subprocess.run(
        [sys.executable, "-c", script, str(place.top)], env=ENVIRONMENT, capture_output=True, text=True, check=True
    ).stdout
    assert output == f"{place.folder}: inner/large: file too large\n"
    assert place.left() == []


@pytest.fixture
def cloning_disk(tmp_path: Path) -> Iterator[Path]:
    image, disk = tmp_path / "image", tmp_path / "btrfs"
    disk.mkdir()
    image.touch()
    os.truncate(image, 300 * MIB)
    try:
        made = subprocess.run(["mkfs.btrfs", "-q", image], check=False, capture_output=True).returncode == 0
        made = made and subprocess.run(["mount", "-o", "loop", image, disk], check=False).returncode == 0
    except FileNotFoundError:
        made = False
    if not made:
        pytest.skip("needs root, loop devices and mkfs.btrfs")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def test_copies_share_blocks_where_the_file_system_can(cloning_disk: Path) -> None:
    (cloning_disk / "place").mkdir()
    place = Place(cloning_disk / "place")
    digest = place.publish().digest
    work = place.workspace(digest)
    assert listing(work) == listing(Path(place.snapshots) / digest) == listing(place.folder)
    os.sync()
    used = subprocess.run(
        ["btrfs", "filesystem", "du", "--raw", "-s", cloning_disk], capture_output=True, text=True, check=True
    ).stdout.splitlines()[-1]
    total, exclusive, shared, _ = used.split(maxsplit=3)
    assert int(total) == 3 * 18 * MIB
    assert int(exclusive) < MIB
    assert int(shared) < 19 * MIB
    with (work / "inner" / "large").open("r+b") as file:
        file.write(b"written by the job")
    assert listing(place.workspace(digest, "another")) == listing(place.folder)


def test_a_clone_says_where_it_cannot_and_raises_what_went_wrong(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with (tmp_path / "file").open("rb") as source, (tmp_path / "other").open("wb") as target:
        with open("/proc/self/status", "rb") as foreign:
            assert not clone(foreign.fileno(), target.fileno())
        with pytest.raises(OSError, match="Bad file descriptor"):
            clone(source.fileno(), source.fileno())
    with pytest.raises(OSError, match="Bad file descriptor"):
        sync_file_system(-1)
