from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from queue_commands import VQ, Queue


def test_a_job_is_accepted_while_no_daemon_runs(queue: Queue) -> None:
    ended = queue.run("submit", "--", "sleep", "60")
    assert (ended.returncode, ended.stdout) == (0, "a1\n")
    assert "no daemon runs" in ended.stderr
    record = queue.status("a1")
    assert (record["state"], record["command"], record["name"]) == ("PENDING", ["sleep", "60"], "sleep")
    assert (record["repository"], record["host"], record["payload_sha256"]) == ("here", "localhost", None)


def test_what_stands_on_the_command_line_stands_in_the_record(queue: Queue) -> None:
    first = queue.ok("submit", "--", "true").strip()
    words = (
        "submit localhost --cpus 2 --mem-mb 300 --time 1:30:00 --priority 5 --retry 2 --oom-retry max --auto-resume"
        " --name n --workflow w --repository o/r --tag x --tag y --reserve cap --not-before 2030-01-01T00:00+00:00"
        f" --depends-on-any {first} --json -- echo hello"
    ).split()
    document = json.loads(queue.ok(*words))
    assert document == {
        "jobs": [{"id": "a2", "state": "PENDING"}],
        "host": "localhost",
        "existing": False,
        "warnings": [],
    }
    record = queue.status("a2")
    expected = {
        "cpus": 2,
        "mem_mb": 300,
        "mem_mb_source": "explicit",
        "wall_time_seconds": 5400,
        "wall_time_source": "explicit",
        "priority": 5,
        "retry": 2,
        "oom_retry_mb": 4096,
        "auto_resume": True,
        "name": "n",
        "workflow": "w",
        "repository": "o/r",
        "tags": ["x", "y"],
        "reserve": "cap",
        "not_before": 1893456000000,
        "depends_on": [{"job": first, "kind": "ended"}],
        "waiting_for": [first],
    }
    assert {key: record[key] for key in expected} == expected


def test_without_a_limit_a_job_gets_its_profiles_or_its_share_of_the_host(queue: Queue) -> None:
    ended = queue.run("submit", "--", "true")
    assert "memory limit: 2 GiB, its share of the host" in ended.stderr
    queue.ok("submit", "--profile", "small", "--", "true")
    share, profile = queue.status("a1"), queue.status("a2")
    assert (share["mem_mb"], share["mem_mb_source"], share["cpus"]) == (2048, None, 1)
    assert (profile["mem_mb"], profile["mem_mb_source"], profile["cpus"]) == (100, "profile", 2)


def test_a_script_is_copied_in_and_the_rest_are_its_arguments(queue: Queue) -> None:
    (queue.cwd / "job.sh").write_text("#!/bin/bash -e\n")
    (queue.cwd / "plain.py").write_text("print()\n")
    queue.ok("submit", "job.sh", "--cpus", "3")
    queue.ok("submit", "--cpus", "2", "localhost", "--mem-mb", "50", "plain.py")
    script, plain = queue.status("a1"), queue.status("a2")
    assert script["command"] == ["/bin/bash", "-e", "job.sh", "--cpus", "3"]
    assert (script["cpus"], script["name"]) == (1, "job.sh")
    assert (plain["command"], plain["cpus"], plain["mem_mb"]) == (["python3", "plain.py"], 2, 50)
    assert plain["payload_sha256"] is not None
    assert (queue.state / "snapshots" / plain["payload_sha256"] / "plain.py").read_text() == "print()\n"


def test_a_script_that_is_not_there_is_told_from_a_command(queue: Queue) -> None:
    (queue.cwd / "work").mkdir()
    (queue.cwd / "work" / "relax.sh").write_text("")
    (queue.cwd / "train.py").write_text("")
    assert "to run a command, put -- before it: vq submit -- ls -la" in queue.refused("submit", "ls", "-la")
    assert "vq submit -- sh -c 'sleep 3'\n" in queue.refused("submit", "sleep 3")
    absent = queue.refused("submit", "other.sh")
    assert f"there is no script other.sh: no such file, looked for from {queue.cwd}\n" in absent
    assert "-d" in absent
    assert "did you mean train.py?" in queue.refused("submit", "trian.py")
    assert "did you mean relax.sh?" in queue.refused("submit", "work/relx.sh")
    inside = queue.refused("submit", "-d", "work", "rlax.sh")
    assert f"looked for from {queue.cwd} or work\n  did you mean relax.sh?" in inside
    assert "vq submit -d work -- COMMAND" in queue.refused("submit", "work")


