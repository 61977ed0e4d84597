from __future__ import annotations

import json
from typing import Any

import pytest

from vq.errors import BadDataError
from vq.estimates.usage import MOST_BYTES, read_usage
from vq.readings.group import Counters, GroupPaths
from vq.supervisor.outcome import Measured, Outcome, error_receipt, receipt, result_document
from vq.supervisor.requests import Request, parse_requests
from vq.supervisor.spec import spec_from

SPEC: dict[str, Any] = {
    "schema": "vq.attempt-spec.v1",
    "attempt": "a1",
    "command": ["true"],
    "cwd": "/",
    "environment": {},
    "stdout_path": "/o",
    "stderr_path": "/e",
    "result_path": "/r",
}
MEASURED = Measured(
    exit_code=0,
    wall_seconds=10.0,
    user_cpu_seconds=3.0,
    system_cpu_seconds=1.0,
    peak_rss_kb=2048,
    process_count=1,
    job_peak_bytes=3_000_000,
    job_peak_source="cgroup-v2",
    group_peak_bytes=2_000_000,
    group_cpu_seconds=5.0,
    limit_bytes=None,
    limit_fired=None,
    counters=Counters(oom_kills=0, limit_hits=2, own_ooms=0, outer_ooms=0),
    paused_seconds=5.0,
    samples=7,
)


def test_a_receipt_is_one_that_an_evaluation_reads() -> None:
    document = receipt(MEASURED)
    usage = read_usage(document)
    assert (usage.ok, usage.single_process, usage.wall_seconds) == (True, True, 5)
    assert (usage.job_low_bytes, usage.job_high_bytes) == (3_000_000, 3_000_000)
    assert document["average_cpu_millicores"] == 1000
    assert document["peak_rss_mb"] == 2.0


def test_an_error_receipt_has_every_key_and_no_measurement() -> None:
    document = error_receipt("no such program")
    assert not read_usage(document).ok
    assert document.keys() - {"error"} == receipt(MEASURED).keys()


@pytest.mark.parametrize("sign", ["x", "\x01", "\U0001f600"])
def test_what_cannot_be_run_leaves_a_receipt_that_is_read_however_long_its_name_is(sign: str) -> None:
    outcome = Outcome(
        attempt="a1.1",
        boot_id="b",
        enforcement="sampled",
        kind="cannot_run",
        exit_code=127,
        signal=None,
        text=f"{sign * 2_000_000}: no such program there",
        why=None,
        started_at_ms=0,
        finished_at_ms=1,
        left_over=0,
        measured=None,
    )
    document = result_document(outcome)
    assert len(json.dumps(document["usage"], indent=2)) <= MOST_BYTES
    assert document["text"] == document["usage"]["error"]
    assert document["text"].startswith(sign * 100)
    assert document["text"].endswith(": no such program there")


def test_pauses_never_exceed_the_wall() -> None:
    values = {name: getattr(MEASURED, name) for name in MEASURED.__slots__}
    assert receipt(Measured(**{**values, "paused_seconds": 10.0000004}))["paused_seconds"] == 10.0


def test_a_result_carries_its_receipt() -> None:
    outcome = Outcome(
        attempt="a1",
        boot_id="b",
        enforcement="cgroup-v2",
        kind="ended",
        exit_code=0,
        signal=None,
        text=None,
        why=None,
        started_at_ms=1,
        finished_at_ms=2,
        left_over=0,
        measured=MEASURED,
    )
    assert result_document(outcome)["usage"] == receipt(MEASURED)


def test_a_spec_says_what_it_means() -> None:
    parent = {"version": 2, "folders": {"unified": "/sys/fs/cgroup/vq.slice"}}
    spec = spec_from({**SPEC, "cgroup_parent": parent, "wall_limit_seconds": 1.5})
    assert spec.command == ("true",)
    assert spec.cgroup_parent == GroupPaths(version=2, folders={"unified": "/sys/fs/cgroup/vq.slice"})
    assert spec.mark == "VQ_ATTEMPT=a1"
    assert spec_from({**SPEC, "cgroup_parent": None}).cgroup_parent is None


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"command": []}, "$.command"),
        ({"command": ["a\0b"]}, "$.command[0]"),
        ({"environment": {"A=B": "c"}}, "$.environment"),
        ({"cwd": "here"}, "$.cwd"),
        ({"attempt": "../x"}, "$.attempt"),
        ({"pids_max": 2}, "$.pids_max"),
        ({"enforcement": "hope"}, "$.enforcement"),
        ({"cgroup_parent": {"version": 1, "folders": {"memory": "x"}}}, "$.cgroup_parent.folders"),
        ({"unknown": 1}, "$.unknown"),
    ],
)
def test_a_spec_that_cannot_be_is_refused_with_its_path(change: dict[str, Any], path: str) -> None:
    with pytest.raises(BadDataError) as refusal:
        spec_from({**SPEC, **change})
    assert str(refusal.value).startswith(f"{path}: ")


def test_requests_are_lines_and_what_is_none_is_passed_over() -> None:
    assert parse_requests(b"kill user\nshout\nkill-now\npause\n\xff\nresume X\n") == (
        Request(action="kill", why="user"),
        Request(action="kill-now"),
        Request(action="pause"),
    )
