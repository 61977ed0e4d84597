from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from histories import GIB, run
from imported import lines
from vq.admission import Caps, CpuAdmission, Dispatch, Policy, Profile, Setup, simulate
from vq.admission.documents import read_setup, replay_document, started_document
from vq.admission.replay import Started
from vq.errors import BadDataError
from vq.formats import jsonl

CASES = Path(__file__).parents[2] / "data" / "admission" / "replay.jsonl.gz"
PROFILES = {"small": {"memory": GIB, "cpus": 2}}


def test_an_empty_setup_has_the_defaults_and_the_profiles_of_the_rows() -> None:
    rows = [run(memory_cap=GIB, cpu_cap=1500), run(memory_cap=None, cpu_cap=None), run(profile="big", memory_cap=2)]
    assert read_setup({}, rows) == Setup(
        margin=15,
        min_jobs=10,
        profiles={"small": Profile(memory=GIB, cpus=2), "big": Profile(memory=2, cpus=1)},
    )


def test_every_key_is_read() -> None:
    document = {
        "margin": 30,
        "min_jobs": 3,
        "profiles": {"small": {"memory": GIB, "cpus": 2, "slots": 4}},
        "memory_max": 8 * GIB,
        "cpu_budget": 4000,
        "slots": {"small": 2, "other": None},
        "mirror": 1,
        "caps": "profile",
        "dispatch": "pool",
        "barrier_after_ms": 5,
        "cpu_admission": "off",
    }
    assert read_setup(document, []) == Setup(
        margin=30,
        min_jobs=3,
        profiles={"small": Profile(memory=GIB, cpus=2, slots=4)},
        memory_max=8 * GIB,
        cpu_budget=4000,
        slots={"small": 2, "other": None},
        mirror=1,
        caps=Caps.PROFILE,
        dispatch=Dispatch.POOL,
        barrier_after_ms=5,
        cpu_admission=CpuAdmission.OFF,
    )


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ([], "expected an object"),
        ({"margins": 1}, r"\$\.margins: expected no such key; known are"),
        ({"margin": -1}, r"\$\.margin: expected an integer from 0 to 10000, found -1"),
        ({"min_jobs": 0}, r"\$\.min_jobs: expected an integer from 1"),
        ({"memory_max": 1.5}, r"\$\.memory_max: expected an integer"),
        ({"caps": "row"}, r"\$\.caps: expected job \| profile"),
        ({"barrier_after_ms": "off"}, r"\$\.barrier_after_ms: expected an integer"),
        ({"profiles": []}, r"\$\.profiles: expected an object"),
        ({"profiles": {"a b": {"memory": 1}}}, r'\$\.profiles\["a b"\]\.cpus: expected this key'),
        ({"profiles": {"p": {"memory": 1, "cpus": 1, "slots": -1}}}, r"\$\.profiles\.p\.slots: expected"),
        ({"slots": {"p": "many"}}, r"\$\.slots\.p: expected an integer"),
    ],
)
def test_what_is_no_setup_is_refused_at_its_place(document: Any, why: str) -> None:
    with pytest.raises(BadDataError, match=why):
        read_setup(document, [])


def test_rows_without_limits_need_a_profile() -> None:
    with pytest.raises(BadDataError, match="a memory limit for profile small"):
        read_setup({}, [run(memory_cap=None)])


def test_a_replay_and_its_starts_as_documents() -> None:
    started: list[Started] = []
    setup = read_setup({"profiles": PROFILES}, [])
    replay = simulate(setup, [run(memory_peak=5, cpu_average=None)], Policy.CAPS, tell=started.append)
    assert replay_document(Policy.CAPS, replay) == {
        "policy": "caps",
        "replay": {
            "jobs": 1,
            "never_started": 0,
            "wait": {"p50": 0, "p95": 0, "p99": 0, "max": 0},
            "mean_wait": 0,
            "most_running": 1,
            "worst_overlap": 5,
            "makespan": 1,
            "under_predicted": 0,
            "held_back": 0,
            "cpu_held": 0,
            "worst_cpu": 0,
            "reserved_byte_ms": GIB * 1000,
            "peak_byte_ms": 5000,
        },
    }
    assert started_document(Policy.CAPS, started[0]) == {
        "policy": "caps",
        "repository": "o/r",
        "workflow": "w",
        "name": "job",
        "profile": "small",
        "queued_at": 0,
        "started_at": 0,
        "wait_ms": 0,
        "memory": GIB,
        "basis": {"kind": "cap"},
        "cpu": 2000,
        "cpu_basis": {"kind": "cap"},
    }


def test_the_given_setups_and_rows_give_the_given_answers_as_documents() -> None:
    with gzip.open(CASES, "rt", encoding="utf-8") as file:
        cases = [json.loads(line) for line in file]
    assert len(cases) > 50
    for case in cases:
        rows = list(jsonl.rows(lines("".join(json.dumps(row) + "\n" for row in case["rows"]))))
        policy, expected = Policy(case.pop("policy")), case.pop("expected")
        del case["rows"]
        replay = simulate(read_setup(case, rows), rows, policy)
        assert replay_document(policy, replay) == {"policy": policy.value, "replay": expected}
