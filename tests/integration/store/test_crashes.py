"""Processes that are killed, and processes at once: what was acknowledged is there, once and whole."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from store_processes import go, line, python
from vq.jobs.effects import StartAttempt
from vq.jobs.lifecycle import repairs
from vq.jobs.record import State
from vq.store.connection import open_store
from vq.store.jobs import active, counts, submitted_after

BURST = """
store, number = open_store(folder), 0
while True:
    number += 1
    made = submit(store, [Submission(job=job(name=f"n{number}"), environment={"N": str(number)})] * SIZE)
    say(number, *(identifier for identifier, _ in made.jobs))
"""


@pytest.mark.parametrize(("size", "acknowledgements"), [(1, 1), (1, 20), (1, 107), (300, 1), (300, 3)])
def test_a_kill_in_a_burst_of_submissions_loses_nothing_acknowledged_and_halves_none(
    tmp_path: Path, size: int, acknowledgements: int
) -> None:
    folder = str(tmp_path / "vq")
    heard: dict[str, str] = {}
    with python(folder, BURST.replace("SIZE", str(size))) as process:
        for _ in range(acknowledgements):
            number, *identifiers = line(process)
            heard.update(dict.fromkeys(identifiers, f"n{number}"))
        process.kill()
        for number, *identifiers in (each.split() for each in process.stdout or ()):
            heard.update(dict.fromkeys(identifiers, f"n{number}"))
    with open_store(folder) as store:
        assert store.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        there = {each.id: each.identity.name for each in active(store)}
        assert heard.items() <= there.items()
        assert len(there) in (len(heard), len(heard) + size)
        assert counts(store) == {State.PENDING: len(there)}
        assert len(heard) >= size * acknowledgements


def test_what_was_committed_and_not_done_is_known_after_a_crash(tmp_path: Path) -> None:
    folder = str(tmp_path / "vq")
    code = """
store = open_store(folder, Opener.DAEMON)
submit(store, [Submission(job=job())] * 2)
say(*[act.attempt for act in advance_jobs(store, [("a1", started())]).acts])
sys.stdin.readline()
"""
    with python(folder, code) as process:
        assert line(process) == ["1"]
        process.kill()
        process.wait()
    with open_store(folder) as store:
        acts = [act for each in active(store) for act in repairs(each)]
    assert acts == [StartAttempt(job="a1", attempt=1)]


def test_one_key_given_by_processes_at_once_makes_one_job(tmp_path: Path) -> None:
    folder = str(tmp_path / "vq")
    code = """
store = open_store(folder)
say("ready")
sys.stdin.readline()
for key in range(30):
    made = submit(store, [Submission(job=job())], Claim(key=f"k{key}", intent="i"))
    say(made.jobs[0][0], made.existing)
"""
    with ExitStack() as stack:
        processes = [stack.enter_context(python(folder, code)) for _ in range(2)]
        assert [line(process) for process in processes] == [["ready"]] * 2
        for process in processes:
            go(process)
        answers = [[line(process) for _ in range(30)] for process in processes]
    for one, other in zip(*answers, strict=True):
        assert one[0] == other[0]
        assert sorted((one[1], other[1])) == ["False", "True"]
    with open_store(folder) as store:
        assert counts(store) == {State.PENDING: 30}


def test_a_daemon_that_looks_while_processes_submit_sees_each_job_once_and_in_order(tmp_path: Path) -> None:
    folder = str(tmp_path / "vq")
    code = "store = open_store(folder)\nfor _ in range(100): submit(store, [Submission(job=job())])\nsay('done')"
    seen: list[str] = []
    with open_store(folder) as store, ExitStack() as stack:
        processes = [stack.enter_context(python(folder, code)) for _ in range(2)]
        while len(seen) < 200:
            seen += [each.id for each in submitted_after(store, seen[-1] if seen else None)]
        assert [line(process) for process in processes] == [["done"]] * 2
        assert submitted_after(store, seen[-1]) == []
    assert seen == sorted(set(seen))
