from __future__ import annotations

import pytest

from vq.cli.output import Output

HEADINGS = ("ID", "STATE", "NAME", "CPUS", "MEMORY", "TIME", "NOTE")


def shown(capsys: pytest.CaptureFixture[str], name: str, note: str) -> str:
    row = ("b10", "TIME_EXCEEDED", name, "1", "8.827 GiB", "0:00:05", note)
    Output().listing(HEADINGS, [row], right=frozenset((3, 4, 5)), names=2)
    return capsys.readouterr().out.splitlines()[1]


def test_a_long_name_leaves_room_for_the_note(capsys: pytest.CaptureFixture[str]) -> None:
    line = shown(capsys, "benzene-water-cc-pvtz-scf-optimised", "memory (needs 6.25 GiB)")
    assert len(line) <= 80
    assert line.startswith("b10  TIME_EXCEEDED  benzene-wat…")
    assert "memory (needs" in line


def test_without_a_note_a_name_is_as_long_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    assert "benzene-water-cc-pvtz-scf" in shown(capsys, "benzene-water-cc-pvtz-scf", "")
    assert "limit 0:00:05" in shown(capsys, "tl", "limit 0:00:05")
