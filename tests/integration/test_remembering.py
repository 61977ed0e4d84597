"""A predictor that reads only what it is asked about says what one says that has read everything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from histories import DAY, GIB, HOUR, MIB
from vq.actions.remembering import Remembering
from vq.admission.history import Key
from vq.admission.predictor import Copies
from vq.config.resolve import Facts, resolve
from vq.daemon.learning import predictor_of
from vq.jobs.history_row import HistoryRow
from vq.store.connection import Store, open_store
from vq.store.history import import_rows, rows_in_order

CONFIG = resolve("", Facts(memory_bytes=16 * GIB, cpus=4), environment={}, flags={})
NOW = 400 * DAY
JOBS = {"often": 700, "unsteady": 300, "seldom": 4, "once": 1, "killed": 90}


def row(name: str, number: int, count: int) -> HistoryRow:
    """The runs of a job, the last of them an hour ago."""
    at_ms = NOW - (count - number) * HOUR
    met = name == "killed" and number == count - 80
    past = name == "unsteady" and number > count - 100
    return HistoryRow(
        repository="o/r",
        workflow="w" if name == "often" else None,
        name=name,
        profile="default",
        memory_cap=GIB,
        cpu_cap=2000,
        memory_peak=GIB if met else (100 + number % 37) * MIB,
        page_cache=False,
        cpu_average=None if number % 5 == 0 else 100 * (number % 19),
        queued_at=at_ms,
        started_at=at_ms,
        finished_at=at_ms,
        oom_killed=met,
        hit_cap=met,
        own_cap=met,
        succeeded=not met,
        cancelled=False,
        reserved=MIB if past else None,
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "vq")) as opened:
        rows = [row(name, number, count) for name, count in JOBS.items() for number in range(count)]
        import_rows(opened, rows, "somewhere")
        yield opened


@pytest.mark.parametrize("name", [*JOBS, "never"])
@pytest.mark.parametrize("copies", Copies)
def test_it_says_the_same_of_every_job(store: Store, name: str, copies: Copies) -> None:
    whole, few = predictor_of(CONFIG, rows_in_order(store)), Remembering(CONFIG, store, NOW)
    for workflow in (None, "w"):
        key = Key("o/r", workflow, name)
        for profile in ("default", "another"):
            expected = whole.predict(key, profile, GIB, now=NOW, copies=copies)
            assert few.predict(key, profile, GIB, now=NOW, copies=copies) == expected
            assert few.predict_cpu(key, profile, 2000) == whole.predict_cpu(key, profile, 2000)


def test_of_a_job_that_runs_often_it_reads_the_last_rows_only(store: Store) -> None:
    read: list[str] = []
    store.connection.set_trace_callback(read.append)
    Remembering(CONFIG, store, NOW).predict(Key("o/r", "w", "often"), "default", GIB, now=NOW, copies=Copies.ALONE)
    (statement,) = (text for text in read if text.startswith("SELECT"))
    assert statement.endswith("LIMIT 64")
