from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from queue_commands import Queue, calibrated, receipt

INPUTS = (("calc.py", b"print()\n"), ("data/grid.dat", b"1 2 3\n"))
MIB = 2**20


@pytest.fixture
def inputs(queue: Queue) -> Path:
    folder = queue.cwd / "work"
    for name, data in INPUTS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    queue.ok("submit", "-d", "work", "--", "true")
    return folder


def write(queue: Queue, document: dict[str, Any], name: str = "estimate.json") -> str:
    (queue.cwd / name).write_text(json.dumps(document))
    return name


@pytest.mark.usefixtures("inputs")
def test_an_estimate_changes_nothing_but_the_estimate(queue: Queue) -> None:
    estimate = write(queue, calibrated(receipt(inputs=INPUTS)))
    plain = queue.ok("submit", "-d", "work", "--name", "n", "--", "./x").strip()
    with_it = queue.ok("submit", "-d", "work", "--name", "n", "--estimate", estimate, "--", "./x").strip()
    without, record = queue.status(plain), queue.status(with_it)
    differing = {key for key in record if record[key] != without[key]}
    # The second of two jobs may wait for what the first of them leaves.
    differing -= {"reason"}
    assert differing <= {"id", "queued_at", "eligible_at", "resource_estimate", "resource_estimate_calibration"}
    assert without["resource_estimate"] is None
    assert record["resource_estimate"] == receipt(inputs=INPUTS)
    expected = calibrated(receipt(inputs=INPUTS))
    del expected["estimate"]
    assert record["resource_estimate_calibration"] == expected


@pytest.mark.usefixtures("inputs")
def test_the_intent_has_the_estimate_only_where_one_is_attached(queue: Queue) -> None:
    estimate = write(queue, receipt(inputs=INPUTS))
    words = ("submit", "-d", "work", "--idempotency-key", "k")
    queue.ok(*words, "--", "./x")
    assert json.loads(queue.ok(*words, "--json", "--", "./x"))["existing"]
    queue.refused(*words, "--estimate", estimate, "--", "./x", status=1)


def test_inputs_match_whatever_brings_them(queue: Queue, inputs: Path) -> None:
    with tarfile.open(queue.cwd / "work.tar.xz", "w:xz") as archive:
        archive.add(inputs, "below")
    all_of_them = write(queue, receipt(inputs=INPUTS))
    script = write(queue, receipt(inputs=INPUTS[:1]), "script.json")
    none = write(queue, receipt(), "none.json")
    for words in (
        ("-d", "work", "--estimate", all_of_them, "--", "true"),
        ("--compressed", "work.tar.xz", "--estimate", all_of_them, "--", "true"),
        ("--estimate", script, "work/calc.py"),
        ("--estimate", none, "--", "true"),
        ("--here", "--estimate", none, "--", "true"),
    ):
        job = queue.ok("submit", *words).strip()
        assert queue.status(job)["resource_estimate"] is not None


def refusals() -> dict[str, tuple[dict[str, Any], tuple[str, ...], int]]:
    """Each refusal: the document, the words, and the exit status."""
    bound, plain = receipt(inputs=INPUTS), receipt()
    other = receipt(inputs=(("calc.py", b"other"),))
    slow = receipt(seconds=(1.0, 61.5))
    broken = {**plain, "input_digest": "0" * 64}
    lied = {**calibrated(plain), "calibrated_peak_bytes": 1}
    mem, time = "--mem-from-estimate", "--time-from-estimate"
    run = ("--", "true")
    return {
        "other inputs": (other, ("-d", "work", *run), 1),
        "inputs without a payload": (bound, run, 2),
        "inputs here": (bound, ("--here", *run), 2),
        "a receipt that contradicts itself": (broken, run, 1),
        "a calibration that contradicts itself": (lied, run, 1),
        "no estimate at all": ({"schema_name": "x"}, run, 1),
        "memory from a bare receipt": (plain, (mem, *run), 2),
        "memory from too few cases": (calibrated(plain, None), (mem, *run), 2),
        "memory of another scope": (calibrated(receipt(scope="node")), (mem, *run), 2),
        "memory given twice": (calibrated(plain), (mem, "--mem-mb", "5", *run), 2),
        "memory that the host never has": (calibrated(receipt(4 * 1024 * MIB)), (mem, *run), 2),
        "time from a bare receipt": (slow, (time, *run), 2),
        "time without an interval": (calibrated(plain), (time, *run), 2),
        "time that is not calibrated": (calibrated(slow), (time, *run), 2),
        "time given twice": (calibrated(slow, runtime=2.0), (time, "--time", "5", *run), 2),
        "time given twice in seconds": (calibrated(slow, runtime=2.0), (time, "--wall-time-seconds", "5", *run), 2),
    }


