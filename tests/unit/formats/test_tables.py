from __future__ import annotations

import pytest

from imported import lines
from vq.errors import BadDataError
from vq.formats.outcomes import LONGEST_LINE, Unread
from vq.formats.tables import Record, read_table


def records(text: str | bytes) -> list[Record | Unread]:
    return list(read_table(lines(text), separators="\t,;|").records)


@pytest.mark.parametrize("separator", ["\t", ",", ";", "|"])
def test_the_header_says_what_separates_cells(separator: str) -> None:
    text = f"a{separator}b\n\n1{separator}2\n"
    assert records(text) == [Record(3, {"a": "1", "b": "2"})]


def test_a_byte_order_mark_and_windows_line_ends_are_no_part_of_cells() -> None:
    assert records(b"\xef\xbb\xbfa,b\r\n1,2\r\n") == [Record(2, {"a": "1", "b": "2"})]


def test_a_separator_may_end_each_line() -> None:
    assert records("a|b|\n1|2|\n") == [Record(2, {"a": "1", "b": "2"})]


def test_quotes_keep_separators_quotes_and_line_ends() -> None:
    assert records('a,b\n"1,""x\n""",2\n3,4\n') == [
        Record(2, {"a": '1,"x\n"', "b": "2"}),
        Record(4, {"a": "3", "b": "4"}),
    ]


def test_tabs_and_bars_know_no_quotes() -> None:
    assert records('a\tb\n"\t2\n') == [Record(2, {"a": '"', "b": "2"})]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a,b\n1\n", "expected 2 cells, as in the header, found 1"),
        ("a,b\n1,2,3\n", "expected 2 cells, as in the header, found 3"),
        ('a,b\n"1,2\n', "expected a closing quote"),
        ('a,b\n"1"x,2\n', "expected cells with quotes around them or none"),
        (b"a,b\n\xff,2\n", "expected UTF-8 text, found"),
        (b"a,b\n" + b"1" * (LONGEST_LINE + 1) + b",2\n", "expected a line of at most 1048576 bytes"),
        (b'a,b\n"1\n\xff",2\n', "expected UTF-8 text, found"),
    ],
)
def test_a_record_that_cannot_be_read_says_why_and_where(text: str | bytes, why: str) -> None:
    first = records(text)[0]
    assert isinstance(first, Unread)
    assert first.line == 2
    assert str(first.error).startswith(why)


def test_an_open_quote_takes_no_more_than_a_line_may_have() -> None:
    text = 'a,b\n"1\n' + "x" * 1000 + "\n" + ("y" * 1000 + "\n") * 2000
    first, *rest = records(text)
    assert isinstance(first, Unread)
    assert len(rest) > 900


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "expected a table with a header line; the file is empty"),
        ("\n \n", "expected a table with a header line; the file is empty"),
        ("a,a\n", "line 1: expected each column once in the header, found"),
        (b"\xff\n", "line 1: expected UTF-8 text"),
        ('\n"a"x,b\n', "line 2: expected cells with quotes around them or none"),
    ],
)
def test_a_table_needs_a_header_with_each_column_once(text: str | bytes, why: str) -> None:
    with pytest.raises(BadDataError) as refused:
        records(text)
    assert str(refused.value).startswith(why)


def test_columns_that_are_needed_are_named() -> None:
    table = read_table(lines("\nA|B\n"), separators="|", lower=True)
    table.require("a")
    with pytest.raises(BadDataError, match=r'line 2: expected a column c or d in the header, found "a, b"'):
        table.require("c", "d")


def test_a_header_of_very_many_columns_takes_no_longer_than_its_length() -> None:
    header = ",".join(f"c{place}" for place in range(100_000))
    assert len(read_table(lines(header), separators=",").header) == 100_000
