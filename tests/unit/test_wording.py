from __future__ import annotations

import pytest

from vq.wording import display_width, escape, human_bytes, wrap


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1023 bytes"),
        (1024, "1 KiB"),
        (206_058_240, "196.5 MiB"),
        (2**20 - 1, "1 MiB"),
        (1000 * 2**20, "1000 MiB"),
        (2**53, "8 PiB"),
        (2**70, "1048576 PiB"),
    ],
)
def test_sizes_are_shown_in_powers_of_1024(size: int, shown: str) -> None:
    assert human_bytes(size) == shown


def test_what_could_steer_a_reader_is_escaped() -> None:
    assert escape("plain é") == "plain é"
    assert escape("a\x1b[0m\u202eb\n") == r"a\x1b[0m\u202eb\n"


def test_width_counts_columns() -> None:
    assert [display_width(text) for text in ("abc", "漢字", "e\u0301")] == [3, 4, 1]


def test_wrapping_breaks_between_words_only() -> None:
    assert wrap("one two three", 7) == ["one two", "three"]
    assert wrap("unbreakable", 3) == ["unbreakable"]
    assert wrap("", 3) == [""]
