"""Supervisors that are killed, doubled, out of disk, or forked from a warm process; and how small they are."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import psutil
import pytest

import vq
from supervised import MIB, SLOWNESS, Attempt, Make, python, wait_until
from vq.readings import processes
from vq.readings.cgroups import open_group
from vq.readings.group import Limits
from vq.supervisor.command import SERVE, supervisor_command
from vq.supervisor.folder import read_attempt, read_result
from vq.supervisor.recovery import SupervisedError, is_supervised, recover

LEAVES = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print("ready", flush=True)
        time.sleep(600)
    os._exit(0)
time.sleep(600)
"""


def test_what_a_killed_supervisor_leaves_is_found_and_ended(mode: str, attempt: Make) -> None:
    one = attempt(mode, python(LEAVES)).start()
    one.wait_for_output("ready")
    folder = str(one.folder)
    assert is_supervised(folder)
    with pytest.raises(SupervisedError):
        recover(folder)
    assert one.process is not None
    one.process.kill()
    one.process.wait()
    assert not is_supervised(folder)
    found = recover(folder, end=False)
    assert (found.began, found.has_result, len(found.processes)) == (True, False, 2)
    wait_until(lambda: recover(folder).clean, "nothing is left")
    assert one.is_gone()


def test_recovery_of_what_never_began_or_ended_well(mode: str, attempt: Make) -> None:
    one = attempt(mode, ["true"])
    assert not recover(str(one.folder)).began
    one.run()
    found = recover(str(one.folder))
    assert (found.began, found.has_result, found.clean) == (True, True, True)


def test_a_group_that_a_supervisor_left_before_it_began_is_made_anew(cgroup_mode: str, attempt: Make) -> None:
    one = attempt(cgroup_mode, ["true"])
    assert one.parent is not None
    open_group(one.parent.paths.below(f"{one.name}-{os.getpid()}")).create(Limits(memory_bytes=64 * MIB))
    assert one.run()["end"] == "ended"


def test_a_group_in_which_something_runs_is_in_the_way_of_a_second_supervisor(cgroup_mode: str, attempt: Make) -> None:
    one = attempt(cgroup_mode, ["sh", "-c", "echo begun; exec sleep 600"]).start()
    one.wait_for_output("begun")
    other = attempt(cgroup_mode, ["true"], attempt=f"{one.name}-{os.getpid()}")
    other.write_spec()
    assert other.supervisor().wait(timeout=60) == 1
    assert "exists" in (other.folder / "supervisor.log").read_text()
    one.ask("kill-now")
    assert one.end()["end"] == "killed"


def test_a_second_supervisor_runs_nothing(mode: str, attempt: Make) -> None:
    one = attempt(mode, python("import os\nprint('ran', flush=True)\nos.read(os.open('go', os.O_RDONLY), 1)"))
    os.mkfifo(one.folder / "go")
    one.start()
    one.wait_for_output("ran")
    second = one.supervisor()
    assert second.wait(timeout=30 * SLOWNESS) == 75
    with (one.folder / "go").open("wb"):
        pass
    assert one.end()["end"] == "ended"
    third = one.supervisor()
    assert third.wait(timeout=30 * SLOWNESS) == 75
    assert one.log.read_text() == "ran\n"


def test_a_full_disk_loses_no_end(mode: str, attempt: Make) -> None:
    one = attempt(mode, ["sh", "-c", "dd if=/dev/zero of=fill bs=4k; dd if=/dev/zero of=fill2 bs=1; exit 3"])
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(one.folder)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a small tmpfs: {mounted.stderr.decode().strip()}")
    try:
        result = one.run()
        assert os.statvfs(one.folder).f_bavail <= 4
        assert (result["end"], result["exit_code"]) == ("ended", 3)
    finally:
        subprocess.run(["umount", str(one.folder)], check=True)


def test_without_room_for_the_result_nothing_runs(attempt: Make) -> None:
    one = attempt("sampled", ["touch", "ran"])
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(one.folder)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a small tmpfs: {mounted.stderr.decode().strip()}")
    try:
        one.start()
        assert one.process is not None
        assert one.process.wait(timeout=30 * SLOWNESS) == 1
        assert not (one.folder / "ran").exists()
        assert read_attempt(str(one.folder)) is None
    finally:
        subprocess.run(["umount", str(one.folder)], check=True)


def test_a_bad_spec_is_said_and_runs_nothing(attempt: Make) -> None:
    one = attempt("sampled", ["true"], cpus=0)
    one.start()
    assert one.process is not None
    assert one.process.wait(timeout=30 * SLOWNESS) == 1
    assert "$.cpus: expected an integer" in (one.folder / "supervisor.log").read_text()


