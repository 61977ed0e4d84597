from __future__ import annotations

from pathlib import Path

import pytest

from vq.files.documents import FileError
from vq.files.lines import read_lines


def test_lines_are_numbered_and_cut_where_they_are_too_long(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"a\n" + b"x" * 25 + b"\n\n" + b"y" * 4 + b"\n" + b"z" * 30)
    assert list(read_lines(str(path), 4)) == [
        (1, b"a\n"),
        (2, b"xxxxx"),
        (3, b"\n"),
        (4, b"yyyy\n"),
        (5, b"zzzzz"),
    ]


def test_a_line_of_just_the_length_stays_apart_from_the_next(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"abcd\nef\n" + b"x" * 10 + b"\ng")
    assert [data for _, data in read_lines(str(path), 4)] == [b"abcd\n", b"ef\n", b"xxxxx", b"g"]


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with pytest.raises(FileError, match="symbolic link"):
        list(read_lines(str(tmp_path / "link"), 4))
