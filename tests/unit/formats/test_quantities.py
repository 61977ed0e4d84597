from __future__ import annotations

import pytest

from vq.errors import BadDataError
from vq.formats.quantities import CLOCK, COUNT, CPUS, DURATION, MOMENT, PERCENT, SIZE, Quantity, moment_in, size_in

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("290201600", 290201600),
        ("29.8 MB", 29.8 * MIB // 1),
        ("1.2GB", 1.2 * GIB // 1),
        ("1.5G", 1.5 * GIB),
        ("8940K", 8940 * KIB),
        ("2 TB", 2048 * GIB),
        ("4GiB", 4 * GIB),
        ("512 B", 512),
        ("12 kb", 12 * KIB),
        ("4.73e9", 4_730_000_000),
        ("3E", 3 * GIB * GIB),
    ],
)
def test_sizes_are_powers_of_1024(text: str, size: float) -> None:
    if size > 2**53:
        with pytest.raises(BadDataError):
            SIZE.read(text, "c")
    else:
        assert SIZE.read(text, "c") == size


def test_a_plain_size_is_of_the_unit_that_is_said_and_one_with_a_unit_of_its_own() -> None:
    assert size_in(MIB).read("3", "c") == 3 * MIB
    assert size_in(MIB).read("3 KB", "c") == 3 * KIB
    assert size_in(MIB).read("3B", "c") == 3


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("5s", 5000),
        ("352ms", 352),
        ("1m 30s", 90_000),
        ("10m 2s", 602_000),
        ("1d 2h 3m 4s", 93_784_000),
        ("5.4s", 5400),
        ("1h", 3_600_000),
        ("7704", 7704),
        ("2 min", 120_000),
    ],
)
def test_durations_in_parts(text: str, ms: int) -> None:
    assert DURATION.read(text, "c") == ms


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("00:01:30", 90_000),
        ("01:30", 90_000),
        ("1-02:03:04", 93_784_000),
        ("2-03", 183_600_000),
        ("02:03.500", 123_500),
        ("00:00.000123", 0),
        ("100:00:00", 360_000_000),
    ],
)
def test_clock_times(text: str, ms: int) -> None:
    assert CLOCK.read(text, "c") == ms


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01T00:00:01", 1000),
        ("2014-10-23 16:33:16.288", 1414081996288),
        ("2014-10-23T16:33:16+02:00", 1414074796000),
        ("1716753290296", 1716753290296),
        ("2022-02-10T20:32:47.898113", 1644525167898),
    ],
)
def test_moments_without_a_zone_are_utc(text: str, ms: int) -> None:
    assert MOMENT.read(text, "c") == ms


def test_a_moment_may_be_in_seconds() -> None:
    assert moment_in(1000).read("1644525200.5", "c") == 1644525200500


def test_cpus_percents_and_counts() -> None:
    assert CPUS.read("1.5", "c") == 1500
    assert PERCENT.read("183.8", "c") == PERCENT.read("183.8%", "c") == 1838
    assert COUNT.read("12", "c") == 12


@pytest.mark.parametrize("text", ["", " ", "-", "Unknown", "None assigned", "N/A", "9223372036854771712", "max"])
@pytest.mark.parametrize("quantity", [SIZE, DURATION, CLOCK, MOMENT, PERCENT, CPUS, COUNT])
def test_what_is_not_known_is_none(quantity: Quantity, text: str) -> None:
    assert quantity.read(text, "c") is None


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        (SIZE, "big"),
        (SIZE, "-1"),
        (SIZE, "1,2 GB"),
        (SIZE, "1" * 30),
        (SIZE, "9007199254740993"),
        (SIZE, "1e99"),
        (DURATION, "3 parsecs"),
        (DURATION, "1m later"),
        (DURATION, "-3s"),
        (CLOCK, "1:2:3:4"),
        (CLOCK, "90"),
        (MOMENT, "yesterday"),
        (MOMENT, "1960-01-01"),
        (MOMENT, "2024-13-01"),
        (PERCENT, "all"),
        (CPUS, "nan"),
        (COUNT, "1.5"),
        (COUNT, "٣"),
    ],
)
def test_another_text_is_refused_with_the_column_and_what_was_expected(quantity: Quantity, text: str) -> None:
    with pytest.raises(BadDataError, match=r"expected .* in column size, found"):
        quantity.read(text, "size")
