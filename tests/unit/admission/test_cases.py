"""The given cases, to the last digit."""

from __future__ import annotations

import gzip
import json
import runpy
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from vq.admission import (
    Caps,
    Copies,
    CpuAdmission,
    Dispatch,
    Key,
    Policy,
    Predictor,
    Profile,
    Run,
    Setup,
    host,
    simulate,
)

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests/data/admission"
LOAD = json.loads((DATA / "load.json").read_text())


def cases(name: str) -> list[dict[str, Any]]:
    text = gzip.decompress((DATA / f"{name}.jsonl.gz").read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()]


def setup(case: dict[str, Any]) -> Setup:
    cpu_admission = case.get("cpu_admission")
    return Setup(
        profiles={name: Profile(**profile) for name, profile in case["profiles"].items()},
        caps=Caps(case["caps"]),
        dispatch=Dispatch(case["dispatch"]),
        cpu_admission=None if cpu_admission is None else CpuAdmission(cpu_admission),
        **{
            name: case[name]
            for name in ("margin", "min_jobs", "memory_max", "cpu_budget", "slots", "mirror", "barrier_after_ms")
        },
    )


def answer(predictor: Predictor, query: dict[str, Any]) -> dict[str, Any]:
    job = (Key(query["repository"], query["workflow"], query["name"]), query["profile"])
    copies = Copies.SEVERAL if query["copies"] else Copies.ALONE
    memory = predictor.predict(*job, query["memory_cap"], now=query["now"], copies=copies)
    cpu = predictor.predict_cpu(*job, query["cpu_cap"])
    return {
        "memory": memory.memory,
        "basis": memory.basis.as_data(),
        "cpu": cpu.cpu,
        "cpu_basis": cpu.basis.as_data(),
    }


def test_predictions() -> None:
    given = cases("predict")
    assert len(given) == 110
    for number, case in enumerate(given):
        caps = {name: profile["memory"] for name, profile in case["profiles"].items()}
        predictor = Predictor(margin=case["margin"], min_jobs=case["min_jobs"], caps=caps)
        predictor.read(Run(**row) for row in case["rows"])
        assert [answer(predictor, query) for query in case["queries"]] == case["expected"], number


def test_replays() -> None:
    given = cases("replay")
    assert len(given) == 100
    for number, case in enumerate(given):
        replay = simulate(setup(case), [Run(**row) for row in case["rows"]], Policy(case["policy"]))
        assert asdict(replay) == case["expected"], number


def test_hosts() -> None:
    given = [json.loads(line) for line in (DATA / "host.jsonl").read_text().splitlines()]
    assert len(given) == 90
    for case in given:
        memory = host.HostMemory(case["total"], case["available"], case["slice"], case["full"])
        budget = host.budget(memory, case["reserved"], host.Remembered(case["short"], case["stalled"]))
        margin = host.margin(case["total"], case["short"])
        assert asdict(budget) | {"margin": margin} == case["expected"]


@pytest.mark.parametrize(
    "result", LOAD["results"], ids=lambda result: f"{result['jobs']}-{result['load']}-{result['policy']}"
)
def test_loads(result: dict[str, Any]) -> None:
    rows = runpy.run_path(str(ROOT / "benchmarks/make_load.py"))["rows"]
    history = [Run(**row) for row in rows(result["jobs"], result["load"], result["seed"])]
    replay = asdict(simulate(setup(LOAD["setup"]), history, Policy(result["policy"])))
    del replay["reserved_byte_ms"], replay["peak_byte_ms"]
    assert replay == result["expected"]


def test_there_are_eleven_loads() -> None:
    assert len(LOAD["results"]) == 11
