"""Who starts when: dependencies, arrays, retries, times, holds, drains, budgets, and the hook at the end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from daemons import Queue, python
from made_jobs import job as made_job
from vq.admission.host import HostMemory, Remembered, margin
from vq.daemon.known import MOST_OF_A_KIND
from vq.daemon.serving import now_ms
from vq.daemon.told import HOLDS_MS, PERIOD_SECONDS, Said, told
from vq.hosts.local.machine import Machine
from vq.jobs.events import Edited, KillRequested, Paused, Resumed
from vq.jobs.reasons import Kind
from vq.jobs.record import Dependency, Need, Reserve, State
from vq.store.jobs import hooks_due
from vq.store.requests import MOST_AT_ONCE
from vq.store.settings import set_draining
from vq.store.submitting import Submission, submit

DAY_MS = 86_400_000
SLEEP = ["sleep", "600"]
# Appends its name at its start and at its end: what ran beside what can be read from the order.
TRACE = "import sys, time; f = open(sys.argv[1], 'a', buffering=1); f.write('+\\n'); time.sleep(0.1); f.write('-\\n')"


def most_at_once(trace: Path) -> int:
    running = most = 0
    for sign in trace.read_text().split():
        running += 1 if sign == "+" else -1
        most = max(most, running)
    assert running == 0
    return most


def test_a_job_waits_for_those_it_depends_on(plain: Queue, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    (first,) = plain.submit(["sh", "-c", f"sleep 0.2; echo first >> {trace}"])
    (second,) = plain.submit(
        ["sh", "-c", f"echo second >> {trace}"], depends_on=(Dependency(job=first, kind=Need.COMPLETED),), priority=9
    )
    assert plain.end(second).state is State.COMPLETED
    assert trace.read_text().split() == ["first", "second"]


def test_a_dependency_that_fails_ends_what_needed_it_and_frees_what_only_waited(plain: Queue) -> None:
    (first,) = plain.submit(["false"])
    (needs,) = plain.submit(["true"], depends_on=(Dependency(job=first, kind=Need.COMPLETED),))
    (after,) = plain.submit(["true"], depends_on=(Dependency(job=first, kind=Need.ENDED),))
    (last,) = plain.submit(["true"], depends_on=(Dependency(job=needs, kind=Need.COMPLETED),))
    assert plain.end(after).state is State.COMPLETED
    assert plain.state(needs) is plain.state(last) is State.ABORTED_BY_QUEUE
    assert {row["job"] for row in plain.history()} == {1, 3}


def test_an_array_runs_at_most_so_many_at_once(plain: Queue, tmp_path: Path) -> None:
    plain.text = "[host]\ncpus = 2\ncpu_overcommit = 4\n"
    identifiers = plain.submit(*[python(TRACE, str(tmp_path / "trace"))] * 7, at_once=3)
    for identifier in identifiers:
        assert plain.end(identifier).state is State.COMPLETED
    assert 1 < most_at_once(tmp_path / "trace") <= 3


@pytest.mark.parametrize("first", [["true"], ["false"]], ids=["of its own", "of a retry"])
def test_a_clock_set_back_keeps_no_job_waiting(plain: Queue, first: list[str]) -> None:
    plain.text = "[host]\ncpus = 1\n"
    (running,) = plain.submit(["sh", "-c", "read word < fifo || mkfifo fifo; read word < fifo"])
    plain.running(running)
    (waits,) = plain.submit(first, retry=1)
    (after,) = plain.submit(["true"], depends_on=(Dependency(job=waits, kind=Need.ENDED),))
    (late,) = plain.submit(["true"], not_before_ms=now_ms())
    plain.later_ms = -DAY_MS
    fifo = Path(str(plain.job(running).work.workspace), "fifo")
    plain.until(fifo.exists, "it waits for a word")
    fifo.write_text("go\n")
    assert plain.end(running).state is State.COMPLETED
    if first == ["false"]:
        plain.until(lambda: plain.job(waits).life.attempts, "it has failed once")
        plain.later_ms -= DAY_MS
    assert plain.end(waits).state.ended
    assert plain.end(after).state is State.COMPLETED
    # A moment that was asked for is that of the clock.
    assert plain.state(late) is State.PENDING
    plain.later_ms = 0
    assert plain.end(late).state is State.COMPLETED


def test_no_more_run_than_there_are_cpus_slots_and_memory_for(plain: Queue, tmp_path: Path) -> None:
    plain.text = '[host]\nmemory_max = "1G"\ncpu_admission = "off"\n[profiles.few]\nslots = 2\n'
    for name, changes in (("few", {"profile": "few"}), ("memory", {"mem_mb": 500})):
        trace = tmp_path / name
        for identifier in plain.submit(*[python(TRACE, str(trace))] * 5, **changes):
            assert plain.end(identifier).state is State.COMPLETED
        assert most_at_once(trace) <= 2


def test_a_failure_is_tried_again_after_its_time_and_in_its_workspace(plain: Queue) -> None:
    (identifier,) = plain.submit(["sh", "-c", "test -e been || { touch been; exit 1; }"], retry=2)
    plain.until(lambda: plain.job(identifier).life.attempts, "the first attempt is over")
    job = plain.job(identifier)
    assert (job.state, job.life.reason is not None and job.life.reason.kind) == (State.PENDING, "retry")
    plain.later_ms = 10_000
    job = plain.end(identifier)
    assert (job.state, [attempt.state for attempt in job.life.attempts]) == (
        State.COMPLETED,
        [State.FAILED, State.COMPLETED],
    )
    assert [(row["attempt"], row["succeeded"]) for row in plain.history()] == [(1, 0), (2, 1)]


def test_a_job_does_not_start_before_its_time(plain: Queue) -> None:
    (later,) = plain.submit(["true"], not_before_ms=2**42)
    (now,) = plain.submit(["true"])
    plain.end(now)
    assert plain.state(later) is State.PENDING
    plain.later_ms = 2**42
    assert plain.end(later).state is State.COMPLETED


def test_a_held_job_starts_when_it_is_released(plain: Queue) -> None:
    (held,) = plain.submit(["true"])
    plain.ask(held, Paused(at_ms=0))
    (other,) = plain.submit(["true"])
    plain.end(other)
    assert plain.job(held).life.held
    plain.ask(held, Resumed(at_ms=0))
    assert plain.end(held).state is State.COMPLETED


def test_a_waiting_job_is_edited(plain: Queue) -> None:
    set_draining(plain.store, draining=True)
    (identifier,) = plain.submit(["true"])
    plain.ask(identifier, Edited(at_ms=0, mem_mb=77, priority=3))
    plain.until(lambda: plain.job(identifier).work.mem_mb == 77, "it is edited")
    set_draining(plain.store, draining=False)
    assert plain.end(identifier).work.priority == 3


def test_a_draining_queue_starts_nothing_and_lets_what_runs_go_on(plain: Queue) -> None:
    (running,) = plain.submit(SLEEP)
    plain.running(running)
    set_draining(plain.store, draining=True)
    (waiting,) = plain.submit(["true"])
    plain.ask(running, KillRequested(at_ms=0))
    plain.end(running)
    assert plain.state(waiting) is State.PENDING
    set_draining(plain.store, draining=False)
    assert plain.end(waiting).state is State.COMPLETED


def test_kills_of_many_are_all_read_before_anything_starts(plain: Queue) -> None:
    set_draining(plain.store, draining=True)
    waiting = plain.submit(*([SLEEP] * (2 * MOST_AT_ONCE + 1)))
    for identifier in waiting:
        plain.ask(identifier, KillRequested(at_ms=0))
    set_draining(plain.store, draining=False)
    plain.until(lambda: plain.state(waiting[-1]).ended, "the last kill is read")
    assert {plain.job(identifier).life.attempt for identifier in waiting} == {0}


def test_a_higher_priority_goes_first(plain: Queue, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    set_draining(plain.store, draining=True)
    identifiers = [
        *plain.submit(["sh", "-c", f"echo low >> {trace}"], cpus=2),
        *plain.submit(["sh", "-c", f"echo high >> {trace}"], cpus=2, priority=5),
    ]
    plain.daemon.turn(0.0)
    set_draining(plain.store, draining=False)
    for identifier in identifiers:
        plain.end(identifier)
    assert trace.read_text().split() == ["high", "low"]


def test_measured_admission_reserves_what_runs_before_used(plain: Queue) -> None:
    plain.text = "[host]\n[sizing]\nmin_jobs = 3\n"
    for _ in range(3):
        (identifier,) = plain.submit(["true"], mem_mb=900)
        plain.end(identifier)
    assert plain.job(identifier).life.basis == {"kind": "cap"}
    (predicted,) = plain.submit(["true"], mem_mb=900)
    life = plain.end(predicted).life
    assert (life.reserved_bytes, life.basis) == (256 << 20, {"kind": "job", "runs": 3})
    (whole,) = plain.submit(["true"], mem_mb=900, reserve=Reserve.CAP)
    assert plain.end(whole).life.reserved_bytes == 900 << 20
    # A daemon that starts anew has learned the same.
    plain.stop()
    (again,) = plain.submit(["true"], mem_mb=900)
    assert plain.end(again).life.reserved_bytes == 256 << 20


def test_the_end_hook_gets_the_record_once(plain: Queue, tmp_path: Path) -> None:
    hook, said = tmp_path / "hook", tmp_path / "said"
    said.mkdir()
    # Both may run at one time.
    hook.write_text(f"#!/bin/sh\ncat > {said}/$$.part\nmv {said}/$$.part {said}/$$.json\n")
    hook.chmod(0o755)
    plain.text = f'[hooks]\non_end = ["{hook}"]\n'
    identifiers = plain.submit(["true"], ["false"])
    plain.until(lambda: len(list(said.glob("*.json"))) == 2, "the hook ran for both")
    plain.until(lambda: not hooks_due(plain.store), "no hook is due")
    records = [json.loads(path.read_text()) for path in said.iterdir()]
    assert sorted((record["id"], record["state"]) for record in records) == list(
        zip(identifiers, ["COMPLETED", "FAILED"], strict=True)
    )
    assert all(record["usage"] for record in records)


def test_the_end_hook_is_run_for_a_job_that_ends_as_it_is_submitted(plain: Queue, tmp_path: Path) -> None:
    plain.text = f'[hooks]\non_end = ["sh", "-c", "cat >> {tmp_path}/said"]\n'
    (failed,) = plain.submit(["false"])
    plain.end(failed)
    plain.until(lambda: not hooks_due(plain.store), "its hook has run")
    needs_it = made_job(depends_on=(Dependency(job=failed, kind=Need.COMPLETED),))
    ((aborted, state),) = submit(plain.store, [Submission(job=needs_it)], hooks=True).jobs
    assert state is State.ABORTED_BY_QUEUE
    plain.until(lambda: not hooks_due(plain.store), "no hook is due")
    assert (tmp_path / "said").read_text().count(f'"id": "{aborted}"') == 1


@pytest.mark.parametrize("hook", ["/no/such/hook", "false"])
def test_a_hook_that_cannot_do_it_is_not_run_for_ever(plain: Queue, hook: str) -> None:
    plain.text = f'[hooks]\non_end = ["{hook}"]\n'
    (identifier,) = plain.submit(["true"])
    plain.end(identifier)
    plain.until(lambda: not hooks_due(plain.store), "no hook is due")


def test_a_hook_that_was_due_when_the_daemon_was_killed_is_run_by_the_next(plain: Queue, tmp_path: Path) -> None:
    plain.text = '[hooks]\non_end = ["sleep", "600"]\n'
    (identifier,) = plain.submit(["true"])
    plain.end(identifier)
    plain.stop()
    assert hooks_due(plain.store) == [identifier]
    plain.text = f'[hooks]\non_end = ["touch", "{tmp_path}/told"]\n'
    plain.until((tmp_path / "told").exists, "the next daemon runs it")


def test_many_equal_jobs_start_one_look_after_the_other_and_not_one_a_second(plain: Queue) -> None:
    plain.text = '[host]\ncpu_admission = "off"\n'
    jobs = plain.submit(*[SLEEP] * 20, mem_mb=64)
    started = []
    for _ in range(3):
        plain.daemon.turn(0)
        started.append(sum(plain.state(job) is State.RUNNING for job in jobs))
    assert started == [MOST_OF_A_KIND, 2 * MOST_OF_A_KIND, 20]


def test_the_daemon_tells_why_jobs_wait_as_long_as_any_does(plain: Queue) -> None:
    plain.text = "[host]\ncpus = 1\n"
    (first,) = plain.submit(SLEEP)
    plain.running(first)
    (second,) = plain.submit(SLEEP)
    reason = plain.until(lambda: told(plain.folder, now_ms()).reasons.get(second), "it says why")
    assert (reason.kind, reason.details) == (Kind.CPU, {"needs": 1000, "free": 0})
    assert told(plain.folder, now_ms() + 2 * HOLDS_MS) == Said()
    plain.ask(second, KillRequested(at_ms=now_ms()))
    plain.until(lambda: not told(plain.folder, now_ms()).reasons, "nothing waits", PERIOD_SECONDS * 5)
    file = Path(plain.folder) / "waits.json"
    before = file.read_bytes()
    plain.until(plain.daemon._parts.told.is_due, "it could say so again")  # noqa: SLF001
    plain.daemon.turn(PERIOD_SECONDS)
    assert file.read_bytes() == before
    plain.stop()
    assert not file.exists()


def test_a_host_is_short_no_longer_once_nobody_waits_for_its_memory(
    plain: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    total = 64 << 30
    kept = margin(total, short=False)
    # A margin and 200 MiB beside what runs: room for the small one, and none while the host is short.
    reading = HostMemory(total=total, available=kept + (200 << 20), slice=0, full_avg10=None)
    monkeypatch.setattr(Machine, "memory", lambda *_: reading)
    (runs,) = plain.submit(SLEEP, mem_mb=64)
    plain.running(runs)
    (large,) = plain.submit(SLEEP, mem_mb=1000)
    admission = plain.daemon._parts.admission  # noqa: SLF001
    plain.until(lambda: admission.remembered == Remembered(short=True), "it waits for memory of the host")
    plain.ask(large, KillRequested(at_ms=0))
    plain.end(large)
    plain.until(lambda: admission.remembered == Remembered(), "nobody waits any more")
    (small,) = plain.submit(["true"], mem_mb=64)
    assert plain.end(small).state is State.COMPLETED


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[" * 100_000,
        "[]",
        "9" * 5000,
        '{"at_ms": NaN, "host": {"short": true, "stalled": true}, "reasons": {"a1": {"kind": "drain", "text": ""}}}',
        '{"at_ms": 1000, "host": {"short": true, "stalled": true}, "reasons": {"a1": {"kind": "array", "text": ""}}}',
        '{"at_ms": 1000, "host": {"short": true, "stalled": true}, "reasons": ["a1"]}',
        '{"at_ms": 1000, "host": {"short": 1, "stalled": true}, "reasons": {}}',
        '{"at_ms": 1000, "reasons": {}}',
    ],
)
def test_what_is_there_in_place_of_what_a_daemon_tells_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "waits.json").write_text(text)
    assert told(str(tmp_path), 1000) == Said()
