"""A replay of the traces that `test_replay_is_production` holds the live daemon to."""

from __future__ import annotations

import pytest

from scripted_trace import Trace, decisions, expected, expected_reasons, looked, looked_decisions, traces
from slow_replay import Slow
from vq.admission import Policy, simulate
from vq.admission.predictor import read_basis

ALL = traces()
REPLAYED = [trace for trace in ALL if trace.is_replayed]


@pytest.mark.parametrize("trace", ALL, ids=lambda trace: trace.name)
def test_looks_one_by_one_decide_as_the_file_says(trace: Trace) -> None:
    assert looked_decisions(trace) == expected(trace)
    assert [reason and reason.kind for reason in looked(trace).reasons] == expected_reasons(trace)


@pytest.mark.parametrize("trace", ALL, ids=lambda trace: trace.name)
def test_what_a_start_goes_by_is_read_back_as_it_was_written(trace: Trace) -> None:
    for start in looked(trace).starts:
        for basis in (start.memory.basis, start.cpu.basis):
            assert read_basis(basis.as_data()) == basis


@pytest.mark.parametrize("trace", REPLAYED, ids=lambda trace: trace.name)
def test_a_replay_decides_as_the_file_says(trace: Trace) -> None:
    assert decisions(trace) == expected(trace)


@pytest.mark.parametrize("trace", REPLAYED, ids=lambda trace: trace.name)
def test_the_oracle_counts_the_same(trace: Trace) -> None:
    rows = [job.row() for job in trace.jobs]
    assert simulate(trace.setup, rows, Policy.MEASURED) == Slow(trace.setup, Policy.MEASURED).simulate(rows)


def test_the_traces_meet_every_rule_and_no_two_things_at_one_moment() -> None:
    bases = {(d["basis"]["kind"], d["basis"].get("peak")) for trace in ALL for d in expected(trace)}
    kinds = {"cap", "unpredictable", "overran", "job", "profile", "profile-max"}
    assert bases == {(kind, None) for kind in kinds} | {("job", "largest")}
    cpu_bases = {d["cpu_basis"]["kind"] for trace in ALL for d in expected(trace)}
    assert cpu_bases == {"cap", "job", "profile", "profile-max"}
    reasons = {waits for trace in ALL for waits in expected_reasons(trace)}
    assert reasons == {None, "slot", "memory", "high_water", "stalled", "host_memory", "cpu", "behind"}
    replays = [simulate(trace.setup, [job.row() for job in trace.jobs], Policy.MEASURED) for trace in REPLAYED]
    for figure in ("held_back", "cpu_held", "under_predicted"):
        assert any(getattr(replay, figure) for replay in replays)
    for trace in ALL:
        at = {d["job"]: d["at"] for d in expected(trace)}
        ends = [at[place] + job.lasts for place, job in enumerate(trace.jobs)]
        moments = [*ends, *(job.arrives for job in trace.jobs)]
        assert len(set(moments)) == len(moments)
