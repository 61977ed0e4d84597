from __future__ import annotations

import pytest

from vq.actions.limits import share_mb
from vq.config.resolve import Facts, resolve

GIB = 1 << 30


@pytest.mark.parametrize(
    ("memory_gib", "host_cpus", "cpus", "expected_mb"),
    [
        (64, 16, 1, 4096),
        (64, 16, 4, 16_384),
        (16, 16, 1, 2048),
        (16, 16, 3, 3072),
        (1, 2, 1, 1024),
        (3, 1, 1, 3072),
    ],
)
def test_a_share_is_by_cpus_at_least_2_gib_and_at_most_the_budget(
    memory_gib: int, host_cpus: int, cpus: int, expected_mb: int
) -> None:
    facts = Facts(memory_bytes=2 * memory_gib * GIB, cpus=host_cpus)
    config = resolve(f'[host]\nmemory_max = "{memory_gib}G"\n', facts, environment={}, flags={})
    assert share_mb(cpus, config) == expected_mb
