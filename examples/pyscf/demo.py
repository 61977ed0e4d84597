"""The demonstration: `make demo`, or `python examples/pyscf/demo.py [OUT_DIR]`.

The whole loop on a real program: estimate, submit, measure, collect, evaluate, calibrate, and a limit from the
calibrated figure. Every command is printed and run as a user would type it, with a queue of its own in a temporary
folder, which ends with it. What an earlier demonstration left in OUT_DIR (by default `demo-out/pyscf`) is replaced.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "common"))

from page import REPOSITORY, heading, installed, load, paragraph, say

from vq.errors import VqError

MADE = ("estimates", "training", "held-out", "calibration.json", "held-out.json", "held-out.svg", "phenol.json")
MIB = 2**20

LOOP = """\
for file in $jobs/training/*.xyz $jobs/held-out/*.xyz; do
  name=$(basename $file .xyz) set=$(basename $(dirname $file))
  vq estimate $out/estimates/$name.system -q -o $out/estimates/$name.json \\
    --features $out/estimates/$name.features.json \\
    --input $jobs/scf.py --input $file > $out/estimates/$name.bytes
  vq submit -d $jobs --estimate $out/estimates/$name.json --mem-mb 1000 \\
    --name $name --tag $set -- python scf.py $set/$name.xyz
done"""

CALIBRATED = """\
vq estimate $out/estimates/phenol.system -o $out/phenol.json \\
  --features $out/estimates/phenol.features.json \\
  --input $jobs/scf.py --input $jobs/phenol.xyz \\
  --calibration $out/calibration.json --hardware-class this-machine"""

LIMITED = """\
vq submit -d $jobs --estimate $out/phenol.json --mem-from-estimate --wait \\
  --name phenol -- python scf.py phenol.xyz"""

AS_SAID = """\
vq submit -d $jobs --mem-mb {mem_mb} --wait \\
  --name phenol-as-said -- python scf.py phenol.xyz"""


class Demo:
    """A demonstration that writes below `out`, with a queue in the folder `queue`; commands run in the repository."""

    def __init__(self, out: str, queue: str) -> None:
        self.out = out
        programs = os.path.dirname(installed())
        kept = {name: value for name, value in os.environ.items() if not name.startswith("VQ_")}
        self._environment = {
            **kept,
            "PATH": os.pathsep.join((programs, os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath))),
            "PYTHONUNBUFFERED": "1",
            "XDG_CONFIG_HOME": os.path.join(queue, "config"),
            "VQ_STATE_DIR": os.path.join(queue, "state"),
            "jobs": "examples/pyscf/jobs",
            "out": out,
        }

    def path(self, *names: str) -> str:
        """A path below the output folder."""
        return os.path.join(self.out, *names)

    def clear(self) -> None:
        """Remove what an earlier demonstration wrote, and that only."""
        os.makedirs(self.out, exist_ok=True)
        for name in MADE:
            if os.path.isdir(self.path(name)) and not os.path.islink(self.path(name)):
                shutil.rmtree(self.path(name))
            elif os.path.lexists(self.path(name)):
                os.unlink(self.path(name))

    def run(self, command: str, *, may_fail: bool = False) -> None:
        """Print a command, run it in a shell, and show what it prints while it does; raises `VqError` if it fails."""
        print("$ " + command, flush=True)
        with subprocess.Popen(  # noqa: S603 - the texts above, with paths as variables
            ["/bin/sh", "-ec", command],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as running:
            for line in running.stdout or ():
                say(line)
                sys.stdout.flush()
        if running.returncode != 0 and not may_fail:
            raise VqError(f"ended with exit status {running.returncode}", where=command)
        print()

    def ask(self, *words: str) -> Any:
        """What a vq command says in JSON; it is not shown."""
        ended = subprocess.run(  # noqa: S603 - this project's own command
            [installed(), *words, "--json"], env=self._environment, capture_output=True, text=True, check=True
        )
        return json.loads(ended.stdout)

    def end(self) -> None:
        """End the daemon and whatever a demonstration that broke off has left running."""
        for words in (("kill", "--all", "--now"), ("daemon", "stop")):
            subprocess.run(  # noqa: S603 - this project's own command
                [installed(), *words], env=self._environment, capture_output=True, check=False
            )


def what_the_program_says(demo: Demo) -> None:
    """Step 1: dry runs, and one of them as a receipt."""
    heading("1. What the program says of its memory before it runs")
    paragraph(
        """scf.py is a Hartree-Fock calculation with PySCF. Its dry run counts the basis functions of a molecule and
        says, by a formula that was fixed before anything was measured, what its arrays will hold. The interpreter and
        its libraries are not counted: the formula says so, and the measurement will show it."""
    )
    demo.run("python $jobs/scf.py --dry-run $out/estimates $jobs/*/*.xyz $jobs/phenol.xyz")


def measured(demo: Demo) -> None:
    """Step 2: estimates and jobs, and the wait for their end."""
    heading("2. Every job goes into the queue with its estimate")
    paragraph(
        """The limit of 1000 MiB is what somebody might guess. The tags divide the jobs into a training set and a
        held-out set now, before there is anything to choose by."""
    )
    demo.run(LOOP)
    demo.run("vq queue")
    demo.run("vq wait $(vq queue -q)")
    demo.run("vq usage")


def judged(demo: Demo) -> None:
    """Step 3: both sets collected, the estimates judged, calibrated and judged again."""
    heading("3. How good was the program's word?")
    for name in ("training", "held-out"):
        demo.run(f"vq estimate-collect $out/{name} --tag {name} --hardware-class this-machine")
    demo.run("vq estimate-evaluate $out/held-out/set.json")
    heading("4. A calibration, fitted on one set and judged on the other")
    demo.run("vq estimate-calibrate $out/training/set.json -o $out/calibration.json")
    judge = "vq estimate-evaluate $out/held-out/set.json \\\n  --calibration $out/calibration.json"
    demo.run(f"{judge} --plot $out/held-out.svg")
    demo.run(f"{judge} --json > $out/held-out.json")


