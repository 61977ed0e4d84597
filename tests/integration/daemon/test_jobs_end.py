"""Jobs from their submission to their end, run for real, in each way to measure that this machine has."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from daemons import Queue, python
from made_jobs import job as made_job
from supervised import MIB, SLOWNESS
from vq.hosts.local.attempts import digest_of
from vq.hosts.local.environment import job_environment
from vq.jobs.events import KillRequested, Paused, Resumed
from vq.jobs.record import Array, Limit, MemorySource, State, WallSource
from vq.readings import processes
from vq.supervisor.folder import read_attempt
from vq.supervisor.requests import OUTGREW, Request, ask

HOLD = f"import sys, time; x = b'x' * (int(sys.argv[1]) << 20); print('held', flush=True); time.sleep({0.2 * SLOWNESS})"
SAY = "import os, sys; print(*(os.environ[name] for name in sys.argv[1:]))"
SLEEP = ["sleep", "600"]


def workspace(queue: Queue, identifier: str) -> Path:
    path = queue.job(identifier).work.workspace
    assert path is not None
    return Path(path)


def output(queue: Queue, identifier: str) -> str:
    path = queue.job(identifier).life.stdout_path
    assert path is not None
    return Path(path).read_text()


def test_a_job_completes_with_receipt_and_history_row(queue: Queue) -> None:
    (identifier,) = queue.submit(python(HOLD, "30"), mem_mb=200)
    job = queue.end(identifier)
    assert (job.state, job.life.exit_code, job.life.attempt) == (State.COMPLETED, 0, 1)
    assert output(queue, identifier) == "held\n"
    assert job.usage is not None
    assert job.usage["command_status"] == "succeeded"
    assert json.loads((workspace(queue, identifier) / "_vq" / "resource-usage.json").read_text()) == dict(job.usage)
    (row,) = queue.history()
    assert (row["job"], row["attempt"], row["succeeded"], row["cancelled"]) == (1, 1, 1, 0)
    assert (row["memory_cap"], row["cpu_cap"], row["finished_at"]) == (200 * MIB, 1000, job.life.finished_at_ms)
    assert row["memory_peak"] > 25 * MIB
    queue.stop()
    assert not os.listdir(f"{queue.folder}/attempts")


def test_a_job_that_fails_says_with_what(queue: Queue) -> None:
    (identifier,) = queue.submit(["sh", "-c", "exit 3"])
    job = queue.end(identifier)
    assert (job.state, job.life.exit_code, job.life.reason) == (State.FAILED, 3, None)
    (row,) = queue.history()
    assert (row["succeeded"], row["cancelled"]) == (0, 0)


def test_a_program_that_is_not_there_fails_with_127_and_leaves_no_row(queue: Queue) -> None:
    (identifier,) = queue.submit(["/no/such/program"], retry=3)
    job = queue.end(identifier)
    assert (job.state, job.life.exit_code, job.life.attempt) == (State.FAILED, 127, 1)
    assert job.life.reason is not None
    assert job.life.reason.kind == "exec"
    assert queue.history() == []


def test_a_job_at_its_memory_limit_is_oom_killed_and_tried_again_with_more(queue: Queue) -> None:
    (identifier,) = queue.submit(python(HOLD + "; time.sleep(5)", "120"), mem_mb=80, oom_retry_mb=100, priority=1)
    job = queue.end(identifier)
    assert (job.state, job.life.limit_fired, job.life.attempt) == (State.OOM_KILLED, Limit.JOB, 2)
    assert (job.work.mem_mb, job.work.mem_mb_source) == (100, MemorySource.OOM_RETRY)
    assert [row["memory_cap"] // MIB for row in queue.history()] == [80, 100]
    assert all(row["oom_killed"] and row["own_cap"] and row["hit_cap"] for row in queue.history())


def test_a_job_is_stopped_at_its_time_limit(queue: Queue) -> None:
    (identifier,) = queue.submit(SLEEP, wall_time_seconds=1, wall_time_source=WallSource.EXPLICIT)
    job = queue.end(identifier)
    assert job.state is State.TIME_EXCEEDED
    assert [row["cancelled"] for row in queue.history()] == [1]


def test_a_running_job_is_killed(queue: Queue) -> None:
    (identifier,) = queue.submit(SLEEP, retry=2)
    queue.running(identifier)
    queue.ask(identifier, KillRequested(at_ms=0))
    job = queue.end(identifier)
    assert (job.state, job.life.attempt) == (State.KILLED, 1)
    assert job.life.reason is not None
    assert job.life.reason.kind == "kill"


def test_a_job_that_ignores_term_is_killed_at_once_when_asked(queue: Queue) -> None:
    (identifier,) = queue.submit(["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 600; done"])
    queue.running(identifier)
    queue.ask(identifier, KillRequested(at_ms=0, at_once=True))
    assert queue.end(identifier).state is State.KILLED


def test_a_waiting_job_is_killed_without_ever_running(plain: Queue) -> None:
    (identifier,) = plain.submit(SLEEP, not_before_ms=2**50)
    plain.ask(identifier, KillRequested(at_ms=0))
    job = plain.end(identifier)
    assert (job.state, job.life.attempt) == (State.KILLED, 0)
    assert plain.history() == []


def test_a_paused_job_stands_still_and_goes_on(queue: Queue) -> None:
    program = "import time\nfor n in range(1, 10**9): print(n, flush=True); time.sleep(0.005)"
    (identifier,) = queue.submit(python(program))
    queue.running(identifier)
    queue.until(lambda: output(queue, identifier), "it counts")
    queue.ask(identifier, Paused(at_ms=0))

    def stands_still() -> bool:
        before = output(queue, identifier)
        for _ in range(3):
            queue.daemon.turn(0.03)
        return queue.job(identifier).life.paused and output(queue, identifier) == before

    queue.until(stands_still, "it stands still")
    before = output(queue, identifier)
    queue.ask(identifier, Resumed(at_ms=0))
    queue.until(lambda: len(output(queue, identifier)) > len(before), "it goes on")
    queue.ask(identifier, KillRequested(at_ms=0, at_once=True))
    job = queue.end(identifier)
    assert job.state is State.KILLED
    assert job.life.paused_ms > 0


def test_a_job_knows_itself_and_its_share(plain: Queue) -> None:
    names = ["VQ_JOB_ID", "VQ_CPUS", "VQ_MEM_MB", "VQ_WORKDIR", "VQ_ARRAY_INDEX", "VQ_ARRAY_TOTAL", "OMP_NUM_THREADS"]
    (identifier,) = plain.submit(
        python(SAY, *names, "HOME"), cpus=2, mem_mb=70, array=Array(group="a1", index=0, total=1)
    )
    plain.end(identifier)
    assert output(plain, identifier).split() == [
        "a1", "2", "70", str(workspace(plain, identifier)), "0", "1", "2", "/nowhere",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "variable", ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"]
)
def test_threads_are_as_many_as_cpus_unless_the_submitter_says_so(variable: str) -> None:
    subject = made_job(cpus=2)
    assert job_environment(subject, {}, "/")[variable] == "2"
    assert job_environment(subject, {variable: "7"}, "/")[variable] == "7"


def test_a_job_has_the_grace_of_the_host_and_a_group_with_its_limits_and_no_soft_one(queue: Queue) -> None:
    (identifier,) = queue.submit(SLEEP, cpus=2, mem_mb=70)
    queue.running(identifier)
    attempt = read_attempt(f"{queue.folder}/attempts/{identifier}.1")
    assert attempt is not None
    assert json.loads(Path(queue.folder, "attempts", f"{identifier}.1", "spec.json").read_text())[
        "kill_grace_seconds"
    ] == pytest.approx(1)
    for folder in () if attempt.group is None else attempt.group.folders.values():
        assert Path(folder).parent.name == f"vq-{digest_of(queue.folder)}.slice"
    limit = str(70 * MIB)
    expected = {
        "memory": {"memory.limit_in_bytes": limit, "memory.memsw.limit_in_bytes": limit},
        "pids": {"pids.max": "4096"},
        "cpu": {"cpu.shares": "2048"},
        "unified": {
            "memory.max": limit,
            "memory.swap.max": "0",
            "memory.high": "max",
            "memory.oom.group": "1",
            "pids.max": "4096",
            "cpu.weight": "200",
        },
    }
    for name, folder in ({} if attempt.group is None else attempt.group.folders).items():
        wanted = {file: text for file, text in expected.get(name, {}).items() if os.path.exists(f"{folder}/{file}")}
        assert {file: Path(folder, file).read_text().strip() for file in wanted} == wanted
    queue.ask(identifier, KillRequested(at_ms=0, at_once=True))
    queue.end(identifier)


def test_a_job_runs_here_where_it_was_submitted(plain: Queue, tmp_path: Path) -> None:
    (identifier,) = plain.submit(["pwd"], here=True, cwd=str(tmp_path))
    job = plain.end(identifier)
    assert (output(plain, identifier), job.work.workspace) == (f"{tmp_path}\n", str(tmp_path))
    assert (tmp_path / "_vq" / "resource-usage.json").exists()


def test_while_a_job_runs_there_is_no_receipt_of_one_before_it(queue: Queue, tmp_path: Path) -> None:
    look = ["sh", "-c", "ls -A _vq; echo looked"]
    (first,) = queue.submit(look, here=True, cwd=str(tmp_path))
    queue.end(first)
    assert output(queue, first) == "looked\n"
    assert os.listdir(tmp_path / "_vq") == ["resource-usage.json"]
    (second,) = queue.submit(look, here=True, cwd=str(tmp_path))
    job = queue.end(second)
    assert output(queue, second) == "looked\n"
    assert json.loads((tmp_path / "_vq" / "resource-usage.json").read_text()) == dict(job.usage or {})


def test_a_receipt_that_cannot_be_left_is_missed_and_the_job_is_not(
    plain: Queue, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "_vq").write_text("mine")
    (identifier,) = plain.submit(["true"], here=True, cwd=str(tmp_path))
    assert plain.end(identifier).state is State.COMPLETED
    assert (tmp_path / "_vq").read_text() == "mine"
    said = f"{identifier}: no receipt was left: {tmp_path}/_vq/resource-usage.json: "
    assert [said in record.getMessage() for record in caplog.records] == [True]


def test_a_link_in_the_place_of_the_receipt_is_not_followed(plain: Queue, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "folder").mkdir()
    (file_link,) = plain.submit(["sh", "-c", f"mkdir _vq; ln -s {tmp_path}/mine _vq/resource-usage.json"])
    (folder_link,) = plain.submit(["ln", "-s", f"{tmp_path}/folder", "_vq"])
    assert {plain.end(file_link).state, plain.end(folder_link).state} == {State.COMPLETED}
    assert (tmp_path / "mine").read_text() == "mine"
    assert not os.listdir(tmp_path / "folder")
    assert not (workspace(plain, file_link) / "_vq" / "resource-usage.json").is_symlink()


def test_what_outlives_the_command_is_ended(queue: Queue) -> None:
    (identifier,) = queue.submit(["sh", "-c", "setsid sleep 600 & echo $!"])
    job = queue.end(identifier)
    assert job.state is State.COMPLETED
    process = processes.identify(int(output(queue, identifier)))
    assert process is None or not processes.is_alive(process)


def test_a_workspace_that_cannot_be_made_ends_the_job_without_a_run(plain: Queue) -> None:
    (identifier,) = plain.submit(["true"], payload_sha256="0" * 64)
    job = plain.end(identifier)
    assert (job.state, job.life.reason is not None and job.life.reason.kind) == (State.ABORTED_BY_QUEUE, "not_started")
    assert plain.history() == []


def test_a_job_that_outgrows_its_reservation_near_the_budget_starts_again_with_its_whole_limit(queue: Queue) -> None:
    queue.text = '[host]\nmemory_max = "300M"\n[sizing]\nmin_jobs = 3\n'
    for _ in range(3):
        (identifier,) = queue.submit(["true"], mem_mb=300)
        queue.end(identifier)
    # Where it has been before it ends at once.
    (identifier,) = queue.submit(
        python("import os, time\nos.mkdir('been')\nx = b'x' * (288 << 20)\ntime.sleep(600)"), mem_mb=300
    )
    job = queue.end(identifier)
    assert [(attempt.state, attempt.limit_fired) for attempt in job.life.attempts] == [
        (State.OOM_KILLED, Limit.HOST),
        (State.FAILED, None),
    ]
    assert job.life.reserved_bytes == 300 * MIB
    row = queue.history()[3]
    assert (row["oom_killed"], row["own_cap"], row["hit_cap"], row["reserved"]) == (1, 0, 0, 256 * MIB)


def test_a_job_that_the_hosts_limit_ended_starts_no_second_time_where_it_shall_not(plain: Queue) -> None:
    plain.text = '[host]\non_host_oom = "fail"\n'
    (identifier,) = plain.submit(SLEEP)
    plain.running(identifier)
    assert ask(f"{plain.folder}/attempts/{identifier}.1", Request(action="kill-now", why=OUTGREW))
    job = plain.end(identifier)
    assert (job.state, job.life.limit_fired, job.life.attempt) == (State.OOM_KILLED, Limit.HOST, 1)


def test_a_job_that_uses_no_cpu_for_the_configured_time_starves(queue: Queue) -> None:
    queue.text = '[host]\nstarved_after = "1s"\n'
    (identifier,) = queue.submit(SLEEP)
    if queue.mode == "sampled":  # its CPU time is not known while it runs
        queue.running(identifier)
        return
    assert queue.end(identifier).state is State.STARVED
