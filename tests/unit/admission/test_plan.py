from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from histories import GIB, HOUR, KEY, MIB, run
from vq.admission import CpuAdmission, CpuPrediction, Dispatch, Key, Policy, Prediction, Predictor, Run
from vq.admission.host import HostMemory, Remembered
from vq.admission.plan import (
    Behind,
    Dependency,
    Drain,
    Held,
    HighWater,
    Look,
    NoCpu,
    NoHostMemory,
    NoMemory,
    NoSlot,
    NotBefore,
    Plan,
    Reason,
    Retry,
    Running,
    Stalled,
    Waiting,
    explain,
    plan,
    plan_and_explain,
)
from vq.admission.predictor import AtCap, OwnLargest, OwnRuns, ProfileRuns, Unmeasured
from vq.admission.rules import Rules

NOW = 10 * HOUR
CAPS = Rules(policy=Policy.CAPS, memory=4 * GIB)
MEASURED = Rules(policy=Policy.MEASURED, memory=4 * GIB)


def waiting(id_: str, **changes: Any) -> Waiting:
    job = Waiting(id=id_, key=Key("o/r", None, id_), profile="small", memory_cap=GIB, cpu_cap=1000, eligible_at=NOW)
    return replace(job, **changes)


class Ran(NamedTuple):
    job: Running
    use: int | None


def running(id_: str, *, use: int | None = 0, **changes: Any) -> Ran:
    job = Running(id=id_, key=Key("o/r", None, id_), profile="small", memory_cap=GIB, cpu_cap=1000)
    return Ran(replace(job, **changes), use)


def look(rules: Rules, *jobs: Waiting | Ran, host: tuple[HostMemory, Remembered] | None = None) -> Look:
    return Look(
        now=NOW,
        rules=rules,
        waiting=tuple(job for job in jobs if isinstance(job, Waiting)),
        running=tuple(one.job for one in jobs if isinstance(one, Ran)),
        uses={one.job.id: one.use for one in jobs if isinstance(one, Ran)},
        host=host,
    )


def predictor(*rows: Run) -> Predictor:
    made = Predictor(margin=0, min_jobs=3, caps={})
    made.read(rows)
    return made


def decide(seen: Look, *rows: Run) -> Plan:
    return plan(seen, predictor(*rows))


def why(seen: Look, *rows: Run) -> dict[str, Reason]:
    return {id_: explanation.reason for id_, explanation in explain(seen, predictor(*rows)).items()}


def test_jobs_start_in_order_and_one_that_does_not_fit_lets_later_ones_past() -> None:
    seen = look(CAPS, waiting("a", memory_cap=3 * GIB), waiting("b", memory_cap=2 * GIB), waiting("c"), waiting("d"))
    assert decide(seen).starts == ("a", "c")
    assert why(seen) == {"b": NoMemory(needs=2 * GIB, free=0), "d": NoMemory(needs=GIB, free=0)}


def test_a_start_may_take_the_last_byte_of_a_budget() -> None:
    assert decide(look(CAPS, waiting("a", memory_cap=4 * GIB))).starts == ("a",)
    assert decide(look(CAPS, waiting("a", memory_cap=4 * GIB + 1))).starts == ()


def test_a_profile_has_so_many_slots() -> None:
    rules = replace(CAPS, slots={"small": 2, "big": None})
    seen = look(rules, running("r"), *(waiting(id_) for id_ in "ab"), waiting("c", profile="big"))
    assert decide(seen).starts == ("a", "c")
    assert why(seen) == {"b": NoSlot("small")}


def test_without_budgets_everything_starts() -> None:
    seen = look(Rules(policy=Policy.MEASURED), *(waiting(id_, memory_cap=1 << 60) for id_ in "abc"))
    assert decide(seen).starts == ("a", "b", "c")


def test_by_caps_a_running_job_is_charged_its_cap_measured_what_it_uses_where_that_is_more() -> None:
    jobs = (running("r", use=3 * GIB), waiting("a"), waiting("b"))
    assert decide(look(CAPS, *jobs)).starts == ("a", "b")
    assert decide(look(MEASURED, *jobs)).starts == ("a",)


def test_measured_a_job_without_a_fresh_sample_has_its_cap() -> None:
    rows = [run(name="r", workflow=None)] * 3
    seen = look(MEASURED, running("r", use=None), running("s", key=Key("o/r", None, "r")))
    reservations = decide(seen, *rows).reservations
    assert reservations["r"].memory == Prediction(GIB, Unmeasured())
    assert reservations["s"].memory == Prediction(256 * MIB, OwnRuns(3))
    assert decide(look(CAPS, running("r", use=None))).reservations["r"].memory == Prediction(GIB, AtCap())


