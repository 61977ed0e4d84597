"""Speed and memory of the estimates family, as ratios to a floor measured in the same run.

    python benchmarks/estimates.py [--cases 100000] [--runs 3] [--folder DIR] [WHAT ...]

Each figure is a whole process, the minimum of several runs; peak memory is the operating system's own account of it.
Floors: reading, `json.loads` and SHA-256 of the same files; `hashlib.file_digest` of the same inputs; a bare
interpreter that imports `json` and `click`.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import vq
from vq.canonical import digest
from vq.estimates.evidence import read_evidence
from vq.estimates.programs.vibe_qc import read_manifest
from vq.estimates.receipt import InputFile, make_receipt

MIB = 1024 * 1024
VQ = str(Path(sys.executable).with_name("vq"))

READ_ALL = """
import hashlib, json, sys
for name in open(sys.argv[1]).read().split():
    with open(name, "rb") as file:
        data = file.read()
    json.loads(data)
    hashlib.sha256(data).hexdigest()
"""
DIGEST_ALL = """
import hashlib, sys
for name in sys.argv[1:]:
    with open(name, "rb") as file:
        hashlib.file_digest(file, "sha256").hexdigest()
"""
IMPORTS = "import json, click"


class Figure(NamedTuple):
    """Seconds of wall time and bytes of peak memory of one process."""

    seconds: float
    peak_bytes: int


class Comparison(NamedTuple):
    """One command against another, and the most that the ratio of their times may be."""

    name: str
    ours: list[str]
    floor: list[str]
    most: float
    runs: int


def measure(command: list[str]) -> Figure:
    """Run a command to its end, its output thrown away."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[:4]} ended with {process.returncode}")
    return Figure(time.perf_counter() - began, used.ru_maxrss * 1024)


def compare(case: Comparison, *, most_bytes: int | None = None) -> bool:
    """Measure both commands in turn, print the minimum of each and their ratio; True when it holds."""
    pairs = [(measure(case.ours), measure(case.floor)) for _ in range(case.runs)]
    seconds = min(ours.seconds for ours, _ in pairs)
    floor = min(other.seconds for _, other in pairs)
    peak = max(ours.peak_bytes for ours, _ in pairs)
    holds = seconds <= case.most * floor and (most_bytes is None or peak <= most_bytes)
    limit = "" if most_bytes is None else f" (at most {most_bytes / MIB:.0f})"
    print(
        f"{case.name:24} {seconds:8.3f} s  floor {floor:8.3f} s  ratio {seconds / floor:5.2f} (at most {case.most:.2f})"
        f"  peak {peak / MIB:6.0f} MiB{limit}  {'holds' if holds else 'DOES NOT HOLD'}",
        flush=True,
    )
    return holds


def make_set(folder: Path, cases: int) -> Path:
    """A set of `cases` cases, two receipts each, as a lab's year of runs might look; the same for the same number."""
    random_numbers = random.Random(cases)
    listed = []
    for number in range(cases):
        if number % 1000 == 0:
            (folder / f"estimates-{number // 1000}").mkdir(parents=True)
            (folder / f"usage-{number // 1000}").mkdir()
        estimate, usage = f"estimates-{number // 1000}/{number}.json", f"usage-{number // 1000}/{number}.json"
        figure = random_numbers.randrange(50, 64_000) * MIB + random_numbers.randrange(MIB)
        (folder / estimate).write_text(json.dumps(receipt(number, figure, random_numbers), indent=2))
        (folder / usage).write_text(json.dumps(usage_receipt(figure, random_numbers), indent=2))
        case = {"case_id": f"job-{number}", "estimate": estimate, "usage": usage}
        listed.append({**case, "outcome": "completed", "hardware_class": f"class-{number % 3}"})
    path = folder / "set.json"
    path.write_text(json.dumps({"schema_name": "vq.estimate-evaluation-set/1", "set_id": "bench", "cases": listed}))
    return path


def receipt(number: int, figure: int, random_numbers: random.Random) -> dict[str, object]:
    """One receipt with evidence and two inputs."""
    method = random_numbers.choice(["RKS", "UKS", "RHF", "CCSD"])
    manifest = (
        f'[vibeqc]\nversion = "0.17.{number % 4}"\n[cpu]\nomp_threads_used = 8\n[memory]\nestimate_bytes = {figure}\n'
        f'[plan]\nmethod = "{method}"\nbasis = "6-31g*"\nfunctional = "PBE"\njob_kind = "molecular_scf"\n'
        f'options_digest = "{number:012x}"\n[outputs]\nstatus = "dry_run"\n'
    )
    scope = random_numbers.choice(["job", "node", "rank"])
    evidence = read_evidence(json.dumps({"schema_version": 1, "nbf": 240, "memory_scope": scope}).encode())
    inputs = [InputFile(path=name, bytes=number, sha256=digest([number, name])) for name in ("run.py", "mol.xyz")]
    return make_receipt(read_manifest(manifest.encode()), evidence=evidence, inputs=inputs)


