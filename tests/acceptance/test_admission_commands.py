"""The installed commands of admission: history import, predict, simulate, advise."""

from __future__ import annotations

import gzip
import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from histories import GIB, HOUR, met, run
from queue_commands import Queue
from vq.formats.jsonl import written

VQ = str(Path(sys.executable).parent / "vq")
DATA = Path(__file__).parents[1] / "data"
CASES = DATA / "admission" / "replay.jsonl.gz"
SAMPLES = DATA / "formats"
TRACES = Path(__file__).parents[3] / "shared" / "data" / "traces"


def vq(*arguments: str, cwd: Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run([VQ, *arguments], cwd=cwd, capture_output=True, text=True, check=False)
    assert ended.returncode == status, ended.stderr
    return ended


def answer(*arguments: str, cwd: Path) -> Any:
    return json.loads(vq(*arguments, "--json", cwd=cwd).stdout)


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Fifteen runs of a job of 100 MiB under a limit of 1 GiB, queued together, an hour each; one met its limit."""
    rows = [run(cpu_cap=2000, started_at=0, finished_at=HOUR) for _ in range(15)]
    rows += [met(name="greedy", started_at=0, finished_at=HOUR)]
    (tmp_path / "rows.jsonl").write_text("".join(map(written, rows)), encoding="utf-8")
    return tmp_path


IMPORTS = {
    "trace.txt": ("nextflow", 3, {"cached, not run": 1, "no memory peak": 1}),
    "sacct.txt": ("sacct", 4, {"not ended": 1, "no memory peak": 1}),
    "log.swf": ("swf", 2, {"no memory peak": 1}),
}


@pytest.mark.parametrize("name", IMPORTS)
def test_a_sample_of_each_format_is_imported(name: str, tmp_path: Path) -> None:
    form, rows, left_out = IMPORTS[name]
    found = answer("history", "import", str(SAMPLES / name), "--format", form, "-o", "rows.jsonl", cwd=tmp_path)
    assert found["rows"] == rows
    assert {reason["reason"]: reason["count"] for reason in found["left_out"]} == left_out
    assert found["unread"] == []
    lines = (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == rows
    assert all(json.loads(line)["repository"] == Path(name).stem for line in lines)


def test_rows_imported_again_are_the_same(history: Path) -> None:
    vq("history", "import", "rows.jsonl", "--format", "jsonl", "-o", "again.jsonl", cwd=history)
    assert (history / "again.jsonl").read_bytes() == (history / "rows.jsonl").read_bytes()


def test_a_table_is_mapped(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("tool,mb,at,state\na,3,5,ok\nb,,5,ok\n", encoding="utf-8")
    maps = ("name=tool", "memory_peak=mb:MB", "queued_at=at:s", "succeeded=state:ok", "page_cache==true")
    options = [part for rule in maps for part in ("--map", rule)]
    shown = vq("history", "import", "jobs.csv", "--format", "csv", "-o", "rows.jsonl", *options, cwd=tmp_path).stdout
    assert "Rows:       1 of 2 records" in shown
    assert "1 no memory peak (the first at line 3)" in shown
    row = json.loads((tmp_path / "rows.jsonl").read_text(encoding="utf-8"))
    assert (row["memory_peak"], row["queued_at"], row["page_cache"]) == (3 << 20, 5000, True)


def test_a_bad_record_is_named_by_file_and_line_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text(written(run()) + "{}\n", encoding="utf-8")
    arguments = ("history", "import", "rows.txt", "--format", "jsonl", "-o", "rows.jsonl")
    said = vq(*arguments, cwd=tmp_path, status=1).stderr
    assert "rows.txt: line 2: $.repository: expected this key, which is missing" in said
    assert "--skip-bad" in said
    assert [path.name for path in tmp_path.iterdir()] == ["rows.txt"]
    found = answer(*arguments, "--skip-bad", cwd=tmp_path)
    assert (found["rows"], found["unread"][0]["count"], found["unread"][0]["first_line"]) == (1, 1, 2)


def test_an_import_without_a_row_is_an_error_that_says_why(tmp_path: Path) -> None:
    (tmp_path / "sacct.txt").write_text("JobID|JobName|Submit|Start|End|State|MaxRSS\n1|a|||||\n", encoding="utf-8")
    said = vq(
        "history", "import", "sacct.txt", "--format", "sacct", "--skip-bad", "-o", "rows.jsonl", cwd=tmp_path, status=1
    ).stderr
    assert "expected a record of a run that ended, with its peak; expected a state of Slurm in column State: 1" in said
    assert not (tmp_path / "rows.jsonl").exists()


def test_an_import_never_overwrites(history: Path) -> None:
    before = (history / "rows.jsonl").read_bytes()
    said = vq("history", "import", "rows.jsonl", "--format", "jsonl", "-o", "rows.jsonl", cwd=history, status=1).stderr
    assert "never overwritten" in said
    assert (history / "rows.jsonl").read_bytes() == before


def test_a_likely_unit_error_is_reported(tmp_path: Path) -> None:
    rows = [run(memory_peak=600 * GIB, memory_cap=GIB), run(memory_peak=600 * GIB, memory_cap=GIB), run()]
    (tmp_path / "in.jsonl").write_text("".join(map(written, rows)), encoding="utf-8")
    ended = vq("history", "import", "in.jsonl", "--format", "jsonl", "-o", "out.jsonl", "--json", cwd=tmp_path)
    assert "likely a unit error: 2 of 3 peaks with a limit lie over 500 times that limit" in ended.stderr
    assert json.loads(ended.stdout)["likely_unit_error"] is True


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--format", "csv"), "--map and --format csv go together"),
        (("--format", "sacct", "--map", "name=a"), "--map and --format csv go together"),
        (("--format", "csv", "--map", "name"), "expected FIELD=COLUMN[:UNIT] or FIELD==VALUE"),
        (("--format", "jsonl", "--repository", ""), "--repository: expected 1 to 4096 characters"),
        (("--format", "xml"), "is not one of"),
    ],
)
def test_an_import_that_cannot_be_is_wrong_usage(arguments: tuple[str, ...], why: str, history: Path) -> None:
    said = vq("history", "import", "rows.jsonl", "-o", "out.jsonl", *arguments, cwd=history, status=2).stderr
    assert why in said


@pytest.mark.parametrize(
    ("name", "why"), [(".", "is a directory"), ("fifo", "not a regular file"), ("x", "no such file")]
)
def test_what_is_no_file_of_records_is_named(name: str, why: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    said = vq("history", "import", name, "--format", "jsonl", "-o", "rows.jsonl", cwd=tmp_path, status=1).stderr
    assert f"{name}: " in said
    assert why in said


def test_predictions_of_all_jobs_and_of_one(history: Path) -> None:
    every = answer("predict", "--history", "rows.jsonl", cwd=history)["predictions"]
    assert [job["name"] for job in every] == ["job", "greedy"]
    assert every[0] == {
        "repository": "o/r",
        "workflow": "w",
        "name": "job",
        "profile": "small",
        "memory": GIB // 4,
        "basis": {"kind": "job", "runs": 15},
        "cpu": 500,
        "cpu_basis": {"kind": "job", "runs": 15},
    }
    shown = vq("predict", "--history", "rows.jsonl", "--name", "job", cwd=history).stdout
    assert "256 MiB: the p95 of its last 15 runs + 15 %" in shown
    assert "15 runs, peaks: half up to 100 MiB" in shown
    table = vq("predict", "--history", "rows.jsonl", cwd=history).stdout
    assert "PROFILE" in table
    bases = {found["basis"]["kind"] for found in every}
    assert {line.split(":")[0] for line in table.split("\n\n")[-1].splitlines()} == bases


def test_a_hold_is_in_force_at_its_time(history: Path) -> None:
    arguments = ("predict", "--history", "rows.jsonl", "--name", "greedy", "--at")
    assert answer(*arguments, str(HOUR), cwd=history)["predictions"][0]["basis"]["kind"] == "unpredictable"
    assert answer(*arguments, "2026-11-30", cwd=history)["predictions"][0]["basis"]["kind"] != "unpredictable"


def test_a_job_never_seen_goes_by_its_profile(history: Path) -> None:
    arguments = ("predict", "--history", "rows.jsonl", "--name", "new", "--copies", "several")
    (found,) = answer(*arguments, "--mem-cap", "2GiB", "--cpus", "1.5", cwd=history)["predictions"]
    assert (found["repository"], found["workflow"], found["profile"]) == ("o/r", None, "small")
    assert (found["memory"], found["basis"]["kind"]) == (5 * GIB // 4, "profile-max")
    assert "no runs" in vq(*arguments, cwd=history).stdout


def test_a_whole_identity_is_one_job_whose_workflow_is_none_unless_named(history: Path) -> None:
    arguments = ("predict", "--history", "rows.jsonl", "--name", "job", "--repository", "o/r", "--profile", "small")
    (unknown,) = answer(*arguments, cwd=history)["predictions"]
    assert (unknown["workflow"], unknown["basis"]["kind"]) == (None, "profile-max")
    (known,) = answer(*arguments, "--workflow", "w", cwd=history)["predictions"]
    assert (known["workflow"], known["basis"]["kind"]) == ("w", "job")


def test_limits_come_from_the_setup_where_rows_say_none(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(written(run(memory_cap=None)), encoding="utf-8")
    setup = {"profiles": {"small": {"memory": 2 * GIB, "cpus": 3}, "big": {"memory": 4 * GIB, "cpus": 8}}}
    (tmp_path / "setup.json").write_text(json.dumps(setup), encoding="utf-8")
    arguments = ("predict", "--history", "rows.jsonl", "--setup", "setup.json", "--name")
    assert answer(*arguments, "job", cwd=tmp_path)["predictions"][0]["memory"] == 2 * GIB
    assert answer(*arguments, "new", "--profile", "big", cwd=tmp_path)["predictions"][0]["cpu"] == 8000
    assert "more than one profile" in vq(*arguments, "new", cwd=tmp_path, status=2).stderr
    assert "no profile huge" in vq(*arguments, "new", "--profile", "huge", cwd=tmp_path, status=2).stderr
    assert (
        "no job of the history matches"
        in vq("predict", "--history", "rows.jsonl", "--setup", "setup.json", "--workflow", "x", cwd=tmp_path).stdout
    )
    said = vq("predict", "--history", "rows.jsonl", cwd=tmp_path, status=1).stderr
    assert "rows.jsonl: expected a memory limit for profile small" in said


def cases() -> list[dict[str, Any]]:
    with gzip.open(CASES, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_simulate_gives_the_given_answers(tmp_path: Path) -> None:
    keys = (
        "margin", "min_jobs", "profiles", "memory_max", "cpu_budget", "slots", "mirror", "caps", "dispatch",
        "barrier_after_ms", "cpu_admission",
    )  # fmt: skip
    for number, case in enumerate(cases()[:12]):
        rows, setup = tmp_path / f"{number}.jsonl", tmp_path / f"{number}.json"
        rows.write_text("".join(json.dumps(row) + "\n" for row in case["rows"]), encoding="utf-8")
        setup.write_text(json.dumps({key: case[key] for key in keys}), encoding="utf-8")
        found = answer("simulate", str(rows), "--setup", str(setup), "--policy", case["policy"], cwd=tmp_path)
        assert found == {"results": [{"policy": case["policy"], "replay": case["expected"]}]}


def test_simulate_compares_policies_in_a_table_and_a_sentence(history: Path) -> None:
    refused = vq("simulate", "rows.jsonl", "--memory-max", "4", cwd=history, status=2)
    assert "4 would be 4 bytes; write 4GiB or 4MiB" in refused.stderr
    ended = vq("simulate", "rows.jsonl", "--memory-max", "4GiB", cwd=history)
    assert "4 GiB, no CPU budget" in ended.stdout
    assert "\ncaps " in ended.stdout
    assert "\nmeasured " in ended.stdout
    assert ended.stdout.startswith("By measured peaks, 16 jobs would have waited")
    assert "\n\nBudget: " in ended.stdout
    assert all(len(line) <= 80 for line in ended.stdout.splitlines())
    one = vq("simulate", "rows.jsonl", "--memory-max", "4GiB", "--policy", "caps", cwd=history).stdout
    assert "\nmeasured " not in one
    assert "By measured peaks" not in one


def test_simulate_takes_the_setup_from_options_over_its_file(history: Path) -> None:
    (history / "setup.json").write_text('{"memory_max": 1, "barrier_after_ms": 1, "cpu_budget": 1}', encoding="utf-8")
    options = ["--memory-max", "4GiB", "--cpu-budget", "8", "--barrier", "off", "--caps", "profile"]
    options += ["--dispatch", "pool", "--cpu-admission", "measured", "--profile", "small=2GiB:4:3"]
    shown = vq("simulate", "rows.jsonl", "--setup", "setup.json", *options, cwd=history).stdout
    for expected in (
        "4 GiB, 8 CPUs",
        "small: 2 GiB, 4 CPUs, 3 slots",
        "limits of the profile, dispatch pool, barrier off, CPU by measured",
    ):
        assert expected in " ".join(shown.split())
    assert "barrier 10 min" in " ".join(vq("simulate", "rows.jsonl", "--barrier", "10m", cwd=history).stdout.split())


def test_simulate_says_which_rows_it_leaves_out(tmp_path: Path) -> None:
    rows = [run(), run(cancelled=True, succeeded=False), run(profile="other"), run(started_at=None)]
    (tmp_path / "rows.jsonl").write_text("".join(map(written, rows)), encoding="utf-8")
    said = vq("simulate", "rows.jsonl", "--profile", "small=1GiB:2", cwd=tmp_path).stderr
    left_out = "1 cancelled or timed out; 1 of a profile not configured; 1 without the times of a run"
    assert f"rows left out: {left_out}" in said
    assert "no memory budget" in said


def test_simulate_writes_each_start_and_a_picture(history: Path) -> None:
    vq(
        "simulate", "rows.jsonl", "--memory-max", "4GiB", "--jobs", "jobs.jsonl", "--plot", "replay.svg", cwd=history
    )  # fmt: skip
    starts = [json.loads(line) for line in (history / "jobs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [start["policy"] for start in starts] == ["caps"] * 16 + ["measured"] * 16
    assert all(start["started_at"] - start["queued_at"] == start["wait_ms"] for start in starts)
    assert starts[0]["basis"] == {"kind": "cap"}
    assert (history / "replay.svg").read_text(encoding="utf-8").startswith("<?xml")
    said = vq("simulate", "rows.jsonl", "--jobs", "jobs.jsonl", cwd=history, status=1).stderr
    assert "jobs.jsonl: exists already" in said


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--memory-max", "lots"), "expected a size such as"),
        (("--memory-max", "-"), "expected a size such as"),
        (("--cpu-budget", "some"), "expected a number of CPUs"),
        (("--barrier", "soon"), "expected a duration such as"),
        (("--profile", "small"), "expected NAME=MEM:CPUS[:SLOTS]"),
        (("--profile", "small=1GiB:x"), "expected NAME=MEM:CPUS[:SLOTS]"),
        (("--profile", f"small=1GiB:{'9' * 5000}"), "expected NAME=MEM:CPUS[:SLOTS]"),
        (("--memory-max", "4\N{KELVIN SIGN}"), "expected a size such as"),
        (("--plot", "replay.png"), "ends in .svg"),
        (("--jobs", "a.svg", "--plot", "a.svg"), "name the same file"),
    ],
)
def test_simulate_refuses_wrong_usage(arguments: tuple[str, ...], why: str, history: Path) -> None:
    assert why in vq("simulate", "rows.jsonl", *arguments, cwd=history, status=2).stderr


def test_a_profile_beyond_all_bounds_is_named(history: Path) -> None:
    said = vq("simulate", "rows.jsonl", "--profile", "small=1GiB:2000000", cwd=history, status=1).stderr
    assert said.startswith("vq: error: $.profiles.small.cpus: expected an integer from 0 to 1000000")


def test_a_setup_that_is_none_is_named(history: Path) -> None:
    (history / "setup.json").write_text('{"margin": "15"}', encoding="utf-8")
    said = vq("simulate", "rows.jsonl", "--setup", "setup.json", cwd=history, status=1).stderr
    assert "setup.json: $.margin: expected an integer" in said


def test_advice_names_what_would_have_been_enough(history: Path) -> None:
    job, greedy = answer("advise", "--history", "rows.jsonl", cwd=history)["advice"]
    assert (job["name"], job["peak"], job["asked"], job["enough"]) == ("job", 100 << 20, GIB, 5 * GIB // 4)
    assert (greedy["held"], greedy["enough"]) == (True, None)
    shown = vq("advise", "--history", "rows.jsonl", cwd=history).stdout
    assert "\n\nENOUGH is the largest peak + " in shown
    assert "at least + 1 GiB for page cache" in " ".join(shown.split())
    assert "Why 1 GiB more, even for a small job: a peak is measured without the files" in " ".join(shown.split())
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert "1280" in shown
    assert "none: it met its limit" in shown


def test_without_any_advice_no_column_is_empty(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(written(run()), encoding="utf-8")
    ended = vq("advise", "--history", "rows.jsonl", cwd=tmp_path)
    assert "nothing to advise" in ended.stderr
    assert "Why 1 GiB more" not in ended.stdout
    assert ended.stdout.splitlines()[0].split()[-2:] == ["FOR", "ENOUGH"]


def test_another_tools_records_in_place_of_rows_lead_to_the_import(tmp_path: Path) -> None:
    (tmp_path / "sacct.txt").write_text("JobID|JobName\n", encoding="utf-8")
    for words in (("simulate", "sacct.txt"), ("advise", "--history", "sacct.txt")):
        said = vq(*words, cwd=tmp_path, status=1).stderr
        assert said.endswith(
            "\n  another tool's records become rows by: vq history import FILE --format FORMAT -o rows.jsonl\n"
        )
    (tmp_path / "rows.jsonl").write_text(written(run()) + "{}\n", encoding="utf-8")
    assert "another tool" not in vq("advise", "--history", "rows.jsonl", cwd=tmp_path, status=1).stderr


@pytest.mark.parametrize("command", ["predict", "simulate", "advise"])
def test_without_a_file_and_a_history_the_error_says_what_to_do(command: str, queue: Queue) -> None:
    ended = queue.run(command)
    assert ended.returncode == 1
    assert "no history of its own yet" in ended.stderr
    assert "vq history import" in ended.stderr


@pytest.fixture
def taught(queue: Queue, history: Path) -> Queue:
    """A queue that has the runs of `history` in its own, in its default profile, and one that was cancelled."""
    rows = [*(history / "rows.jsonl").read_text().splitlines(), written(run(cancelled=True, finished_at=HOUR)).strip()]
    (queue.cwd / "rows.jsonl").write_text("\n".join(rows), encoding="utf-8")
    queue.ok("history", "import", "rows.jsonl", "--format", "jsonl", "--profile", "default", "--store")
    return queue


def test_the_rows_of_a_file_become_the_history_of_the_queue_once(taught: Queue) -> None:
    command = ("history", "import", "rows.jsonl", "--format", "jsonl", "--profile", "default", "--store")
    assert "0 rows; 17 were there already" in taught.ok(*command)
    found = taught.json(*command)
    assert (found["rows"], found["added"], found["known"], found["output"]) == (17, 0, 17, None)
    exported = taught.ok("history", "export")
    assert len(exported.splitlines()) == 17
    (taught.cwd / "exported.jsonl").write_text(exported, encoding="utf-8")
    assert taught.json("history", "import", "exported.jsonl", "--format", "jsonl", "--store")["added"] == 0


def test_an_import_says_whose_rows_they_are_and_how_to_undo_it(queue: Queue) -> None:
    table = "tool,peak,at,ok\nalign,1048576,1000,yes\n"
    (queue.cwd / "my runs.csv").write_text(table, encoding="utf-8")
    (queue.cwd / "more.csv").write_text(table + "sort,1048576,1000,yes\n", encoding="utf-8")
    columns = ("name=tool", "memory_peak=peak:b", "queued_at=at:ms", "succeeded=ok")
    rules = ("--format", "csv", "--store", *(word for column in columns for word in ("--map", column)))
    assert "my runs, the file's name; predictions go by it" in " ".join(
        (said := queue.ok("history", "import", "my runs.csv", *rules)).split()
    )
    assert "Undo:       vq history forget 'my runs.csv'\n" in said
    said = queue.ok("history", "import", "more.csv", *rules, "--repository", "lab")
    assert "Repository: lab\n" in said
    assert "Undo:" not in queue.ok("history", "import", "more.csv", *rules, "--repository", "lab")
    assert [line.split() for line in queue.ok("history", "imports").splitlines()] == [
        ["SOURCE", "ROWS", "FIRST", "LAST"],
        ["more.csv", "2", "1970-01-01", "1970-01-01"],
        ["my", "runs.csv", "1", "1970-01-01", "1970-01-01"],
    ]
    refusal = queue.refused("history", "forget", "accounting.txt")
    assert 'nothing was imported from "accounting.txt"' in refusal
    assert 'imported were "more.csv", "my runs.csv"' in refusal
    assert queue.ok("history", "forget", "more.csv") == "forgot 2 rows of more.csv\n"
    assert queue.json("history", "forget", "my runs.csv") == {"source": "my runs.csv", "forgotten": 1}
    assert queue.json("history", "imports") == {"imports": []}
    assert queue.ok("history", "export") == ""
    assert "own runs are never forgotten" in queue.refused("history", "forget", "my runs.csv")


def test_an_import_names_a_few_of_many_repositories(queue: Queue) -> None:
    for count, said in (
        (2, "Repository: r0, r1\n"),
        (3, "Repository: r0, r1, r2\n"),
        (5, "Repository: r0, r1, r2, …\n"),
    ):
        rows = "".join(written(run(repository=f"r{number}")) for number in range(count))
        (queue.cwd / "rows.jsonl").write_text(rows, encoding="utf-8")
        assert said in queue.ok("history", "import", "rows.jsonl", "--format", "jsonl", "-o", f"out-{count}.jsonl")


def test_rows_that_teach_nothing_here_and_rows_from_the_future_are_told(queue: Queue, history: Path) -> None:
    shutil.copy(history / "rows.jsonl", queue.cwd)
    ended = queue.run("history", "import", "rows.jsonl", "--format", "jsonl", "--profile", "gpu", "--store")
    assert ended.returncode == 0
    meaning, one, other = ended.stderr.splitlines()
    assert meaning.startswith('no profile is configured as "gpu": a job learns from rows of its own profile only')
    assert one.endswith("(default, small): vq history forget rows.jsonl, then import with --profile NAME")
    assert other == "  or configure [profiles.NAME] by the same name, and submit with --profile NAME"
    assert queue.ok("history", "forget", "rows.jsonl")
    again = queue.run("history", "import", "rows.jsonl", "--format", "jsonl", "--profile", "small", "--store")
    assert (again.returncode, again.stderr) == (0, "")
    (queue.cwd / "late.jsonl").write_text(written(run()) + written(run(finished_at=2**42)), encoding="utf-8")
    late = ("history", "import", "late.jsonl", "--format", "jsonl", "--store")
    assert "late.jsonl: line 2: expected a run that has ended" in queue.refused(*late, status=1)
    found = queue.json(*late, "--skip-bad")
    assert (found["added"], found["unread"]) == (
        1,
        [{"reason": "expected a run that has ended", "count": 1, "first_line": 2}],
    )
    for where in ((), ("--store", "-o", "out.jsonl")):
        assert "-o ROWS.jsonl, or --store" in queue.refused(
            "history", "import", "late.jsonl", "--format", "jsonl", *where
        )


def test_a_queue_predicts_and_advises_by_its_own_history(taught: Queue) -> None:
    job, greedy = taught.json("predict")["predictions"]
    assert (job["name"], job["memory"], job["basis"]) == ("job", 256 << 20, {"kind": "job", "runs": 15})
    assert (greedy["name"], greedy["basis"]["kind"]) == ("greedy", "profile")
    assert [advice["enough"] for advice in taught.json("advise")["advice"]] == [5 * GIB // 4, None]


def test_a_queue_replays_its_own_history_by_its_own_settings_with_and_without_its_cpus(taught: Queue) -> None:
    ended = taught.run("simulate")
    assert ended.returncode == 0
    assert "1 cancelled" in ended.stderr
    shown = ended.stdout
    assert "4 GiB, 2 CPUs" in shown
    assert "barrier 10 min" in shown
    assert "measured, any CPUs" in shown
    assert "CPUs are part of what jobs wait for" in " ".join(shown.split())
    (caps, measured), (_, free) = (
        [each["replay"]["most_running"] for each in taught.json("simulate", *more)["results"]]
        for more in ((), ("--cpu-admission", "off"))
    )
    assert caps == measured < free
    assert "any CPUs" not in taught.ok("simulate", "--cpu-admission", "off")


def test_a_bad_row_of_a_history_is_named(history: Path) -> None:
    with (history / "rows.jsonl").open("a", encoding="utf-8") as file:
        file.write("{}\n")
    for command in (("simulate", "rows.jsonl"), ("predict", "--history", "rows.jsonl")):
        assert "rows.jsonl: line 17: $.repository" in vq(*command, cwd=history, status=1).stderr


def test_long_work_shows_on_a_terminal_how_far_it_is(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(written(run()) * 5000, encoding="utf-8")
    ours, theirs = pty.openpty()
    with subprocess.Popen([VQ, "simulate", "rows.jsonl", "--json"], cwd=tmp_path, stdout=-3, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 4096):
                shown += piece
        except OSError:
            pass  # a terminal whose other end is closed
        assert process.wait() == 0
    os.close(ours)
    assert b"5,000 rows" in shown
    assert b"5,000 of 5,000 jobs started (measured)" in shown


def test_the_commands_load_nothing_heavy(history: Path) -> None:
    script = (
        "import sys; from vq.cli import run; run(['simulate', 'rows.jsonl', '--json']); "
        "print(sorted({'numpy', 'rich', 'asyncio', 'vq.plots'} & set(sys.modules)), file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", script], cwd=history, capture_output=True, text=True, check=True)
    assert ended.stderr.splitlines()[-1] == "[]"


@pytest.mark.skipif(not TRACES.is_dir(), reason="the real traces are not there")
@pytest.mark.parametrize(("name", "rows"), [("nextflow_iwd", 1661), ("nextflow_methylseq", 1011)])
def test_a_real_trace_is_imported(name: str, rows: int, tmp_path: Path) -> None:
    trace = TRACES / f"{name}.csv"
    found = answer("history", "import", str(trace), "--format", "nextflow", "-o", "rows.jsonl", cwd=tmp_path)
    assert (found["rows"], found["unread"], found["likely_unit_error"]) == (rows, [], False)


@pytest.mark.skipif(not TRACES.is_dir(), reason="the real traces are not there")
def test_the_real_galaxy_table_is_imported(tmp_path: Path) -> None:
    maps = (
        "name=tool", "memory_peak=mem_peak_bytes", "memory_cap=mem_limit_bytes", "page_cache==false",
        "queued_at=create_time", "started_at=start_epoch:s", "finished_at=end_epoch:s", "succeeded=state:ok",
    )  # fmt: skip
    options = [part for rule in maps for part in ("--map", rule)]
    table = str(TRACES / "galaxy_jobs.csv")
    found = answer("history", "import", table, "--format", "csv", "-o", "rows.jsonl", *options, cwd=tmp_path)
    assert (found["rows"], found["left_out"][0]["count"], found["likely_unit_error"]) == (3832, 591, False)