def test_the_environment_chooses_the_enforcement(attempt: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VQ_ENFORCEMENT", "sampled")
    assert attempt("auto", ["true"]).run()["enforcement"] == "sampled"


def test_the_end_is_told(attempt: Make, tmp_path: Path) -> None:
    fifo = tmp_path / "ends"
    os.mkfifo(fifo)
    reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        one = attempt("sampled", ["true"], notify_path=str(fifo))
        one.run()
        assert os.read(reading, 100).decode() == f"{one.name}-{os.getpid()}\n"
    finally:
        os.close(reading)


def test_a_job_that_closes_its_outputs_and_outlives_its_stopped_self(mode: str, attempt: Make) -> None:
    program = "import os, signal\nfor d in range(3): os.close(d)\nos.kill(os.getpid(), signal.SIGSTOP)"
    one = attempt(mode, python(program), kill_grace_seconds=30).start()
    wait_until(lambda: _job_state(one.process) == "T", "the job has stopped itself")
    one.ask("kill")
    assert one.end()["signal"] == 15


def test_the_floor_of_a_measurement_is_not_the_supervisor(mode: str, attempt: Make) -> None:
    usage = attempt(mode, ["/bin/true"], small=True).run()["usage"]
    assert usage["peak_rss_kb"] < 3000
    assert usage["process_count"] == 1


CHANGED = """
import sys
sys.path.insert(0, sys.argv[1])
from vq.readings.cgroup1 import Group1
from vq.supervisor import launch
exec(sys.argv[2])
from vq.supervisor.__main__ import main
sys.exit(main(sys.argv[3:]))
"""
WITHOUT_LAUNCHER = "launch._LAUNCHERS = ()"
BY_FORK = "Group1.joined_by_thread = False"


@pytest.mark.parametrize(
    ("change", "program", "end", "code"),
    [
        (WITHOUT_LAUNCHER, "/bin/true", "ended", 0),
        (WITHOUT_LAUNCHER, "./lost", "cannot_run", 127),
        (WITHOUT_LAUNCHER, "./text", "cannot_run", 126),
        (BY_FORK, "/bin/true", "ended", 0),
        (BY_FORK, "./lost", "cannot_run", 127),
    ],
)
def test_a_supervisor_forks_where_it_cannot_spawn_and_starts_the_job_itself_without_the_tiny_program(
    mode: str, attempt: Make, change: str, program: str, end: str, code: int
) -> None:
    one = attempt(mode, [program])
    for name, text in (("lost", "#!/no/such/interpreter\n"), ("text", "no program")):
        (one.folder / name).write_text(text)
        (one.folder / name).chmod(0o755)
    one.write_spec()
    root = os.path.dirname(next(iter(vq.__path__)))
    one.process = subprocess.Popen(python(CHANGED, root, change, one.spec_path))
    result = one.end()
    assert (result["end"], result["exit_code"]) == (end, code)
    assert result["usage"]["process_count"] == (1 if end == "ended" else None)


@pytest.mark.parametrize("change", ["", BY_FORK])
def test_an_argument_list_too_long_for_the_system_is_the_commands_fault(mode: str, attempt: Make, change: str) -> None:
    one = attempt(mode, ["true", "x" * 200_000])
    one.write_spec()
    root = os.path.dirname(next(iter(vq.__path__)))
    one.process = subprocess.Popen(python(CHANGED, root, change, one.spec_path))
    result = one.end()
    assert (result["end"], result["exit_code"]) == ("cannot_run", 126)
    assert result["text"] == "true: cannot be run: argument list too long"


def test_supervisors_forked_from_a_warm_process_are_small_and_outlive_it(mode: str, attempt: Make) -> None:
    jobs = [attempt(mode, python("import os; os.read(os.open('go', os.O_RDONLY), 1)")) for _ in range(3)]
    for one in jobs:
        os.mkfifo(one.folder / "go")
        one.write_spec()
    with subprocess.Popen(supervisor_command(SERVE), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as warm:
        _fork_three(warm, jobs)
    assert warm.returncode == 0
    for one in jobs[1:]:
        with (one.folder / "go").open("wb"):
            pass
    for one in jobs:
        result = wait_until(partial(read_result, str(one.folder / "result.json"), one.attempt), "its result")
        assert result["end"] == "ended"


def _fork_three(warm: subprocess.Popen[bytes], jobs: list[Attempt]) -> None:
    assert warm.stdin is not None
    assert warm.stdout is not None
    for one in jobs:
        warm.stdin.write(f"{one.spec_path}\n".encode())
    warm.stdin.flush()
    begun = [wait_until(partial(read_attempt, str(one.folder)), "it has begun") for one in jobs]
    supervisors = [psutil.Process(one.supervisor_pid) for one in begun]
    with (jobs[0].folder / "go").open("wb"):
        pass
    assert warm.stdout.readline().split()[:2] == [b"ended", b"0"]
    for process in supervisors[1:]:
        # A bare interpreter of a later version is larger by as much.
        assert process.memory_info().rss < (12 if sys.version_info < (3, 12) else 15) * MIB


@pytest.mark.skipif(SLOWNESS > 1, reason="timing means nothing on an emulated machine")
def test_sampling_takes_no_more_than_its_share(mode: str, attempt: Make) -> None:
    held = "import time; x = [b'x' * 1000 for _ in range(100_000)]; time.sleep(3)"
    one = attempt(mode, python(held), small=True).start()
    assert one.process is not None
    supervisor = psutil.Process(one.process.pid)
    wait_until(lambda: len(supervisor.children()) == 1, "the job runs")
    before, began = sum(supervisor.cpu_times()[:2]), time.monotonic()
    wait_until(lambda: time.monotonic() - began > 2, "two seconds of sampling")
    spent = sum(supervisor.cpu_times()[:2]) - before
    usage = one.end()["usage"]
    assert usage["samples"] > 20
    # Clock ticks are 10 ms, so this is coarse: 2 % of two seconds are four of them, and waking costs too.
    assert spent <= 0.02 * 2 + 0.04


def _job_state(process: subprocess.Popen[bytes] | None) -> str | None:
    assert process is not None
    states = [stat.state for stat in processes.descendants(process.pid)]
    return states[0] if len(states) == 1 else None


if sys.platform != "linux":
    pytest.skip("supervisors need Linux", allow_module_level=True)