def test_over_high_water_measured_admission_starts_nothing() -> None:
    rules = replace(MEASURED, memory=1000)
    small = {"memory_cap": 1}
    full = (running("r", use=900, **small), waiting("a", **small), waiting("b", memory_cap=101))
    assert why(look(rules, *full)) == {"a": HighWater(used=900, budget=1000), "b": NoMemory(needs=101, free=100)}
    assert decide(look(rules, running("r", use=899, **small), waiting("a", **small))).starts == ("a",)
    assert decide(look(replace(rules, policy=Policy.CAPS), *full)).starts == ("a", "b")


def test_the_cpu_budget_holds_jobs_by_what_they_asked_for_or_by_what_was_measured() -> None:
    jobs = (running("r", cpu_cap=2000), waiting("a", cpu_cap=1500), waiting("b", cpu_cap=500))
    rows = [run(name=name, workflow=None, cpu_average=400) for name in "ra"] * 3
    rules = replace(MEASURED, cpu=3000, cpu_admission=CpuAdmission.CAPS)
    assert decide(look(rules, *jobs), *rows).starts == ("b",)
    assert why(look(rules, *jobs), *rows) == {"a": NoCpu(needs=1500, free=500)}
    measured = decide(look(replace(rules, cpu_admission=None), *jobs), *rows)
    assert measured.starts == ("a", "b")
    assert measured.reservations["a"].cpu == CpuPrediction(400, OwnRuns(3))
    assert decide(look(replace(rules, cpu_admission=CpuAdmission.OFF), *jobs), *rows).starts == ("a", "b")
    by_caps = replace(rules, policy=Policy.CAPS, cpu_admission=None)
    assert decide(look(by_caps, *jobs), *rows).starts == ("b",)


def test_no_job_needs_more_than_the_whole_cpu_budget() -> None:
    rules = replace(CAPS, cpu=1000)
    seen = look(rules, waiting("a", cpu_cap=64_000), waiting("b", cpu_cap=64_000))
    assert decide(seen).starts == ("a",)
    assert why(seen) == {"b": NoCpu(needs=1000, free=0)}
    measured = [run(name="a", workflow=None, cpu_average=2000)] * 3
    rules = replace(rules, policy=Policy.MEASURED)
    assert decide(look(rules, waiting("a", cpu_cap=64_000)), *measured).starts == ("a",)


LARGE_PEERS = [run(name="p", memory_peak=GIB)] * 8
COPY: dict[str, Any] = {"key": KEY, "memory_cap": 2 * GIB}
TWO_RUNS = [*LARGE_PEERS, run(), run()]


def test_a_copy_beside_another_needs_more_to_start_and_reserves_more_if_that_one_runs() -> None:
    alone = decide(look(MEASURED, waiting("a", **COPY)), *TWO_RUNS)
    assert alone.reservations["a"].memory == Prediction(256 * MIB, OwnLargest(2))
    both = decide(look(MEASURED, waiting("a", **COPY), waiting("b", **COPY)), *TWO_RUNS)
    assert both.starts == ("a", "b")
    assert both.reservations["a"].memory == Prediction(256 * MIB, OwnLargest(2))
    assert both.reservations["b"].memory == Prediction(GIB, ProfileRuns(10))
    tight = replace(MEASURED, memory=GIB - 1)
    assert decide(look(tight, waiting("a", **COPY)), *TWO_RUNS).starts == ("a",)
    assert decide(look(tight, waiting("a", **COPY), waiting("b", **COPY)), *TWO_RUNS).starts == ()


def test_copies_are_one_key_whatever_their_profile() -> None:
    seen = look(MEASURED, running("r", **COPY, profile="big"), waiting("a", **COPY))
    assert decide(seen, *TWO_RUNS).reservations["a"].memory.basis == ProfileRuns(10)


def test_of_running_copies_the_first_is_predicted_as_alone() -> None:
    reservations = decide(look(MEASURED, running("r", **COPY), running("s", **COPY)), *TWO_RUNS).reservations
    assert [reservations[id_].memory.memory for id_ in "rs"] == [256 * MIB, GIB]


def test_a_job_kept_for_a_reason_of_its_own_says_so_and_is_no_copy_yet() -> None:
    kept: list[Any] = [Held(), NotBefore(NOW + 1), Dependency("z"), Retry(NOW + 2), Drain()]
    jobs = [waiting(f"k{place}", key=KEY, memory_cap=2 * GIB, kept=reason) for place, reason in enumerate(kept)]
    seen = look(MEASURED, *jobs, waiting("a", **COPY))
    decided = decide(seen, *TWO_RUNS)
    assert decided.starts == ("a",)
    assert decided.reservations["a"].memory.basis == OwnLargest(2)
    explained = explain(seen, predictor(*TWO_RUNS))
    assert [explanation.reason for explanation in explained.values()] == kept
    assert [explanation.ahead for explanation in explained.values()] == [0, 1, 2, 3, 4]
    assert explained["k0"].memory == Prediction(GIB, ProfileRuns(10))


