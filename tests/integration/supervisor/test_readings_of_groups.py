"""Control groups and host memory read for real, and version 2 as far as plain files can stand for it."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
from pathlib import Path

import pytest

import vq
from supervised import MIB, SLOWNESS, Make, parent_group, python, wait_until
from vq.config.resolve import Facts, resolve
from vq.hosts.local.machine import Machine
from vq.readings import cgroups, meminfo, pressure, processes
from vq.readings.cgroup1 import Group1
from vq.readings.cgroup2 import Group2, hand_down
from vq.readings.group import Counters, Group, GroupPaths, Limits
from vq.readings.meminfo import HostMemory
from vq.supervisor.folder import Attempt, write_attempt

ROOT = os.path.dirname(next(iter(vq.__path__)))


def test_inside_a_limited_group_the_host_is_as_small_as_the_limit(cgroup_mode: str, attempt: Make) -> None:
    program = """
import json, sys
sys.path.insert(0, sys.argv[1])
from vq.readings.meminfo import host_memory
memory = host_memory()
print(json.dumps([memory.total_bytes, memory.available_bytes]))
"""
    one = attempt(cgroup_mode, python(program, ROOT), memory_limit_bytes=300 * MIB)
    assert one.run()["exit_code"] == 0, (one.folder / "err").read_text()
    total, available = json.loads(one.log.read_text())
    assert total == 300 * MIB
    assert 250 * MIB < available < 300 * MIB


def test_the_machine_itself_can_be_read() -> None:
    memory = meminfo.host_memory()
    assert 0 < memory.available_bytes <= memory.total_bytes
    percent = pressure.memory_pressure_percent()
    assert percent is None or 0 <= percent <= 100
    assert len(processes.boot_id()) == 36
    assert os.getpid() in {stat.pid for stat in processes.every()}


def test_a_signal_to_a_process_that_is_gone_goes_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    own = processes.identify(os.getpid())
    assert own is not None
    assert processes.is_alive(own)
    earlier = processes.Process(pid=own.pid, start_ticks=own.start_ticks - 1)
    assert not processes.is_alive(earlier)
    assert not processes.send(earlier, 0)
    assert processes.send(own, 0)

    def unknown(_: int) -> int:
        raise OSError(errno.ENOSYS, "before Linux 5.3")

    monkeypatch.setattr(os, "pidfd_open", unknown)
    assert not processes.send(earlier, 0)
    assert processes.send(own, 0)


def test_without_a_place_for_groups_auto_samples_and_a_version_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "hierarchies", tuple)
    assert cgroups.make_parent("vq-nowhere.slice", "auto") is None
    assert cgroups.make_parent("vq-nowhere.slice", "sampled") is None
    assert not cgroups.move_into_leaf()
    with pytest.raises(cgroups.NoGroupsError, match="no writable memory controller") as refusal:
        cgroups.make_parent("vq-nowhere.slice", "cgroup1")
    assert refusal.value.hint is not None


def test_a_daemon_in_its_leaf_stays_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leaf = tmp_path / cgroups.LEAF
    trees: list[cgroups.Hierarchy] = []
    monkeypatch.setattr(cgroups, "hierarchies", lambda: tuple(trees))
    for own in (tmp_path, leaf):
        own.mkdir(exist_ok=True)
        (own / "cgroup.procs").write_text(f"{os.getpid()}\n")
        trees[:] = [cgroups.Hierarchy(unified=True, controllers=frozenset(), mount=str(tmp_path), own=str(own))]
        leaf.mkdir(exist_ok=True)
        (leaf / "cgroup.procs").touch()
        assert cgroups.move_into_leaf()
        assert not (leaf / cgroups.LEAF).exists()


def _fake(folder: Path, **files: str) -> Group2:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return Group2(GroupPaths(version=2, folders={"unified": str(folder)}))


def test_version_2_sets_limits_where_it_has_them(tmp_path: Path) -> None:
    group = _fake(tmp_path, memory__max="", memory__swap__max="", memory__oom__group="", pids__max="")
    group.limit(Limits(memory_bytes=1000, pids_max=7, cpus=500, one_job=True))
    assert (tmp_path / "memory.max").read_text() == "1000"
    assert (tmp_path / "memory.swap.max").read_text() == "0"
    assert (tmp_path / "memory.oom.group").read_text() == "1"
    assert (tmp_path / "pids.max").read_text() == "7"
    assert not (tmp_path / "cpu.weight").exists()


def test_version_2_weighs_by_cpus_up_to_what_the_kernel_takes(tmp_path: Path) -> None:
    group = _fake(tmp_path, memory__max="", cpu__weight="")
    weights = []
    for cpus in (1, 3, 500):
        group.limit(Limits(cpus=cpus))
        weights.append((tmp_path / "cpu.weight").read_text())
    assert weights == ["100", "300", "10000"]


def test_version_1_counts_how_often_a_limit_was_met_with_swap_and_without(tmp_path: Path) -> None:
    for name, text in (("memory.failcnt", "2\n"), ("memory.memsw.failcnt", "3\n"), ("memory.oom_control", "")):
        (tmp_path / name).write_text(text)
    folders = {"memory": str(tmp_path), "freezer": str(tmp_path)}
    assert Group1(GroupPaths(version=1, folders=folders)).counters().limit_hits == 5


def test_version_2_ends_no_other_job_where_the_limit_of_all_kills_one(tmp_path: Path) -> None:
    group = _fake(tmp_path, memory__max="", memory__oom__group="1")
    group.limit(Limits(memory_bytes=1000))
    assert (tmp_path / "memory.oom.group").read_text() == "0"


@pytest.mark.parametrize(
    ("events", "local", "expected"),
    [
        ("max 3\noom 0\noom_kill 0\n", "max 3\noom 0\noom_kill 0\n", Counters(oom_kills=0, limit_hits=3, own_ooms=0)),
        ("max 3\noom 1\noom_kill 2\n", "max 3\noom 1\noom_kill 2\n", Counters(oom_kills=2, limit_hits=3, own_ooms=1)),
        ("max 0\noom 0\noom_kill 1\n", "max 0\noom 0\noom_kill 1\n", Counters(oom_kills=1, limit_hits=0, own_ooms=0)),
    ],
)
def test_version_2_tells_its_own_limit_from_one_above(
    tmp_path: Path, events: str, local: str, expected: Counters
) -> None:
    found = _fake(tmp_path, memory__events=events, memory__events__local=local).counters()
    assert (found.oom_kills, found.limit_hits, found.own_ooms) == (
        expected.oom_kills,
        expected.limit_hits,
        expected.own_ooms,
    )
    assert bool(found.outer_ooms) == (found.oom_kills == 1)


def test_version_2_reads_what_it_holds(tmp_path: Path) -> None:
    group = _fake(
        tmp_path,
        memory__stat="anon 5\nfile 100\nshmem 2\n",
        memory__peak="120\n",
        cpu__stat="usage_usec 1500000\n",
        cgroup__freeze="",
        cgroup__kill="",
    )
    assert (group.memory_bytes(), group.peak_bytes(), group.cpu_seconds()) == (7, 120, 1.5)
    group.freeze()
    assert (tmp_path / "cgroup.freeze").read_text() == "1"
    group.thaw()
    group.kill()
    assert (tmp_path / "cgroup.freeze").read_text() == "0"
    assert (tmp_path / "cgroup.kill").read_text() == "1"
    assert _fake(tmp_path / "none").memory_bytes() is None


def test_what_is_held_open_is_read_as_it_is_now_and_is_gone_with_its_group(cgroup_mode: str) -> None:
    parent = parent_group(cgroup_mode)
    assert parent is not None
    group = cgroups.open_group(parent.paths.below("held"))
    group.create(Limits())
    group.hold()
    assert group.memory_bytes() == 0
    sleeper = "import os; x = b'x' * (50 << 20); print('there', flush=True); os.read(0, 1)"
    join = "; ".join(f"echo 0 > {path}/{group.join_file}" for path in dict.fromkeys(group.paths.folders.values()))
    command = ["sh", "-c", f'{join}; exec "$@"', "sh", *python(sleeper)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"there\n"
        assert 50 * MIB < (group.memory_bytes() or 0) < 80 * MIB
        process.communicate(b"\n")
    wait_until(group.remove, "nothing is left of the group")
    assert group.memory_bytes() is None
    group.close()
    assert group.memory_bytes() is None


def test_a_machine_holds_no_more_open_than_half_of_what_it_may(cgroup_mode: str, tmp_path: Path) -> None:
    facts = Facts(memory_bytes=1 << 30, cpus=1)
    config = resolve(f'[host]\nenforcement = "{cgroup_mode}"\n', facts, environment={}, flags={})
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (400, hard))
    try:
        machine = Machine(str(tmp_path), config.host)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    before = len(os.listdir("/proc/self/fd"))
    folders = [str(tmp_path / str(number)) for number in range(210)]
    groups = []
    for folder in folders:
        groups.append(_attempt_in(folder, machine.enforcement.parent))
        assert machine.use_bytes(folder) == 0
    assert len(os.listdir("/proc/self/fd")) - before == 200
    machine.forget(folders[0])
    assert len(os.listdir("/proc/self/fd")) - before == 199
    for group in groups:
        wait_until(group.remove, "the group is gone")
    assert machine.use_bytes(folders[1]) is None
    machine.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_is_below_another_process_with_the_number_of_a_supervisor_is_not_its_jobs(tmp_path: Path) -> None:
    config = resolve('[host]\nenforcement = "sampled"\n', Facts(memory_bytes=1 << 30, cpus=1), environment={}, flags={})
    machine = Machine(str(tmp_path), config.host)
    own = processes.identify(os.getpid())
    assert own is not None
    uses = []
    with subprocess.Popen(python("input()"), stdin=subprocess.PIPE):
        for ticks in (own.start_ticks, own.start_ticks - 1):
            folder = tmp_path / str(ticks)
            folder.mkdir()
            attempt = Attempt(
                attempt="a1.1",
                boot_id="",
                since_ticks=ticks,
                supervisor_pid=own.pid,
                mark="none",
                result_path="",
                group=None,
            )
            write_attempt(str(folder), attempt)
            uses.append(machine.use_bytes(str(folder)))
    machine.close()
    assert uses[0] is not None
    assert uses[1] is None


def _attempt_in(folder: str, parent: GroupPaths | None) -> Group:
    assert parent is not None
    os.mkdir(folder)
    paths = parent.below(os.path.basename(folder))
    group = cgroups.open_group(paths)
    group.create(Limits())
    attempt = Attempt(
        attempt="a1.1", boot_id="", since_ticks=0, supervisor_pid=1, mark="none", result_path="", group=paths
    )
    write_attempt(folder, attempt)
    return group


def test_version_2_hands_controllers_down_or_says_which_is_missing(tmp_path: Path) -> None:
    _fake(tmp_path, cgroup__controllers="memory pids\n", cgroup__subtree_control="pids\n")
    hand_down(str(tmp_path))
    assert (tmp_path / "cgroup.subtree_control").read_text().startswith("+memory")
    (tmp_path / "cgroup.controllers").write_text("cpu\n")
    (tmp_path / "cgroup.subtree_control").write_text("")
    with pytest.raises(FileNotFoundError, match="the memory controller is not given"):
        hand_down(str(tmp_path))


def test_every_limit_above_counts(tmp_path: Path) -> None:
    inner = tmp_path / "a"
    inner.mkdir()
    _fake(tmp_path, memory__max="1000\n", memory__current="900\n", memory__stat="inactive_file 300\nactive_file 0\n")
    _fake(inner, memory__max="max\n", memory__current="100\n")
    tree = cgroups.Hierarchy(unified=True, controllers=frozenset(), mount=str(tmp_path), own=str(inner))
    assert tuple(meminfo.limits_above(tree)) == (HostMemory(total_bytes=1000, available_bytes=400),)


def test_without_its_parent_group_nothing_starts(cgroup_mode: str, attempt: Make) -> None:
    one = attempt(cgroup_mode, ["touch", "ran"])
    assert one.parent is not None
    one.parent = cgroups.open_group(one.parent.paths.below("gone"))
    one.start()
    assert one.process is not None
    assert one.process.wait(timeout=30 * SLOWNESS) == 1
    assert "No such file or directory" in (one.folder / "supervisor.log").read_text()
    assert sorted(path.name for path in one.folder.iterdir()) == ["spec.json", "supervisor.log"]


def test_a_group_is_made_where_none_is_given(cgroup_mode: str, attempt: Make) -> None:
    name = f"vq-test-own-{os.getpid()}.slice"
    one = attempt(cgroup_mode, ["true"], cgroup_parent=None, cgroup_parent_name=name)
    assert one.run()["enforcement"] == ("cgroup-v1" if cgroup_mode == "cgroup1" else "cgroup-v2")
    made = cgroups.make_parent(name, cgroup_mode)
    assert made is not None
    assert made.remove()
