"""Law of the history's form: any row written as JSON Lines is read back the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from imported import lines
from vq.admission.history import Run
from vq.formats.jsonl import rows, written

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
AMOUNTS = st.integers(0, 2**53 - 1)
MAYBE = st.none() | AMOUNTS
TRUTHS = st.none() | st.booleans()

RUNS = st.builds(
    Run,
    repository=NAMES,
    workflow=st.none() | NAMES,
    name=NAMES,
    profile=NAMES,
    memory_cap=MAYBE,
    cpu_cap=MAYBE,
    memory_peak=AMOUNTS,
    page_cache=st.booleans(),
    cpu_average=MAYBE,
    queued_at=AMOUNTS,
    started_at=MAYBE,
    finished_at=MAYBE,
    oom_killed=st.booleans(),
    hit_cap=TRUTHS,
    own_cap=TRUTHS,
    succeeded=st.booleans(),
    cancelled=st.booleans(),
    reserved=MAYBE,
)


@given(st.lists(RUNS, max_size=5))
def test_any_rows_written_are_read_back_the_same(runs: list[Run]) -> None:
    assert list(rows(lines("".join(map(written, runs))))) == runs
