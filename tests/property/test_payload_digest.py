"""Law: a payload's digest says what the payload is, and neither how it came nor in which order it was made."""

from __future__ import annotations

import tarfile
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support.payload_trees import (
    FOLDER,
    Compression,
    Made,
    listing,
    make_tree,
    names,
    packed,
    staged_archive,
    staged_folder,
    tree_members,
    trees,
)
from vq.files.contents import digest_of
from vq.files.documents import FileError
from vq.files.payloads import stage_archive, stage_folder
from vq.files.snapshots import make_workspace, publish
from vq.files.staging import open_staging

laws = settings(deadline=None, max_examples=40)


@laws
@given(tree=trees())
def test_what_is_staged_published_and_worked_in_is_the_tree(tree: dict[bytes, Made]) -> None:
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        folder = make_tree(top / "tree", tree)
        with open_staging(str(top / "staging")) as staging:
            payload = stage_folder(staging, str(folder))
            assert publish(staging, payload, str(top / "snapshots"))
        with open_staging(str(top / "staging")) as staging:
            make_workspace(staging, payload.digest, str(top / "snapshots"), str(top / "work"))
        assert listing(top / "work") == listing(top / "snapshots" / payload.digest) == listing(folder)
        assert staged_folder(top / "staging", top / "work").digest == payload.digest
        assert list((top / "staging").iterdir()) == []


@laws
@given(
    tree=trees(),
    compression=st.sampled_from(["", "gz", "bz2", "xz"]),
    tar_format=st.sampled_from([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT]),
    data=st.data(),
)
def test_an_archive_of_a_tree_has_the_digest_of_the_tree(
    tree: dict[bytes, Made], compression: Compression, tar_format: int, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        folder = make_tree(top / "tree", tree)
        archive = top / "archive"
        members = data.draw(st.permutations(tree_members(tree)))
        archive.write_bytes(packed(members, compression, tar_format))
        with open_staging(str(top / "staging")) as staging:
            payload = stage_archive(staging, str(archive))
            publish(staging, payload, str(top / "snapshots"))
        assert payload.digest == staged_folder(top / "staging", folder).digest
        assert listing(top / "snapshots" / payload.digest) == listing(folder)


@laws
@given(tree=trees(), data=st.data())
def test_the_order_of_entries_is_irrelevant(tree: dict[bytes, Made], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        payload = staged_folder(Path(name) / "staging", make_tree(Path(name) / "tree", tree))
        assert digest_of(data.draw(st.permutations(payload.entries))) == payload.digest


@laws
@given(tree=trees(), data=st.data())
def test_every_byte_name_run_bit_and_target_counts(tree: dict[bytes, Made], data: st.DataObject) -> None:
    assume(tree)
    path = data.draw(st.sampled_from(list(tree)))
    made = tree[path]
    changed = dict(tree)
    if made.target is not None:
        changed[path] = data.draw(
            st.sampled_from([replace(made, target=made.target + b"x"), Made(contents=made.target)])
        )
    elif made.contents is None:
        renamed = data.draw(names.filter(lambda name: name not in tree))
        changed[renamed] = FOLDER
    else:
        flipped = made.contents[:-1] + bytes([made.contents[-1] ^ 1]) if made.contents else b"\0"
        changed[path] = data.draw(
            st.sampled_from(
                [
                    replace(made, runs=not made.runs),
                    replace(made, contents=flipped),
                    replace(made, contents=made.contents + b"\0"),
                    Made(target=made.contents.replace(b"\0", b"_")[:200] or b"_"),
                ]
            )
        )
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        one = staged_folder(top / "staging", make_tree(top / "one", tree))
        other = staged_folder(top / "staging", make_tree(top / "other", changed))
        assert one.digest != other.digest


@laws
@given(
    data=st.binary(max_size=3000), start=st.sampled_from([b"", b"\x1f\x8b\x08\0", b"BZh9", b"\xfd7zXZ\0", b"a" * 257])
)
def test_no_bytes_break_the_reader_of_archives(data: bytes, start: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        archive = Path(name) / "archive"
        archive.write_bytes(start + data)
        _refused_or_staged(Path(name), archive)


@laws
@given(tree=trees(), compression=st.sampled_from(["", "gz", "bz2", "xz"]), data=st.data())
def test_no_damage_breaks_the_reader_of_archives(
    tree: dict[bytes, Made], compression: Compression, data: st.DataObject
) -> None:
    whole = bytearray(packed(tree_members(tree), compression))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with tempfile.TemporaryDirectory() as name:
        archive = Path(name) / "archive"
        archive.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
        _refused_or_staged(Path(name), archive)


def _refused_or_staged(top: Path, archive: Path) -> None:
    where = str(archive)
    try:
        staged_archive(top / "staging", archive)
    except FileError as error:
        where = str(error)
    assert where.startswith(str(archive))
    assert list((top / "staging").iterdir()) == []
    assert sorted(path.name for path in top.iterdir()) == ["archive", "staging"]
