"""Laws of the supervisor's decisions: time, intervals, ends, and receipts that can always be read."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from vq.estimates.usage import read_usage
from vq.readings.group import Counters
from vq.supervisor.decisions import Evidence, Timer, end_of, next_interval_seconds, process_count
from vq.supervisor.outcome import Measured, receipt

SECONDS = st.floats(0, 1e7)
COUNTS = st.none() | st.integers(0, 1000)
COUNTERS = st.builds(Counters, oom_kills=COUNTS, limit_hits=COUNTS, own_ooms=COUNTS, outer_ooms=COUNTS)
BYTES = st.integers(0, 2**50)


@given(SECONDS, st.floats(0, 100), st.booleans())
def test_sampling_never_takes_more_than_a_fiftieth_of_a_core(elapsed: float, cost: float, enforcing: bool) -> None:  # noqa: FBT001
    interval = next_interval_seconds(elapsed, cost, enforcing=enforcing)
    assert interval >= 0.02
    assert cost <= interval * 0.02 * (1 + 1e-9)
    assert interval <= max(1.0, cost / 0.02)


@given(st.lists(st.tuples(st.sampled_from(["pause", "resume"]), st.floats(0.001, 1000)), max_size=20))
def test_time_runs_or_stands_still_and_never_both(steps: list[tuple[str, float]]) -> None:
    now, timer, ran = 100.0, Timer(started_seconds=100.0), 0.0
    for action, length in steps:
        timer = timer.pause(now) if action == "pause" else timer.resume(now)
        ran += 0 if timer.paused else length
        now += length
    assert abs(timer.running_seconds(now) - ran) < 1e-6
    assert abs(timer.running_seconds(now) + timer.paused_seconds(now) - (now - 100.0)) < 1e-6


@given(st.sampled_from([None, "killed", "wall_limit", "out_of_memory", "outgrew"]), st.none() | COUNTERS)
def test_a_limit_fires_only_in_an_end_out_of_memory(cause: str | None, counters: Counters | None) -> None:
    end = end_of(cause, counters)  # type: ignore[arg-type]
    if end.limit_fired is not None:
        assert end.kind == "out_of_memory"
    if counters is not None and counters.oom_kills:
        assert end.kind == "out_of_memory"


@given(
    st.builds(
        Evidence,
        child_faults=COUNTS,
        orphans=st.integers(0, 3),
        others_seen=st.booleans(),
        ignored_children=st.booleans(),
    )
)
def test_more_evidence_of_others_never_makes_one(evidence: Evidence) -> None:
    if process_count(evidence) is None:
        worse = Evidence(
            child_faults=evidence.child_faults,
            orphans=evidence.orphans + 1,
            others_seen=evidence.others_seen,
            ignored_children=evidence.ignored_children,
        )
        assert process_count(worse) is None


@given(
    st.builds(
        Measured,
        exit_code=st.integers(0, 255),
        wall_seconds=SECONDS,
        user_cpu_seconds=SECONDS,
        system_cpu_seconds=SECONDS,
        peak_rss_kb=st.integers(0, 2**40),
        process_count=st.sampled_from([None, 1]),
        job_peak_bytes=st.none() | BYTES,
        job_peak_source=st.sampled_from(["cgroup-v1", "cgroup-v2", "proc-pss"]),
        group_peak_bytes=st.none() | BYTES,
        group_cpu_seconds=st.none() | SECONDS,
        limit_bytes=st.none() | st.integers(1, 2**50),
        limit_fired=st.sampled_from([None, "job", "host"]),
        counters=st.none() | COUNTERS,
        paused_seconds=SECONDS,
        samples=st.integers(0, 10**6),
    )
)
def test_every_receipt_can_be_read(measured: Measured) -> None:
    document = json.loads(json.dumps(receipt(measured), allow_nan=False))
    usage = read_usage(document)
    assert usage.ok
    assert usage.failed == (measured.exit_code != 0)
