from __future__ import annotations

import pytest

from vq.readings.cgroups import parse_hierarchies
from vq.readings.group import GroupPaths, paths_from
from vq.readings.kernel import number_named, numbers_by_name
from vq.readings.meminfo import HostMemory, parse_meminfo, smallest
from vq.readings.pressure import parse_pressure
from vq.readings.processes import parse_pss, parse_stat, parse_status

STAT = "42 (a) b (c) S 7 42 42 0 -1 4194368 100 250 0 0 1 2 3 4 20 0 8 0 12345 1000 10 18446744073709551615"


def test_a_process_may_have_any_name() -> None:
    stat = parse_stat(STAT)
    assert (stat.pid, stat.name, stat.state, stat.parent, stat.session) == (42, "a) b (c", "S", 7, 42)
    assert (stat.child_faults, stat.start_ticks) == (250, 12345)
    assert not stat.executed
    assert parse_stat(STAT.replace("4194368", "4194304")).executed


@pytest.mark.parametrize(("state", "ended", "stopped"), [("Z", True, False), ("T", False, True), ("R", False, False)])
def test_states(state: str, ended: bool, stopped: bool) -> None:  # noqa: FBT001
    stat = parse_stat(STAT.replace(") S ", f") {state} "))
    assert (stat.ended, stat.stopped) == (ended, stopped)


def test_status_counts_anonymous_and_shared_memory_and_sees_sigchld_ignored() -> None:
    text = "Name:\tx\nRssAnon:\t  100 kB\nRssFile:\t 999 kB\nRssShmem:\t 20 kB\nSigIgn:\t0000000000010000\n"
    assert parse_status(text).held_bytes == 120 * 1024
    assert parse_status(text).ignores_children
    assert not parse_status(text.replace("10000", "01000")).ignores_children
    # A zombie holds nothing any more, and still says what it ignored.
    assert parse_status("Name:\tx\nSigIgn:\t0000000000010000\n").ignores_children


def test_pss_leaves_files_out_where_it_can() -> None:
    assert parse_pss("Pss: 30 kB\nPss_Anon: 10 kB\nPss_File: 15 kB\nPss_Shmem: 5 kB\n") == 15 * 1024
    assert parse_pss("Rss: 50 kB\nPss: 30 kB\n") == 30 * 1024
    assert parse_pss("Rss: 50 kB\n") is None


def test_meminfo_and_the_smallest_of_all() -> None:
    machine = parse_meminfo("MemTotal: 1000 kB\nMemFree: 10 kB\nMemAvailable: 600 kB\n")
    assert machine == HostMemory(total_bytes=1_024_000, available_bytes=614_400)
    container = HostMemory(total_bytes=500_000, available_bytes=-5)
    assert smallest([machine, container]) == HostMemory(total_bytes=500_000, available_bytes=0)
    roomy = HostMemory(total_bytes=2_000_000, available_bytes=1_900_000)
    assert smallest([roomy, machine]) == machine


def test_pressure_is_the_full_line() -> None:
    text = "some avg10=1.00 avg60=2.00 avg300=0.00 total=1\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=0\n"
    assert parse_pressure(text) == 0.5
    assert parse_pressure(text.splitlines()[0]) is None


def test_flat_keyed_files() -> None:
    assert numbers_by_name("anon 5\nodd\nname x\noom_kill 2\n") == {"anon": 5, "oom_kill": 2}
    assert numbers_by_name(None) == {}
    for name, number in {"anon": 5, "oom_kill": 2, "odd": None, "name": None, "none": None, "non": None}.items():
        assert number_named(name, "anon 5\nodd\nname x\noom_kill 2\n") == number


MOUNTS = r"""
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:3 - cgroup cgroup rw,cpu,cpuacct
40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/uni\040fied rw - cgroup2 cgroup2 rw
42 31 0:39 / / rw - ext4 /dev/sda rw
""".strip()


def test_every_tree_we_are_in_is_found() -> None:
    found = parse_hierarchies(MOUNTS, "4:memory:/a/b\n3:cpu,cpuacct:/\n1:name=systemd:/u\n0::/x\n")
    assert [(tree.unified, tree.own) for tree in found] == [
        (False, "/sys/fs/cgroup/memory/a/b"),
        (False, "/sys/fs/cgroup/cpu,cpuacct"),
        (False, "/sys/fs/cgroup/systemd/u"),
        (True, "/sys/fs/cgroup/uni fied/x"),
    ]
    assert found[1].controllers == {"cpu", "cpuacct"}


@pytest.mark.parametrize(("inside", "own"), [("/docker/abc", "/m"), ("/docker/abc/x", "/m/x"), ("/else", "/m/else")])
def test_a_container_sees_its_own_part_of_a_tree(inside: str, own: str) -> None:
    (tree,) = parse_hierarchies("35 31 0:32 /docker/abc /m rw - cgroup cgroup rw,memory", f"4:memory:{inside}\n")
    assert tree.own == own


def test_paths_are_what_they_were() -> None:
    paths = GroupPaths(version=1, folders={"memory": "/m", "cpu": "/c"})
    assert paths_from(paths.document()) == paths
    assert paths.below("x").folders == {"memory": "/m/x", "cpu": "/c/x"}
