"""No statement of a command or of the daemon's look reads a whole large table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from made_jobs import NOW, ended, job, started
from vq.jobs.events import Edited, HostRebooted, KillRequested
from vq.jobs.record import Array, Dependency, Need, State
from vq.store.advancing import Keeper, advance_jobs
from vq.store.connection import Store, open_store
from vq.store.history import forget_rows, import_rows, imports, jobs_of_profile, last_rows, rows_in_order
from vq.store.jobs import (
    Selection,
    active,
    array_at_once,
    counts,
    environment,
    full_record,
    hook_ran,
    hooks_due,
    queue,
    read,
    select,
    select_active,
    states,
    submitted_after,
)
from vq.store.requests import post, waiting_requests
from vq.store.settings import is_draining, set_draining, stored_config
from vq.store.submitting import Claim, Submission, submit

SMALL = ("counts", "settings", "sqlite_sequence", "sqlite_schema")
PARTIAL = ("jobs_in_order", "jobs_with_hook_due", "history_imported")
"""Indexes of the few jobs that wait, or whose hook is due: to read one is to read no ended job."""

ON_A1 = (Dependency(job="a1", kind=Need.COMPLETED),)
ALL = Selection(states=(State.PENDING, State.FAILED), name="n", tag="t", array_group="a1")

ACTIONS: dict[str, Callable[[Store], Any]] = {
    "submit": lambda store: submit(
        store,
        [
            Submission(
                job=job(tags=("t",), depends_on=ON_A1, array=Array(group="a1", index=0, total=1)),
                environment={},
                estimate={},
                array_at_once=1,
            )
        ],
        Claim(key="another", intent="i"),
    ),
    "queue": lambda store: queue(store, NOW),
    "counts": counts,
    "counts of some": lambda store: [counts(store, selection) for selection in (ALL, Selection(name="n"))],
    "select": lambda store: [select(store, selection, limit=9) for selection in (ALL, Selection())],
    "select by state": lambda store: select(store, Selection(states=(State.COMPLETED,)), limit=9),
    "select by name": lambda store: select(store, Selection(name="n"), limit=9),
    "select by tag": lambda store: select(store, Selection(tag="t"), limit=9),
    "select by array": lambda store: select(store, Selection(array_group="a1"), limit=9),
    "select active": lambda store: select_active(store, Selection()),
    "status": lambda store: [full_record(store, "a1"), environment(store, "a1"), states(store, ["a1"])],
    "begin": active,
    "look": lambda store: [
        submitted_after(store, "a1"),
        waiting_requests(store),
        array_at_once(store, "a1"),
        hooks_due(store),
        is_draining(store),
        stored_config(store),
    ],
    "advance": lambda store: advance_jobs(
        store,
        [("a2", Edited(at_ms=NOW, tags=("u",))), ("a2", started()), ("a2", HostRebooted(at_ms=NOW, attempt=1))],
        answered=[1],
        keeper=Keeper(hooks=True),
    ),
    "kill": lambda store: [
        post(store, ["a1"], KillRequested(at_ms=NOW)),
        advance_jobs(store, [("a1", KillRequested(at_ms=NOW))], keeper=Keeper(hooks=True)),
    ],
    "hook": lambda store: hook_ran(store, ["a1"]),
    "drain": lambda store: set_draining(store, draining=True),
    "history": lambda store: import_rows(store, list(rows_in_order(store)), "s"),
    "imports": lambda store: [imports(store), forget_rows(store, "s")],
    "explain": lambda store: [last_rows(store, ("r", None, "n"), "p", 9), jobs_of_profile(store, "p")],
    "read": lambda store: read(store, "a1"),
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "vq")) as opened:
        array = Array(group="a1", index=0, total=1)
        submit(opened, [Submission(job=job(array=array, tags=("t",), name="n"), environment={}, estimate={})])
        submit(opened, [Submission(job=job(auto_resume=True, tags=("t",)))], Claim(key="k", intent="i"))
        submit(opened, [Submission(job=job(depends_on=ON_A1)), Submission(job=job())])
        advance_jobs(opened, [("a4", started()), ("a4", ended())])
        yield opened


def plan(store: Store, statement: str) -> list[str]:
    return [row[3] for row in store.connection.execute(f"EXPLAIN QUERY PLAN {statement}")]


def too_much(step: str) -> bool:
    """Whether a step of a plan reads all of a table that may be large."""
    scanned = re.match(r"SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?", step)
    if scanned is None or scanned[1] in SMALL or scanned[1].startswith("pragma_"):
        return False
    return scanned[2] not in PARTIAL and scanned[1] != "CONSTANT"


@pytest.mark.parametrize("action", ACTIONS)
def test_no_statement_reads_or_sorts_a_whole_large_table(store: Store, action: str) -> None:
    statements: list[str] = []
    store.connection.set_trace_callback(statements.append)
    ACTIONS[action](store)
    store.connection.set_trace_callback(None)
    looked_at = [text for text in statements if text.startswith(("SELECT", "INSERT", "UPDATE", "DELETE"))]
    assert looked_at
    for statement in looked_at:
        steps = plan(store, statement)
        assert not [step for step in steps if too_much(step)], statement
        # A daemon begins once, and has to read every job that waits anyway.
        assert action == "begin" or not [step for step in steps if "FOR ORDER BY" in step], statement


@pytest.mark.parametrize(
    ("selection", "index"),
    [
        (Selection(name="n"), "jobs_by_name"),
        (Selection(name="n", states=(State.PENDING,)), "jobs_by_name"),
        (Selection(array_group="a1", name="n"), "jobs_in_arrays"),
        (Selection(states=(State.COMPLETED,)), "jobs_by_state"),
        (Selection(tag="t", name="n", states=(State.PENDING,)), "tags"),
    ],
)
def test_what_says_most_is_what_is_searched_by_and_nothing_is_sorted(
    store: Store, selection: Selection, index: str
) -> None:
    statements: list[str] = []
    store.connection.set_trace_callback(statements.append)
    select(store, selection, limit=5)
    store.connection.set_trace_callback(None)
    steps = [step for text in statements if text.startswith("SELECT") for step in plan(store, text)]
    assert any(index in step for step in steps)
    assert not [step for step in steps if "TEMP B-TREE FOR ORDER BY" in step]


def test_a_scan_would_be_found(store: Store) -> None:
    for statement in ("SELECT * FROM jobs", "SELECT count(*) FROM jobs", "SELECT name FROM jobs ORDER BY name"):
        assert [step for step in plan(store, statement) if too_much(step)]
