"""Law of a replay's moments: what they show over time comes to the figures that the replay counts."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from histories import histories, setups
from vq.admission import Policy, Run, Setup, simulate
from vq.admission.replay import Moment


@settings(max_examples=40, deadline=None)
@given(setups(), histories(), st.sampled_from(Policy))
def test_moments_add_up_to_the_counts(setup: Setup, rows: list[Run], policy: Policy) -> None:
    moments: list[Moment] = []
    replay = simulate(setup, rows, policy, look=moments.append)
    assert [moment.at for moment in moments] == sorted(moment.at for moment in moments)
    assert sum(now.reserved * (then.at - now.at) for now, then in pairwise(moments)) == replay.reserved_byte_ms
    assert sum(now.used * (then.at - now.at) for now, then in pairwise(moments)) == replay.peak_byte_ms
    assert max((moment.running for moment in moments), default=0) == replay.most_running
    if replay.jobs:
        assert max(moment.used for moment in moments) + setup.mirror == replay.worst_overlap
        assert moments[-1].running == moments[-1].used == 0
    assert replay == simulate(setup, rows, policy)
