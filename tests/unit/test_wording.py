from __future__ import annotations

import pytest

from vq.wording import (
    counted,
    display_width,
    escape,
    human_bytes,
    human_cpus,
    human_ratio,
    human_seconds,
    share,
    wrap,
)


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


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (192, "3 min 12 s"),
        (3600, "1 h"),
        (3605, "1 h"),
        (90_061, "1 d 1 h"),
        (86_400 + 59, "1 d"),
        (900 * 86_400, "900 d"),
    ],
)
def test_durations_are_their_two_largest_units(seconds: int, text: str) -> None:
    assert human_seconds(seconds) == text


def test_cpus_and_counts_know_the_singular() -> None:
    assert [human_cpus(millicores) for millicores in (0, 100, 1000, 1500, 16_000)] == [
        "0 CPUs",
        "0.1 CPUs",
        "1 CPU",
        "1.5 CPUs",
        "16 CPUs",
    ]
    assert [counted(number, "job") for number in (0, 1, 2000)] == ["0 jobs", "1 job", "2,000 jobs"]


@pytest.mark.parametrize(
    ("count", "of", "shown"),
    [
        (0, 1000, "0.00"),
        (1, 1000, "<0.01"),
        (1, 201, "<0.01"),
        (6, 1000, "0.01"),
        (1, 3, "0.33"),
        (994, 1000, "0.99"),
        (996, 1000, ">0.99"),
        (99_999, 100_000, ">0.99"),
        (1000, 1000, "1.00"),
    ],
)
def test_a_share_is_never_none_or_all_by_rounding(count: int, of: int, shown: str) -> None:
    assert share(count, of) == shown


@pytest.mark.parametrize(
    ("ratio", "shown"),
    [
        (1, "1"),
        (1.0000012, ">1"),
        (0.9999, "<1"),
        (1.004, ">1"),
        (1.006, "1.01"),
        (0.5, "0.5"),
        (12345.0, "1.23e+04"),
        (0.0, "0"),
    ],
)
def test_a_ratio_keeps_its_side_of_one(ratio: float, shown: str) -> None:
    assert human_ratio(ratio) == shown
