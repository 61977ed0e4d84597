"""It is safe: a queue whose jobs outgrow their predictions, in copies, beside programs that take and give back memory.

    SOAK_SECONDS=3600 make soak        (default 120)

Families of jobs: one run of `SMALL_MB`, and when that has ended several copies at once that need four times as much, as
after a cache was invalidated; then another family. Beside them run steady small jobs, and the queue begins with a
history of so many small ones that no prediction foresees the large. Outside the queue two programs take some hundred
MiB and give them back. The budget is 2 GiB, and the outside programs hold at most 800 MiB, so that the machine
is never in danger; the script does not begin with less than 6 GiB available.

What must hold, else it exits 1:

- No job inside its reservation is killed: in the history each run killed for memory used more than was reserved.
- Every job ends, and completes: one that was ended for the others' sake starts again with its whole limit.
- Memory pressure `full avg10` is under 20 % but for moments: in at most one sample of twenty, and never for more than
  thirty seconds on end. Where the kernel does not say it, that is said and not judged.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vq.readings.meminfo import host_memory
from vq.readings.pressure import memory_pressure_percent

MIB = 1 << 20
SMALL_MB = 110
TIMES = 4
CAP_MB = 600
COPIES = (3, 6)
FAMILIES = 3
KNOWN = 5000
NEEDED_BYTES = 6 << 30
PRESSED_PERCENT = 20.0
PRESSED_SHARE = 0.05
PRESSED_SECONDS = 30
PATIENCE_SECONDS = 600

CONFIG = """
[host]
memory_max = "2G"
cpu_admission = "off"
barrier_after = "30s"
[sizing]
min_jobs = 3
[daemon]
autostart = false
"""

JOB = """
import sys, time
size, hold = int(sys.argv[1]), float(sys.argv[2])
kept = []
while len(kept) * 10 < size:
    kept.append(b"x" * (10 << 20))
    time.sleep(0.05)
time.sleep(hold)
"""

OUTSIDE = """
import random, sys, time
random.seed(int(sys.argv[1]))
while True:
    kept = [b"x" * (10 << 20) for _ in range(random.randrange(5, 40))]
    time.sleep(random.uniform(1, 6))
    del kept
    time.sleep(random.uniform(1, 4))
