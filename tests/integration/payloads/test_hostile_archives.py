"""Archives made by hand to harm: each is refused with the member and the reason, and nothing is written."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import tarfile
import unicodedata
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from support.command import importing
from support.payload_trees import (
    PACKERS,
    Compression,
    folder_member,
    link_member,
    listing,
    member,
    packed,
    staged_archive,
)
from vq.files.archives import Unpacking
from vq.files.contents import Directory, File, Link
from vq.files.copying import Meter
from vq.files.documents import FileError
from vq.files.members import Member
from vq.files.payloads import stage_archive
from vq.files.snapshots import publish
from vq.files.staging import open_staging

Members = list[tarfile.TarInfo | tuple[tarfile.TarInfo, bytes]]
Refused = Callable[[bytes], str]

LINE = (member("line"), b"one line\n")


@pytest.fixture
def refused(tmp_path: Path) -> Refused:
    """Stages an archive of these bytes, which must fail, and says how."""

    def stage(data: bytes) -> str:
        archive = tmp_path / "archive"
        archive.write_bytes(data)
        with open_staging(str(tmp_path / "staging")) as staging:
            with pytest.raises(FileError) as caught:
                stage_archive(staging, str(archive))
            assert os.listdir(staging.tree) == [], "something was written before all was checked"
        assert sorted(os.listdir(tmp_path)) == ["archive", "staging"]
        assert os.listdir(tmp_path / "staging") == []
        text = str(caught.value)
        assert text.startswith(f"{archive}: ")
        return text.removeprefix(f"{archive}: ")

    return stage


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([member("/etc/passwd")], "/etc/passwd: has an absolute path"),
        ([member("//etc/passwd")], "//etc/passwd: has an absolute path"),
        ([folder_member("/")], "has an absolute path or none"),
        ([member("a/../../b")], "a/../../b: has `..`"),
        ([folder_member("..")], "..: has `..`"),
        ([member("..")], "..: has `..`"),
        ([LINE, member("b", type=tarfile.LNKTYPE, linkname="line")], "b: is a hard link"),
        ([member("b", type=tarfile.LNKTYPE, linkname="/etc/passwd")], "b: is a hard link"),
        ([member("b", type=tarfile.CHRTYPE, devmajor=1, devminor=3)], "b: is a device"),
        ([member("b", type=tarfile.BLKTYPE)], "b: is a device"),
        ([member("b", type=tarfile.FIFOTYPE)], "b: is a FIFO"),
        ([member("b", type=tarfile.GNUTYPE_SPARSE)], "b: is a sparse file"),
        ([member("b", pax_headers={"GNU.sparse.major": "1"})], "b: is a sparse file"),
        ([member("b", type=b"V")], "b: is of the unknown kind b'V'"),
        ([LINE, LINE], "line: comes twice"),
        ([member("./line"), LINE], "line: comes twice"),
        ([link_member("line", "x"), LINE], "line: comes twice"),
        (
            [member("README"), member("readme")],
            "readme: is, apart from case and Unicode composition, named like README",
        ),
        ([member("A/x"), member("a/y")], "a/y: is, apart from case"),
        ([member("A/x"), folder_member("a")], "a: is, apart from case"),
        ([folder_member("A"), link_member("a", "x")], "a: is, apart from case"),
        ([member("straße"), member("STRASSE")], "STRASSE: is, apart from case"),
        ([member("é"), member(unicodedata.normalize("NFD", "É"))], "is, apart from case"),
        ([member("a"), member("a/b")], "a/b: is a file of this archive, and another member takes it for a folder"),
        ([member("a/b"), member("a")], "a: is a file, and another member takes it for a folder"),
        ([folder_member("a"), member("a")], "a: is a file, and another"),
        ([member("a"), folder_member("a")], "a: is a file of this archive"),
        ([link_member("a", "/srv"), member("a/b")], "a/b: is a link of this archive"),
        ([link_member("a", "."), link_member("a/b", "/etc"), member("a/b/c")], "a/b: is a link of this archive"),
        ([link_member("a", "/srv"), folder_member("a")], "a: is a link of this archive"),
        ([link_member("a", "/srv"), folder_member("a/b/c")], "a/b/c: is a link of this archive"),
        ([member("a/b"), link_member("a", "/srv")], "a: is a link, and another"),
        ([link_member("a", "/srv"), member("./a//b")], "./a//b: is a link of this archive"),
        ([link_member("_vq", "/srv"), member("_vq/b")], "_vq/b: is a link of this archive"),
        ([member("b/", type=tarfile.REGTYPE)], "b/: is no folder"),
        ([member(".", type=tarfile.REGTYPE)], ".: is no folder"),
        ([link_member(".", "/srv")], ".: is no folder"),
        ([link_member("a", "")], "a: is a link to nowhere"),
        ([link_member("a", "x" * 4096)], "a: is a link to nowhere"),
        ([member("n" * 256)], "has a name of more than 255 bytes"),
        ([member("/".join(["n" * 200] * 30))], "a path of 6029 bytes; expected at most 4095"),
        ([member("d/" * 300 + "x")], "lies more than 256 folders deep"),
        ([member("x", pax_headers={"path": "a\0b"})], "has a NUL in its name"),
        ([member("x", pax_headers={"path": "/a"})], "/a: has an absolute path"),
        ([member("x", pax_headers={"path": "a/../b"})], "a/../b: has `..`"),
        ([member("x", pax_headers={"size": "-1"})], "x: has a size that is none"),
        ([member("x", pax_headers={"size": "9" * 50})], "x: has a size that is none"),
        ([member("x", pax_headers={"size": str(2**34 + 1)})], "x: unpacks to more than 16 GiB"),
        ([member("x", pax_headers={"comment": "c" * 2**20})], "has names or records of 1048"),
    ],
)
def test_members_that_no_payload_carries(refused: Refused, members: Members, message: str) -> None:
    # The good member in front would be there if anything were written before all is checked.
    assert message in refused(packed([(member("first"), b"1"), *members]))


def _header(**fields: object) -> bytes:
    return member("x", **fields).tobuf(tarfile.GNU_FORMAT)


def _with_size(field: bytes) -> bytes:
    header = bytearray(_header())
    header[124:136] = field
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


def test_sizes_that_are_declared_and_not_there(refused: Refused) -> None:
    assert "unpacks to more than 16 GiB" in refused(_header(size=2**40) + bytes(1024))
    assert "ends in the middle of a member" in refused(_header(size=2**33) + bytes(4096))
    two = _header(size=2**33) + bytes(1024)
    assert "ends in the middle of a member" in refused(gzip.compress(two))


def test_sizes_below_zero_do_not_lead_back(refused: Refused) -> None:
    minus_block = b"\xff" * 10 + b"\xfe\0"
    assert refused(_with_size(minus_block) + bytes(1024)).startswith("x: has a size that is none")
    extension = bytearray(_with_size(minus_block))
    extension[156:157] = b"x"
    extension[148:156] = b" " * 8
    extension[148:156] = b"%06o\0 " % sum(extension)
    assert "has names or records of -512 bytes" in refused(bytes(extension) + bytes(1024))


@pytest.mark.parametrize(
    "records",
    [
        b"0 path=x\n",
        b"5\n",
        b"9 path=x",
        b"99 path=x\n",
        b" path=x\n",
        b"7 path\n",
        b"5 =x\n",
        b"-9 path=x\n",
        b"1" * 2**19,
    ],
)
def test_records_that_are_none(refused: Refused, records: bytes) -> None:
    header = member("p", type=tarfile.XHDTYPE, size=len(records)).tobuf(tarfile.USTAR_FORMAT)
    data = header + records + bytes(-len(records) % 512) + _header() + bytes(1024)
    assert "a record of a pax header is malformed" in refused(data)


def test_extensions_without_end(refused: Refused) -> None:
    record = b"10 path=ab"[:9] + b"\n"
    header = member("p", type=tarfile.XGLTYPE, size=len(record)).tobuf(tarfile.USTAR_FORMAT)
    assert "more than 8 extensions" in refused((header + record + bytes(502)) * 20)


def test_streams_that_are_cut_off(refused: Refused) -> None:
    whole = packed([(member("x"), os.urandom(3000)), (member("y"), b"")])
    for compression in PACKERS:
        archive = packed([(member("x"), os.urandom(3000)), (member("y"), b"")], compression)
        for length in {1, 20, 600, 1536, len(archive) // 2, len(archive) - 9}:
            if length < len(archive) and (compression or length < 4000):
                refused(archive[:length])
    # At the border between two members, and where the end of the archive should be.
    assert "it was cut off" in refused(whole[: 512 + 3072])
    assert "it was cut off" in refused(whole[: 512 + 3072 + 512])


def test_streams_that_are_damaged(refused: Refused) -> None:
    compression: Compression
    for compression in ("gz", "bz2", "xz"):
        archive = bytearray(packed([(member("x"), os.urandom(3000))], compression))
        archive[len(archive) // 2] ^= 0xFF
        assert "cannot be unpacked" in refused(bytes(archive))
        # What lies behind the archive is read too: the sums of a stream stand at its end.
        archive[len(archive) // 2] ^= 0xFF
        assert "cannot be unpacked" in refused(bytes(archive) + b"garbage")
    archive = bytearray(packed([(member("x"), b"x" * 512), (member("y"), b"y")]))
    archive[1024 + 3] ^= 1
    assert "is damaged: bad checksum where the next member begins" in refused(bytes(archive))
    assert "incorrect data check" in refused(gzip.compress(packed([LINE]))[:-8] + bytes(8))


def test_what_is_no_archive(refused: Refused) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("a", "b")
    assert "is a zip file" in refused(buffer.getvalue())
    assert "is empty" in refused(b"")
    assert "is empty" in refused(gzip.compress(b""))
    assert "is no tar archive" in refused(b"#!/bin/sh\necho no\n")
    assert "is no tar archive" in refused(os.urandom(10_000))
    assert "is no tar archive" in refused(gzip.compress(packed([LINE], "gz")))


def test_xz_that_needs_much_memory(refused: Refused) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 512 * 2**20, "preset": 0}]
    data = lzma.compress(packed([LINE]), filters=filters)
    message = refused(data)
    assert "memory usage limit exceeded" in message


def test_more_than_200_000_members_are_refused(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    archive.write_bytes(gzip.compress(folder_member("d").tobuf(tarfile.USTAR_FORMAT) * 200_001 + bytes(1024), 1))
    with pytest.raises(FileError, match="has more than 200000 members"):
        staged_archive(tmp_path / "staging", archive)


def test_folders_that_are_only_implied_are_bounded_too(refused: Refused) -> None:
    deep = "/".join("f" * 250)
    members = [member(f"{index:06}/{deep}") for index in range(2000)]
    assert "one folder too many; expected at most 400000" in refused(packed(members, "gz"))


def test_names_are_bounded_together(refused: Refused) -> None:
    long = "/".join(["n" * 250] * 15)
    one = folder_member(long).tobuf(tarfile.GNU_FORMAT)
    assert "its names have more than 128 MiB together" in refused(gzip.compress(one * 36_000, 1))


@pytest.mark.parametrize("compression", ["gz", "bz2", "xz"])
def test_a_bomb_takes_little_memory(tmp_path: Path, compression: Compression) -> None:
    archive = tmp_path / "bomb"
    script = f"""