def limited(demo: Demo) -> None:
    """Step 4: a job of neither set, with a limit from its calibrated estimate, and with the bare figure as limit."""
    heading("5. A limit from the calibrated figure")
    paragraph("Phenol is in neither set. Its limit is not guessed:")
    demo.run(CALIBRATED)
    demo.run(LIMITED)
    identifier = job_named(demo, "phenol")["id"]
    demo.run(f"vq status {identifier}")
    demo.run(f"vq logs {identifier}")
    paragraph("And the same calculation, with the program's own figure as its limit:")
    said = load(demo.path("phenol.json"))["estimate"]["memory"]["predicted_peak_bytes"]
    demo.run(AS_SAID.format(mem_mb=-(-said // MIB)), may_fail=True)
    demo.run("vq queue --limit 2")


def job_named(demo: Demo, name: str) -> dict[str, Any]:
    """The record of the one job of that name."""
    (identifier,) = (job["id"] for job in demo.ask("queue", "--all", "--name", name)["jobs"])
    record: dict[str, Any] = demo.ask("status", identifier)
    return record


def table(cases: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> list[str]:
    """Estimate, measurement and calibrated figure of each case in MiB, the smallest first."""
    lines = [f"{'HELD-OUT':16}{'ESTIMATED':>11}{'MEASURED':>11}{'CALIBRATED':>11}  {'AS ESTIMATED':14} CALIBRATED"]
    for case in sorted(cases, key=lambda case: int(case["predicted_peak_bytes"])):
        sizes = (case[key] for key in ("predicted_peak_bytes", "measured_peak_bytes", "calibrated_peak_bytes"))
        shown = "".join(f"{size / MIB:7.0f} MiB" if size else f"{'unknown':>11}" for size in sizes)
        lines.append(f"{names[case['case_id']]:16}{shown}  {case['memory']:14} {case['calibrated_memory']}")
    return lines


def sentences(
    report: Mapping[str, Any], calibration: Mapping[str, Any], job: Mapping[str, Any], as_said: Mapping[str, Any]
) -> list[str]:
    """What was learnt, from the report, the calibration and the records of the job with either limit."""
    memory, cases = report["overall"]["memory"], report["cases"]
    after, ratio = memory["calibrated"], memory["ratio"]
    (group,) = calibration["groups"]
    over = [case["calibrated_peak_bytes"] / case["measured_peak_bytes"] for case in cases]
    usage = job["usage"]
    held = max(usage["peak_rss_kb"] * 1024, usage["job_peak_bytes"] or 0) / MIB
    return [
        f"""As the program says it, the figure was too low in {memory["verdicts"]["underpredicted"]} of
        {memory["evaluable"]} held-out runs: they held {ratio["median"]:.2f} times as much at the median, and
        {ratio["max"]:.2f} times at most.""",
        f"""The {group["exact"]} training runs gave the factor {group["multiplier"]}. With it the figure was too low in
        {after["verdicts"]["underpredicted"]} of {after["evaluable"]} held-out runs. Its price: it was
        {median(over):.1f} times the measured peak at the median and {max(over):.1f} times at most, since it is the
        worst ratio seen, which the smallest molecule sets.""",
        f"""Phenol got {job["mem_mb"]} MiB from the calibrated figure and was {job["state"]}, with {held:.0f} MiB at its
        peak. With the program's own {as_said["mem_mb"]} MiB as its limit it was {as_said["state"]}.""",
    ]


def what_was_learnt(demo: Demo) -> None:
    """The end: a table, three sentences, and where the files lie."""
    heading("What was learnt")
    report, calibration = load(demo.path("held-out.json")), load(demo.path("calibration.json"))
    names = {job["id"]: job["name"] for job in demo.ask("queue", "--all")["jobs"]}
    say("\n".join(table(report["cases"], names)))
    print()
    for sentence in sentences(report, calibration, *(job_named(demo, name) for name in ("phenol", "phenol-as-said"))):
        paragraph(sentence)
    print(f"A picture of it: {demo.path('held-out.svg')}\n")


def main(arguments: Sequence[str]) -> int:
    """The exit status of the demonstration."""
    if len(arguments) > 1 or any(word.startswith("-") for word in arguments):
        print(__doc__)
        return 2
    if importlib.util.find_spec("pyscf") is None:
        print("demo: error: PySCF is missing; run: make setup, or pip install -e '.[pyscf]'", file=sys.stderr)
        return 1
    out = os.path.abspath(arguments[0]) if arguments else os.path.join("demo-out", "pyscf")
    os.chdir(REPOSITORY)
    queue = tempfile.mkdtemp(prefix="vq-demo-")
    try:
        demo = Demo(out, queue)
        try:
            show(demo)
        finally:
            demo.end()
    except (VqError, OSError) as error:
        print(f"demo: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        shutil.rmtree(queue, ignore_errors=True)
    return 0


def show(demo: Demo) -> None:
    """All steps, one after the other."""
    demo.clear()
    paragraph(
        """Every command below can be typed as it stands, in this folder, with .venv/bin on your PATH and demo-out
        removed, after these three. The demonstration has a queue of its own, which is gone when it ends."""
    )
    print(f"$ export VQ_STATE_DIR=$(mktemp -d)/state\n$ jobs=examples/pyscf/jobs\n$ out={demo.out}\n")
    what_the_program_says(demo)
    measured(demo)
    judged(demo)
    limited(demo)
    what_was_learnt(demo)
    demo.run("vq daemon stop")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
