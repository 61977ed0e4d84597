from __future__ import annotations

import pytest

from vq.admission.rules import CpuAdmission, Policy, Rules
from vq.config.resolve import Facts, resolve
from vq.daemon.admission import rules_of

GIB = 1 << 30
FACTS = Facts(memory_bytes=8 * GIB, cpus=4)


def rules(text: str) -> Rules:
    return rules_of(resolve(text, FACTS, environment={}, flags={}))


def test_without_a_file_memory_goes_by_peaks_and_cpus_by_what_was_asked_for() -> None:
    assert rules("") == Rules(
        policy=Policy.MEASURED,
        memory=6 * GIB,
        cpu=4000,
        slots={"default": None},
        cpu_admission=CpuAdmission.CAPS,
        barrier_after_ms=600_000,
    )


def test_everything_that_is_said_is_gone_by() -> None:
    text = """
    [host]
    memory_max = "2G"
    cpus = 3
    admission = "caps"
    cpu_admission = "measured"
    cpu_overcommit = 1.5
    barrier_after = "1h"
    [profiles.small]
    slots = 7
    """
    assert rules(text) == Rules(
        policy=Policy.CAPS,
        memory=2 * GIB,
        cpu=4500,
        slots={"default": None, "small": 7},
        cpu_admission=CpuAdmission.MEASURED,
        barrier_after_ms=3_600_000,
    )


@pytest.mark.parametrize(("key", "field"), [("cpu_admission", "cpu"), ("barrier_after", "barrier_after_ms")])
def test_what_is_off_is_no_bound(key: str, field: str) -> None:
    assert getattr(rules(f'[host]\n{key} = "off"\n'), field) is None