def test_a_folder_and_an_archive_of_it_are_one_payload(queue: Queue) -> None:
    folder = queue.cwd / "work"
    folder.mkdir()
    (folder / "run.py").write_text("print()\n")
    with tarfile.open(queue.cwd / "work.tar.gz", "w:gz") as archive:
        archive.add(folder, ".")
    queue.ok("submit", "-d", "work", "--", "python3", "run.py")
    queue.ok("submit", "--compressed", "work.tar.gz", "--", "python3", "run.py")
    queue.ok("submit", "-d", "work", "work/run.py")
    digests = {queue.status(job)["payload_sha256"] for job in ("a1", "a2", "a3")}
    assert [path.name for path in (queue.state / "snapshots").iterdir()] == list(digests)
    assert queue.status("a3")["command"] == ["python3", "run.py"]
    assert list((queue.state / "staging").iterdir()) == []


def test_here_runs_in_the_current_folder(queue: Queue) -> None:
    queue.ok("submit", "--here", "--", "./anything")
    record = queue.status("a1")
    assert (record["here"], record["cwd"], record["payload_sha256"]) == (True, str(queue.cwd), None)


def test_an_array_and_a_list_are_accepted_whole(queue: Queue) -> None:
    (queue.cwd / "list").write_text(
        "# jobs\n\necho 'a b'\n" + json.dumps({"command": ["x"], "mem-mb": 7, "time": 90, "tag": ["own"]}) + "\n"
    )
    assert queue.ok("submit", "--array", "3%2", "--", "true").split() == ["a1", "a2", "a3"]
    assert queue.ok("submit", "--from-file", "list", "--mem-mb", "9", "--wall-time-seconds", "5").split() == [
        "a4",
        "a5",
    ]
    assert queue.status("a3")["array"] == {"group": "a1", "index": 2, "total": 3}
    plain, own = queue.status("a4"), queue.status("a5")
    assert (plain["command"], plain["mem_mb"], plain["wall_time_seconds"]) == (["echo", "a b"], 9, 5)
    assert (own["command"], own["mem_mb"], own["wall_time_seconds"], own["tags"]) == (["x"], 7, 5400, ["own"])


def test_a_list_is_refused_at_the_line_that_is_wrong(queue: Queue) -> None:
    queue.ok("queue")
    for line, said in (
        ('{"command": ["x"], "memory": 5}', "memory"),
        ('{"command": ["x"], "mem-mb": [5]}', "mem-mb"),
        ('{"command": []}', "command"),
        ('{"command": ["x"], "command": ["y"]}', "once"),
        ("echo 'open", "quot"),
        ("echo a && b", "shell"),
    ):
        (queue.cwd / "list").write_text(f"true\n{line}\n")
        ended = queue.run("submit", "--from-file", "list")
        assert ended.returncode in (1, 2)
        assert ended.stderr.startswith("vq: error: list:2: ")
        assert said in ended.stderr
    (queue.cwd / "list").write_text("\n# nothing\n")
    queue.refused("submit", "--from-file", "list", status=1)


def test_a_memory_limit_is_written_the_same_way_everywhere(queue: Queue) -> None:
    for number, written in enumerate(("1536", "1.5G", "1536MiB", "1572864k"), start=1):
        queue.ok("submit", "--mem-mb", written, "--oom-retry", "2GiB", "--", "true")
        queue.run("submit", "--from-file", "-", stdin=json.dumps({"command": ["true"], "mem": written}))
        queue.run("submit", "--mem", written, "--from-file", "-", stdin="true\n")
        queue.ok("resubmit", "a1", "--mem", written)
        assert {queue.status(f"{'a' if job < 10 else 'b'}{job}")["mem_mb"] for job in range(1, 4 * number + 1)} == {
            1536
        }
    queue.run("submit", "--from-file", "-", stdin='{"command": ["true"], "mem-mb": 64, "oom-retry": "1G"}')
    assert queue.status("b17")["mem_mb"] == 64


