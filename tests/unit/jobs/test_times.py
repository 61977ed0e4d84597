"""Times as people write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vq.errors import UsageError
from vq.jobs.times import (
    LAST_MS,
    LONGEST_SECONDS,
    epoch_ms,
    limit_seconds,
    moment_ms,
    shown_moment,
    shown_seconds,
    span_ms,
    span_text,
)

NOON = datetime(2026, 11, 30, 12, 0, 30, tzinfo=timezone(timedelta(hours=1)))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 5400),
        ("90s", 90),
        ("2h", 7200),
        ("30d", 2_592_000),
        ("1", 60),
        ("90:30", 5430),
        ("0:01", 1),
        ("01:35:00", 5700),
        ("100:00:01", 360_001),
        ("2-03:04:05", 2 * 86_400 + 3 * 3600 + 4 * 60 + 5),
    ],
)
def test_a_limit_is_read_as_slurm_reads_it(text: str, seconds: int) -> None:
    assert limit_seconds(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "0:00",
        "-5",
        "1:60",
        "1:5",
        "1:60:00",
        "1-24:00:00",
        "1-00:60:00",
        "1-00:00",
        "1.5",
        "90 ",
        "٣",
        "9" * 10,
    ],
)
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no time limit"):
        limit_seconds(text)


@given(st.integers(1, LONGEST_SECONDS))
def test_a_limit_that_is_shown_is_read_back(seconds: int) -> None:
    assert limit_seconds(shown_seconds(seconds)) == seconds


@given(st.integers(0, LONGEST_SECONDS))
def test_a_span_is_written_as_it_is_read(seconds: int) -> None:
    written = span_text(1000 * seconds)
    assert span_ms(written) == 1000 * seconds
    assert [span_text(span_ms(text)) for text in ("0s", "90s", "10m", "36h", "30d")] == [
        "0s",
        "90s",
        "10m",
        "36h",
        "30d",
    ]


def test_a_span_is_a_number_and_a_unit() -> None:
    assert [span_ms(text) for text in ("0s", "10s", "10m", "2h", "30d")] == [
        0,
        10_000,
        600_000,
        7_200_000,
        2_592_000_000,
    ]
    for text in ("10", "s", "1.5h", "-1s", "10 m", "9999999999d", "1w"):
        with pytest.raises(UsageError, match="no span"):
            span_ms(text)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("+2h", datetime(2026, 11, 30, 13, 0, 30, tzinfo=UTC)),
        ("12:01", datetime(2026, 11, 30, 11, 1, tzinfo=UTC)),
        ("12:00", datetime(2026, 12, 1, 11, 0, tzinfo=UTC)),
        ("9:30", datetime(2026, 12, 1, 8, 30, tzinfo=UTC)),
        ("2027-01-02", datetime(2027, 1, 1, 23, 0, tzinfo=UTC)),
        ("2027-01-02T03:04", datetime(2027, 1, 2, 2, 4, tzinfo=UTC)),
        ("2027-01-02 03:04:05Z", datetime(2027, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2027-01-02T03:04:05-05:00", datetime(2027, 1, 2, 8, 4, 5, tzinfo=UTC)),
    ],
)
def test_a_moment_is_read_beside_the_clock_that_is_given(text: str, moment: datetime) -> None:
    assert moment_ms(text, NOON) == epoch_ms(moment)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "+",
        "+2",
        "25:00",
        "12:60",
        "tomorrow",
        "2026-02-30",
        "0001-01-01",
        "1969-12-31",
    ],
)
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        moment_ms(text, NOON)


def test_the_next_day_begins_where_the_clocks_change() -> None:
    now = datetime(2026, 10, 24, 12, 0, tzinfo=ZoneInfo("Europe/Berlin"))
    assert moment_ms("11:00", now) == epoch_ms(datetime(2026, 10, 25, 10, 0, tzinfo=UTC))


def test_a_moment_that_no_calendar_has_is_shown_as_the_last() -> None:
    assert shown_moment(2**53 - 1) == shown_moment(LAST_MS) == "9999-12-30 00:00:00 UTC"


def test_a_moment_is_shown_in_utc() -> None:
    assert shown_moment(epoch_ms(NOON)) == "2026-11-30 11:00:30 UTC"
