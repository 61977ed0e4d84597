"""Each test names the section of the definition of the Standard Workload Format that it is about."""

from __future__ import annotations

import pytest

from imported import outcomes, reason, refusal, row
from vq.admission.history import Run
from vq.formats.outcomes import Unread
from vq.formats.swf import read

KIB = 1 << 10
FIELDS = """job 1 submit 100 wait 20 run 300 processors 4 cpu 150 memory 2048 requested_processors 4
requested_time 600 requested_memory 4096 status 1 user 7 group 2 executable 3 queue 5 partition 1 preceding -1
think -1"""
JOB = dict(zip(FIELDS.split()[::2], FIELDS.split()[1::2], strict=True))


def log(header: str = "", **changes: str) -> str:
    return header + "  ".join((JOB | changes).values()) + "\n"


def test_the_data_fields() -> None:
    assert row(read, log()) == Run(
        repository="file",
        workflow=None,
        name="3",
        profile="5",
        memory_cap=4 * 4096 * KIB,
        cpu_cap=4000,
        memory_peak=4 * 2048 * KIB,
        page_cache=False,
        cpu_average=2000,
        queued_at=100_000,
        started_at=120_000,
        finished_at=420_000,
        oom_killed=False,
        hit_cap=None,
        own_cap=None,
        succeeded=True,
        cancelled=False,
        reserved=None,
    )


def test_header_comments_unix_start_time() -> None:
    header = "; Version: 2.2\n; UnixStartTime: 849888000\n;\n\n"
    assert row(read, log(header)).queued_at == 849_888_100_000


def test_the_data_fields_times_may_have_fractions() -> None:
    found = row(read, log(submit="0.5", wait="0.25", run="0"))
    assert (found.queued_at, found.started_at, found.finished_at, found.cpu_average) == (500, 750, 750, None)


@pytest.mark.parametrize(
    ("status", "succeeded", "cancelled"),
    [("1", True, False), ("0", False, False), ("5", False, True), ("-1", False, False)],
)
def test_the_data_fields_status(status: str, succeeded: bool, cancelled: bool) -> None:  # noqa: FBT001 - a case
    found = row(read, log(status=status))
    assert (found.succeeded, found.cancelled) == (succeeded, cancelled)


@pytest.mark.parametrize("status", ["2", "3", "4"])
def test_the_data_fields_status_of_partial_executions(status: str) -> None:
    assert reason(read, log(status=status)) == "part of a job that has a line of its own"


def test_the_data_fields_that_are_minus_one_stay_unknown() -> None:
    found = row(read, log(cpu="-1", requested_memory="-1", executable="-1", queue="-1"))
    assert (found.cpu_average, found.memory_cap, found.name, found.profile) == (None, None, "unknown", "default")


def test_the_data_fields_processors_stand_for_one_another() -> None:
    assert row(read, log(processors="-1")).memory_peak == 4 * 2048 * KIB
    assert row(read, log(requested_processors="-1")).memory_cap == 4 * 4096 * KIB


@pytest.mark.parametrize("field", ["memory", "processors"])
def test_the_data_fields_without_a_peak(field: str) -> None:
    assert reason(read, log(**{field: "-1", "requested_processors": "-1"} | {field: "-1"})) == "no memory peak"


def test_the_data_fields_a_memory_of_zero_is_no_measurement() -> None:
    assert reason(read, log(memory="0")) == "no memory peak"


@pytest.mark.parametrize("field", ["submit", "wait", "run"])
def test_the_data_fields_without_times(field: str) -> None:
    assert reason(read, log(**{field: "-1"})) == "no times of a run"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"think": ""}, "expected 18 numbers separated by spaces, found 17"),
        ({"think": "1 2"}, 'expected 18 numbers separated by spaces, found "more than 18"'),
        ({"run": "long"}, 'expected a number in field 4, found "long"'),
        ({"run": "-2"}, "expected a number of 0 or more, or -1 for unknown, in field 4"),
        ({"status": "9"}, "expected a status from -1 to 5 in field 11"),
        ({"memory": "9" * 18}, "expected figures that come to at most"),
        ({"submit": "9007199254740.991", "wait": "0", "run": "0.001"}, "expected figures that come to at most"),
    ],
)
def test_lines_that_cannot_be_read_are_refused(changes: dict[str, str], why: str) -> None:
    assert refusal(read, log(**changes)).startswith(why)


def test_the_last_moment_that_a_document_can_hold_is_read() -> None:
    assert row(read, log(submit="9007199254740.991", wait="0", run="0")).finished_at == 2**53 - 1


def test_a_line_that_is_no_text_is_refused_and_the_next_is_read() -> None:
    found = outcomes(read, b"\xff\n" + log().encode())
    assert [type(outcome) for outcome in found] == [Unread, Run]
