"""Memory, time and kills: what fires, what it is called, and that nothing is left."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from supervised import MIB, SLOWNESS, Make, parent_group, python, wait_until
from vq.hosts.local.attempts import oom_score_adj
from vq.readings import cgroups
from vq.readings.group import Limits
from vq.supervisor.requests import Request, ask
from vq.supervisor.spec import FEWEST_PIDS

GROW = f"""
import time
held = []
for _ in range(120):
    held.append(b"x" * (1 << 20))
    time.sleep({0.002 * SLOWNESS})
time.sleep(600)
"""
CHILD_GROWS = f"""
import os, signal
pid = os.fork()
if not pid:
    exec({GROW!r})
os.waitpid(pid, 0)
"""
TERM_IS_7 = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
print("ready", flush=True)
time.sleep(600)
"""
DEAF = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(600)
"""
HOLDS = """
import sys
print("ready", flush=True)
go = open("go")
go.readline()
held = b"x" * (int(sys.argv[1]) << 20)
print("held", flush=True)
go.readline()
"""
BREED = """
import os, time
for _ in range(5):
    try:
        if os.fork() == 0:
            os.setsid()
    except BlockingIOError:
        pass
print("ready", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("program", [GROW, CHILD_GROWS])
def test_a_fifth_over_the_limit_is_out_of_memory(mode: str, attempt: Make, program: str) -> None:
    result = attempt(mode, python(program), memory_limit_bytes=100 * MIB).run()
    assert (result["end"], result["limit_fired"]) == ("out_of_memory", "job")
    assert result["usage"]["limit_fired"] == "job"
    assert result["usage"]["limit_bytes"] == 100 * MIB
    if mode == "sampled":
        # Between two samples a job may go on growing: up to its 120 MiB and its interpreter.
        assert 100 * MIB < result["usage"]["job_peak_bytes"] < 135 * MIB
    else:
        assert result["usage"]["job_peak_bytes"] == pytest.approx(100 * MIB, rel=0.2)
        assert result["oom_kills"] >= 1
        assert result["usage"]["limit_hits"] != 0


def test_a_child_out_of_memory_counts_although_its_parent_ends_well(mode: str, attempt: Make) -> None:
    # Only where the whole group is not ended at once can the parent still say 0; the end is the same.
    program = "import os, sys\nif os.fork() == 0:\n    x = b'x' * (150 << 20)\n    os._exit(0)\nos.wait()\nsys.exit(0)"
    if mode == "sampled":
        program = program.replace("os._exit(0)", "import time; time.sleep(600)")
    result = attempt(mode, python(program), memory_limit_bytes=100 * MIB).run()
    assert (result["end"], result["limit_fired"]) == ("out_of_memory", "job")
    assert result["exit_code"] in (0, 137)


def test_a_limit_above_the_job_is_the_hosts(cgroup_mode: str, attempt: Make) -> None:
    outer = cgroups.make_parent(f"vq-test-outer-{os.getpid()}.slice", cgroup_mode, Limits(memory_bytes=80 * MIB))
    assert outer is not None
    try:
        one = attempt(cgroup_mode, python(GROW), memory_limit_bytes=200 * MIB)
        one.parent = outer
        result = one.run()
    finally:
        wait_until(outer.remove, "the outer group is gone")
    assert (result["end"], result["limit_fired"]) == ("out_of_memory", "host")


def test_ending_under_the_limit_says_nothing_fired(mode: str, attempt: Make) -> None:
    result = attempt(mode, python("x = b'x' * (50 << 20)"), memory_limit_bytes=100 * MIB).run()
    assert (result["end"], result["limit_fired"], result["exit_code"]) == ("ended", None, 0)


def test_the_wall_limit_does_not_count_the_time_paused(mode: str, attempt: Make) -> None:
    limit = 1.0 * SLOWNESS
    one = attempt(mode, python(TERM_IS_7), wall_limit_seconds=limit).start()
    one.wait_for_output("ready")
    one.ask("pause")
    paused_at = time.monotonic()
    wait_until(lambda: time.monotonic() - paused_at > 1.5 * limit, "paused for longer than the limit", seconds=10)
    assert one.process is not None
    assert one.process.poll() is None
    one.ask("resume")
    result = one.end()
    assert (result["end"], result["exit_code"]) == ("wall_limit", 7)
    usage = result["usage"]
    assert usage["paused_seconds"] >= 1.4 * limit
    assert usage["wall_seconds"] - usage["paused_seconds"] == pytest.approx(limit, abs=0.3 * SLOWNESS)


def test_a_paused_job_stands_still(mode: str, attempt: Make) -> None:
    program = "import os\nprint(os.getpid(), flush=True)\nwhile True: pass"
    one = attempt(mode, python(program), kill_grace_seconds=60).start()
    one.wait_for_output("\n")
    pid = int(one.log.read_text())
    one.ask("pause")
    wait_until(lambda: _stands_still(pid), "the job stands still")
    one.ask("resume")
    wait_until(lambda: not _stands_still(pid), "the job goes on")
    one.ask("pause")
    wait_until(lambda: _stands_still(pid), "the job stands still again")
    one.ask("kill", "user")
    result = one.end()
    assert (result["end"], result["signal"], result["why"]) == ("killed", signal.SIGTERM, "user")


def test_a_kill_lets_the_job_clean_up(mode: str, attempt: Make) -> None:
    one = attempt(mode, python(TERM_IS_7), kill_grace_seconds=60).start()
    one.wait_for_output("ready")
    one.ask("kill", "user")
    result = one.end()
    assert (result["end"], result["exit_code"], result["signal"]) == ("killed", 7, None)


def test_a_kill_ends_what_does_not_listen_after_its_grace(mode: str, attempt: Make) -> None:
    one = attempt(mode, python(DEAF), kill_grace_seconds=0.5).start()
    one.wait_for_output("ready")
    asked_at = time.monotonic()
    one.ask("kill")
    result = one.end()
    assert (result["end"], result["exit_code"], result["signal"]) == ("killed", 137, signal.SIGKILL)
    assert time.monotonic() - asked_at >= 0.5


def test_a_kill_now_waits_for_nobody(mode: str, attempt: Make) -> None:
    one = attempt(mode, python(DEAF), kill_grace_seconds=600).start()
    one.wait_for_output("ready")
    one.ask("kill")
    one.ask("kill-now")
    assert one.end()["end"] == "killed"


def test_a_kill_for_the_hosts_sake_is_the_hosts_limit(mode: str, attempt: Make) -> None:
    one = attempt(mode, python(DEAF)).start()
    one.wait_for_output("ready")
    one.ask("kill-now", "outgrew")
    result = one.end()
    assert (result["end"], result["limit_fired"], result["why"]) == ("out_of_memory", "host", "outgrew")


def test_many_that_leave_their_parents_all_die(mode: str, attempt: Make) -> None:
    one = attempt(mode, python(BREED), pids_max=24).start()
    one.wait_for_output("ready")
    one.ask("kill-now")
    assert one.end()["end"] == "killed"


def test_a_number_of_tasks_is_a_limit(cgroup_mode: str, attempt: Make) -> None:
    program = """
import os, time
started = 0
try:
    for _ in range(64):
        if os.fork() == 0:
            time.sleep(600)
        started += 1
except BlockingIOError:
    print(started, flush=True)
"""
    parent = parent_group(cgroup_mode)
    if parent is not None and cgroup_mode == "cgroup1" and "pids" not in parent.paths.folders:
        pytest.skip("no pids controller here")
    one = attempt(cgroup_mode, python(program), pids_max=10)
    one.run()
    assert one.log.read_text().strip() == "9"


def test_the_fewest_tasks_are_enough_for_a_job_of_one(cgroup_mode: str, attempt: Make) -> None:
    for _ in range(10):
        assert attempt(cgroup_mode, ["true"], pids_max=FEWEST_PIDS).run()["end"] == "ended"


def test_without_memory_for_a_process_there_is_a_result_that_says_so(cgroup_mode: str, attempt: Make) -> None:
    result = attempt(cgroup_mode, ["true"], memory_limit_bytes=1).run()
    assert (result["end"], result["exit_code"]) == ("not_started", None)
    assert "the job could not be forked" in result["text"]


def test_version_2_leaves_nothing_of_a_job_of_which_it_kills_a_process(attempt: Make) -> None:
    parent_group("cgroup2")
    one = attempt("cgroup2", python(f"{CHILD_GROWS}\nprint('goes on', flush=True)"), memory_limit_bytes=100 * MIB)
    assert one.run()["end"] == "out_of_memory"
    assert one.log.read_text() == ""


def test_the_limit_of_all_kills_whoever_is_furthest_past_its_reservation(cgroup_mode: str, attempt: Make) -> None:
    budget = 400 * MIB
    inside, past = (
        attempt(cgroup_mode, python(HOLDS, str(hold_mib)), oom_score_adj=oom_score_adj(reserved_mib * MIB, budget))
        for hold_mib, reserved_mib in ((250, 280), (200, 40))
    )
    for one in (inside, past):
        os.mkfifo(one.folder / "go")
        one.start()
        one.wait_for_output("ready")
    parent = parent_group(cgroup_mode)
    assert parent is not None
    parent.limit(Limits(memory_bytes=budget))
    try:
        with open(inside.folder / "go", "w") as go:
            go.write("hold\n")
            go.flush()
            inside.wait_for_output("held")
            (past.folder / "go").write_text("hold\n")
            result = past.end()
        assert (result["end"], result["limit_fired"]) == ("out_of_memory", "host")
        assert inside.end()["end"] == "ended"
    finally:
        parent.limit(Limits())


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (["no-such-program"], 127, "no-such-program: no such program in the job's PATH"),
        (["/no/such/program"], 127, "/no/such/program: no such program"),
        (["./plain"], 126, "./plain: is not an executable file"),
        (["./lost"], 127, "./lost: cannot be run"),
        (["./"], 126, "./: is not an executable file"),
    ],
)
def test_a_program_that_cannot_be_run_is_named(
    mode: str, attempt: Make, command: list[str], code: int, said: str
) -> None:
    one = attempt(mode, command)
    (one.folder / "plain").write_text("text")
    (one.folder / "lost").write_text("#!/no/such/interpreter\n")
    (one.folder / "lost").chmod(0o755)
    result = one.run()
    assert (result["end"], result["exit_code"]) == ("cannot_run", code)
    assert said in result["text"]
    assert result["usage"]["command_status"] == "not_run"


def test_127_of_a_program_that_ran_is_its_own(mode: str, attempt: Make) -> None:
    result = attempt(mode, ["sh", "-c", "exit 127"]).run()
    assert (result["end"], result["exit_code"]) == ("ended", 127)


def test_a_folder_that_is_gone_is_not_the_programs_fault(mode: str, attempt: Make, tmp_path: Path) -> None:
    result = attempt(mode, ["true"], cwd=str(tmp_path / "gone")).run()
    assert (result["end"], result["exit_code"]) == ("not_started", None)
    assert "cannot enter the folder" in result["text"]


def test_nobody_listens_before_or_after(attempt: Make) -> None:
    one = attempt("sampled", ["true"])
    assert not ask(str(one.folder), Request(action="kill"))
    one.run()
    assert not ask(str(one.folder), Request(action="kill"))


def _stands_still(pid: int) -> bool:
    """Whether it uses no processor time over a while in which a running one would."""
    before = _ticks(pid)
    until = time.monotonic() + 0.15
    while time.monotonic() < until:
        time.sleep(0.01)
    return _ticks(pid) == before


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return int(fields[11]) + int(fields[12])
