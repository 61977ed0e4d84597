"""Each test names the section of Nextflow's manual whose output it is about."""

from __future__ import annotations

from typing import Any

import pytest

from imported import outcomes, reason, refusal, row
from vq.admission.history import Run
from vq.errors import BadDataError
from vq.formats.nextflow import read

MIB = 1 << 20
SUBMIT = 1_716_753_290_296

RAW = {
    "process": "align",
    "name": "align (sample 1)",
    "status": "COMPLETED",
    "cpus": "2",
    "memory": "524288000",
    "submit": str(SUBMIT),
    "start": str(SUBMIT + 704),
    "complete": str(SUBMIT + 7704),
    "%cpu": "183.8",
    "peak_rss": "290201600",
}


def trace(separator: str = "\t", **changes: str) -> str:
    cells = RAW | changes
    return f"{separator.join(cells)}\n{separator.join(cells.values())}\n"


def without(*columns: str, **changes: str) -> str:
    cells = {column: cell for column, cell in (RAW | changes).items() if column not in columns}
    return "\t".join(cells) + "\n" + "\t".join(cells.values()) + "\n"


def test_trace_fields_with_raw_numbers() -> None:
    assert row(read, trace()) == Run(
        repository="file",
        workflow=None,
        name="align",
        profile="default",
        memory_cap=524288000,
        cpu_cap=2000,
        memory_peak=290201600,
        page_cache=False,
        cpu_average=1838,
        queued_at=SUBMIT,
        started_at=SUBMIT + 704,
        finished_at=SUBMIT + 7704,
        oom_killed=False,
        hit_cap=None,
        own_cap=None,
        succeeded=True,
        cancelled=False,
        reserved=None,
    )


def test_trace_file_as_the_manual_shows_it() -> None:
    header = "task_id hash native_id name status exit submit duration realtime %cpu peak_rss peak_vmem rchar wchar"
    cells = [
        "28", "b4/0f9613", "2041", "exonerate (1)", "COMPLETED", "0", "2014-10-23 16:38:19.657", "1m 30s", "1m 11s",
        "94.3%", "611.6 MB", "693.8 MB", "961.2 GB", "6.1 GB",
    ]  # fmt: skip
    found = row(read, header.replace(" ", "\t") + "\n" + "\t".join(cells) + "\n")
    assert (found.name, found.memory_peak, found.cpu_average) == ("exonerate", 6116 * MIB // 10, 943)
    assert (found.memory_cap, found.cpu_cap) == (None, None)
    # "duration" is the time since the submission, "realtime" that of the execution.
    assert found.finished_at == found.queued_at + 90_000
    assert found.started_at == found.finished_at - 71_000


@pytest.mark.parametrize("separator", ["\t", ",", ";", "|"])
def test_trace_scope_any_separator(separator: str) -> None:
    assert row(read, trace(separator)).name == "align"


@pytest.mark.parametrize(
    ("status", "succeeded", "cancelled"),
    [("COMPLETED", True, False), ("FAILED", False, False), ("ABORTED", False, True)],
)
def test_trace_fields_status(status: str, succeeded: bool, cancelled: bool) -> None:  # noqa: FBT001 - a case
    found = row(read, trace(status=status))
    assert (found.succeeded, found.cancelled) == (succeeded, cancelled)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"status": "CACHED"}, "cached, not run"),
        ({"status": "NEW"}, "not ended"),
        ({"status": "SUBMITTED"}, "not ended"),
        ({"status": "RUNNING"}, "not ended"),
        ({"peak_rss": "-"}, "no memory peak"),
        ({"peak_rss": "0"}, "no memory peak"),
        ({"submit": "-"}, "no times of a run"),
        ({"start": "-"}, "no times of a run"),
        ({"complete": ""}, "no times of a run"),
        ({"process": "-"}, "no name"),
    ],
)
def test_trace_fields_that_leave_no_row(changes: dict[str, Any], why: str) -> None:
    assert reason(read, trace(**changes)) == why


def test_trace_fields_unknown_limits_stay_unknown() -> None:
    found = row(read, trace(memory="-", cpus="-", **{"%cpu": "-"}))
    assert (found.memory_cap, found.cpu_cap, found.cpu_average) == (None, None, None)


def test_trace_fields_name_without_its_tag_where_there_is_no_process() -> None:
    assert row(read, without("process", name="NF:MAP (a (b))")).name == "NF:MAP"


def test_trace_fields_repository_and_profile_are_for_all_rows() -> None:
    found = row(read, trace(), repository="o/r", profile="big")
    assert (found.repository, found.profile) == ("o/r", "big")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"status": "DONE"}, 'expected a status of Nextflow in column status, found "DONE"'),
        ({"peak_rss": "lots"}, 'expected a size such as 24G, 1.5GiB or 512M in column peak_rss, found "lots"'),
        ({"start": "noon"}, "expected a moment such as 2026-11-30T12:00:00, or since the epoch in column start"),
        ({"%cpu": "?"}, "expected a percentage such as 187.5% in column %cpu"),
    ],
)
def test_cells_that_cannot_be_read_are_refused(changes: dict[str, str], why: str) -> None:
    assert refusal(read, trace(**changes)).startswith(why)


@pytest.mark.parametrize("column", ["status", "peak_rss", "submit", "complete"])
def test_a_trace_without_what_each_row_needs_is_refused_at_its_header(column: str) -> None:
    with pytest.raises(BadDataError, match=f"line 1: expected a column {column}"):
        outcomes(read, without(column))
