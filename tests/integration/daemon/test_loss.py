"""What is lost when something is killed: a daemon nothing, a supervisor the end of its job, a boot what ran."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from daemons import Queue
from supervised import wait_until
from vq.hosts.local.attempts import Attempts
from vq.hosts.local.launching import Launcher
from vq.jobs.events import KillRequested
from vq.jobs.record import Dependency, Job, Need, State
from vq.readings import processes
from vq.readings.cgroups import open_group
from vq.store.layout import log_paths
from vq.supervisor.folder import Attempt, read_attempt

COUNT = "echo begun >> begun; exec sleep 600"


def attempt_of(queue: Queue, job: Job) -> Attempt:
    attempt = read_attempt(f"{queue.folder}/attempts/{job.id}.{job.life.attempt}")
    assert attempt is not None
    return attempt


def kill_supervisor(queue: Queue, job: Job) -> None:
    process = processes.identify(attempt_of(queue, job).supervisor_pid)
    assert process is not None
    assert processes.send(process, signal.SIGKILL)
    wait_until(lambda: not processes.is_alive(process), "the supervisor is gone")


def begun(queue: Queue, identifier: str) -> Job:
    job = queue.running(identifier)
    path = Path(str(job.work.workspace), "begun")
    queue.until(path.exists, "the command has begun")
    return job


@pytest.mark.parametrize("adopted", [False, True], ids=["own supervisor", "adopted one"])
def test_a_job_whose_supervisor_was_killed_is_interrupted_and_nothing_of_it_is_left(
    queue: Queue, *, adopted: bool
) -> None:
    (identifier,) = queue.submit(["sh", "-c", COUNT], retry=3)
    job = begun(queue, identifier)
    mark = attempt_of(queue, job).mark
    if adopted:
        queue.stop()
        queue.daemon.turn(0)
    assert processes.marked(mark, 0)
    kill_supervisor(queue, job)
    job = queue.end(identifier)
    assert (job.state, job.life.exit_code, job.usage) == (State.INTERRUPTED, None, None)
    assert job.life.reason is not None
    assert (job.life.reason.kind, job.life.reason.details) == ("lost", {"what": "supervisor"})
    assert not processes.marked(mark, 0)
    (row,) = queue.history()
    assert (row["succeeded"], row["cancelled"], row["finished_at"]) == (0, 0, None)
    assert not os.listdir(f"{queue.folder}/attempts")


@pytest.mark.parametrize("ended", [False, True], ids=["runs on", "ended meanwhile"])
def test_a_job_whose_folder_somebody_removed_is_not_started_again_by_the_next_daemon(
    queue: Queue, tmp_path: Path, *, ended: bool
) -> None:
    os.mkfifo(tmp_path / "fifo")
    (identifier,) = queue.submit(["sh", "-c", f"echo begun >> begun; read word < {tmp_path}/fifo"], retry=3)
    job = begun(queue, identifier)
    attempt = attempt_of(queue, job)
    queue.stop()
    shutil.rmtree(f"{queue.folder}/attempts/{identifier}.1")
    if ended:
        (tmp_path / "fifo").write_text("go\n")
        wait_until(lambda: not processes.marked(attempt.mark, 0), "the command has ended")
    assert_lost(queue, job, attempt)


def test_a_job_whose_folder_somebody_removed_is_not_started_again_by_the_same_daemon(
    queue: Queue, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "fifo")
    (identifier,) = queue.submit(["sh", "-c", f"echo begun >> begun; read word < {tmp_path}/fifo"], retry=3)
    job = begun(queue, identifier)
    attempt = attempt_of(queue, job)
    shutil.rmtree(f"{queue.folder}/attempts/{identifier}.1")
    (tmp_path / "fifo").write_text("go\n")
    assert_lost(queue, job, attempt)


@pytest.mark.parametrize("restarted", [False, True], ids=["same daemon", "next daemon"])
def test_a_job_whose_folder_and_logs_somebody_removed_is_not_started_again(
    queue: Queue, tmp_path: Path, *, restarted: bool
) -> None:
    os.mkfifo(tmp_path / "fifo")
    (identifier,) = queue.submit(["sh", "-c", f"echo begun >> begun; read word < {tmp_path}/fifo"], retry=3)
    job = begun(queue, identifier)
    attempt = attempt_of(queue, job)
    if restarted:
        queue.stop()
    shutil.rmtree(f"{queue.folder}/attempts/{identifier}.1")
    for path in log_paths(queue.folder, identifier, 1):
        os.unlink(path)
    if not restarted:
        (tmp_path / "fifo").write_text("go\n")
    assert_lost(queue, job, attempt)


WRONG = ["", "[]", "{}", '{"schema": "vq.attempt.v1", "group": {"version": 3}}']


@pytest.mark.parametrize("content", WRONG)
def test_a_job_goes_on_though_what_its_supervisor_left_says_nothing_any_more(
    queue: Queue, tmp_path: Path, content: str
) -> None:
    os.mkfifo(tmp_path / "fifo")
    (identifier,) = queue.submit(["sh", "-c", f"echo begun >> begun; read word < {tmp_path}/fifo"])
    job = begun(queue, identifier)
    Path(queue.folder, f"attempts/{identifier}.1/attempt.json").write_text(content)
    for _ in ("the same daemon", "the next one"):
        queue.daemon._next_tick = 0.0  # noqa: SLF001 - a look at all that runs, as there is every second
        queue.daemon.turn(0)
        assert queue.state(identifier) is State.RUNNING
        queue.stop()
    (tmp_path / "fifo").write_text("go\n")
    assert queue.end(identifier).state is State.COMPLETED
    assert Path(str(job.work.workspace), "begun").read_text() == "begun\n"
    assert not Path(queue.folder, f"attempts/{identifier}.1").exists()


@pytest.mark.parametrize("content", WRONG)
def test_of_an_attempt_that_nobody_can_say_anything_of_nothing_is_left(queue: Queue, content: str) -> None:
    (identifier,) = queue.submit(["sh", "-c", COUNT], retry=3)
    job = begun(queue, identifier)
    mark = attempt_of(queue, job).mark
    kill_supervisor(queue, job)
    for name in ("attempt.json", "result.json"):
        Path(queue.folder, f"attempts/{identifier}.1/{name}").write_text(content)
    assert queue.end(identifier).state is State.INTERRUPTED
    assert not processes.marked(mark, 0)
    assert not os.listdir(f"{queue.folder}/attempts")


def test_a_job_that_began_before_the_clock_was_set_back_is_not_started_again(queue: Queue) -> None:
    (identifier,) = queue.submit(["sh", "-c", COUNT], retry=3)
    job = begun(queue, identifier)
    attempt = attempt_of(queue, job)
    queue.stop()
    shutil.rmtree(f"{queue.folder}/attempts/{identifier}.1")
    os.utime(str(job.life.stdout_path), (1_000_000_000, 1_000_000_000))
    assert_lost(queue, job, attempt)


def assert_lost(queue: Queue, job: Job, attempt: Attempt) -> None:
    job = queue.end(job.id)
    assert job.life.reason is not None
    assert (job.state, job.life.reason.kind, job.life.attempt) == (State.INTERRUPTED, "lost", 1)
    assert Path(str(job.work.workspace), "begun").read_text() == "begun\n"
    assert not processes.marked(attempt.mark, 0)
    assert attempt.group is None or not open_group(attempt.group).exists()


def test_a_log_of_an_earlier_store_does_not_stand_for_a_job_that_has_begun(plain: Queue) -> None:
    log = Path(log_paths(plain.folder, "a1", 1)[0])
    log.parent.mkdir(exist_ok=True)
    log.write_text("of a job of a store that is gone\n")
    os.utime(log, (1_000_000_000, 1_000_000_000))
    (identifier,) = plain.submit(["true"])
    assert (identifier, plain.end(identifier).state) == ("a1", State.COMPLETED)


def test_a_supervisor_that_comes_late_finds_no_spec_without_a_sign_that_it_was_taken_up(
    plain: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[list[str]] = []
    folder = Path(plain.folder, "attempts", "a1.1")
    monkeypatch.setattr(shutil, "rmtree", lambda path, **_: left.append(sorted(os.listdir(path))))
    attempts = Attempts(plain.folder)
    folder.mkdir()
    for name in ("attempt.json", "result.json", "spec.json"):
        (folder / name).touch()
    attempts.forget("a1", 1)
    assert left == [["attempt.json", "result.json"]]


def test_a_job_that_ended_while_no_daemon_ran_ends_with_its_own_result(queue: Queue, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (identifier,) = queue.submit(["sh", "-c", f"touch begun; read word < {tmp_path}/fifo; exit 5"])
    job = begun(queue, identifier)
    queue.stop()
    (tmp_path / "fifo").write_text("go\n")
    wait_until(lambda: Path(f"{queue.folder}/attempts/{job.id}.1/result.json").exists(), "a result")
    job = queue.end(identifier)
    assert (job.state, job.life.exit_code) == (State.FAILED, 5)


def test_a_job_is_killed_that_an_earlier_daemon_started(queue: Queue) -> None:
    (identifier,) = queue.submit(["sh", "-c", COUNT])
    begun(queue, identifier)
    queue.stop()
    queue.ask(identifier, KillRequested(at_ms=0))
    job = queue.end(identifier)
    assert job.state is State.KILLED
    assert Path(str(job.work.workspace), "begun").read_text() == "begun\n"


def test_a_kill_that_was_committed_and_not_sent_is_sent_by_the_next_daemon(
    plain: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    (identifier,) = plain.submit(["sh", "-c", COUNT])
    begun(plain, identifier)
    with monkeypatch.context() as patched:
        patched.setattr("vq.daemon.watch.ask", lambda *_: False)
        plain.ask(identifier, KillRequested(at_ms=0))
        plain.until(lambda: plain.job(identifier).life.kill_requested, "the kill is committed")
        plain.stop()
    assert plain.end(identifier).state is State.KILLED


def test_a_start_that_was_committed_and_not_made_is_made_by_the_next_daemon(
    plain: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(Launcher, "launch", lambda *_: None)
        (identifier,) = plain.submit(["true"])
        plain.until(lambda: plain.state(identifier) is State.RUNNING, "the start is committed")
        plain.stop()
    assert plain.end(identifier).state is State.COMPLETED


def test_a_supervisor_killed_before_it_began_is_started_again(plain: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[str] = []

    def launch(launcher: Launcher, path: str) -> None:
        launched.append(path)
        if len(launched) == 1:
            launcher._unknown.append(path)  # noqa: SLF001 - as if the warm process had been killed right then
        else:
            real(launcher, path)

    real = Launcher.launch
    monkeypatch.setattr(Launcher, "launch", launch)
    (identifier,) = plain.submit(["true"])
    assert plain.end(identifier).state is State.COMPLETED
    assert len(launched) == 2


def test_without_a_warm_process_supervisors_are_started_one_by_one(
    plain: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Launcher, "_send", lambda *_: False)
    (identifier,) = plain.submit(["sh", "-c", "exit 4"])
    assert plain.end(identifier).life.exit_code == 4


def test_jobs_outlive_the_warm_process_that_forked_their_supervisors(queue: Queue) -> None:
    (identifier,) = queue.submit(["sh", "-c", COUNT])
    begun(queue, identifier)
    warm = queue.daemon._parts.launcher._warm  # noqa: SLF001 - nobody else knows its process
    assert warm is not None
    warm.kill()
    (other,) = queue.submit(["true"])
    assert queue.end(other).state is State.COMPLETED
    queue.ask(identifier, KillRequested(at_ms=0))
    assert queue.end(identifier).state is State.KILLED


def test_a_supervisor_that_cannot_begin_ends_the_job_without_a_run(
    plain: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vq.hosts.local.attempts.PIDS_MAX", 1)
    (identifier,) = plain.submit(["true"])
    job = plain.end(identifier)
    assert job.state is State.ABORTED_BY_QUEUE
    assert job.life.reason is not None
    assert "pids_max" in job.life.reason.text


def test_after_a_reboot_what_ran_is_interrupted_and_resumed_where_asked(
    plain: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    (lost,) = plain.submit(["sh", "-c", COUNT])
    (resumed,) = plain.submit(
        ["sh", "-c", "echo again >> begun; test $(wc -l < begun) = 2 || sleep 600"], auto_resume=True
    )
    (after,) = plain.submit(["true"], depends_on=(Dependency(job=resumed, kind=Need.COMPLETED),))
    jobs = [begun(plain, identifier) for identifier in (lost, resumed)]
    marks = [attempt_of(plain, job).mark for job in jobs]
    plain.stop()
    for job, mark in zip(jobs, marks, strict=True):  # the machine goes down, the supervisor first
        kill_supervisor(plain, job)
        for process in processes.marked(mark, 0):
            processes.send(process, signal.SIGKILL)
    monkeypatch.setattr("vq.daemon.serving.processes.boot_id", lambda: "another")
    job = plain.end(lost)
    assert job.life.reason is not None
    assert (job.state, job.life.reason.details) == (State.INTERRUPTED, {"what": "host"})
    assert plain.end(resumed).state is State.INTERRUPTED
    successor = plain.end("a4")
    assert (successor.state, successor.life.parent) == (State.COMPLETED, resumed)
    assert successor.work.workspace == plain.job(resumed).work.workspace
    assert plain.end(after).state is State.COMPLETED


def test_more_supervisors_are_started_at_once_than_pipes_hold_the_names_of(tmp_path: Path) -> None:
    launcher = Launcher()
    paths = {f"{tmp_path}/{'n' * 200}/{number}/spec.json" for number in range(700)}
    ended: set[str] = set()
    try:
        for path in sorted(paths):
            launcher.launch(path)

        def all_ended() -> bool:
            ended.update(gone.spec_path for gone in launcher.gone())
            return ended == paths

        wait_until(all_ended, "each has failed, as there is no such folder", 60)
    finally:
        launcher.close()


def test_an_interrupt_from_the_terminal_is_not_for_the_warm_process(tmp_path: Path) -> None:
    launcher = Launcher()
    launcher.launch(f"{tmp_path}/none/spec.json")
    try:
        assert launcher._warm is not None  # noqa: SLF001 - nobody else is told of it
        assert os.getsid(launcher._warm.pid) == launcher._warm.pid  # noqa: SLF001 - the same
    finally:
        launcher.close()
