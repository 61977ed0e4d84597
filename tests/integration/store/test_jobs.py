"""Submitting, advancing, asking and looking, on a real database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from made_jobs import MIB, NOW, ended, job, started
from vq.config.resolve import Facts, resolve
from vq.errors import UsageError
from vq.jobs.effects import RunEndHook, StartAttempt, StopAttempt
from vq.jobs.events import Edited, Ended, Event, HostRebooted, KillRequested, Paused, Resumed
from vq.jobs.history_row import HistoryRow
from vq.jobs.reasons import Kind
from vq.jobs.record import Array, Dependency, Job, Need, State
from vq.store.advancing import Keeper, advance_jobs
from vq.store.connection import Store, StoreError, open_store
from vq.store.history import Imported, append_row, forget_rows, import_rows, imports, rows_in_order
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
from vq.store.settings import imports_changed, is_draining, set_draining, store_config, stored_config
from vq.store.submitting import Claim, ConflictError, Submission, submit


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "vq")) as opened:
        yield opened


def put(store: Store, **changes: Any) -> str:
    """The id of a job that was submitted."""
    ((identifier, _),) = submit(store, [Submission(job=job(**changes))]).jobs
    return identifier


def on(identifier: str, kind: Need = Need.COMPLETED) -> tuple[Dependency, ...]:
    return (Dependency(job=identifier, kind=kind),)


def run(store: Store, identifier: str, code: int = 0, **evidence: Any) -> Job:
    """The job after an attempt that ended with `code`."""
    attempt = read(store, identifier).life.attempt + 1
    start = max(NOW, read(store, identifier).life.eligible_at_ms or 0)
    happened: list[tuple[str, Event]] = [
        (identifier, started(start)),
        (identifier, ended(start + 1000, attempt, code, **evidence)),
    ]
    assert not advance_jobs(store, happened).refused
    return read(store, identifier)


def test_jobs_have_ids_in_the_order_of_submission_and_read_back(store: Store) -> None:
    accepted = submit(store, [Submission(job=job(priority=number)) for number in range(12)])
    assert [identifier for identifier, _ in accepted.jobs] == [f"a{n}" for n in range(1, 10)] + ["b10", "b11", "b12"]
    assert {state for _, state in accepted.jobs} == {State.PENDING}
    assert read(store, "b12") == job("b12", priority=11)
    assert counts(store) == {State.PENDING: 12}
    with pytest.raises(UsageError, match="there is no job b13"):
        read(store, "b13")
    assert states(store, ["a1", "b13"]) == {"a1": State.PENDING, "b13": None}


def test_nothing_is_written_where_one_of_many_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match="there is no job a9"):
        submit(store, [Submission(job=job(), environment={"A": "1"}), Submission(job=job(depends_on=on("a9")))])
    assert counts(store) == {}
    assert store.connection.execute("SELECT count(*) FROM documents").fetchone() == (0,)
    assert put(store) == "a1"


def test_a_key_stands_for_one_submission(store: Store) -> None:
    claim = Claim(key="k", intent="i")
    first = submit(store, [Submission(job=job())], claim)
    assert not first.existing
    again = submit(store, [Submission(job=job(depends_on=on("a7")))], claim)
    assert again.existing
    assert again.jobs == first.jobs == (("a1", State.PENDING),)
    with pytest.raises(ConflictError, match="the idempotency key k stands for another submission, a1") as refused:
        submit(store, [Submission(job=job())], Claim(key="k", intent="j"))
    assert refused.value.exit_code == 1
    assert sum(counts(store).values()) == 1
    with store.writing() as connection:
        connection.execute("DELETE FROM jobs")
    assert submit(store, [Submission(job=job())], claim).jobs == (("a1", None),)
    assert counts(store) == {}
    assert put(store) == "a2"


def test_arrays_in_one_list_each_have_the_id_of_their_first_job(store: Store) -> None:
    def element(index: int, at_once: int | None = None) -> Submission:
        place = Array(group="a1", index=index, total=2)
        return Submission(job=job(array=place), array_at_once=at_once)

    submit(store, [Submission(job=job()), element(0, 1), element(1), element(0), element(1)])
    arrays = [read(store, f"a{n}").work.array for n in range(2, 6)]
    assert [array and (array.group, array.index) for array in arrays] == [("a2", 0), ("a2", 1), ("a4", 0), ("a4", 1)]
    assert array_at_once(store, "a2") == 1
    assert array_at_once(store, "a4") is None
    assert select_active(store, Selection(array_group="a4")) == ["a4", "a5"]


def test_estimates_and_environments_are_kept_once(store: Store) -> None:
    estimate, calibration, variables = {"schema_name": "e"}, {"status": "calibrated"}, {"A": "1"}
    submit(
        store,
        [
            Submission(job=job(), environment=variables, estimate=estimate, calibration=calibration),
            Submission(job=job(), environment=dict(variables), estimate=dict(estimate)),
            Submission(job=job()),
            Submission(job=job(), environment=variables),
        ],
    )
    assert store.connection.execute("SELECT count(*) FROM documents").fetchone() == (3,)
    record = full_record(store, "a1")
    assert record["resource_estimate"] == estimate
    assert record["resource_estimate_calibration"] == calibration
    assert "environment" not in record
    assert environment(store, "a2") == variables
    assert environment(store, "a3") is full_record(store, "a3")["resource_estimate"] is None
    for look in (full_record, environment):
        with pytest.raises(UsageError, match="there is no job a9"):
            look(store, "a9")


def test_an_estimate_changes_nothing_but_itself(store: Store) -> None:
    submit(store, [Submission(job=job()), Submission(job=job(), estimate={"schema_name": "e"})])
    without, attached = full_record(store, "a1"), full_record(store, "a2")
    assert {key for key in without if without[key] != attached[key]} == {"id", "resource_estimate"}


def test_an_attempt_is_committed_with_its_row_and_what_to_do(store: Store) -> None:
    identifier = put(store)
    begun = advance_jobs(store, [(identifier, started())])
    assert begun.acts == (StartAttempt(job="a1", attempt=1),)
    assert begun.jobs["a1"] == read(store, "a1")
    assert counts(store) == {State.RUNNING: 1}
    over = advance_jobs(store, [(identifier, ended(usage={"job_peak_bytes": MIB}))])
    assert over.acts == (RunEndHook(job="a1"),)
    assert list(rows_in_order(store)) == list(over.rows)
    assert over.rows[0].memory_peak == MIB
    assert counts(store) == {State.COMPLETED: 1}
    assert full_record(store, "a1")["usage"] == {"job_peak_bytes": MIB}


def test_a_step_that_is_refused_does_not_hold_up_the_others(store: Store) -> None:
    first, second = put(store), put(store)
    run(store, first)
    done = advance_jobs(store, [(first, KillRequested(at_ms=NOW)), (second, KillRequested(at_ms=NOW))])
    assert [str(refused) for refused in done.refused] == [
        "a1: has ended as COMPLETED, which KillRequested does not change"
    ]
    assert states(store, [first, second]) == {first: State.COMPLETED, second: State.KILLED}


def test_an_unknown_id_changes_nothing(store: Store) -> None:
    identifier = put(store)
    with pytest.raises(UsageError, match="there is no job a9"):
        advance_jobs(store, [(identifier, KillRequested(at_ms=NOW)), ("a9", KillRequested(at_ms=NOW))])
    assert read(store, identifier).state is State.PENDING


def test_dependents_learn_of_an_end_in_the_same_transaction(store: Store) -> None:
    first = put(store)
    strict, loose = put(store, depends_on=on(first)), put(store, depends_on=on(first, Need.ENDED))
    third = put(store, depends_on=on(strict))
    run(store, first, 1)
    assert states(store, [strict, loose, third]) == {
        strict: State.ABORTED_BY_QUEUE,
        loose: State.PENDING,
        third: State.ABORTED_BY_QUEUE,
    }
    assert read(store, loose).life.eligible_at_ms == NOW + 1000
    assert store.connection.execute("SELECT * FROM dependencies").fetchall() == []


def test_a_chain_of_a_thousand_learns_to_its_end(store: Store) -> None:
    last = first = put(store)
    for _ in range(1000):
        last = put(store, depends_on=on(last))
    advance_jobs(store, [(first, KillRequested(at_ms=NOW))])
    assert counts(store) == {State.KILLED: 1, State.ABORTED_BY_QUEUE: 1000}


def test_a_dependent_that_has_ended_learns_nothing_more(store: Store) -> None:
    first, other = put(store), put(store)
    both = put(store, depends_on=on(first) + on(other))
    kills: list[tuple[str, Event]] = [(first, KillRequested(at_ms=NOW)), (other, KillRequested(at_ms=NOW))]
    assert not advance_jobs(store, kills).refused
    assert read(store, both).state is State.ABORTED_BY_QUEUE
    third = put(store)
    killed = put(store, depends_on=on(third))
    advance_jobs(store, [(killed, KillRequested(at_ms=NOW))])
    assert run(store, third).state is State.COMPLETED
    assert read(store, killed).state is State.KILLED


def test_a_dependency_that_has_ended_already_is_settled_at_submission(store: Store) -> None:
    good, bad = put(store), put(store)
    run(store, good)
    run(store, bad, 1)
    assert read(store, put(store, depends_on=on(good))).life.eligible_at_ms == NOW
    assert read(store, put(store, depends_on=on(bad, Need.ENDED))).life.eligible_at_ms == NOW
    accepted = submit(store, [Submission(job=job(depends_on=on(bad) + on(good)))])
    assert [state for _, state in accepted.jobs] == [State.ABORTED_BY_QUEUE]


def test_who_takes_the_place_of_a_job_has_its_documents_and_dependents(store: Store) -> None:
    variables = {"A": "1"}
    submit(store, [Submission(job=job(auto_resume=True), environment=variables, estimate={"e": 1})])
    dependent = put(store, depends_on=on("a1"))
    ended_dependent = put(store, depends_on=on("a1"))
    advance_jobs(store, [(ended_dependent, KillRequested(at_ms=NOW))])
    advance_jobs(store, [("a1", started())])
    done = advance_jobs(store, [("a1", HostRebooted(at_ms=NOW + 5, attempt=1))])
    successor = read(store, "a4")
    assert done.jobs["a4"] == successor
    assert successor.life.parent == "a1"
    assert environment(store, "a4") == variables
    assert full_record(store, "a4")["resource_estimate"] == {"e": 1}
    assert read(store, dependent).life.waiting_for == ("a4",)
    assert counts(store) == {State.INTERRUPTED: 1, State.PENDING: 2, State.KILLED: 1}
    run(store, "a4")
    assert read(store, dependent).life.eligible_at_ms is not None


def test_an_edit_is_found_by_its_new_name_and_tags(store: Store) -> None:
    identifier = put(store, tags=("old", "both"))
    advance_jobs(store, [(identifier, Edited(at_ms=NOW, name="new", tags=("both", "new"), priority=7))])
    assert [record["name"] for record in select(store, Selection(tag="new"))] == ["new"]
    assert select(store, Selection(tag="old")) == select(store, Selection(name="true")) == []
    assert len(select(store, Selection(tag="both", name="new", states=(State.PENDING,)))) == 1


def test_requests_wait_for_the_daemon_in_their_order(store: Store) -> None:
    first, second, third = put(store), put(store), put(store)
    run(store, first)
    asked = post(store, [first, second], KillRequested(at_ms=NOW, at_once=True))
    assert asked.recorded == ((second, State.PENDING),)
    assert asked.refused == ((first, State.COMPLETED),)
    edit = Edited(at_ms=NOW, tags=("a", "b"), mem_mb=7)
    post(store, [third], edit)
    post(store, [third], Paused(at_ms=NOW))
    post(store, [third], Resumed(at_ms=NOW))
    waiting = waiting_requests(store)
    assert [(request.job, request.event) for request in waiting] == [
        (second, KillRequested(at_ms=NOW, at_once=True)),
        (third, edit),
        (third, Paused(at_ms=NOW)),
        (third, Resumed(at_ms=NOW)),
    ]
    assert len(waiting_requests(store, limit=1)) == 1
    happened: list[tuple[str, Event]] = [(request.job, request.event) for request in waiting[:2]]
    advance_jobs(store, happened, answered=[request.sequence for request in waiting[:2]])
    assert waiting_requests(store) == waiting[2:]
    assert read(store, second).state is State.KILLED
    with pytest.raises(UsageError, match="there is no job a9"):
        post(store, [third, "a9"], Paused(at_ms=NOW))
    assert waiting_requests(store) == waiting[2:]


def test_an_edit_of_a_running_job_is_refused_where_it_is_asked_for(store: Store) -> None:
    identifier = put(store)
    advance_jobs(store, [(identifier, started())])
    assert post(store, [identifier], Edited(at_ms=NOW, cpus=2)).refused == ((identifier, State.RUNNING),)
    assert advance_jobs(store, [(identifier, KillRequested(at_ms=NOW))]).acts == (
        StopAttempt(job=identifier, attempt=1, at_once=False),
    )


def test_the_queue_shows_what_runs_what_comes_first_and_what_has_just_ended(store: Store) -> None:
    submit(store, [Submission(job=job(priority=number % 3)) for number in range(60)])
    old, new = put(store), put(store)
    run(store, old)
    advance_jobs(store, [(new, started(NOW + 9_000_000)), (new, ended(NOW + 9_001_000, 1))])
    running = put(store)
    advance_jobs(store, [(running, started(NOW + 1))])
    shown = queue(store, NOW + 9_002_000)
    assert [record["id"] for record in shown.jobs[:1]] == [running]
    pending = [record for record in shown.jobs if record["state"] == "PENDING"]
    assert [record["priority"] for record in pending] == [2] * 20 + [1] * 20 + [0] * 10
    assert [record["id"] for record in shown.jobs if record["state"] == "COMPLETED"] == [new]
    assert shown.counts == {State.PENDING: 60, State.RUNNING: 1, State.COMPLETED: 2}
    assert "usage" not in shown.jobs[0]


def test_of_those_that_have_just_ended_the_queue_shows_the_last_50(store: Store) -> None:
    identifiers = [put(store) for _ in range(52)]
    for later, identifier in enumerate(identifiers):
        advance_jobs(store, [(identifier, KillRequested(at_ms=NOW + later))])
    shown = queue(store, NOW + 100)
    assert [record["id"] for record in shown.jobs] == identifiers[:1:-1]


def test_jobs_are_selected_by_all_that_is_given_and_the_latest_comes_first(store: Store) -> None:
    names = ["x", "y", "x", "x", "y"]
    submit(store, [Submission(job=job(name=name, tags=(f"t{n % 2}",))) for n, name in enumerate(names)])
    run(store, "a1")
    run(store, "a4", 1)

    def ids(limit: int | None = None, **wanted: Any) -> list[str]:
        return [record["id"] for record in select(store, Selection(**wanted), limit=limit)]

    assert ids() == ["a5", "a4", "a3", "a2", "a1"]
    assert ids(limit=2) == ["a5", "a4"]
    assert ids(name="x") == ["a4", "a3", "a1"]
    assert ids(name="x", tag="t0") == ["a3", "a1"]
    assert ids(states=(State.COMPLETED, State.FAILED)) == ["a4", "a1"]
    assert ids(states=(State.COMPLETED, State.FAILED), limit=1) == ["a4"]
    assert ids(states=(State.PENDING,), name="y") == ["a5", "a2"]
    assert ids(tag="t1", name="x", states=(State.FAILED,)) == ["a4"]
    assert counts(store, Selection(name="x")) == {State.COMPLETED: 1, State.PENDING: 1, State.FAILED: 1}
    assert counts(store, Selection(name="x", states=(State.FAILED, State.KILLED))) == {State.FAILED: 1}
    assert counts(store, Selection(tag="t0", name="y")) == {State.PENDING: 1}
    assert counts(store, Selection(tag="t2", name="y")) == {}
    assert counts(store, Selection(states=(State.PENDING,))) == {State.PENDING: 3}
    assert select_active(store, Selection()) == ["a2", "a3", "a5"]
    assert select_active(store, Selection(tag="t0")) == ["a3", "a5"]


def test_a_daemon_begins_with_all_that_has_not_ended_and_then_looks_for_what_is_new(store: Store) -> None:
    first, second, third = put(store), put(store), put(store)
    run(store, second)
    advance_jobs(store, [(third, started())])
    assert [each.id for each in active(store)] == [first, third]
    assert [each.id for each in submitted_after(store, None)] == [first, third]
    fourth = put(store)
    assert submitted_after(store, third) == [read(store, fourth)]
    assert submitted_after(store, fourth) == []


def test_the_end_hook_is_due_until_it_ran_where_there_is_one(store: Store) -> None:
    first, second = put(store, retry=1), put(store, depends_on=on("a1"))
    advance_jobs(store, [(first, started()), (first, ended(code=1))], keeper=Keeper(hooks=True))
    assert hooks_due(store) == []
    advance_jobs(store, [(first, started(NOW + 20_000)), (first, ended(NOW + 30_000, 2, 1))], keeper=Keeper(hooks=True))
    assert hooks_due(store) == [first, second]
    hook_ran(store, [first])
    assert hooks_due(store) == [second]
    third = put(store)
    run(store, third)
    assert hooks_due(store) == [second]


def test_rows_are_read_in_the_order_of_their_ends(store: Store) -> None:
    identifier = put(store)
    run(store, identifier)
    row = next(rows_in_order(store))
    assert row.succeeded is True
    assert row.own_cap is None
    imported = [
        row._replace(name="later", finished_at=NOW + 9_999, hit_cap=True),
        row._replace(name="killed", cancelled=True),
        row._replace(name="same moment"),
        row._replace(name="lost", finished_at=None, queued_at=NOW + 5_000),
    ]
    assert import_rows(store, imported, "rows") == 4
    assert [each.name for each in rows_in_order(store)] == ["true", "same moment", "killed", "lost", "later"]
    assert imported[0] in list(rows_in_order(store))


def test_more_rows_than_a_page_are_all_read(store: Store) -> None:
    identifier = put(store)
    run(store, identifier)
    row = next(rows_in_order(store))
    assert import_rows(store, [row] * 2000, "rows") == 1999
    assert list(rows_in_order(store)) == [row] * 2000


def test_what_the_history_has_already_is_not_imported_again(store: Store) -> None:
    identifier = put(store)
    run(store, identifier)
    row = next(rows_in_order(store))
    lost = row._replace(finished_at=None, workflow="w")
    assert import_rows(store, [lost, row, lost], "rows") == 2
    changed = imports_changed(store)
    assert (import_rows(store, [lost, row, lost], "again"), imports_changed(store)) == (0, changed)
    assert import_rows(store, [lost, row, lost, lost, row._replace(reserved=None)], "rows") == 2
    assert imports_changed(store) > changed
    assert len(list(rows_in_order(store))) == 5


def test_imports_are_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    identifier = put(store)
    run(store, identifier)
    row = next(rows_in_order(store))
    monkeypatch.setattr("vq.store.history.MOST_IMPORTED", 5)
    assert import_rows(store, [row._replace(memory_peak=999 + peak) for peak in range(3)], "rows") == 3
    with pytest.raises(UsageError, match="more than 5 imported rows"):
        import_rows(store, [row._replace(memory_peak=999 + peak) for peak in range(6)], "rows")
    assert [found.rows for found in imports(store)] == [3]
    assert import_rows(store, [row._replace(memory_peak=999 + peak) for peak in range(5)], "rows") == 2


def test_what_was_imported_is_told_by_its_source_and_forgotten_alone(store: Store) -> None:
    run(store, put(store))
    row = next(rows_in_order(store))
    older, lost = row._replace(finished_at=NOW - 5), row._replace(finished_at=None, queued_at=NOW + 7)
    import_rows(store, [older, lost], "b.txt")
    import_rows(store, [older, row._replace(name="other")], "a.txt")
    import_rows(store, [row._replace(name="third")], "b.txt")
    ended = row.finished_at
    assert ended is not None
    assert imports(store) == [Imported("a.txt", 1, ended, ended), Imported("b.txt", 3, NOW - 5, ended)]
    changed = imports_changed(store)
    assert (forget_rows(store, "true"), forget_rows(store, ""), imports_changed(store)) == (0, 0, changed)
    assert forget_rows(store, "b.txt") == 3
    assert imports_changed(store) > changed
    assert [each.name for each in rows_in_order(store)] == ["true", "other"]
    assert import_rows(store, [older, lost], "c.txt") == 2


def test_rows_are_imported_all_or_none(store: Store) -> None:
    run(store, put(store))
    row = next(rows_in_order(store))
    with pytest.raises(StoreError, match="cannot store TEXT"):
        import_rows(store, [row, row._replace(memory_peak="much")], "rows")  # type: ignore[arg-type]
    assert list(rows_in_order(store)) == [row]


def test_an_attempt_has_one_row(store: Store) -> None:
    run(store, put(store))
    row: HistoryRow = next(rows_in_order(store))
    with pytest.raises(StoreError, match="UNIQUE"), store.writing() as connection:
        append_row(connection, row, 1, 1)


def test_what_the_daemon_resolved_is_there_for_the_commands(store: Store) -> None:
    assert stored_config(store) is None
    config = resolve(None, Facts(memory_bytes=2**35, cpus=4), environment={}, flags={"host.cpus": 2})
    store_config(store, config)
    store_config(store, config)
    assert stored_config(store) == config
    assert not is_draining(store)
    set_draining(store, draining=True)
    assert is_draining(store)
    set_draining(store, draining=False)
    assert not is_draining(store)


def test_a_retry_is_pending_again_with_its_reason(store: Store) -> None:
    identifier = put(store, retry=1)
    event = Ended(at_ms=NOW + 5, attempt=1, result=ended(code=1).result)
    advance_jobs(store, [(identifier, started()), (identifier, event)])
    record = full_record(store, identifier)
    assert record["state"] == "PENDING"
    assert record["reason"]["kind"] == Kind.RETRY
    assert counts(store) == {State.PENDING: 1}
