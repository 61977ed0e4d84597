from __future__ import annotations

import os

import pytest

from vq.readings.cpus import usable_cpus, whole_cpus


@pytest.mark.parametrize(
    ("bandwidth", "cpus"),
    [
        (None, None),
        ("max 100000\n", None),
        ("-1\n 100000\n", None),
        ("200000 100000\n", 2),
        ("250000 100000", 2),
        ("10000 100000", 1),
        ("10000 0", None),
    ],
)
def test_the_bandwidth_of_a_group_comes_to_whole_cpus(bandwidth: str | None, cpus: int | None) -> None:
    assert whole_cpus(bandwidth) == cpus


def test_some_cpus_may_be_used_and_no_more_than_there_are() -> None:
    assert 1 <= usable_cpus() <= len(os.sched_getaffinity(0))