from pathlib import Path
from vq.files.documents import FileError
from vq.files.members import Member
from support.payload_trees import staged_archive
try:
    staged_archive(Path({str(tmp_path / "staging")!r}), Path({str(archive)!r}))
except FileError as error:
    print(error)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
    # A member that a small file stands for, and a pax header that says it has 1 GiB.
    file = member("x", size=200 * 2**20).tobuf(tarfile.USTAR_FORMAT) + bytes(200 * 2**20)
    header = member("p", type=tarfile.XHDTYPE, size=2**30).tobuf(tarfile.USTAR_FORMAT)
    archive.write_bytes(PACKERS[compression](file + header + bytes(2**20)))
    assert archive.stat().st_size < 2**20
    environment = importing(Path(__file__).parents[2])
    output = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
    ).stdout
    message, kibibytes = output.splitlines()
    assert "has names or records of 1073741824 bytes" in message
    assert int(kibibytes) < 60 * 1024


def test_odd_names_arrive_whole(tmp_path: Path) -> None:
    names = [b"a\nb", b"\xff\xfe", b" ", b"-rf", b"x" * 255, b"\xe9/caf\xc3\xa9", b"%s\t\x1b[0m", b"._x", b"a:b"]
    for tar_format in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        archive = tmp_path / "archive"
        archive.write_bytes(packed([(member(name), name) for name in names], "", tar_format))
        payload = staged_archive(tmp_path / "staging", archive)
        assert sorted(entry.path for entry in payload.entries if isinstance(entry, File)) == sorted(names)


