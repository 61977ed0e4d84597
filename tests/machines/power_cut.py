"""The power is cut in the middle of a burst of submissions: what was acknowledged is there after the next boot.

Not part of the suite (`make test-power-cut`): each round boots a virtual machine twice. `VQ_TEST_CUTS` says how many
rounds, `VQ_TEST_SEED` at which moments. The acknowledgements, and a line for each time that a job ran, are written
outside the machine, where the cut does not reach.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

CUTS = int(os.environ.get("VQ_TEST_CUTS", "4"))
SEED = int(os.environ.get("VQ_TEST_SEED", "0")) or random.SystemRandom().randrange(1 << 32)
EARLIEST_SECONDS, LATEST_SECONDS, MOST_SECONDS = 35, 90, 500
POWER_CUT = 124
GUEST = Path(__file__).parent / "burst.py"


def machine(work: Path, what: str, *options: str) -> int:
    """The exit status of the guest program in a machine with the disk of this round."""
    outside = {**os.environ, "VM_OUT": str(work / "outside")}
    command = [os.environ["VM_RUN"], "-m", "2048", "-t", "3000", "-d", str(work / "disk"), *options, "--"]
    python = ["env", "PYTHONDONTWRITEBYTECODE=1", os.environ["VM_PYTHON"]]
    ended = subprocess.run([*command, *python, str(GUEST), what, "/mnt/vm"], env=outside, check=False)
    return ended.returncode


def cut_in_a_burst(work: Path, seconds: float) -> dict[str, str]:
    """What was acknowledged before the power went, so long after the machine had come up with an empty disk."""
    shutil.rmtree(work / "outside", ignore_errors=True)
    (work / "disk").unlink(missing_ok=True)
    assert machine(work, "burst", "-k", f"{seconds:.1f}") == POWER_CUT
    return acknowledged(work)


def acknowledged(work: Path) -> dict[str, str]:
    """The ids that were printed before the cut, and the name of the job that each stands for."""
    found = {}
    for path in (work / "outside").glob("acknowledged-*"):
        for line in path.read_text().splitlines():
            identifier, name = line.split()
            found[identifier] = name
    return found


def runs(work: Path, identifier: str) -> int:
    path = work / "outside" / "ran" / identifier
    return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("turn", range(CUTS))
def test_what_was_acknowledged_is_there_after_a_power_cut(tmp_path: Path, turn: int) -> None:
    seconds = random.Random(SEED + turn).uniform(EARLIEST_SECONDS, LATEST_SECONDS)  # noqa: S311 - to be had again
    promised = cut_in_a_burst(tmp_path, seconds)
    while not promised and seconds < MOST_SECONDS:  # on a busy machine the burst may begin later than that
        seconds *= 2
        promised = cut_in_a_burst(tmp_path, seconds)
    ran_before = sum(runs(tmp_path, identifier) for identifier in promised)
    assert machine(tmp_path, "look") == 0
    found = json.loads((tmp_path / "outside" / "found.json").read_text())
    before = {job["id"]: job for job in found["before"]}
    lost = promised.keys() - before.keys()
    figures = {
        "acknowledged": len(promised),
        "found": len(before),
        "lost": len(lost),
        "had run": ran_before,
        "running": sum(job["state"] == "RUNNING" for job in before.values()),
        "completed": sum(job["state"] == "COMPLETED" for job in before.values()),
        "interrupted": sum(job["state"] == "INTERRUPTED" for job in found["after"]),
        "resumed": sum(job["parent"] is not None for job in found["after"]),
        "integrity": found["integrity"],
        "seconds to the last end": found["seconds"],
    }
    report(turn, seconds, figures)
    assert promised, f"the cut came before the burst: VQ_TEST_SEED={SEED}"
    assert found["integrity"] == ["ok"]
    assert not lost
    assert {identifier: before[identifier]["name"] for identifier in promised} == promised
    after = {job["id"]: job for job in found["after"]}
    resumed = {job["parent"] for job in after.values() if job["parent"] is not None}
    assert {job["id"] for job in after.values() if job["parent"] is None} == before.keys()
    for job in after.values():
        check(job, runs(tmp_path, job["id"]))
        assert (job["id"] in resumed) is (job["state"] == "INTERRUPTED" and job["auto_resume"])
    assert found["history_rows"] == sum(job["attempt"] for job in found["after"])


def check(job: dict[str, Any], times: int) -> None:
    """It has ended once: what ran when the power went is interrupted, all else has run and completed."""
    assert job["state"] in ("COMPLETED", "INTERRUPTED"), job
    assert job["attempt"] == len(job["attempts"]) == 1, job
    assert times <= 1, job
    assert times == 1 or job["state"] == "INTERRUPTED", job


def report(turn: int, seconds: float, figures: dict[str, Any]) -> None:
    shown = ", ".join(f"{name} {figure}" for name, figure in figures.items())
    print(f"\nround {turn} of seed {SEED}: cut after {seconds:.1f} s; {shown}")  # noqa: T201 - what this is for
