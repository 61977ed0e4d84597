from __future__ import annotations

import os
from pathlib import Path

import pytest

from vq.readings.cgroups import Hierarchy
from vq.readings.cpus import quotas_above, usable_cpus


def tree(mount: Path, *, unified: bool) -> Hierarchy:
    inner = mount / "a" / "b"
    inner.mkdir(parents=True)
    controllers = frozenset() if unified else frozenset({"cpu"})
    return Hierarchy(unified=unified, controllers=controllers, mount=str(mount), own=str(inner))


def test_quotas_of_version_2_are_rounded_up_and_no_limit_is_none(tmp_path: Path) -> None:
    found = tree(tmp_path, unified=True)
    (tmp_path / "a" / "b" / "cpu.max").write_text("150000 100000\n")
    (tmp_path / "a" / "cpu.max").write_text("max 100000\n")
    (tmp_path / "cpu.max").write_text("400000 100000\n")
    assert list(quotas_above(found)) == [2, 4]


def test_quotas_of_version_1_count_where_they_are_set(tmp_path: Path) -> None:
    found = tree(tmp_path, unified=False)
    for folder, quota in (("a/b", "-1"), ("a", "50000")):
        (tmp_path / folder / "cpu.cfs_quota_us").write_text(f"{quota}\n")
        (tmp_path / folder / "cpu.cfs_period_us").write_text("100000\n")
    assert list(quotas_above(found)) == [1]
    memory = Hierarchy(unified=False, controllers=frozenset({"memory"}), mount=found.mount, own=found.own)
    assert list(quotas_above(memory)) == []


def test_a_process_may_use_no_more_than_its_affinity_and_its_quotas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vq.readings.cpus.hierarchies", lambda: ())
    assert usable_cpus() == len(os.sched_getaffinity(0))
    monkeypatch.setattr("vq.readings.cpus.hierarchies", lambda: (None,))
    monkeypatch.setattr("vq.readings.cpus.quotas_above", lambda _: [1])
    assert usable_cpus() == 1
