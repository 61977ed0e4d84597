"""Laws of a plan: within every budget, the same for the same look, and a replay decides as looks one by one would."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain

from hypothesis import given, settings
from hypothesis import strategies as st

from histories import DAY, GIB, HOUR, MIB, PROFILES, UNHURRIED, histories, setups
from looks import look_at
from vq.admission import CpuAdmission, Dispatch, Key, Policy, Predictor, Run, Setup, simulate
from vq.admission.host import HostMemory, Remembered
from vq.admission.plan import Behind, Held, Look, Running, Waiting, explain, plan
from vq.admission.replay import Started, replayable
from vq.admission.rules import Rules

NOW = 40 * DAY
CAPS = {name: profile.memory for name, profile in PROFILES.items()}


@st.composite
def rules(draw: st.DrawFn) -> Rules:
    return Rules(
        policy=draw(st.sampled_from(Policy)),
        memory=draw(st.sampled_from([None, GIB, 3 * GIB, 9 * GIB])),
        cpu=draw(st.sampled_from([None, 1000, 5000])),
        slots=draw(st.sampled_from([{}, {"small": 0}, {"small": 2, "big": None}])),
        cpu_admission=draw(st.sampled_from([None, *CpuAdmission])),
        dispatch=draw(st.sampled_from(Dispatch)),
        barrier_after_ms=draw(st.sampled_from([None, 0, HOUR])),
    )


@st.composite
def jobs(draw: st.DrawFn, kind: str, most: int) -> list[dict[str, object]]:
    return [
        {
            "id": f"{kind}{number}",
            "key": Key(draw(st.sampled_from(["o/a", "o/b"])), None, draw(st.sampled_from(["x", "y", "new"]))),
            "profile": draw(st.sampled_from(["small", "big"])),
            "memory_cap": draw(st.sampled_from([64 * MIB, GIB, 4 * GIB])),
            "cpu_cap": draw(st.sampled_from([500, 2000])),
        }
        for number in range(draw(st.integers(0, most)))
    ]


@st.composite
def looks(draw: st.DrawFn) -> Look:
    waiting = [
        Waiting(
            **job,  # type: ignore[arg-type]
            eligible_at=NOW - draw(st.sampled_from([0, HOUR - 1, HOUR, DAY])),
            kept=draw(st.sampled_from([None] * 5 + [Held()])),
        )
        for job in draw(jobs("w", 12))
    ]
    uses = st.sampled_from([None, 0, 50 * MIB, GIB])
    running = [Running(**job) for job in draw(jobs("r", 6))]  # type: ignore[arg-type]
    used = {job.id: draw(uses) for job in running}
    memory = HostMemory(
        total=16 * GIB,
        available=draw(st.sampled_from([0, 3 * GIB, 6 * GIB, 15 * GIB])),
        slice=sum(use or 0 for use in used.values()),
        full_avg10=draw(st.sampled_from([None, 100, 500])),
    )
    remembered = Remembered(short=draw(st.booleans()), stalled=draw(st.booleans()))
    return Look(
        now=NOW,
        rules=draw(rules()),
        waiting=tuple(waiting),
        running=tuple(running),
        uses=used,
        host=draw(st.sampled_from([None, (memory, remembered)])),
    )


def taught(rows: list[Run]) -> Predictor:
    predictor = Predictor(margin=15, min_jobs=2, caps=CAPS)
    predictor.read(rows)
    return predictor


@settings(UNHURRIED, max_examples=60)
@given(looks(), histories(12))
def test_what_starts_fits_every_budget(look: Look, rows: list[Run]) -> None:
    decided = plan(look, taught(rows))
    assert decided == plan(look, taught(rows))
    running = {job.id: job for job in look.running}
    waiting = {job.id: job for job in look.waiting}
    assert list(decided.reservations) == [*running, *decided.starts]
    assert not any(waiting[id_].kept for id_ in decided.starts)
    if not decided.starts:
        return
    by_caps = look.rules.policy is Policy.CAPS
    charged = sum(
        max(reservation.memory.memory, 0 if by_caps else look.uses.get(id_) or 0)
        for id_, reservation in decided.reservations.items()
    )
    assert look.rules.memory is None or charged <= look.rules.memory
    cpu = sum(reservation.cpu.cpu for reservation in decided.reservations.values())
    off = look.rules.cpu is None or look.rules.cpu_admission is CpuAdmission.OFF
    assert off or cpu <= (look.rules.cpu or 0)
    profiles = Counter(chain((job.profile for job in look.running), (waiting[id_].profile for id_ in decided.starts)))
    for started in {waiting[id_].profile for id_ in decided.starts}:
        slots = look.rules.slots.get(started)
        assert slots is None or profiles[started] <= slots
    if decided.host is not None:
        assert sum(decided.reservations[id_].memory.memory for id_ in decided.starts) <= decided.host.spare


@settings(UNHURRIED, max_examples=60)
@given(looks(), histories(12))
def test_everything_that_waits_has_its_reason(look: Look, rows: list[Run]) -> None:
    starts = plan(look, taught(rows)).starts
    explained = explain(look, taught(rows))
    assert [job.id for job in look.waiting if job.id not in starts] == list(explained)
    assert [explanation.ahead for explanation in explained.values()] == list(range(len(explained)))
    barriers = {explanation.reason.job for explanation in explained.values() if isinstance(explanation.reason, Behind)}
    assert len(barriers) <= 1
    for barrier in barriers:
        assert explained[barrier].reason.kind in {"memory", "host_memory", "cpu"}
        assert look.rules.barrier_after_ms is not None
    for job in look.waiting:
        assert job.kept is None or explained[job.id].reason is job.kept


@settings(UNHURRIED, max_examples=60)
@given(looks(), histories(12), st.integers(0, 4 * GIB))
def test_more_room_never_holds_the_head(look: Look, rows: list[Run], more: int) -> None:
    head = [job.id for job in look.waiting if job.kept is None][:1]
    memory = look.rules.memory
    larger = replace(look, rules=replace(look.rules, memory=None if memory is None else memory + more))
    if head == list(plan(look, taught(rows)).starts[:1]):
        assert head == list(plan(larger, taught(rows)).starts[:1])


@settings(UNHURRIED, max_examples=60)
@given(setups(), histories(caps=[64 * MIB, GIB, 4 * GIB], shares=[0]), st.sampled_from(Policy))
def test_a_replay_starts_what_looks_one_by_one_would(setup: Setup, rows: list[Run], policy: Policy) -> None:
    """Where jobs use nothing: a replay knows at a start what a job will use, which a look learns from its sample."""
    started: list[Started] = []
    simulate(setup, rows, policy, tell=started.append)
    coming = replayable(setup, rows)
    looked = [(coming[start.place], *start[1:]) for start in look_at(setup, coming, policy).starts]
    assert [(start.run, start.at, start.memory, start.cpu) for start in started] == looked