"""


@dataclass
class Soak:
    """A queue in a folder of its own, and what was seen."""

    root: Path
    random: random.Random
    submitted: list[str] = field(default_factory=list)
    pressures: list[float] = field(default_factory=list)
    most_used: int = 0

    def vq(self, *words: str) -> Any:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("VQ_")}
        environment = {**kept, "VQ_STATE_DIR": str(self.root / "state"), "XDG_CONFIG_HOME": str(self.root / "config")}
        command = [str(Path(sys.executable).parent / "vq"), *words]
        ended = subprocess.run(command, env=environment, cwd=self.root, capture_output=True, text=True, check=False)
        if ended.returncode:
            raise SystemExit(f"{' '.join(words)}: exit status {ended.returncode}: {ended.stderr}")
        return json.loads(ended.stdout) if "--json" in words else ended.stdout

    def submit(self, name: str, size_mb: int, hold: float) -> str:
        command = [sys.executable, "-I", "-S", "-c", JOB, str(size_mb), str(hold)]
        options = ["--name", name, "--repository", "soak", "--mem-mb", str(CAP_MB)]
        found = self.vq("submit", "--json", *options, "--", *command)
        self.submitted.append(found["jobs"][0]["id"])
        return self.submitted[-1]

    def active(self) -> set[str]:
        found = self.vq("queue", "--all", "--state", "RUNNING", "--state", "PENDING", "--json")
        return {job["id"] for job in found["jobs"]}

    def look(self) -> None:
        pressure = memory_pressure_percent()
        if pressure is not None:
            self.pressures.append(pressure)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def soak(run: Soak, seconds: float) -> None:
    """Keep the queue busy for so long, then wait for the last job."""
    until = time.monotonic() + seconds
    waiting: dict[int, set[str]] = {}
    small_of: dict[int, str] = {}
    serial = 0
    while time.monotonic() < until:
        active = run.active()
        for number in range(FAMILIES):
            if waiting.get(number, set()) & active:
                continue
            family = small_of.pop(number, None)
            if family is None:
                serial += 1
                small_of[number] = f"family-{serial}"
                waiting[number] = {run.submit(small_of[number], SMALL_MB, run.random.uniform(0.2, 1))}
            else:
                copies = range(run.random.randint(*COPIES))
                waiting[number] = {run.submit(family, SMALL_MB * TIMES, run.random.uniform(0.5, 3)) for _ in copies}
        run.submit("steady", 50, run.random.uniform(0.2, 1.5))
        run.look()
        time.sleep(0.5)
    last = time.monotonic() + PATIENCE_SECONDS
    while run.active() and time.monotonic() < last:
        run.look()
        time.sleep(1)


def small_rows() -> Iterator[str]:
    """The history that the queue begins with: `KNOWN` jobs that ran a few times each."""
    unknown = dict.fromkeys(("workflow", "cpu_average", "started_at", "hit_cap", "own_cap", "reserved"))
    for number in range(KNOWN * 10):
        row = {
            **unknown,
            "repository": "soak",
            "name": f"known-{number % KNOWN}",
            "profile": "default",
            "memory_cap": CAP_MB * MIB,
            "cpu_cap": 1000,
            "memory_peak": 50 * MIB,
            "page_cache": False,
            "queued_at": number,
            "finished_at": number,
            "oom_killed": False,
            "succeeded": True,
            "cancelled": False,
        }
        yield json.dumps(row) + "\n"


def judge(run: Soak) -> list[str]:
    """What did not hold; prints what was seen."""
    records = {job["id"]: job for job in run.vq("queue", "--all", "--limit", "1000000", "--json")["jobs"]}
    exported = map(json.loads, run.vq("history", "export").splitlines())
    rows = [row for row in exported if not row["name"].startswith("known-")]
    killed = [row for row in rows if row["oom_killed"]]
    inside = [row for row in killed if row["reserved"] is None or row["memory_peak"] <= row["reserved"]]
    not_completed = [record for record in records.values() if record["state"] != "COMPLETED"]
    overran = sum(row["reserved"] is not None and row["memory_peak"] > row["reserved"] for row in rows)
    say(f"{len(run.submitted)} jobs, {len(rows)} runs, {overran} past their reservation, {len(killed)} of them ended")
    wrong = [f"{len(inside)} runs were killed inside their reservation: {inside[:3]}"] if inside else []
    if not_completed or len(records) != len(run.submitted):
        said = [(record["id"], record["state"], record["reason"]) for record in not_completed[:5]]
        wrong.append(f"{len(not_completed)} of {len(records)} jobs did not complete: {said}")
    if not run.pressures:
        say("memory pressure: the kernel does not say it")
        return wrong
    pressed = [pressure >= PRESSED_PERCENT for pressure in run.pressures]
    longest = max(map(len, "".join("x" if high else " " for high in pressed).split()), default=0)
    share = sum(pressed) / len(pressed)
    say(f"memory pressure: at most {max(run.pressures):g} %, {share:.1%} of samples at {PRESSED_PERCENT:g} % or more")
    if share > PRESSED_SHARE or longest > PRESSED_SECONDS:
        wrong.append(f"memory pressure was high in {share:.1%} of the samples, {longest} on end")
    return wrong


def main() -> int:
    """The exit status."""
    seconds = float(os.environ.get("SOAK_SECONDS", "120"))
    if host_memory().available_bytes < NEEDED_BYTES:
        say("not run: less than 6 GiB of memory is available")
        return 0
    root = Path(tempfile.mkdtemp(prefix="vq-soak-"))
    (root / "config" / "vq").mkdir(parents=True)
    (root / "config" / "vq" / "config.toml").write_text(CONFIG, encoding="utf-8")
    run = Soak(root=root, random=random.Random(1))  # noqa: S311 - the same jobs each time
    outside = [subprocess.Popen([sys.executable, "-I", "-S", "-c", OUTSIDE, str(seed)]) for seed in range(2)]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    began = time.monotonic()
    try:
        (root / "rows.jsonl").write_text("".join(small_rows()), encoding="utf-8")
        run.vq("history", "import", "rows.jsonl", "--format", "jsonl", "--store")
        run.vq("daemon", "start")
        soak(run, seconds)
        wrong = judge(run)
    finally:
        for process in outside:
            process.kill()
            process.wait()
        run.vq("kill", "--all", "--now")
        run.vq("daemon", "stop")
    say(f"{time.monotonic() - began:.0f} s")
    for text in wrong:
        say(f"WRONG: {text}")
    if wrong:
        say(f"the queue is kept in {root}")
        return 1
    shutil.rmtree(root)
    return 0


if __name__ == "__main__":
    sys.exit(main())