def test_what_is_no_memory_limit_is_refused_with_an_example(queue: Queue) -> None:
    queue.ok("submit", "--mem-mb", "64", "--", "true")
    said = 'expected a number of MiB (4000) or a size (4G, 1.5GiB, 512M), from 1 to 8589934591 MiB, found "{}"'
    for written in ("4X", "1.5", "0", "much"):
        for option in ("--mem-mb", "--mem"):
            for words in (("submit", option, written, "--", "true"), ("edit", "a1", option, written)):
                refusal = queue.refused(*words)
                assert said.format(written) in refusal
                assert option in refusal
    counted = queue.refused("submit", "--mem", "1G", "--oom-retry", "2", "--", "true")
    assert "--oom-retry: 2 MiB are no more than the first limit of 1024 MiB" in counted
    assert "it is the limit of one more start, and not how often: give a larger one, such as 2048" in counted
    assert "such as max, or" in queue.refused("submit", "--mem", "3G", "--oom-retry", "2", "--", "true")
    assert 'MiB, or max, found "maximum"' in queue.refused("submit", "--oom-retry", "maximum", "--", "true")
    assert queue.status("a1")["mem_mb"] == 64


def test_a_refusal_names_what_was_written(queue: Queue) -> None:
    for line, said in (
        ('{"command": ["x"], "cpus": 99}', "list:2: $.cpus: 99 CPUs are more"),
        ('{"command": ["x"], "mem": "64T"}', "list:2: $.mem: 67108864 MiB are more"),
        ('{"command": ["x"], "mem-mb": 0}', 'list:2: $["mem-mb"]: expected a number of MiB'),
        ('{"command": ["x"], "mem-mb": 5, "mem": 5}', 'list:2: $["mem-mb"] and $.mem both say what the limit is'),
        ('{"command": ["x"], "time": "soon"}', "list:2: $.time: 'soon' is no time limit"),
        ('{"command": ["x"], "time-limit": 5, "time": 5}', 'list:2: $.time and $["time-limit"] both say'),
        ('{"command": ["x"], "priority": 9007199254740992}', "list:2: $.priority: expected"),
        ('{"command": ["x"], "tag": [""]}', "list:2: $.tag"),
        ('{"command": ["x"], "env": ["A"]}', "list:2: $.env: expected NAME=VALUE"),
        ('{"command": ["x"], "reserve": "all"}', "list:2: $.reserve: expected measured or cap"),
        ('{"command": ["x"], "depends-on": ["job"]}', 'list:2: $["depends-on"]: '),
        ('{"command": ["x"], "not-before": "soon"}', 'list:2: $["not-before"]: '),
        ('{"command": ["x"], "profile": "huge"}', "list:2: $.profile: there is no profile 'huge'"),
        ('{"command": ["x"], "mem-mb": 100, "oom-retry": 50}', 'list:2: $["oom-retry"]: 50 MiB are no more'),
        ('{"command": ["x"], "mem-from-estimate": true}', 'list:2: $["mem-from-estimate"] needs --estimate'),
        ("./beside", "list:2: ./beside is here, but not in the folder"),
    ):
        (queue.cwd / "beside").write_text("")
        (queue.cwd / "list").write_text(f"true\n{line}\n")
        ended = queue.run("submit", "--from-file", "list")
        assert ended.returncode in (1, 2)
        assert said in ended.stderr, ended.stderr
    (queue.cwd / "list").write_text("true\n")
    for option, said in (
        (("--cpus", "99"), "list:1: --cpus: 99 CPUs are more"),
        (("--oom-retry", "0"), "list:1: --oom-retry: expected a number of MiB"),
        (("--time", "soon"), "list:1: --time: 'soon' is no time limit"),
    ):
        assert said in queue.refused("submit", *option, "--from-file", "list")
    assert "vq: error: --time: 'soon' is no time limit" in queue.refused("submit", "--time", "soon", "--", "true")
    assert "vq: error: --not-before: 'soon' is no time" in queue.refused("submit", "--not-before", "soon", "--", "true")