def test_an_explanation_says_what_a_start_needs() -> None:
    seen = look(replace(MEASURED, memory=0, cpu=9000), waiting("a", **COPY), waiting("b", cpu_cap=700))
    explained = explain(seen, predictor(*TWO_RUNS))
    assert explained["a"].memory == Prediction(256 * MIB, OwnLargest(2))
    assert explained["b"].cpu == CpuPrediction(500, explained["b"].cpu.basis)
    kept = look(MEASURED, waiting("k", **COPY, kept=Held()))
    assert explain(kept, predictor(*TWO_RUNS))["k"].memory.basis == OwnLargest(2)


def test_a_runner_that_takes_any_job_of_its_pool_must_fit_the_largest() -> None:
    rules = replace(CAPS, dispatch=Dispatch.POOL, memory=3 * GIB, cpu=3000)
    seen = look(rules, waiting("a"), waiting("b", memory_cap=3 * GIB + 1), waiting("c", profile="big"))
    assert decide(seen).starts == ("c",)
    assert why(seen) == {"a": NoMemory(3 * GIB + 1, 2 * GIB), "b": NoMemory(3 * GIB + 1, 2 * GIB)}
    other = look(rules, waiting("a"), waiting("b", memory_cap=4 * GIB, key=Key("o/other", None, "b")))
    assert decide(other).starts == ("a",)
    busy = look(rules, running("r"), waiting("a"), waiting("b", cpu_cap=3000))
    assert why(busy) == {"a": NoCpu(3000, 2000), "b": NoCpu(3000, 2000)}


def host(available: int, *, full: int = 0, used: int = 0, short: bool = False) -> tuple[HostMemory, Remembered]:
    return HostMemory(16 * GIB, available, used, full), Remembered(short=short)


@pytest.mark.parametrize("rules", [CAPS, MEASURED])
def test_a_start_must_fit_what_the_host_leaves_by_either_policy(rules: Rules) -> None:
    seen = look(rules, *(waiting(id_) for id_ in "ab"), host=host(3 * GIB))
    decided = decide(seen)
    assert decided.starts == ("a",)
    assert decided.remembered == Remembered(short=True)
    assert decided.host is not None
    assert decided.host.left == GIB
    assert why(seen) == {"b": NoHostMemory(needs=GIB, free=0)}


def test_what_runs_is_taken_from_what_the_host_leaves() -> None:
    jobs = (running("r", use=2 * GIB), waiting("a"))
    for policy in Policy:
        rules = Rules(policy=policy)
        decided = decide(look(rules, *jobs, host=host(4 * GIB - 1, used=GIB)))
        assert decided.host is not None
        assert (decided.host.left, decided.starts) == (GIB - 1, ())
        assert decide(look(rules, *jobs, host=host(4 * GIB, used=GIB))).starts == ("a",)


def test_nothing_starts_while_the_host_stalls() -> None:
    seen = look(CAPS, running("r"), waiting("a"), host=host(3 * GIB, full=500, used=GIB))
    decided = decide(seen)
    assert (decided.starts, decided.remembered) == ((), Remembered(short=True, stalled=True))
    assert why(seen) == {"a": Stalled()}
    nothing_runs = decide(look(CAPS, waiting("a"), host=host(3 * GIB, full=500)))
    assert nothing_runs.remembered == Remembered(short=False, stalled=True)


def test_without_a_reading_there_is_nothing_to_remember() -> None:
    decided = decide(look(CAPS, waiting("a")))
    assert (decided.host, decided.remembered) == (None, Remembered())
    calm = decide(look(CAPS, waiting("a"), host=host(9 * GIB, short=True)))
    assert calm.remembered == Remembered()


BARRIER = replace(CAPS, barrier_after_ms=HOUR)
OLD = {"eligible_at": NOW - HOUR}


