from __future__ import annotations

import json
from typing import Any

import pytest

from histories import run
from imported import lines, outcomes, refusal, row
from vq.errors import BadDataError
from vq.formats.jsonl import FIELDS, read, read_row, rows, written
from vq.formats.outcomes import Unread


def document(**changes: Any) -> str:
    return json.dumps(json.loads(written(run())) | changes) + "\n"


def test_a_row_is_one_line_with_the_fields_of_a_run_in_order() -> None:
    text = written(run(name="ä\u202e"))
    assert text.isascii()
    assert text.endswith("\n")
    assert tuple(json.loads(text)) == FIELDS


def test_a_field_that_may_be_null_may_be_missing() -> None:
    known = {key: value for key, value in json.loads(written(run())).items() if value is not None}
    del known["cpu_average"]
    assert read_row(json.dumps(known).encode()) == run(cpu_average=None)


def test_blank_lines_are_passed_over() -> None:
    assert list(rows(lines("\n" + written(run()) + "  \n"))) == [run()]


def test_what_is_given_for_all_rows_wins() -> None:
    assert row(read, written(run())) == run()
    assert row(read, written(run()), profile="other") == run(profile="other")
    assert row(read, written(run()), repository="other") == run(repository="other")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]\n", "expected a JSON object, found an array"),
        ("{\n", "expected JSON; "),
        (document(memory_peak=-1), "$.memory_peak: expected an integer from 0"),
        (document(memory_peak=1.0), "$.memory_peak: expected an integer from 0"),
        (document(succeeded=None), "$.succeeded: expected true or false"),
        (document(extra=1), "$.extra: expected no such key"),
        (document(name="x" * 5000), "$.name: expected a string of at most 4096 characters"),
        ("{}\n", "$.repository: expected this key, which is missing"),
        (b"\xff\n", "expected UTF-8 text"),
    ],
)
def test_a_line_that_is_no_row_is_refused(text: str | bytes, why: str) -> None:
    assert refusal(read, text).startswith(why)


def test_the_first_bad_line_is_named() -> None:
    with pytest.raises(BadDataError, match="line 2: expected a JSON object"):
        list(rows(lines(written(run()) + "[]\n")))


def test_all_outcomes_are_read_past_a_bad_line() -> None:
    assert len(outcomes(read, "[]\n" + written(run()))) == 2


def test_a_run_that_has_not_ended_by_then_is_no_row() -> None:
    assert row(read, written(run(finished_at=1000)), latest_ms=1000) == run(finished_at=1000)
    (found,) = outcomes(read, written(run(finished_at=1001)), latest_ms=1000)
    assert isinstance(found, Unread)
    assert (found.line, str(found.error)) == (1, 'expected a run that has ended, found "one that ends at 1001 ms"')