def test_long_names_links_and_pax_records_count(tmp_path: Path) -> None:
    long = "d" * 100 + "/" + "n" * 200
    extra = {"mtime": "1234.5", "VENDOR.odd key": "= =\n9 path=no\n", "size": "1"}
    members: Members = [(member(long), b"1"), link_member("link", "t" * 3000), member("timed", pax_headers=extra)]
    members[2] = (member("timed", pax_headers=extra), b"1")
    for tar_format in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        archive = tmp_path / "archive"
        archive.write_bytes(packed(members, "", tar_format))
        entries = {entry.path: entry for entry in staged_archive(tmp_path / "staging", archive).entries}
        assert set(entries) == {b"d" * 100, long.encode(), b"link", b"timed"}
        assert entries[b"link"] == Link(path=b"link", target=b"t" * 3000)
        assert entries[b"d" * 100] == Directory(path=b"d" * 100)


def test_what_is_harmless_is_normalised(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    members: Members = [
        folder_member("./"),
        folder_member("./a"),
        folder_member("a/"),
        (member("./a//./b", mode=0o6755, uid=12345, gid=54321, mtime=1_000_000_000), b"1"),
        folder_member("a"),
        (member("c", mode=0o000, mtime=-5), b"2"),
        (member("future", mtime=2**40), b"3"),
        (member("no time", pax_headers={"mtime": "soon"}), b"4"),
        (member("contiguous", type=tarfile.CONTTYPE), b"5"),
        link_member("loop", "loop"),
        link_member("out", "../../etc/passwd"),
        member("sticky", type=tarfile.DIRTYPE, mode=0o1000, mtime=1_000_000_000),
    ]
    archive.write_bytes(packed(members, "xz"))
    with open_staging(str(tmp_path / "staging")) as staging:
        payload = stage_archive(staging, str(archive))
        publish(staging, payload, str(tmp_path / "snapshots"))
    top = tmp_path / "snapshots" / payload.digest
    found = listing(top)
    assert found[b"a/b"] == ("file", b"1", 0o755)
    assert found[b"c"] == ("file", b"2", 0o400)
    assert found[b"sticky"] == ("folder", b"", 0o700)
    assert found[b"out"][:2] == ("link", b"../../etc/passwd")
    assert (top / "a" / "b").stat().st_uid == os.geteuid()
    assert [(top / name).stat().st_mtime for name in ("a/b", "c", "sticky")] == [1e9, 0, 1e9]
    assert payload.size_bytes == 5


def test_streams_one_behind_the_other_are_one(tmp_path: Path) -> None:
    whole = packed([(member("x"), os.urandom(2000))])
    archive = tmp_path / "archive"
    plain = tmp_path / "plain"
    plain.write_bytes(whole)
    expected = staged_archive(tmp_path / "staging", plain).digest
    for compress in (gzip.compress, lzma.compress, bz2.compress):
        archive.write_bytes(compress(whole[:700]) + compress(b"") + compress(whole[700:]) + bytes(4096))
        assert staged_archive(tmp_path / "staging", archive).digest == expected


def test_reserved_members_are_read_and_not_staged(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    members: Members = [
        (member("_vq/input", mode=0o755), b"1"),
        link_member("_vq/link", "input"),
        folder_member("_vq"),
        (member("x/_vq"), b"2"),
        (member("_vqx"), b"3"),
    ]
    archive.write_bytes(packed(members))
    payload = staged_archive(tmp_path / "staging", archive)
    assert sorted(entry.path for entry in payload.entries) == [b"_vqx", b"x", b"x/_vq"]
    assert [file.path for file in payload.beside] == [b"_vq/input"]


def test_an_archive_is_a_regular_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "real").write_bytes(packed([LINE]))
    (tmp_path / "link").symlink_to("real")
    for name, message in [
        ("folder", "is no regular file"),
        ("fifo", "is no regular file"),
        ("link", "is a symbolic link"),
        ("absent", "no such file"),
    ]:
        with pytest.raises(FileError, match=f"{name}: {message}"):
            staged_archive(tmp_path / "staging", tmp_path / name)


def test_no_archive_has_no_members_is_an_empty_payload(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    archive.write_bytes(packed([], "gz"))
    assert staged_archive(tmp_path / "staging", archive).entries == ()


def test_what_lies_behind_the_archive_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vq.files.streams.MOST_STREAM_BYTES", 2**21)
    archive = tmp_path / "archive"
    archive.write_bytes(gzip.compress(packed([LINE]) + bytes(2**20)))
    assert len(staged_archive(tmp_path / "staging", archive).entries) == 1
    for compression in PACKERS:
        archive.write_bytes(PACKERS[compression](packed([LINE]) + bytes(2**21)))
        with pytest.raises(FileError, match="archive: unpacks to more than 2 MiB"):
            staged_archive(tmp_path / "staging", archive)


def test_members_of_many_folders_in_any_order(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    names = [f"{folder}/in/{index}" for index in range(3) for folder in range(100)]
    archive.write_bytes(packed([(member(name), name.encode()) for name in names], "gz"))
    entries = staged_archive(tmp_path / "staging", archive).entries
    assert sorted(os.fsdecode(entry.path) for entry in entries if isinstance(entry, File)) == sorted(names)
    assert sum(isinstance(entry, Directory) for entry in entries) == 200


def test_an_archive_that_is_exchanged_between_two_readings_gains_nothing(tmp_path: Path) -> None:
    good = packed([(member("a"), os.urandom(9 * 2**20)), (member("b"), b"1")])
    evil = packed([(member("a"), os.urandom(9 * 2**20)), (link_member("b", "/srv"), b"")])
    twice = packed([(member("a"), os.urandom(9 * 2**20)), (member("../b"), b"1")])
    archive = tmp_path / "archive"
    for other, message in ((evil, "changed while it was copied"), (twice, "../b: has `..` in its path")):
        archive.write_bytes(good)

        def exchange(_done: int, _total: int, other: bytes = other) -> None:
            with archive.open("r+b") as file:
                file.write(other)

        with open_staging(str(tmp_path / "staging")) as staging, pytest.raises(FileError) as caught:
            stage_archive(staging, str(archive), progress=exchange)
        assert message in str(caught.value)
        assert not (tmp_path / "b").exists()
        assert os.listdir(tmp_path / "staging") == []


def test_sizes_of_what_has_no_contents_are_not_skipped(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    blocks = [
        member("link", type=tarfile.SYMTYPE, linkname="x", size=512).tobuf(tarfile.USTAR_FORMAT),
        member("folder", type=tarfile.DIRTYPE, size=512).tobuf(tarfile.USTAR_FORMAT),
        member("file").tobuf(tarfile.USTAR_FORMAT),
    ]
    archive.write_bytes(b"".join(blocks) + bytes(1024))
    assert len(staged_archive(tmp_path / "staging", archive).entries) == 3


def test_unpacking_goes_through_no_link_even_without_the_checks(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()

    def made(name: str, target: bytes | None = None, *, is_folder: bool = False) -> tuple[bytes, Member]:
        path = name.encode()
        return path, Member(name=path, is_folder=is_folder, target=target, size_bytes=0, mode=0o755, mtime_ns=0)

    with open_staging(str(tmp_path / "staging")) as staging:
        meter = Meter(total_bytes=0, progress=None)
        with Unpacking(target=staging.tree, meter=meter) as unpacking:
            unpacking.take(*made("link", os.fsencode(outside)), iter(()))
            for name in ("link/file", "link", "link/deep/file"):
                with pytest.raises(FileError):
                    unpacking.take(*made(name), iter(()))
            unpacking.take(*made("folder/file"), iter(()))
            for index in range(70):
                unpacking.take(*made(f"{index}/file"), iter(()))
            os.rename("folder", "moved", src_dir_fd=staging.tree, dst_dir_fd=staging.tree)
            os.symlink(outside, "folder", dir_fd=staging.tree)
            with pytest.raises(FileError, match="folder/other: a folder in this path is a link"):
                unpacking.take(*made("folder/other"), iter(()))
            with pytest.raises(FileError, match="folder: exists already"):
                unpacking.take(*made("folder", b"elsewhere"), iter(()))
    assert os.listdir(outside) == []
