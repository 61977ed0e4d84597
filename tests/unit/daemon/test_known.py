from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from made_jobs import NOW, job, started
from vq.actions.looking import in_start_order
from vq.daemon.known import MOST_OF_A_KIND, Known, array_is_full, kind_of, waiting_job
from vq.jobs.events import KillRequested, Paused, Resumed
from vq.jobs.ids import job_id
from vq.jobs.lifecycle import advance
from vq.jobs.reasons import Kind, Reason
from vq.jobs.record import Array, Job, Reserve


def known(*jobs: Job) -> Known:
    made = Known()
    for one in jobs:
        made.put(one)
    return made


def due(made: Known, now_ms: int = NOW) -> list[str]:
    return [waiting.id for waiting in made.due(now_ms).waiting]


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 2)), max_size=8), st.randoms())
def test_the_order_is_priority_age_and_arrival_whatever_came_first(
    jobs: list[tuple[int, int]], order: st.DrawFn
) -> None:
    made = [
        job(job_id(place), priority=priority, queued_at_ms=NOW + age) for place, (priority, age) in enumerate(jobs, 1)
    ]
    expected = sorted(made, key=lambda one: (-one.work.priority, one.life.queued_at_ms))
    shuffled = list(made)
    order.shuffle(shuffled)  # type: ignore[attr-defined]  # it is a random.Random
    assert due(known(*shuffled), NOW + 5) == [one.id for one in expected]


@given(st.lists(st.integers(-1, 1), min_size=1, max_size=6), st.randoms())
def test_who_started_first_can_be_told_of_those_that_one_look_started(priorities: list[int], order: st.DrawFn) -> None:
    jobs = {job_id(place): job(job_id(place), priority=one) for place, one in enumerate(priorities, 1)}
    made = known(*jobs.values())
    for identifier in due(made):
        made.put(advance(jobs[identifier], started())[0])
    shuffled = list(made.running.values())
    order.shuffle(shuffled)  # type: ignore[attr-defined]  # it is a random.Random
    assert in_start_order(shuffled) == list(made.running.values())


def test_what_is_held_waits_for_a_job_or_has_a_time_to_come_is_not_due() -> None:
    held, _ = advance(job("a1"), Paused(at_ms=NOW))
    later = [job("a2", not_before_ms=NOW + 70), job("a3", not_before_ms=NOW + 50)]
    made = known(held, *later)
    assert due(made) == []
    assert made.due(NOW).next_at_ms == NOW + 50
    assert due(made, NOW + 60) == ["a3"]
    made.put(advance(held, Resumed(at_ms=NOW))[0])
    assert due(made, NOW + 70) == ["a1", "a2", "a3"]
    assert made.due(NOW + 70).next_at_ms is None


def test_an_array_counts_what_runs_and_what_is_due() -> None:
    members = [job(f"a{place + 1}", array=Array(group="a1", index=place, total=4)) for place in range(4)]
    made = known(*members, job("a9"))
    made.at_once["a1"] = 2
    assert due(made) == ["a1", "a2", "a9"]
    made.put(advance(members[0], started())[0])
    assert due(made) == ["a2", "a9"]
    made.at_once["a1"] = None
    assert due(made) == ["a2", "a3", "a4", "a9"]


def test_only_the_first_of_many_equal_jobs_stand_in_a_look() -> None:
    many = [job(job_id(place)) for place in range(1, MOST_OF_A_KIND + 9)]
    other = job("d1000", mem_mb=7)
    whole = job("d1001", reserve=Reserve.CAP)
    assert due(known(*many, other, whole)) == [*(one.id for one in many[:MOST_OF_A_KIND]), "d1000", "d1001"]
    made = known(*many[: MOST_OF_A_KIND + 1], other)
    look = made.due(NOW)
    assert look.cut == {kind_of(waiting_job(many[0]))}
    assert not known(*many[:MOST_OF_A_KIND], other).due(NOW).cut
    stand = [one.id for one in many[:MOST_OF_A_KIND]]
    assert made.runs_out(look, ["d1000", *stand])
    assert not made.runs_out(look, [*stand[1:], "d1000"])


def test_an_ended_job_is_forgotten_and_a_changed_one_takes_its_new_place() -> None:
    first, second = job("a1"), job("a2")
    made = known(first, second)
    made.put(replace(second, work=replace(second.work, priority=1)))
    assert due(made) == ["a2", "a1"]
    running, _ = advance(first, started())
    made.put(running)
    assert (due(made), list(made.running)) == (["a2"], ["a1"])
    killed, _ = advance(second, KillRequested(at_ms=NOW))
    made.put(killed)
    assert list(made.jobs) == ["a1"]


def test_what_a_look_says_of_a_kind_is_said_of_the_first_jobs_in_order() -> None:
    twins = [job(job_id(place)) for place in range(1, MOST_OF_A_KIND + 4)]
    held, _ = advance(job("b90"), Paused(at_ms=NOW))
    members = [job(f"b{place + 91}", name="m", array=Array(group="b91", index=place, total=3)) for place in range(3)]
    made = known(*twins, held, *members)
    made.at_once["b91"] = 1
    look = made.due(NOW)
    memory = Reason(kind=Kind.MEMORY, details={"needs": 2, "free": 1})
    found = made.reasons(look, {kind_of(waiting_job(twins[0])): memory}, 99)
    assert found == {
        **{twin.id: memory for twin in twins},
        **dict.fromkeys(("b92", "b93"), array_is_full("b91", 1)),
    }
    assert list(made.reasons(look, {kind_of(waiting_job(twins[0])): memory}, 2)) == ["a1", "a2"]


WAITING = st.tuples(
    st.sampled_from((None, "b1", "b2")),
    st.sampled_from((100, 200)),
    st.sampled_from((None, NOW - 5, NOW + 50, NOW + 60)),
    st.integers(0, 1),
    st.booleans(),
)


@given(st.lists(WAITING, max_size=90), st.sampled_from((1, 3, 40, None)), st.integers(0, 40))
def test_a_look_is_what_a_walk_through_all_that_wait_finds(
    waiting: list[tuple[str | None, int, int | None, int, bool]], at_once: int | None, gone: int
) -> None:
    made = Known()
    made.at_once |= {"b1": at_once, "b2": None}
    jobs = []
    for place, (group, mem_mb, not_before_ms, priority, held) in enumerate(waiting, 1):
        array = None if group is None else Array(group=group, index=place, total=len(waiting))
        one = job(job_id(place), array=array, mem_mb=mem_mb, not_before_ms=not_before_ms, priority=priority)
        jobs.append(advance(one, Paused(at_ms=NOW))[0] if held else one)
        made.put(jobs[-1])
    for one in jobs[:gone]:
        made.put(advance(one, KillRequested(at_ms=NOW))[0])
    kinds: Counter[int] = Counter()
    members: Counter[str] = Counter()
    expected, times, cut = [], [], set()
    for one in sorted(jobs[gone:], key=lambda one: -one.work.priority):
        group, at_ms = None if one.work.array is None else one.work.array.group, one.work.not_before_ms or 0
        if one.life.held:
            continue
        if at_ms > NOW:
            times.append(at_ms)
        elif kinds[one.work.mem_mb] == MOST_OF_A_KIND:
            cut.add(kind_of(waiting_job(one)))
        elif group is None or (most := made.at_once[group]) is None or members[group] < most:
            members[group or ""] += 1
            kinds[one.work.mem_mb] += 1
            expected.append(one.id)
    found = made.due(NOW)
    assert [one.id for one in found.waiting] == expected
    assert found.next_at_ms == min(times, default=None)
    assert set(found.cut) == cut