@pytest.mark.parametrize(("document", "words", "status"), refusals().values(), ids=refusals())
def test_a_refusal_leaves_nothing(
    queue: Queue, inputs: Path, document: dict[str, Any], words: tuple[str, ...], status: int
) -> None:
    assert inputs.is_dir()
    estimate = write(queue, document)
    key = ("--idempotency-key", "k")
    said = queue.refused("submit", *key, "--estimate", estimate, *words, status=status)
    assert said.startswith("vq: error: ")
    queue.ok("submit", *key, "--", "anything")


def test_a_link_is_no_input(queue: Queue, inputs: Path) -> None:
    (inputs / "calc.py").rename(queue.cwd / "calc.py")
    (inputs / "calc.py").symlink_to("../calc.py")
    estimate = write(queue, receipt(inputs=INPUTS))
    assert "calc.py" in queue.refused("submit", "-d", "work", "--estimate", estimate, "--", "true", status=1)


def test_an_estimate_of_many_bytes_is_refused(queue: Queue) -> None:
    queue.ok("queue")
    estimate = write(queue, {**receipt(), "warnings": ["x" * 256 * 1024]})
    assert "expected at most" in queue.refused("submit", "--estimate", estimate, "--", "true", status=1)


def test_limits_come_from_calibrated_figures_and_stay_with_a_resubmission(queue: Queue) -> None:
    document = calibrated(receipt(200_000_001, seconds=(1.0, 61.5)), 1.5, 2.0)
    estimate = write(queue, document)
    job = queue.ok(
        "submit", "--estimate", estimate, "--mem-from-estimate", "--time-from-estimate", "--", "true"
    ).strip()
    record = queue.status(job)
    assert record["mem_mb"] == -(-document["calibrated_peak_bytes"] // MIB) == 287
    assert record["wall_time_seconds"] == 180
    assert record["mem_mb_source"] == record["wall_time_source"] == "calibrated-estimate"
    lines = queue.ok("status", job).splitlines()
    assert "estimate: 191 MiB (job scope, some-program 1.0 RKS); calibrated 287 MiB (x1.5, class-a)" in lines
    assert "mem_mb: 287 (calibrated estimate)" in lines
    assert "wall_time: 0:03:00 (calibrated estimate)" in lines
    again, other = (
        queue.status(queue.ok("resubmit", job, *words).strip()) for words in ((), ("--mem-mb", "9", "--time", "1"))
    )
    kept = ("resource_estimate", "resource_estimate_calibration", "command", "payload_sha256", "name")
    assert all(again[key] == other[key] == record[key] for key in kept)
    limits = ("mem_mb", "mem_mb_source", "wall_time_seconds", "wall_time_source")
    assert all(again[key] == record[key] for key in limits)
    assert [other[key] for key in limits] == [9, "explicit", 60, "explicit"]
    assert again["parent"] == other["parent"] == job


def test_an_uncalibrated_estimate_says_why(queue: Queue) -> None:
    estimate = write(queue, calibrated(receipt(), None))
    job = queue.ok("submit", "--estimate", estimate, "--", "true").strip()
    assert "; not calibrated: too few cases\n" in queue.ok("status", job)


def test_nothing_to_collect_is_an_error_and_writes_nothing(queue: Queue) -> None:
    estimate = write(queue, receipt())
    queue.ok("submit", "--estimate", estimate, "--", "true")
    ended = queue.run("estimate-collect", "out", "--hardware-class", "class-a")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert sorted(path.name for path in queue.cwd.iterdir()) == ["estimate.json"]