def test_a_job_that_waited_long_for_memory_lets_none_past() -> None:
    jobs = (running("r", memory_cap=3 * GIB), waiting("a"), waiting("c", memory_cap=GIB // 2))
    large = waiting("b", memory_cap=2 * GIB, **OLD)
    seen = look(BARRIER, jobs[0], large, *jobs[1:])
    assert decide(seen).starts == ()
    assert why(seen) == {"b": NoMemory(2 * GIB, GIB), "a": Behind("b"), "c": Behind("b")}
    assert decide(look(BARRIER, jobs[0], replace(large, eligible_at=NOW - HOUR + 1), *jobs[1:])).starts == ("a",)
    assert decide(look(CAPS, jobs[0], large, *jobs[1:])).starts == ("a",)
    before = look(BARRIER, jobs[0], jobs[1], large, jobs[2])
    assert decide(before).starts == ("a",)
    assert why(before) == {"b": NoMemory(2 * GIB, 0), "c": NoMemory(GIB // 2, 0)}


def test_a_job_that_never_fits_is_no_barrier() -> None:
    large = waiting("b", memory_cap=5 * GIB, **OLD)
    assert decide(look(BARRIER, large, waiting("a"))).starts == ("a",)
    unbounded = Rules(policy=Policy.CAPS, barrier_after_ms=0)
    assert decide(look(unbounded, large, waiting("a"), host=host(4 * GIB))).starts == ("a",)


def test_a_job_that_waits_for_cpu_or_the_host_is_a_barrier_and_one_that_waits_for_a_slot_is_not() -> None:
    cpu = replace(BARRIER, cpu=2000)
    seen = look(cpu, running("r"), waiting("b", cpu_cap=2000, **OLD), waiting("a"))
    assert why(seen) == {"b": NoCpu(2000, 1000), "a": Behind("b")}
    seen = look(BARRIER, running("r"), waiting("b", memory_cap=2 * GIB, **OLD), waiting("a"), host=host(4 * GIB))
    assert why(seen) == {"b": NoHostMemory(2 * GIB, GIB), "a": Behind("b")}
    slots = replace(BARRIER, slots={"small": 1})
    assert decide(look(slots, running("r"), waiting("b", **OLD), waiting("a", profile="big"))).starts == ("a",)


def test_a_job_behind_a_younger_one_of_its_kind_may_be_the_barrier() -> None:
    same = {"key": KEY, "memory_cap": 2 * GIB}
    jobs = (running("r", memory_cap=3 * GIB), waiting("b", **same), waiting("a", memory_cap=GIB // 2))
    seen = look(BARRIER, *jobs, waiting("c", **same, **OLD), waiting("d", memory_cap=GIB // 2))
    assert decide(seen).starts == ("a",)
    assert why(seen)["d"] == Behind("c")
    beside = waiting("d", profile="big", memory_cap=GIB // 2)
    full = look(replace(BARRIER, slots={"small": 2}), *jobs, waiting("c", **same, **OLD), beside)
    assert decide(full).starts == ("a", "d")


@pytest.mark.parametrize(
    ("reason", "data"),
    [
        (NoSlot("small"), {"kind": "slot", "profile": "small"}),
        (NoMemory(2, 1), {"kind": "memory", "needs": 2, "free": 1}),
        (HighWater(9, 10), {"kind": "high_water", "used": 9, "budget": 10}),
        (Stalled(), {"kind": "stalled"}),
        (NoHostMemory(2, -1), {"kind": "host_memory", "needs": 2, "free": -1}),
        (NoCpu(200, 100), {"kind": "cpu", "needs": 200, "free": 100}),
        (Behind("7"), {"kind": "behind", "job": "7"}),
        (Held(), {"kind": "held"}),
        (NotBefore(5), {"kind": "not_before", "at": 5}),
        (Dependency("7"), {"kind": "dependency", "job": "7"}),
        (Retry(5), {"kind": "retry", "at": 5}),
        (Drain(), {"kind": "drain"}),
    ],
)
def test_a_reason_is_data(reason: Reason, data: dict[str, object]) -> None:
    assert reason.as_data() == data


def test_a_prediction_at_the_cap_says_so() -> None:
    assert decide(look(CAPS, waiting("a"))).reservations["a"].memory == Prediction(GIB, AtCap())


def test_a_job_that_is_to_have_its_whole_limit_reserves_it_whatever_is_predicted() -> None:
    rows = [run(memory_peak=100 * MIB) for _ in range(3)]
    alike: dict[str, Any] = {"key": KEY, "memory_cap": 3 * GIB}
    seen = look(MEASURED, running("r", **alike, whole=True), waiting("w", **alike, whole=True), waiting("x", **alike))
    decided = decide(seen, *rows)
    assert decided.starts == ("x",)
    assert decided.reservations["r"].memory == Prediction(3 * GIB, AtCap())
    assert why(seen, *rows) == {"w": NoMemory(needs=3 * GIB, free=768 * MIB)}


def test_a_decision_is_the_plan_with_why_the_first_wait_on() -> None:
    jobs = [waiting(f"a{place}", memory_cap=3 * GIB) for place in range(4)]
    seen = look(CAPS, *jobs)
    decided, explained = plan_and_explain(seen, predictor(), first=3)
    assert decided == plan(seen, predictor())
    assert decided.starts == ("a0",)
    everything = explain(seen, predictor())
    assert list(everything) == ["a1", "a2", "a3"]
    assert explained == {id_: everything[id_] for id_ in ("a1", "a2")}
