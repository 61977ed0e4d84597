from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from histories import run
from queue_commands import VQ, Queue, receipt
from supervised import wait_until
from vq.admission.host import Remembered
from vq.daemon.serving import now_ms
from vq.daemon.told import Told
from vq.formats.jsonl import written
from vq.jobs.reasons import Kind, Reason
from vq.readings.meminfo import host_memory

GIB = 1 << 30

SLEEP = ("--", "sleep", "60")


def test_run_streams_both_logs_and_exits_with_the_code(live: Queue) -> None:
    ended = live.run("run", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (ended.returncode, ended.stdout) == (7, "out\n")
    assert "err\n" in ended.stderr


def test_logs_can_be_followed_after_the_end(live: Queue) -> None:
    script = "echo $(ls); touch seen; test -e twice && exit 0; touch twice; exit 3"
    first = live.run("run", "--", "sh", "-c", script)
    assert (first.returncode, first.stdout) == (3, "\n")
    assert live.run("logs", "a1", "-f").stdout == "\n"
    assert live.run("logs", "a1", "-f", "--err").stdout == ""


def test_an_interrupted_run_kills_the_job(live: Queue) -> None:
    words = [VQ, "run", "--", "sh", "-c", "echo ready; exec sleep 60"]
    with subprocess.Popen(words, cwd=live.cwd, env=live.environment, stdout=subprocess.PIPE, stderr=-3) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == b"ready\n"
        run.send_signal(signal.SIGINT)
        assert run.wait(60) == 130
    assert live.run("wait", "a1", "--timeout", "30").returncode == 1
    assert live.status("a1")["state"] == "KILLED"


def test_wait_says_how_it_went(live: Queue) -> None:
    good = live.ok("submit", "--", "true").strip()
    bad = live.ok("submit", "--", "sh", "-c", "exit 5").strip()
    endless = live.ok("submit", *SLEEP).strip()
    assert live.run("wait", good).returncode == 0
    assert live.run("wait", bad).returncode == 5
    assert live.run("wait", good, bad).returncode == 1
    assert live.run("wait", good, good).returncode == 0
    assert live.run("wait", endless, good, "--any").returncode == 0
    late = live.run("wait", endless, "--timeout", "0.1", "--json")
    assert late.returncode == 124
    assert [job["id"] for job in json.loads(late.stdout)["jobs"]] == [endless]
    live.ok("kill", endless, "--now")
    assert live.run("wait", endless).returncode == 1
    assert live.run("wait", "a99").returncode == 2
    assert live.run("submit", "--wait", "--", "sh", "-c", "exit 9").returncode == 9


def test_a_wait_that_is_interrupted_exits_130(queue: Queue) -> None:
    queue.ok("submit", *SLEEP)
    with subprocess.Popen([VQ, "wait", "a1"], cwd=queue.cwd, env=queue.environment, stderr=-3) as waiting:
        # Once the interpreter has our handler, an interrupt is no death by signal.
        status = Path(f"/proc/{waiting.pid}/status")
        while not int(status.read_text().split("SigCgt:\t")[1].split()[0], 16) & 2:
            time.sleep(0.01)
        time.sleep(0.5)
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(60) == 130


def test_logs_are_what_the_job_wrote_byte_for_byte(live: Queue) -> None:
    code = "import os; os.write(1, b'\\xff\\x00one\\ntwo\\nthree'); os.write(2, b'a\\nb\\n')"
    job = live.ok("submit", "--", sys.executable, "-c", code).strip()
    live.ok("wait", job)

    def logs(*words: str) -> tuple[bytes, bytes]:
        ended = subprocess.run(
            [VQ, "logs", job, *words], cwd=live.cwd, env=live.environment, capture_output=True, timeout=60, check=True
        )
        return ended.stdout, ended.stderr

    assert logs() == (b"\xff\x00one\ntwo\nthree", b"a\nb\n")
    assert logs("-n", "1") == (b"three", b"b\n")
    assert logs("-n", "2") == (b"two\nthree", b"a\nb\n")
    assert logs("-n", "0") == (b"", b"")
    assert logs("--err") == (b"", b"a\nb\n")
    assert logs("-f") == logs("--attempt", "1") == logs()
    assert live.run("logs", job, "--attempt", "2").returncode == 2


def test_many_jobs_are_selected_at_once_and_an_end_takes_nothing(live: Queue) -> None:
    done = live.ok("submit", "--", "true").strip()
    live.ok("wait", done)
    first = live.ok("submit", "--mem-mb", "100", "--name", "n", "--tag", "t", *SLEEP).strip()
    group = live.ok("submit", "--mem-mb", "100", "--array", "2", *SLEEP).split()
    last = live.ok("submit", "--mem-mb", "100", *SLEEP).strip()
    assert {job["id"] for job in live.json("kill", "--tag", "t")["jobs"]} == {first}
    assert {job["id"] for job in live.json("kill", "--array", group[0])["jobs"]} == set(group)
    nobody = live.run("kill", "--name", "no such name")
    assert (nobody.returncode, "no job that waits or runs is selected" in nobody.stderr) == (1, True)
    assert live.run("kill", done).returncode == 1
    assert f"\n  vq status {done} says how it stands\n" in live.run("kill", done).stderr
    assert live.run("kill").returncode == live.run("kill", last, "--all").returncode == 2
    assert {job["id"] for job in live.json("kill", "--all")["jobs"]} >= {last}
    live.run("wait", first, *group, last, "--timeout", "30")
    assert {live.status(job)["state"] for job in (first, *group, last)} == {"KILLED"}
    assert live.run("kill", "--all").returncode == 0


def test_a_job_is_paused_held_edited_and_let_go(live: Queue) -> None:
    running = live.ok("submit", "--cpus", "2", "--mem-mb", "100", *SLEEP).strip()
    waiting = live.ok("submit", "--cpus", "2", "--mem-mb", "100", "--", "true").strip()
    assert f"{waiting}  PENDING, held\n" in live.ok("pause", running, waiting)
    until(live, running, "paused", value=True)
    until(live, waiting, "held", value=True)
    assert live.json("explain", waiting)["reason"]["kind"] == "held"
    live.ok("edit", waiting, "--mem-mb", "50", "--time", "5", "--name", "new", "--tag", "a", "--tag", "b")
    until(live, waiting, "mem_mb", value=50)
    record = live.status(waiting)
    assert (record["wall_time_seconds"], record["name"], record["tags"]) == (300, "new", ["a", "b"])
    assert live.run("edit", running, "--mem-mb", "50").returncode == 1
    assert live.run("edit", waiting).returncode == live.run("edit", waiting, "--cpus", "9").returncode == 2
    assert live.ok("resume", running, waiting) == f"{running}  RUNNING, going on\n{waiting}  PENDING, released\n"
    until(live, running, "paused", value=False)
    until(live, waiting, "held", value=False)
    assert live.json("explain", waiting)["reason"] == {
        "kind": "cpu",
        "text": "needs 2 CPUs, 0 are free",
        "needs": 2000,
        "free": 0,
    }
    live.ok("kill", running, "--now")
    live.ok("wait", waiting)


def until(queue: Queue, job: str, key: str, *, value: object) -> None:
    end = time.monotonic() + 30
    while queue.status(job)[key] != value:
        assert time.monotonic() < end, queue.status(job)


def test_what_is_asked_while_no_daemon_runs_is_recorded_and_done_later(queue: Queue) -> None:
    queue.ok("submit", *SLEEP)
    ended = queue.run("kill", "a1")
    assert (ended.returncode, ended.stdout) == (0, "a1  PENDING, ending\n")
    assert "no daemon runs" in ended.stderr
    queue.ok("daemon", "start")
    try:
        assert queue.run("wait", "a1", "--timeout", "30").returncode == 1
        assert queue.status("a1")["state"] == "KILLED"
    finally:
        queue.ok("daemon", "stop")


def test_explain_needs_no_daemon(queue: Queue) -> None:
    queue.ok("submit", "--", "true")
    queue.ok("submit", "--depends-on", "a1", "--", "true")
    queue.ok("submit", "--not-before", "+2h", "--priority", "-1", "--", "true")
    first, second, third = (queue.json("explain", job) for job in ("a1", "a2", "a3"))
    assert (first["reason"], first["ahead"], first["state"]) == (None, 0, "PENDING")
    assert first["prediction"] == {"memory": 2**31, "basis": {"kind": "cap"}, "cpu": 1000, "cpu_basis": {"kind": "cap"}}
    assert (second["reason"]["kind"], second["reason"]["job"]) == ("dependency", "a1")
    assert (third["reason"]["kind"], third["ahead"]) == ("not_before", 2)
    assert "nothing keeps it" in queue.ok("explain", "a1")


def test_explain_says_of_a_job_that_a_lowered_budget_cannot_hold_what_helps(queue: Queue) -> None:
    queue.ok("submit", "--mem-mb", "2000", "--", "true")
    assert "Too large:" not in queue.ok("explain", "a1")
    config = queue.root / "config" / "vq" / "config.toml"
    config.write_text(config.read_text().replace('"4G"', '"1G"'))
    said = " ".join(queue.ok("explain", "a1").split())
    assert "Too large: all jobs together have 1 GiB, and waiting does not help; vq edit a1 --mem-mb lowers" in said


def test_status_and_explain_say_what_is_reserved_and_what_a_job_waits_for(live: Queue) -> None:
    same = {"name": "align", "repository": "lab", "workflow": None, "profile": "default"}
    rows = [run(memory_peak=peak << 20, **same) for peak in range(1001, 1013)]
    (live.cwd / "rows.jsonl").write_text("".join(map(written, rows)), encoding="utf-8")
    live.ok("history", "import", "rows.jsonl", "--format", "jsonl", "--store")
    names = ("--name", "align", "--repository", "lab", "--mem-mb", "4096")
    running = live.ok("submit", *names, *SLEEP).strip()
    until(live, running, "state", value="RUNNING")
    said = "1.25 GiB of its 4 GiB: the p95 of its last 12 runs + 15 %"
    assert f"reserved: {said}\n" in live.ok("status", running)
    assert f"Reserved: {said}\n" in live.ok("explain", running)
    live.ok("submit", "--cpus", "2", *names, *SLEEP)
    last = live.ok("submit", "--priority", "-1", "--mem-mb", "3072", "--reserve", "cap", *SLEEP).strip()
    text = live.ok("status", last)
    assert "reserved: 3 GiB of its 3 GiB: all of it, as asked for with --reserve cap\n" in text
    assert "waits: needs 3 GiB of memory, 2.75 GiB are free; 1 job ahead\n" in text
    host = live.ok("host")
    assert "4 GiB in all: 1.25 GiB reserved" in host
    assert "no job starts while jobs use 3.6 GiB or more" in host
    assert "Admission:   measured: a job reserves by what its earlier runs used\n" in host
    assert "reserved: kept free for jobs that run" in host
    assert all(len(line) <= 80 for line in host.splitlines())
    found = live.json("host")
    assert 0 <= found["host_left_bytes"] <= found["host_limit_bytes"]
    assert found["memory_used_bytes"] < found["memory_reserved_bytes"] == 5 << 28
    assert found["outside"]


def test_a_host_that_was_short_of_memory_a_moment_ago_is_so_for_commands_too(queue: Queue) -> None:
    queue.ok("queue")
    told = Told(str(queue.state))
    limits = []
    for short in (False, True):
        told.tell({"a1": Reason(kind=Kind.STALLED)}, Remembered(short=short), now_ms())
        limits.append(queue.json("host")["host_limit_bytes"])
    total = host_memory().total_bytes
    half_a_margin = max(min(2 * GIB, total // 4), total // 16) // 2
    # What the host has available moves a little between two readings.
    assert limits[0] - limits[1] == pytest.approx(min(half_a_margin, limits[0]), abs=half_a_margin / 2)


def test_the_queue_fits_80_columns_and_nothing_steers_the_terminal(queue: Queue) -> None:
    (queue.cwd / "evil\x1b[31m").write_text("")
    queue.ok("submit", "--", "sh", "evil\x1b[31m", "x" * 200)
    queue.ok("submit", "--name", "long name " * 20, "--depends-on", "a1", "--", "true")
    text = queue.ok("queue") + queue.ok("status", "a1") + queue.ok("explain", "a2")
    assert "\x1b" not in text
    assert all(len(line) <= 80 for line in queue.ok("queue").splitlines())
    document = queue.json("queue")
    assert document["counts"] == {"PENDING": 2}
    assert {"usage", "resource_estimate", "environment"}.isdisjoint(document["jobs"][0])
    assert queue.ok("queue", "--limit", "1", "-q") == "a2\n"
    assert "not shown: 1 PENDING" in queue.ok("queue", "--limit", "1")
    assert queue.run("queue", "--watch").returncode == 2


def notes(queue: Queue) -> dict[str, str]:
    """The last column of the queue by the ids."""
    head, *lines = queue.ok("queue").splitlines()
    return {line.split()[0]: line[head.index("NOTE") :] for line in lines}


def test_a_selection_that_no_job_is_in_says_so(queue: Queue) -> None:
    queue.ok("submit", "--", "true")
    ended = queue.run("queue", "--name", "no such name")
    assert "no job to show; vq queue --all shows every job\n" in ended.stderr
    assert ended.stdout == ""


def test_the_status_says_in_words_what_a_job_waits_for_and_how_often_it_starts(queue: Queue) -> None:
    queue.ok("submit", "--array", "2", "--", "true")
    text = queue.ok("status", queue.ok("submit", "--depends-on", "a1", "--retry", "2", "--", "true").strip())
    assert "after: a1, once it has completed\n" in text
    assert "retry: up to 2 times, after a plain failure\n" in text
    text = queue.ok("status", queue.ok("submit", "--depends-on-any", "a2", "--", "true").strip())
    assert "after: a2, once it has ended, however\n" in text


def test_what_is_not_shown_is_counted_of_what_was_asked_for(queue: Queue) -> None:
    queue.ok("submit", "--array", "3", "--name", "many", "--tag", "t", "--", "true")
    queue.ok("submit", "--array", "2", "--", "true")
    for words in (("--name", "many"), ("--tag", "t"), ("--tag", "t", "--state", "pending")):
        assert "not shown" not in queue.ok("queue", *words)
        assert queue.ok("queue", "--limit", "1", *words).endswith("\nnot shown: 2 PENDING\n")
    assert queue.ok("queue", "--limit", "1").endswith("\nnot shown: 4 PENDING\n")
    assert queue.ok("queue", "--state", "running") == ""
    assert queue.json("queue", "--name", "many", "--limit", "1")["counts"] == {"PENDING": 5}


@pytest.mark.parametrize("word", ["pending", "Pending", "PD", "waiting", "queued"])
def test_a_state_may_be_named_as_in_other_queues(queue: Queue, word: str) -> None:
    job = queue.ok("submit", "--", "true")
    assert queue.ok("queue", "-q", "--state", word) == job
    assert queue.ok("queue", "-q", "--state", "CD") == ""


@pytest.mark.parametrize(
    ("word", "instead"),
    [
        ("done", "completed is with exit code 0"),
        ("paused", "--state running"),
        ("held", "--state pending"),
        ("odd", "is not one of 'pending', 'running', 'completed'"),
    ],
)
def test_a_word_that_is_no_state_is_told_what_to_ask_for(queue: Queue, word: str, instead: str) -> None:
    assert instead in queue.refused("queue", "--state", word)


def test_the_queue_says_of_each_job_why_it_waits(live: Queue) -> None:
    running = live.ok("submit", "--cpus", "2", "--mem-mb", "2048", "--reserve", "cap", *SLEEP).strip()
    until(live, running, "state", value="RUNNING")
    large = live.ok("submit", "--mem-mb", "3072", "--reserve", "cap", *SLEEP).strip()
    cpus = live.ok("submit", "--mem-mb", "100", *SLEEP).strip()
    array = live.ok("submit", "--mem-mb", "64", "--array", "3%1", *SLEEP).split()
    after = live.ok("submit", "--depends-on", running, "--", "true").strip()
    live.ok("submit", "--not-before", "2031-05-06T14:00", "--", "true")
    held = live.ok("submit", *SLEEP).strip()
    live.ok("pause", held)
    until(live, held, "held", value=True)
    expected = {
        running: "",
        large: "memory (needs 3 GiB)",
        cpus: "CPUs (needs 1)",
        array[0]: "CPUs (needs 1)",
        array[1]: "array limit (1 at once)",
        array[2]: "array limit (1 at once)",
        after: f"after {running}",
        "a8": "not before 05-06 14:00",
        held: "held",
    }
    end = time.monotonic() + 30
    while (found := notes(live)) != expected:
        assert time.monotonic() < end, found
    reasons = {job["id"]: job["reason"] for job in live.json("queue")["jobs"]}
    assert reasons[large] == live.json("explain", large)["reason"]
    assert reasons[array[2]] == live.json("explain", array[2])["reason"]
    assert reasons[running] is None
    for job in (large, array[2], after, "a8", held):
        assert live.status(job)["reason"] == reasons[job]
    live.ok("daemon", "drain")
    assert notes(live) == {
        **dict.fromkeys((large, cpus, *array), "drained"),
        **{job: expected[job] for job in (running, after, "a8", held)},
    }
    live.ok("daemon", "resume")


def test_a_queue_that_nobody_serves_says_so(queue: Queue) -> None:
    queue.ok("submit", "--", "true")
    queue.ok("submit", "--depends-on", "a1", "--", "true")
    assert notes(queue) == {"a1": "no daemon", "a2": "after a1"}
    assert "no daemon runs, so nothing starts: vq daemon start\n" in queue.run("queue").stderr
    assert queue.json("queue")["jobs"][0]["reason"] is None


def test_a_queue_in_which_all_wait_for_a_time_says_that_nobody_serves_it(queue: Queue) -> None:
    queue.ok("submit", "--not-before", "+2h", "--", "true")
    assert "no daemon runs, so nothing starts: vq daemon start\n" in queue.run("queue").stderr
    queue.ok("daemon", "start")
    try:
        assert "no daemon" not in queue.run("queue").stderr
    finally:
        queue.ok("daemon", "stop")


def test_a_watched_queue_is_shown_again_and_again_until_an_interrupt(queue: Queue) -> None:
    queue.ok("submit", "--name", "watched", "--", "true")
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [VQ, "queue", "--watch"], cwd=queue.cwd, env=queue.environment, stdout=theirs, stderr=theirs, stdin=theirs
    ) as watching:
        os.close(theirs)
        shown = b""
        while shown.count(b"watched") < 2:
            shown += os.read(ours, 4096)
        watching.send_signal(signal.SIGINT)
        assert watching.wait(60) == 130
    os.close(ours)


def test_a_watched_queue_shows_as_many_jobs_as_the_screen_has_lines_for(queue: Queue) -> None:
    queue.ok("submit", "--array", "40", "--", "true")
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (12, 80))
    plain = {**queue.environment, "NO_COLOR": "1"}
    with subprocess.Popen(
        [VQ, "queue", "--watch"], cwd=queue.cwd, env=plain, stdout=theirs, stderr=theirs, stdin=theirs
    ) as watching:
        os.close(theirs)
        shown = b""
        while shown.count(b"not shown") < 2:
            shown += os.read(ours, 4096)
        watching.send_signal(signal.SIGINT)
        assert watching.wait(60) == 130
    os.close(ours)
    screens = shown.decode().split("\033[H\033[J")
    assert screens[0] == "\033[?1049h"
    lines = screens[1].splitlines()
    assert len(lines) < 12
    assert lines[0].endswith("  0 running, 40 waiting  (Ctrl-C ends)")
    assert lines[1].startswith("ID ")
    assert lines[2].startswith("a1 ")
    assert lines[-2:] == ["not shown: 34 PENDING", "no daemon runs, so nothing starts: vq daemon start"]


def test_a_kill_says_what_is_about_to_happen(live: Queue) -> None:
    live.ok("submit", *SLEEP)
    until(live, "a1", "state", value="RUNNING")
    assert live.ok("kill", "a1", "--now") == "a1  RUNNING, ending\n"
    live.run("wait", "a1")
    assert live.json("queue")["counts"] == {"KILLED": 1}


def test_both_peaks_are_shown_with_what_goes_by_them(live: Queue) -> None:
    live.ok("submit", "--wait", "--", "true")
    said = live.ok("status", "a1")
    assert "(the whole job, without files; limits go by it)\n" in said
    assert "(with files; estimates go by it)\n" in said


def test_the_status_of_a_job_is_in_groups_with_units(live: Queue) -> None:
    live.ok("submit", "--wait", "--time", "90", "--tag", "t", "--name", "n", "--repository", "r", "--", "true")
    text = live.ok("status", "a1")
    assert all(len(line) <= 80 for line in text.splitlines() if not line.startswith(("folder: ", "std")))
    groups = [[line.split(":")[0] for line in group.splitlines()] for group in text.split("\n\n")]
    assert groups[0] == ["id", "name", "state"]
    assert groups[1][:2] == ["command", "folder"]
    assert groups[2] == ["cpus", "mem_mb", "reserved", "wall_time"]
    assert groups[3] == ["submitted", "started", "ended"]
    assert groups[4] == ["peak", "largest process", "cpu time"]
    assert groups[5] == ["stdout", "stderr"]
    assert "name: n (r)\n" in text
    assert "wall_time: 1:30:00 (as asked for)\n" in text
    assert re.search(r"^mem_mb: \d+ \(its share of the host\)$", text, re.MULTILINE)
    # These two are named so in what is asked of the queue; all else is in words.
    assert [key for group in groups for key in group if "_" in key] == ["mem_mb", "wall_time"]
    assert re.search(r"^started: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+ \(waited [0-9.]+ s\)$", text, re.MULTILINE)
    assert re.search(r"^ended: .* \(ran [0-9.]+ s\)$", text, re.MULTILINE)
    shown = live.ok("status", "a1", "--show-env")
    assert shown.startswith(text + "\n")
    assert "\nenv: LC_ALL=C.UTF-8\n" in shown


HOG = "x = bytearray(300 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1"


def test_who_waits_for_a_job_is_told_what_became_of_it_and_what_helps(live: Queue) -> None:
    words = ("--mem-mb", "100", "--", sys.executable, "-c", HOG)
    submitted, run = live.run("submit", "--wait", *words), live.run("run", *words)
    assert (submitted.returncode, submitted.stdout) == (1, "a1\n")
    assert run.returncode == 1
    for ended, job in ((submitted, "a1"), (run, "a2"), (live.run("wait", "a1"), "a1")):
        found = re.search(rf"^{job} OOM_KILLED: (.*)\n  next: (.*)\n", ended.stderr, re.MULTILINE)
        assert found is not None, ended.stderr
        assert found[1].startswith("met its memory limit of 100 MiB (as asked for); it was seen to use ")
        assert found[2] == f"vq resubmit {job} --mem-mb 200"
    assert "\nnext: vq resubmit a1 --mem-mb 200\n" in live.ok("status", "a1")
    assert live.run("wait", "a1", "-q").stderr == live.run("wait", "a1", "--json").stderr == ""
    failed = live.run("submit", "--wait", "--", "sh", "-c", "exit 3")
    assert (failed.returncode, failed.stderr.splitlines()[-2:]) == (3, ["a3 FAILED: exit code 3", "  next: vq logs a3"])
    assert "FAILED" not in live.run("run", "--", "sh", "-c", "exit 3").stderr
    assert "Why:      exit code 3\nNext:     vq logs a4\n" in live.ok("explain", "a4")
    explained = live.ok("explain", "a1")
    assert "\nNext:     vq resubmit a1 --mem-mb 200\n" in explained
    assert "JOB" not in explained
    completed = live.run("submit", "--wait", "--", "true")
    assert completed.returncode == 0
    assert "next" not in completed.stderr
    slow = live.run("submit", "--wait", "--wall-time-seconds", "1", *SLEEP)
    assert slow.stderr.endswith(
        "a6 TIME_EXCEEDED: stopped at its time limit of 0:00:01\n  next: vq resubmit a6 --time 0:00:02\n"
    )


def test_a_program_that_is_not_there_is_told_by_run(live: Queue) -> None:
    ended = live.run("run", "--", "no-such-program")
    assert ended.returncode == 127
    assert "\na1 FAILED: no-such-program cannot be run: " in ended.stderr


def test_of_many_jobs_the_first_that_did_not_complete_are_told(live: Queue) -> None:
    jobs = live.ok("submit", "--array", "7", "--", "false").split()
    said = live.run("wait", *jobs).stderr
    assert said.count(" FAILED: exit code 1\n") == 5
    assert said.endswith("and 2 more did not complete: vq queue\n")


def test_a_configuration_that_is_wrong_hides_no_end(queue: Queue) -> None:
    queue.ok("daemon", "start")
    queue.run("submit", "--wait", "--", "false")
    queue.ok("daemon", "stop")
    (queue.root / "config" / "vq" / "config.toml").write_text("[host]\ncpus = 0\n")
    assert (queue.run("wait", "a1").returncode, queue.run("status", "a1").returncode) == (1, 0)
    assert "next: vq logs a1\n" in queue.ok("status", "a1")


def test_a_queue_that_drains_says_so(live: Queue) -> None:
    said = "the queue drains: nothing starts until vq daemon resume\n"
    assert said not in live.run("daemon", "status").stderr
    live.ok("daemon", "drain")
    assert live.run("daemon", "status").stderr == said
    assert live.run("queue").stderr.endswith(said)
    assert live.run("daemon", "resume").stderr == "jobs start again as there is room\n"
    assert said not in live.run("queue").stderr


def test_results_are_fetched_whole_or_not_at_all(live: Queue) -> None:
    script = "mkdir -p out/deep; echo 1 > out/deep/a.log; echo 2 > b.txt; ln -s b.txt link; mkfifo pipe"
    live.ok("submit", "--wait", "--", "sh", "-c", script)
    ended = live.run("fetch", "a1", "-o", "results")
    assert ended.returncode == 0
    assert "pipe: left out" in ended.stderr
    results = live.cwd / "results"
    assert (results / "out" / "deep" / "a.log").read_text() == "1\n"
    assert (results / "link").readlink() == Path("b.txt")
    assert live.json("fetch", "a1", "-o", "some", "--only", "*.log")["files"] == 1
    assert sorted(str(path.relative_to(live.cwd / "some")) for path in (live.cwd / "some").rglob("*")) == [
        "out",
        "out/deep",
        "out/deep/a.log",
    ]
    (live.cwd / "link").symlink_to("some")
    for words in (("-o", "results"), ("-o", "link"), ("-o", "other", "--only", "nothing")):
        assert live.run("fetch", "a1", *words).returncode == 1
    assert not (live.cwd / "other").exists()
    nowhere = live.run("fetch", "a1")
    assert (nowhere.returncode, nowhere.stderr) == (2, "vq: error: where to is not said\n  vq fetch a1 -o results\n")
    waits, killed = live.ok("submit", "--not-before", "+2h", "--array", "2", "--", "true").split()
    live.ok("kill", killed)
    live.run("wait", killed)
    assert live.run("fetch", waits, "-o", "none").stderr.endswith(f"has no workspace yet\n  vq wait {waits}\n")
    assert live.run("fetch", killed, "-o", "none").stderr == (
        f"vq: error: {killed} ended without having started, and left nothing\n  vq explain {killed}\n"
    )


def test_a_purge_removes_what_no_job_needs_and_keeps_the_history(live: Queue) -> None:
    (live.cwd / "work").mkdir()
    (live.cwd / "work" / "f").write_text("x")
    live.ok("submit", "--wait", "-d", "work", "--idempotency-key", "k", "--", "true")
    live.ok("submit", "--not-before", "+2h", "-d", "work", "--", "true")
    live.ok("submit", "--wait", "--", "true")
    dry = live.json("purge", "--older-than", "0s")
    assert (dry["jobs"], dry["workspaces"], dry["payloads"], dry["dry_run"]) == (["a1", "a3"], 2, 0, True)
    assert (live.state / "workspaces" / "a1").is_dir()
    assert live.json("purge", "--older-than", "0s", "--yes")["workspaces"] == 2
    assert not (live.state / "workspaces" / "a1").exists()
    assert live.status("a1")["usage"] is not None
    assert live.run("logs", "a1").returncode == 1
    lines = dict(line.split(": ", 1) for line in live.ok("status", "a1").splitlines() if ": " in line)
    assert all(lines[key].endswith(" (not there)") for key in ("folder", "stdout", "stderr"))
    assert "the workspace of a1 is gone: it was purged" in live.run("fetch", "a1", "-o", "gone").stderr
    live.ok("resubmit", "a1")
    live.ok("wait", "a4")
    live.ok("kill", "a2")
    live.run("wait", "a2")
    assert live.json("purge", "--older-than", "0s", "--records", "--yes")["payloads"] == 1
    assert live.run("status", "a1").returncode == 2
    assert len(live.ok("history", "export").splitlines()) == 3
    again = json.loads(live.ok("submit", "-d", "work", "--idempotency-key", "k", "--json", "--", "true"))
    assert (again["jobs"], again["existing"]) == ([{"id": "a1", "state": None}], True)


def test_what_was_purged_cannot_start_again_and_what_was_left_over_goes(live: Queue) -> None:
    (live.cwd / "f.py").write_text("")
    live.ok("submit", "--wait", "f.py")
    left_over = live.state / "snapshots" / ("0" * 64)
    left_over.mkdir()
    live.ok("purge", "--older-than", "0s", "--yes")
    assert not left_over.exists()
    ended = live.run("resubmit", "a1")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "the payload of a1 was purged" in ended.stderr


def test_an_element_that_is_submitted_anew_keeps_its_index(queue: Queue) -> None:
    queue.ok("submit", "--array", "3", "--depends-on-any", queue.ok("submit", "--", "true").strip(), "--", "true")
    assert queue.ok("resubmit", "a3") == "a5\n"
    again = json.loads(queue.ok("status", "a5", "--show-env", "--json"))
    assert (again["array"], again["depends_on"], again["parent"]) == (None, [], "a3")
    assert (again["environment"]["VQ_ARRAY_INDEX"], again["environment"]["VQ_ARRAY_TOTAL"]) == ("1", "3")


def test_a_job_is_submitted_anew_with_what_is_given_and_else_as_it_was(queue: Queue) -> None:
    queue.ok("submit", "--cpus", "1", "--mem-mb", "100", "--priority", "3", "--name", "one", "--", "true")
    kept = ("cpus", "mem_mb", "mem_mb_source", "wall_time_seconds", "priority", "name")
    for words, found in (
        ((), (1, 100, "explicit", None, 3, "one")),
        (("--cpus", "2", "--mem", "1G"), (2, 1024, "explicit", None, 3, "one")),
        (("--priority", "0", "--time", "2h"), (1, 100, "explicit", 7200, 0, "one")),
    ):
        again = queue.status(queue.ok("resubmit", "a1", *words).strip())
        assert tuple(again[key] for key in kept) == found
    assert "--cpus: 3 CPUs are more" in queue.refused("resubmit", "a1", "--cpus", "3")


def test_a_job_submitted_anew_starts_from_what_was_submitted_and_not_from_what_it_left(live: Queue) -> None:
    (live.cwd / "work").mkdir()
    (live.cwd / "work" / "f").write_text("submitted\n")
    first = live.ok("submit", "--wait", "-d", "work", "--", "sh", "-c", "cat f; ls; echo left > f; touch g").strip()
    again = live.ok("resubmit", first).strip()
    live.ok("wait", again)
    assert live.ok("logs", again) == live.ok("logs", first) == "submitted\nf\n"


def test_what_was_measured_is_summed_up_and_collected(live: Queue) -> None:
    (live.cwd / "estimate.json").write_text(json.dumps(receipt(2**30)))
    submit = ("submit", "--wait", "--mem-mb", "200", "--estimate", "estimate.json", "--name", "n", "--")
    live.ok(*submit, "sleep", "0.5")
    assert live.run(*submit, "false").returncode == 1
    live.ok("submit", "--estimate", "estimate.json", "--not-before", "+2h", "--", "true")
    live.ok("kill", "a3")
    live.run("wait", "a3")
    live.ok("submit", "--estimate", "estimate.json", "--depends-on", "a2", "--", "true")
    (name,) = live.json("usage", "--name", "n")["names"]
    assert (name["runs"], name["asked_bytes"]) == (2, 200 * 2**20)
    assert 0 < name["peak_p50_bytes"] <= name["peak_max_bytes"]
    summary = live.json("estimate-collect", "set-1", "--hardware-class", "class-a")
    assert summary == {
        "set_id": "set-1",
        "out": "set-1",
        "cases": 3,
        "skipped": [{"job": "a4", "reason": "no_evaluable_outcome"}],
    }
    cases = json.loads((live.cwd / "set-1" / "set.json").read_text())["cases"]
    assert [(case["case_id"], case["outcome"], case["usage"]) for case in cases] == [
        ("a1", "completed", "usage/a1.json"),
        ("a2", "failed", "usage/a2.json"),
        ("a3", "killed", None),
    ]
    assert live.json("estimate-evaluate", "set-1/set.json")["set"]["set_id"] == "set-1"
    assert live.run("estimate-collect", "set-1", "--hardware-class", "class-a").returncode == 1
    assert live.run("estimate-collect", "a b", "--hardware-class", "class-a").returncode == 2
    live.ok("estimate-collect", "a b", "--hardware-class", "class-a", "--set-id", "ab")


def test_a_tag_of_the_submission_divides_what_is_collected(live: Queue) -> None:
    (live.cwd / "estimate.json").write_text(json.dumps(receipt(2**30)))
    for tags in (("training",), ("held-out", "training"), ("held-out",), ()):
        words = [word for tag in tags for word in ("--tag", tag)]
        live.ok("submit", "--wait", "--estimate", "estimate.json", *words, "--", "true")
    for tag, jobs in (("training", ["a1", "a2"]), ("held-out", ["a2", "a3"])):
        live.ok("estimate-collect", tag, "--hardware-class", "class-a", "--tag", tag)
        cases = json.loads((live.cwd / tag / "set.json").read_text())["cases"]
        assert [case["case_id"] for case in cases] == jobs
    ended = live.run("estimate-collect", "none", "--hardware-class", "class-a", "--tag", "other")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "no job with the tag other that ended" in ended.stderr
    assert not (live.cwd / "none").exists()


@pytest.mark.parametrize("fired", ["oom", "time"])
def test_a_limit_that_fired_stands_in_the_case(live: Queue, fired: str) -> None:
    (live.cwd / "estimate.json").write_text(json.dumps(receipt(2**20)))
    code = "x = bytearray(200 << 20); x[::4096] = b'x' * len(x[::4096])" if fired == "oom" else "while True: pass"
    limits = ("--mem-mb", "64") if fired == "oom" else ("--mem-mb", "200", "--wall-time-seconds", "1")
    live.run("submit", "--wait", *limits, "--estimate", "estimate.json", "--", sys.executable, "-c", code)
    live.ok("estimate-collect", "out", "--hardware-class", "class-a")
    (case,) = json.loads((live.cwd / "out" / "set.json").read_text())["cases"]
    if fired == "oom":
        assert case["outcome"] == "oom_killed"
        assert (case["memory_limit_bytes"], case["memory_limit_scope"]) == (64 << 20, "job")
    else:
        assert (case["outcome"], case["wall_limit_seconds"]) == ("time_exceeded", 1)
        assert "memory_limit_bytes" not in case


def test_submissions_are_checked_against_what_the_daemon_goes_by(live: Queue) -> None:
    config = live.root / "config" / "vq" / "config.toml"
    config.write_text(config.read_text().replace('"4G"', '"1G"'))
    waits = ("--mem-mb", "2000", "--not-before", "+2h", "--", "true")
    job = live.ok("submit", *waits).strip()
    live.ok("daemon", "stop")
    assert "1024 MiB fit" in live.refused("submit", *waits)
    assert live.status(job)["mem_mb"] == 2000


def test_the_host_and_the_configuration_are_shown(queue: Queue) -> None:
    host = queue.json("host")
    assert (host["memory_max_bytes"], host["cpus"], host["running"]) == (4 << 30, 2, 0)
    shown = queue.json("config", "show")
    assert shown["values"]["host.memory_max"] == 4 << 30
    assert shown["sources"]["host.memory_max"]["where"].endswith("config.toml:4")
    path = str(queue.root / "config" / "vq" / "config.toml")
    assert queue.ok("config", "path") == f"{path}\n"
    text = queue.ok("config", "show")
    assert text.endswith(f"\n\nFile: {path}\n")
    assert re.search(r"^hooks\.on_end +- +default$", text, re.MULTILINE)
    none = queue.run("config", "show", XDG_CONFIG_HOME=str(queue.root / "other")).stdout
    assert none.endswith(f"File: none, so all are defaults; it would be {queue.root}/other/vq/config.toml\n")
    found = {finding["what"]: finding for finding in queue.json("doctor")["findings"]}
    assert found["daemon"]["fix"] == "vq daemon start"
    assert found["configuration"]["state"] == "ok"
    (queue.root / "config" / "vq" / "config.toml").write_text("[host]\ncpus = 0\n")
    assert queue.run("doctor").returncode == 1


def test_a_submission_starts_a_daemon_where_it_may(queue: Queue) -> None:
    (queue.root / "config" / "vq" / "config.toml").write_text("")
    ended = queue.run("submit", "--", "true")
    try:
        assert "started the daemon" in ended.stderr
        queue.ok("wait", "a1", "--timeout", "30")
    finally:
        queue.ok("daemon", "stop")


def test_a_job_that_submits_another_starts_no_daemon_that_would_end_with_it(live: Queue) -> None:
    (live.root / "config" / "vq" / "config.toml").write_text("")
    os.mkfifo(live.cwd / "fifo")
    script = f"echo begun; read word < {live.cwd}/fifo; {VQ} submit -- true; {VQ} daemon start"
    live.ok("submit", "--", "sh", "-c", script)
    wait_until(lambda: live.run("logs", "a1").stdout == "begun\n", "the job has begun")
    live.ok("daemon", "stop")
    (live.cwd / "fifo").write_text("go\n")
    result = live.state / "attempts" / "a1.1" / "result.json"
    wait_until(result.exists, "the job has ended")
    assert live.run("daemon", "status").returncode == 1
    live.ok("daemon", "start")
    live.ok("wait", "a2", "--timeout", "30")
    said = live.run("logs", "a1", "--err").stderr
    assert "submitted, but no daemon could be started: started by a job, a daemon would end with it" in said
    assert "vq: error: started by a job" in said
