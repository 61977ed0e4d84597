"""The record as a document: what its reader refuses."""

from __future__ import annotations

from typing import Any

import pytest

from made_jobs import ended, job, started
from vq.errors import BadDataError, UsageError
from vq.jobs.document import job_document, read_job
from vq.jobs.ids import job_id, sequence_of
from vq.jobs.lifecycle import advance

SPECIFIED = frozenset(
    (
        "id",
        "repository",
        "workflow",
        "name",
        "profile",
        "tags",
        "submitter",
        "host",
        "command",
        "workspace",
        "cwd",
        "cpus",
        "mem_mb",
        "mem_mb_source",
        "wall_time_seconds",
        "wall_time_source",
        "priority",
        "depends_on",
        "array",
        "retry",
        "not_before",
        "state",
        "reason",
        "paused",
        "paused_seconds",
        "limit_fired",
        "queued_at",
        "eligible_at",
        "started_at",
        "finished_at",
        "exit_code",
        "signal",
        "attempt",
        "attempts",
        "parent",
        "boot_id",
        "reserved_bytes",
        "basis",
        "cpu_reserved_millicores",
        "cpu_basis",
        "stdout_path",
        "stderr_path",
        "usage",
    )
)


def test_the_record_has_the_keys_of_the_specification() -> None:
    document = job_document(job())
    assert document.keys() >= SPECIFIED


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"mem_mb": True}, r"\$\.mem_mb: expected an integer"),
        ({"state": "DONE"}, r"\$\.state: expected ABORTED_BY_QUEUE \|"),
        ({"cpu": 1}, r"\$\.cpu: expected no such key"),
        ({"command": []}, r"\$\.command: expected an array of 1 or more"),
        ({"state": "COMPLETED"}, r"\$\.settled_at: expected a time"),
        ({"settled_at": 5}, r"\$\.settled_at: expected a time"),
        ({"attempt": 0}, r"\$\.attempts: expected one entry"),
        ({"paused": True}, r"\$\.paused: expected true exactly where"),
        ({"reason": {"kind": "held"}}, r"\$\.reason\.text"),
        ({"id": "7"}, r"\$\.id: expected a job id"),
    ],
)
def test_another_shape_or_a_contradiction_is_refused_with_its_path(change: dict[str, Any], path: str) -> None:
    running, _ = advance(job(), started())
    with pytest.raises(BadDataError, match=path):
        read_job({**job_document(running), **change})


def test_a_missing_key_is_refused() -> None:
    document = job_document(job())
    del document["boot_id"]
    with pytest.raises(BadDataError, match=r"\$\.boot_id"):
        read_job(document)


def test_ids_sort_as_they_were_given() -> None:
    numbers = [1, 2, 9, 10, 11, 99, 100, 12_345, 10**17]
    ids = [job_id(number) for number in numbers]
    assert ids == sorted(ids)
    assert ids[:4] == ["a1", "a2", "a9", "b10"]
    assert [sequence_of(identifier) for identifier in ids] == numbers


@pytest.mark.parametrize("text", ["", "7", "a", "a0", "a12", "b1", "A1", "a1 ", "a٣", "z1"])
def test_what_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no job id"):
        sequence_of(text)


def test_attempts_that_are_over_read_back() -> None:
    running, _ = advance(job(retry=1), started())
    waiting, _ = advance(running, ended(code=1))
    assert read_job(job_document(waiting)) == waiting