def test_what_a_script_says_to_slurm_is_not_read_and_that_is_said(queue: Queue) -> None:
    script = "#!/bin/sh\n#SBATCH --mem=300M --time=1-00:00:00\n#SBATCH --partition=long\ntrue\n"
    (queue.cwd / "job.sh").write_text(script)
    said = (
        "job.sh: vq does not read its #SBATCH lines (lines 2 to 3); the same in options: --mem 300M "
        "--time 1-00:00:00; no option is the same for --partition=long\n"
    )
    for words in ((), ("-d", "."), ("--here",), ("--json",)):
        assert said in queue.run("submit", *words, "job.sh").stderr
    assert said.replace("job.sh", "./job.sh", 1) in queue.run("submit", "-d", ".", "./job.sh").stderr
    assert queue.status("a1")["wall_time_seconds"] is None
    assert "#SBATCH" not in queue.run("submit", "-q", "job.sh").stderr
    said = queue.run("submit", "-d", ".", "job.sh", "x y").stderr
    (line,) = (line for line in said.splitlines() if line.startswith("  with them: "))
    assert line == "  with them: vq submit --mem 300M --time 1-00:00:00 -d . job.sh 'x y'"
    pasted = queue.run(*shlex.split(line.partition(": vq ")[2]))
    record = queue.status(pasted.stdout.strip())
    assert (record["mem_mb"], record["wall_time_seconds"], record["command"][-1]) == (300, 86_400, "x y")
    assert "with them" not in pasted.stderr
    for also in (("--mem-mb", "9", "--wall-time-seconds", "9"), ("--mem", "9", "--time", "9")):
        assert "with them" not in queue.run("submit", *also, "job.sh").stderr
    (queue.cwd / "job.sh").write_text("#!/bin/sh\n# nothing\ntrue\n")
    assert "#SBATCH" not in queue.run("submit", "job.sh").stderr
    (queue.cwd / "job.sh").write_text("#!/bin/sh\n" + "#\n" * 40_000 + "#SBATCH -c 2\n")
    assert "#SBATCH" not in queue.run("submit", "job.sh").stderr


def test_what_makes_many_jobs_of_a_script_is_told_as_a_submission(live: Queue) -> None:
    (live.cwd / "many.sh").write_text("#!/bin/sh\n#SBATCH --array=0-3\n#SBATCH -c 1\n")
    assert "  with them: vq submit --array 4 --cpus 1 many.sh x\n" in live.run("run", "many.sh", "x").stderr


def test_another_document_than_an_estimate_is_told_as_what_it_is(queue: Queue) -> None:
    queue.ok("submit", "--", "true")
    (queue.cwd / "cal.json").write_text('{"schema_name": "vq.estimate-calibration/1"}')
    refusal = queue.refused("submit", "--estimate", "cal.json", "--", "true", status=1)
    assert "this is a calibration; expected is an estimate, which vq estimate makes" in refusal


def test_a_range_of_slurm_is_refused_with_the_array_that_it_is(queue: Queue) -> None:
    for written, said in (
        ("0-9%2", "write --array 10%2, with the same indexes"),
        ("1-10", "write --array 10, VQ_ARRAY_INDEX + 1 is then what the index was"),
        ("1,3,5", "write how many jobs (N)"),
        ("9-0", "write how many jobs (N)"),
    ):
        assert said in queue.refused("submit", "--array", written, "--", "true")


def test_a_list_comes_on_standard_input(queue: Queue) -> None:
    assert queue.run("submit", "--from-file", "-", stdin="true\necho 'a b'\n").stdout.split() == ["a1", "a2"]
    assert queue.status("a2")["command"] == ["echo", "a b"]
    ended = queue.run("submit", "--from-file", "-", stdin="true\necho 'open\n")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("vq: error: standard input:2: ")
    assert queue.run("submit", "--from-file", "-", stdin="").returncode == 1


def test_the_environment_is_kept_apart_and_shown_when_asked_for(queue: Queue) -> None:
    queue.run("submit", "--env", "A=1", "--", "true", MARK="x", VQ_ATTEMPT="of another job")
    queue.ok("submit", "--clean-env", "--env", "A=2", "--", "true")
    assert "environment" not in queue.status("a1")
    full = json.loads(queue.ok("status", "a1", "--show-env", "--json"))["environment"]
    clean = json.loads(queue.ok("status", "a2", "--show-env", "--json"))["environment"]
    assert (full["A"], full["MARK"]) == ("1", "x")
    assert "VQ_ATTEMPT" not in full
    assert clean["A"] == "2"
    assert set(clean) <= {"A", "PATH", "HOME", "USER", "LOGNAME", "SHELL"}


