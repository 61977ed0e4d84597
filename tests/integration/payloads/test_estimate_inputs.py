"""An estimate's inputs looked for in a payload: by size and SHA-256, whatever the names, a link never."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import pytest

from support.payload_trees import link_member, member, packed, staged_archive, staged_folder
from vq.estimates.receipt import InputFile
from vq.files.contents import File
from vq.files.documents import FileError
from vq.files.inputs import fingerprint
from vq.files.matching import MOST_BYTES, MOST_FILES, refuse_unmatched
from vq.files.payloads import Payload, stage_nothing

GEOMETRY = b"3\nwater\n"


def _input(contents: bytes, path: str = "geometry.xyz") -> InputFile:
    return InputFile(path=path, bytes=len(contents), sha256=hashlib.sha256(contents).hexdigest())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    (made / "deep").mkdir(parents=True)
    return made


def test_any_name_will_do(tmp_path: Path, folder: Path) -> None:
    (folder / "deep" / "renamed").write_bytes(GEOMETRY)
    (folder / "other").write_bytes(b"other")
    payload = staged_folder(tmp_path / "staging", folder)
    refuse_unmatched([_input(GEOMETRY), _input(GEOMETRY, "twice"), _input(b"other")], payload)
    refuse_unmatched(fingerprint([str(folder)]).files, payload)
    refuse_unmatched([], payload)


def test_reserved_files_count(tmp_path: Path, folder: Path) -> None:
    (folder / "_vq").mkdir()
    (folder / "_vq" / "input").write_bytes(GEOMETRY)
    refuse_unmatched([_input(GEOMETRY)], staged_folder(tmp_path / "staging", folder))


def test_members_count_uncompressed_and_links_never(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    archive.write_bytes(packed([(member("in"), GEOMETRY)], "xz"))
    refuse_unmatched([_input(GEOMETRY)], staged_archive(tmp_path / "staging", archive))
    archive.write_bytes(packed([link_member("geometry.xyz", GEOMETRY)]))
    with pytest.raises(FileError):
        refuse_unmatched([_input(GEOMETRY)], staged_archive(tmp_path / "staging", archive))


def test_a_link_to_the_input_is_no_match(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "geometry.xyz").write_bytes(GEOMETRY)
    (folder / "geometry.xyz").symlink_to(tmp_path / "geometry.xyz")
    with pytest.raises(FileError, match=r"geometry\.xyz: is an input of the estimate and not in the payload"):
        refuse_unmatched([_input(GEOMETRY)], staged_folder(tmp_path / "staging", folder))


def test_the_refusal_names_the_input_and_what_stands_in_its_place(tmp_path: Path, folder: Path) -> None:
    expected = _input(GEOMETRY)
    text = (
        "geometry.xyz: is an input of the estimate and not in the payload: expected a regular file of 8 bytes with "
        f"SHA-256 {expected.sha256}"
    )
    with pytest.raises(FileError) as caught:
        refuse_unmatched([expected], stage_nothing())
    assert str(caught.value) == f"{text}; the payload has no files"
    (folder / "deep" / "unlike").write_bytes(b"9 letters")
    with pytest.raises(FileError) as caught:
        refuse_unmatched([expected], staged_folder(tmp_path / "staging", folder))
    assert str(caught.value) == text
    (folder / "alike").write_bytes(GEOMETRY[::-1])
    with pytest.raises(FileError) as caught:
        refuse_unmatched([expected], staged_folder(tmp_path / "staging", folder))
    assert str(caught.value) == f"{text}; alike has that size and other contents"
    (folder / "deep" / "geometry.xyz").write_bytes(b"4")
    with pytest.raises(FileError) as caught:
        refuse_unmatched([_input(GEOMETRY, "in/geometry.xyz")], staged_folder(tmp_path / "staging", folder))
    assert str(caught.value).endswith(
        f"; deep/geometry.xyz has 1 bytes with SHA-256 {hashlib.sha256(b'4').hexdigest()}"
    )


def test_files_of_an_inputs_size_are_bounded() -> None:
    one = File(path=b"x", size_bytes=len(GEOMETRY), sha256=hashlib.sha256(GEOMETRY).digest(), executable=False)
    nothing = stage_nothing()

    def of(*files: File) -> Payload:
        return replace(nothing, entries=files)

    refuse_unmatched([_input(GEOMETRY)], of(*[one] * MOST_FILES, *[replace(one, size_bytes=1)] * 100))
    with pytest.raises(FileError, match=r"20001 files of .* have the size of an input"):
        refuse_unmatched([_input(GEOMETRY)], of(*[one] * (MOST_FILES + 1)))
    with pytest.raises(FileError, match=r"20001 files of .* have the size of an input"):
        refuse_unmatched([_input(GEOMETRY)], replace(of(*[one] * MOST_FILES), beside=(one,)))
    half = replace(one, size_bytes=MOST_BYTES // 2)
    expected = replace(_input(GEOMETRY), bytes=half.size_bytes)
    refuse_unmatched([expected], of(half, half))
    with pytest.raises(FileError, match="at most 20000 files of 16 GiB together are compared"):
        refuse_unmatched([expected], of(half, half, half))


def test_a_file_at_rest_is_hashed_as_any_tool_does(tmp_path: Path, folder: Path) -> None:
    contents = os.urandom(3_000_001)
    (folder / "large").write_bytes(contents)
    (entry,) = [entry for entry in staged_folder(tmp_path / "staging", folder).entries if isinstance(entry, File)]
    assert (entry.size_bytes, entry.sha256) == (len(contents), hashlib.sha256(contents).digest())
