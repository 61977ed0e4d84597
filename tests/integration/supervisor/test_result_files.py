"""The file of a result: whole under its name or not there, in room that was taken before, and of one attempt only."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from vq.supervisor.folder import RESERVED_BYTES, ResultFile, read_result
from vq.supervisor.outcome import Outcome, result_document


def document(attempt: str, **changes: Any) -> dict[str, Any]:
    """A result of a command that could not be run."""
    named: dict[str, Any] = {
        "attempt": attempt,
        "boot_id": "boot",
        "enforcement": "sampled",
        "kind": "cannot_run",
        "exit_code": 127,
        "signal": None,
        "text": "no such program",
        "why": None,
        "started_at_ms": 1,
        "finished_at_ms": 2,
        "left_over": 0,
        "measured": None,
    }
    return result_document(Outcome(**{**named, **changes}))


@pytest.mark.parametrize("length", [1, RESERVED_BYTES // 3, RESERVED_BYTES])
def test_a_result_takes_the_place_of_one_before_it_however_long_either_is(tmp_path: Path, length: int) -> None:
    path = tmp_path / "result.json"
    for text in ("x" * length, "short", "y" * length):
        file = ResultFile(str(path))
        assert not path.exists()
        before = Path(f"{path}.part").stat()
        assert before.st_size >= RESERVED_BYTES
        assert before.st_blocks * 512 >= RESERVED_BYTES
        file.write(document("a1.1", boot_id=text))
        found = read_result(str(path), "a1.1")
        assert found is not None
        assert found["boot_id"] == text
        assert path.stat().st_ino == before.st_ino
        path.rename(f"{path}.part")


def reserve_by_hand(descriptor: int, offset: int, length: int) -> None:
    """What the C library does on a file system that reserves nothing, such as ext3."""
    for place in range(offset, offset + length, 4096):
        if not os.pread(descriptor, 1, place):
            os.pwrite(descriptor, b"\0", place)


def test_a_result_finds_its_room_also_where_the_file_system_reserves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "posix_fallocate", reserve_by_hand)
    path = tmp_path / "result.json"
    for text in ("first", "second"):
        ResultFile(str(path)).write(document("a1.1", text=text))
        found = read_result(str(path), "a1.1")
        assert found is not None
        assert found["text"] == text
        path.rename(f"{path}.part")


def test_a_result_takes_up_what_was_reserved_for_it(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    ResultFile(str(path)).write(document("a1.1"))
    data = path.read_bytes()
    assert len(data) == RESERVED_BYTES
    assert data.endswith(b" \n")
    assert json.loads(data)["text"] == "no such program"


def test_the_result_of_another_attempt_is_none_of_this_one(tmp_path: Path) -> None:
    path = str(tmp_path / "result.json")
    ResultFile(path).write(document("a1.1.digest"))
    assert read_result(path, "a1.2.digest") is None
    assert read_result(path, "a1.1.digest") is not None


def test_what_is_given_up_leaves_nothing(tmp_path: Path) -> None:
    ResultFile(str(tmp_path / "result.json")).give_up()
    assert not list(tmp_path.iterdir())