def usage_receipt(figure: int, random_numbers: random.Random) -> dict[str, object]:
    """One direct usage receipt with all keys."""
    peak_kb = int(figure * random_numbers.uniform(0.4, 1.3)) // 1024
    wall, user = round(random_numbers.uniform(1, 90_000), 3), round(random_numbers.uniform(1, 90_000), 3)
    return {
        "schema": "vq.direct-resource-usage.v1",
        "status": "ok",
        "collector": "posix-wait4",
        "scope": "effective-command",
        "command_status": "succeeded",
        "command_exit_code": 0,
        "wall_seconds": wall,
        "user_cpu_seconds": user,
        "system_cpu_seconds": 0.251,
        "active_cpu_seconds": round(user + 0.251, 3),
        "peak_rss_kb": peak_kb,
        "peak_rss_mb": round(peak_kb / 1024, 3),
        "process_count": random_numbers.choice([1, 1, 2, None]),
        "metric_sources": {"peak_rss_kb": "wait4 ru_maxrss", "wall_seconds": "monotonic clock"},
        "aggregation_semantics": {"peak_rss_kb": "largest single process"},
        "job_peak_bytes": peak_kb * 1024,
        "job_peak_source": "cgroup-v2",
        "cgroup_peak_bytes": peak_kb * 1100,
        "limit_bytes": None,
        "limit_fired": None,
        "oom_kills": 0,
        "limit_hits": 0,
        "average_cpu_millicores": 987.5,
        "paused_seconds": 0,
        "samples": 1234,
    }


def sets(folder: Path, cases: int, runs: int, wanted: set[str]) -> list[bool]:
    """Evaluating a set against only reading it; calibrating it against evaluating it."""
    path = make_set(folder / "set", cases)
    names = folder / "names"
    names.write_text("\n".join(str(file) for file in sorted((folder / "set").rglob("*.json"))))
    floor = [sys.executable, "-c", READ_ALL, str(names)]
    evaluate = [VQ, "estimate-evaluate", str(path)]
    results = []
    measure(floor)
    if "evaluate" in wanted:
        case = Comparison("evaluate", evaluate, floor, 4.0, runs)
        results.append(compare(case, most_bytes=300 * MIB))
        case = Comparison("evaluate --json", [*evaluate, "--json"], floor, 4.0, runs)
        results.append(compare(case, most_bytes=300 * MIB))
    if "calibrate" in wanted:
        target = f"rm -f {folder}/out.json && exec {VQ} estimate-calibrate {path} -o {folder}/out.json"
        results.append(compare(Comparison("calibrate", ["sh", "-c", target], evaluate, 1.2, runs)))
    return results


def fingerprint(folder: Path, runs: int) -> bool:
    """64 files of 64 MiB against `hashlib.file_digest`."""
    inputs = folder / "inputs"
    inputs.mkdir()
    block = random.Random(1).randbytes(MIB)
    for number in range(64):
        with (inputs / f"{number:02}.dat").open("wb") as file:
            file.writelines(block for _ in range(64))
    manifest = folder / "m.system"
    manifest.write_text('[vibeqc]\nversion = "0.17.4"\n[outputs]\nstatus = "dry_run"\n')
    ours = [VQ, "estimate", str(manifest), "--input", str(inputs), "-q"]
    floor = [sys.executable, "-c", DIGEST_ALL, *(str(file) for file in sorted(inputs.iterdir()))]
    measure(floor)
    return compare(Comparison("fingerprint 64 x 64 MiB", ours, floor, 1 / 0.9, runs), most_bytes=64 * MIB)


def startup(folder: Path, runs: int) -> list[bool]:
    """`vq --help` and `vq estimate` on a small manifest against a bare interpreter that imports json and click."""
    manifest = folder / "small.system"
    manifest.write_text(
        '[vibeqc]\nversion = "0.17.4"\n[memory]\nestimate_bytes = 4096\n[outputs]\nstatus = "dry_run"\n'
    )
    floor = [sys.executable, "-c", IMPORTS]
    commands = {"vq --help": [VQ, "--help"], "vq estimate (small)": [VQ, "estimate", str(manifest), "--json"]}
    return [compare(Comparison(name, ours, floor, 2.0, 5 * runs)) for name, ours in commands.items()]


def main() -> None:
    """Measure what was asked for; exit status 1 when a target does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", help="where the files are made (default: a temporary folder)")
    parser.add_argument("what", nargs="*", help="evaluate, calibrate, fingerprint, startup (default: all)")
    arguments = parser.parse_args()
    wanted = set(arguments.what) or {"evaluate", "calibrate", "fingerprint", "startup"}
    compileall.compile_dir(str(Path(vq.__file__).parent), quiet=1)  # as any installed package is
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder, results = Path(name), []
        if "startup" in wanted:
            results += startup(folder, arguments.runs)
        if "fingerprint" in wanted:
            results.append(fingerprint(folder, arguments.runs))
        # Last: a child's peak is at least what this process holds, and making the sets makes it grow.
        if wanted & {"evaluate", "calibrate"}:
            results += sets(folder, arguments.cases, arguments.runs, wanted)
    print(f"peak of the benchmark itself: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB")
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