def test_one_key_is_one_job(queue: Queue) -> None:
    first = json.loads(queue.ok("submit", "--idempotency-key", "k", "--name", "n", "--json", "--", "true"))["jobs"]
    again = json.loads(queue.ok("submit", "--idempotency-key", "k", "--name", "n", "--json", "--", "true"))
    assert (again["jobs"], again["existing"]) == (first, True)
    assert "stands for another submission" in queue.refused("submit", "--idempotency-key", "k", "--", "true", status=1)


def test_two_processes_at_once_make_one_job_of_one_key(queue: Queue) -> None:
    queue.ok("queue")
    words = [VQ, "submit", "--idempotency-key", "k", "--json", "--", "true"]
    started = [
        subprocess.Popen(words, cwd=queue.cwd, env=queue.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for _ in range(4)
    ]
    documents = [json.loads(process.communicate(timeout=60)[0]) for process in started]
    assert {document["jobs"][0]["id"] for document in documents} == {"a1"}
    assert sorted(document["existing"] for document in documents) == [False, True, True, True]


REFUSED = {
    "no command": ("submit",),
    "an empty command": ("submit", "--"),
    "no script": ("submit", "nothing.sh"),
    "a file that nothing runs": ("submit", "notes.txt"),
    "a program that is only here": ("submit", "--", "./run"),
    "a program without a slash that is only here": ("submit", "--", "run"),
    "a word before --": ("submit", "elsewhere", "--", "true"),
    "two folders": ("submit", "-d", ".", "--here", "--", "true"),
    "two time limits": ("submit", "--time", "1", "--wall-time-seconds", "1", "--", "true"),
    "no time": ("submit", "--time", "0", "--", "true"),
    "too much memory": ("submit", "--mem-mb", "4097", "--", "true"),
    "too many CPUs": ("submit", "--cpus", "3", "--", "true"),
    "no CPUs": ("submit", "--cpus", "0", "--", "true"),
    "no such profile": ("submit", "--profile", "other", "--", "true"),
    "a small --oom-retry": ("submit", "--mem-mb", "100", "--oom-retry", "100", "--", "true"),
    "no such job": ("submit", "--depends-on", "a9", "--", "true"),
    "no id": ("submit", "--depends-on", "9", "--", "true"),
    "no moment": ("submit", "--not-before", "soon", "--", "true"),
    "no array": ("submit", "--array", "0", "--", "true"),
    "nothing at once": ("submit", "--array", "4%0", "--", "true"),
    "no key": ("submit", "--idempotency-key", "-", "--", "true"),
    "a key for an array": ("submit", "--idempotency-key", "k", "--array", "2", "--", "true"),
    "a name that steers terminals": ("submit", "--name", "a\x1b[31m", "--", "true"),
    "no variable": ("submit", "--env", "A", "--", "true"),
    "a list and a command": ("submit", "--from-file", "list", "--", "true"),
    "a command for a shell in a list": ("submit", "--from-file", "list"),
    "a limit from no estimate": ("submit", "--mem-from-estimate", "--", "true"),
}


@pytest.mark.parametrize("words", REFUSED.values(), ids=REFUSED)
def test_wrong_usage_is_refused_and_leaves_nothing(queue: Queue, words: tuple[str, ...]) -> None:
    (queue.cwd / "notes.txt").write_text("notes\n")
    (queue.cwd / "run").write_text("#!/bin/sh\n")
    (queue.cwd / "list").write_text("echo fine\necho a > b\n")
    queue.ok("submit", "-d", ".", "--", "true")
    said = queue.refused(*words)
    assert said.startswith("vq: error: ")
    assert "\x1b" not in said


def test_bad_payloads_are_refused_and_leave_nothing(queue: Queue) -> None:
    (queue.cwd / "work").mkdir()
    queue.ok("submit", "-d", "work", "--", "true")
    (queue.cwd / "work" / "loop").symlink_to("nowhere")
    (queue.cwd / "link").symlink_to("work")
    (queue.cwd / "broken.tar").write_bytes(b"no archive")
    for words in (("-d", "absent"), ("-d", "link"), ("--compressed", "broken.tar"), ("-d", str(queue.root))):
        assert queue.refused("submit", *words, "--", "true", status=1).startswith(f"vq: error: {words[1]}")


def test_bytes_that_are_no_text_are_refused(queue: Queue) -> None:
    queue.ok("queue")
    before = queue.everything()
    for words, environment in (
        ([VQ.encode(), b"submit", b"--", b"echo", b"\xff"], {}),
        ([VQ.encode(), b"submit", b"--name", b"\xff", b"--", b"echo"], {}),
        ([VQ.encode(), b"submit", b"--", b"echo"], {b"BAD": b"\xff"}),
    ):
        full = {key.encode(): value.encode() for key, value in queue.environment.items()} | environment
        ended = subprocess.run(words, cwd=queue.cwd, env=full, capture_output=True, timeout=60, check=False)
        assert ended.returncode == 2
        assert b"UTF-8" in ended.stderr
        assert queue.everything() == before


def test_a_file_left_behind_is_warned_of(queue: Queue) -> None:
    (queue.cwd / "calc.py").write_text("")
    ended = queue.run("submit", "--json", "--", "python3", "calc.py")
    assert ended.returncode == 0
    assert "-d . brings this folder along" in json.loads(ended.stdout)["warnings"][0]


def test_the_name_and_the_repository_are_found(queue: Queue, tmp_path: Path) -> None:
    git = tmp_path / "tree" / ".git"
    git.mkdir(parents=True)
    (git / "config").write_text('[core]\n\turl = no\n[remote "origin"]\n\turl = git@host.example:owner/name.git\n')
    inside = Queue(queue.root, git.parent)
    for words, name in (
        (("bash", "-lc", "x"), "bash"),
        (("python3.11", "-u", "a/b.py"), "b.py"),
        (("/x/y", "z"), "y"),
        (("/usr/bin/env", "A=1", "bash", "-e", "c.sh"), "c.sh"),
    ):
        job = inside.ok("submit", "--", *words).strip()
        assert (inside.status(job)["name"], inside.status(job)["repository"]) == (name, "owner/name")


SLOW_TO_LOAD = [
    *("numpy", "rich", "http", "urllib.request", "socketserver", "asyncio", "tarfile"),
    *("logging", "lzma", "pathlib", "random", "shutil", "string", "subprocess", "tempfile"),
    *("importlib.metadata", "importlib.resources", "tomllib", "unittest", "sortedcontainers", "rfc8785"),
    *("vq.admission", "vq.estimates", "vq.hosts", "vq.readings", "vq.supervisor"),
    *("vq.jobs.events", "vq.jobs.intent", "vq.jobs.lifecycle"),
]
"""What takes a good part of a millisecond of each start, and no quick verb needs in its usual form."""

LOADED = """
import json, sys
import click
before = set(sys.modules)
from vq.cli import run
status = run(sys.argv[2:])
slow = json.loads(sys.argv[1])
loaded = set(sys.modules) - before
found = {name for name in loaded if name in slow or name.rpartition(".")[0] in slow}
sys.exit(f"{status} {sorted(found)}" if status or found else 0)
"""


@pytest.mark.parametrize("words", [("submit", "--", "true"), ("queue",), ("status", "a1")], ids=lambda words: words[0])
def test_the_quick_verbs_load_little(live: Queue, words: tuple[str, ...]) -> None:
    live.ok("submit", "--wait", "--", "true")
    ended = subprocess.run(
        [sys.executable, "-c", LOADED, json.dumps(SLOW_TO_LOAD), *words],
        cwd=live.cwd,
        env=live.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


SHORT = """
import atexit, gc, os, sys
from vq.__main__ import main
sys.argv[0] = "vq"
atexit.register(os.write, 2, b"taken apart\\n")
gc.collect()
gc.callbacks.append(lambda phase, about: os.write(2, b"collected\\n"))
main()
"""


@pytest.mark.parametrize("words", [("submit", "--", "true"), ("queue",), ("status", "a1")], ids=lambda words: words[0])
def test_the_quick_verbs_clear_nothing_away(live: Queue, words: tuple[str, ...]) -> None:
    live.ok("submit", "--wait", "--", "true")
    ended = subprocess.run(
        [sys.executable, "-c", SHORT, *words],
        cwd=live.cwd,
        env=live.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ended.stdout
    assert "collected" not in ended.stderr
    assert "taken apart" not in ended.stderr
