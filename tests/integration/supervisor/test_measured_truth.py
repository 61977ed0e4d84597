"""What a receipt says is what the job held, in each mode that this machine has."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import psutil
import pytest

from supervised import MIB, SLOWNESS, Make, python, wait_until

HOLD = """
import sys, time
held = b"x" * (int(sys.argv[1]) << 20)
print("held", flush=True)
time.sleep(float(sys.argv[2]))
"""
HOLD_UNTIL = """
import os, sys
held = b"x" * (int(sys.argv[1]) << 20)
print("held", flush=True)
os.read(os.open(sys.argv[2], os.O_RDONLY), 1)
"""
TWO_CHILDREN = """
import os, sys, time
pids = []
for _ in range(2):
    pid = os.fork()
    if not pid:
        held = b"x" * (100 << 20)
        time.sleep(float(sys.argv[1]))
        os._exit(0)
    pids.append(pid)
for pid in pids:
    os.waitpid(pid, 0)
"""
RUNAWAY = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        held = b"x" * (100 << 20)
        open("pid", "w").write(str(os.getpid()))
        time.sleep(600)
    os._exit(0)
while not os.path.exists("pid") or not open("pid").read():
    time.sleep(0.01)
time.sleep(float(sys.argv[1]))
"""
EIGHT_THREADS = """
import threading
barrier = threading.Barrier(8)
threads = [threading.Thread(target=barrier.wait) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
STARTS_ANOTHER = "import os; os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)"
IGNORES_CHILDREN = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.posix_spawn('/bin/true', ['true'], {})
try:
    os.wait()
except ChildProcessError:
    pass
"""

HELD_SECONDS = str(1.0 * max(1.0, SLOWNESS / 4))


def test_a_job_reads_what_it_holds(mode: str, attempt: Make) -> None:
    result = attempt(mode, python(HOLD, "200", HELD_SECONDS)).run()
    assert result["usage"]["job_peak_bytes"] == pytest.approx(200 * MIB, rel=0.1)
    assert result["usage"]["peak_rss_kb"] * 1024 == pytest.approx(200 * MIB, rel=0.15)
    assert result["usage"]["samples"] >= 2


def test_two_children_at_once_read_their_sum(mode: str, attempt: Make) -> None:
    usage = attempt(mode, python(TWO_CHILDREN, HELD_SECONDS)).run()["usage"]
    assert usage["job_peak_bytes"] == pytest.approx(200 * MIB, rel=0.1)
    assert usage["process_count"] is None


@pytest.mark.parametrize(
    ("program", "expected"), [(EIGHT_THREADS, 1), (STARTS_ANOTHER, None), (IGNORES_CHILDREN, None)]
)
def test_the_number_of_processes_is_one_only_when_that_is_certain(
    mode: str, attempt: Make, program: str, expected: int | None
) -> None:
    for _ in range(5):
        assert attempt(mode, python(program)).run()["usage"]["process_count"] == expected


def test_what_leaves_session_and_parents_still_counts_and_still_dies(mode: str, attempt: Make) -> None:
    one = attempt(mode, python(RUNAWAY, HELD_SECONDS))
    result = one.run()
    assert result["end"] == "ended"
    assert result["exit_code"] == 0
    assert result["left_over"] == 1
    assert result["usage"]["job_peak_bytes"] == pytest.approx(110 * MIB, rel=0.1)
    assert result["usage"]["process_count"] is None
    assert not psutil.pid_exists(int((one.folder / "pid").read_text()))


def test_streaming_files_needs_no_memory(mode: str, attempt: Make, tmp_path: Path) -> None:
    folder = Path(os.environ.get("VQ_TEST_DISK", tmp_path))
    big = folder / "big"
    with big.open("wb") as file:
        file.truncate(2048 * MIB)
    try:
        command = ["dd", f"if={big}", "of=/dev/null", "bs=1M"]
        result = attempt(mode, command, memory_limit_bytes=256 * MIB).run()
    finally:
        big.unlink()
    assert (result["end"], result["exit_code"], result["limit_fired"]) == ("ended", 0, None)
    assert result["usage"]["job_peak_bytes"] < 8 * MIB
    if mode != "sampled":
        assert result["usage"]["oom_kills"] == 0


def test_sampling_agrees_with_psutil(mode: str, attempt: Make, tmp_path: Path) -> None:
    fifo = tmp_path / "go"
    os.mkfifo(fifo)
    one = attempt(mode, python(HOLD_UNTIL, "150", str(fifo))).start()
    one.wait_for_output("held")
    assert one.process is not None
    supervisor = psutil.Process(one.process.pid)
    (child,) = supervisor.children(recursive=True)
    oracle = child.memory_full_info()
    slept = supervisor.num_ctx_switches().voluntary
    wait_until(lambda: supervisor.num_ctx_switches().voluntary > slept + 2, "the supervisor sampled and slept again")
    with fifo.open("wb"):
        pass
    measured = one.end()["usage"]
    assert measured["job_peak_bytes"] == pytest.approx(oracle.uss, rel=0.05)
    assert measured["process_count"] == 1


def test_processor_time_counts_orphans_too(mode: str, attempt: Make) -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    program = f"import os, sys\nif os.fork() == 0:\n    os.execv({'/bin/sh'!r}, ['sh', '-c', sys.argv[1]])\n"
    shell = f"{' '.join(python('')[:3])} -c '{burn}'"
    # The parent ends at once, so the burner is left over: it has its grace, and is waited for.
    usage = attempt(mode, python(program, shell), kill_grace_seconds=20).run()["usage"]
    assert usage["active_cpu_seconds"] >= 0.0
    assert usage["process_count"] is None


def test_the_command_sees_what_it_was_promised(mode: str, attempt: Make) -> None:
    program = """
import json, os, sys, signal
print(json.dumps({
    "stdin": os.readlink("/proc/self/fd/0"),
    "leader": os.getsid(0) == os.getpid(),
    "oom": open("/proc/self/oom_score_adj").read().strip(),
    "odd": os.environb.get(b"BASH_FUNC_module%%", b"").decode(),
    "mark": os.environ["VQ_ATTEMPT"],
    "files": sorted(os.listdir("/proc/self/fd"))[:3] == ["0", "1", "2"] and len(os.listdir("/proc/self/fd")),
    "ignored": [int(s) for s in range(1, 32) if signal.getsignal(s) == signal.SIG_IGN],
    "umask": os.umask(0),
    "argv": sys.argv[1:],
    "cwd": os.getcwd(),
}))
"""
    environment = {"PATH": "/usr/bin:/bin", "BASH_FUNC_module%%": "() { :; }"}
    one = attempt(mode, python(program, "", "-x", "é"), environment=environment, umask=0o27)
    result = one.run()
    assert result["exit_code"] == 0, (one.folder / "err").read_text()
    seen = json.loads(one.log.read_text())
    assert seen.pop("mark").startswith(one.name)
    # Python itself ignores SIGPIPE and SIGXFSZ; one more descriptor is the listed folder.
    assert seen == {
        "stdin": "/dev/null",
        "leader": True,
        "oom": "500",
        "odd": "() { :; }",
        "files": 4,
        "ignored": [signal.SIGPIPE, signal.SIGXFSZ],
        "umask": 0o27,
        "argv": ["", "-x", "é"],
        "cwd": str(one.folder),
    }
