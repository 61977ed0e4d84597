"""The demonstration on VASP's runs: `make demo-vasp`, or `python examples/vasp/demo.py [OUT_DIR]`.

It runs the installed `vq` command as a user would, prints every command line and what comes back, and ends with three
sentences that it computes from the reports. What an earlier demonstration left in OUT_DIR (by default
`demo-out/vasp`) is replaced; nothing else in that folder is touched.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from statistics import median
from typing import Any

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "common"))

from page import PAGE, REPOSITORY, heading, installed, load, paragraph, say

from vq.actions.estimate import apply
from vq.canonical import pretty
from vq.errors import VqError
from vq.estimates.fit import MIN_CASES

HARDWARE_CLASS = "unrecorded"

DRY_RUNS = ("h2o-pbe", "mgo-rhf-gdf", "h2-neb")
FINISHED = "h2o-finished"

_SETS, _CALIBRATION = "sets", "calibration.json"
_RAW, _JUDGED, _ONE = "held-out-raw.json", "held-out-calibrated.json", "one-calibrated-estimate.json"
_PICTURE = "held-out.svg"


class Demo:
    """A demonstration that writes below `out`; commands run from the root of the repository."""

    def __init__(self, out: str) -> None:
        self.out = out
        self._programs = {"vq": installed(), "python": sys.executable}

    def path(self, *names: str) -> str:
        """A path below the output folder, as the printed commands name it."""
        return os.path.join(self.out, *names)

    def clear(self) -> None:
        """Remove what an earlier demonstration wrote, and that only."""
        os.makedirs(self.out, exist_ok=True)
        shutil.rmtree(self.path(_SETS), ignore_errors=True)
        for name in (_CALIBRATION, _RAW, _JUDGED, _ONE, _PICTURE):
            if os.path.lexists(self.path(name)):
                os.unlink(self.path(name))

    def run(self, command: str, *arguments: str, to: str | None = None, status: int = 0) -> None:
        """Print a command line, run it and show what it prints, or send its stdout to the file `to`.

        Raises `VqError` when it ends with another exit status than `status`.
        """
        self._show_command([command, *arguments], to)
        line = [self._programs[command], *arguments]
        ended = subprocess.run(  # noqa: S603 - this project's own command, with arguments of its own
            line, capture_output=True, text=True, check=False
        )
        if to is not None:
            with open(to, "w", encoding="utf-8") as file:
                file.write(ended.stdout)
        else:
            say(ended.stdout)
        say(ended.stderr)
        if ended.returncode != status:
            raise VqError(f"expected exit status {status}, found {ended.returncode}", where=shlex.join(line))
        print()

    def _show_command(self, words: Sequence[str], to: str | None) -> None:
        text = shlex.join(words) + (f" > {shlex.quote(to)}" if to else "")
        lines = textwrap.wrap(text, PAGE - 4, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
        print("$ " + " \\\n".join(lines))


def what_programs_say(demo: Demo) -> None:
    """Step 1: receipts of dry runs, and the refusal of a run that is no dry run."""
    heading("1. What a program says of a calculation before it runs")
    for name in DRY_RUNS:
        demo.run("vq", "estimate", f"examples/vibe-qc/{name}.system")
    demo.run("vq", "estimate", f"examples/vibe-qc/{FINISHED}.system", status=1)
    paragraph(
        """That one was refused, with exit status 1: its calculation has run to its end. A receipt says what was
        expected beforehand, and this file can no longer say that."""
    )


def how_they_held_up(demo: Demo) -> None:
    """Step 2: the sets, and the evaluation of the held-out one."""
    heading("2. How VASP's own figures held up")
    paragraph(
        """VASP prints a memory figure when it starts and its measured peak when it ends. 197 public runs, divided by
        project folder and never by row, so that no project folder stands on both sides:"""
    )
    demo.run("python", "examples/vasp/make_sets.py", demo.path(_SETS))
    held_out = demo.path(_SETS, "held-out", "set.json")
    demo.run("vq", "estimate-evaluate", held_out)
    demo.run("vq", "estimate-evaluate", held_out, "--json", to=demo.path(_RAW))


def what_calibration_does(demo: Demo) -> None:
    """Step 3: a calibration fitted on the training set, judged on the held-out set."""
    heading("3. A calibration, fitted on one set and judged on the other")
    held_out, calibration = demo.path(_SETS, "held-out", "set.json"), demo.path(_CALIBRATION)
    paragraph(
        f"""A group of runs gets a factor when {MIN_CASES} or more of them are in the training set: the default, chosen
        before fitting and not touched after a look at the results."""
    )
    demo.run("vq", "estimate-calibrate", demo.path(_SETS, "training", "set.json"), "-o", calibration)
    judge = ("vq", "estimate-evaluate", held_out, "--calibration", calibration)
    demo.run(*judge, "--plot", demo.path(_PICTURE))
    demo.run(*judge, "--json", to=demo.path(_JUDGED))
    cases = load(demo.path(_JUDGED))["cases"]
    calibrated = sum(case["calibration_multiplier"] is not None for case in cases)
    without = len(cases) - calibrated
    paragraph(
        f"""{calibrated} of the {len(cases)} held-out runs find a calibrated group: same program version, method,
        algorithm, scope and hardware class, with {MIN_CASES} or more training runs. The other {without} read
        "uncalibrated", and their figure stays as VASP printed it."""
    )


def one_calibrated_estimate(demo: Demo) -> None:
    """Step 4: the calibration applied to a held-out receipt, and to a program that it does not speak of."""
    heading("4. One calibrated estimate")
    paragraph(
        """This manifest is one of vibe-qc, and the calibration knows only VASP. So it says that it has nothing to
        offer, rather than lend a factor from one program to another:"""
    )
    calibration = demo.path(_CALIBRATION)
    manifest = f"examples/vibe-qc/{DRY_RUNS[0]}.system"
    demo.run("vq", "estimate", manifest, "--calibration", calibration, "--hardware-class", HARDWARE_CLASS)
    case = next(case for case in load(demo.path(_JUDGED))["cases"] if case["calibration_multiplier"] is not None)
    receipt = demo.path(_SETS, "held-out", "estimates", f"{case['case_id']}.json")
    paragraph("The first held-out VASP run with a calibrated group, through the Python interface:")
    print(">>> from vq.actions.estimate import apply")
    print(f">>> path = {receipt!r}")
    print(">>> receipt = json.load(open(path))")
    print(f">>> apply(receipt, {calibration!r}, {HARDWARE_CLASS!r})")
    document = apply(load(receipt), calibration, HARDWARE_CLASS)
    with open(demo.path(_ONE), "x", encoding="utf-8") as file:
        file.write(pretty(document))
    for key in ("status", "multiplier", "multiplier_is_lower_bound", "calibrated_peak_bytes", "runtime_reason"):
        print(f"  {key}: {document[key]}")
    print()
    paragraph(
        f"""VASP said {case["predicted_peak_bytes"]} bytes, the run held {case["measured_peak_bytes"]}, and the
        calibrated figure is {document["calibrated_peak_bytes"]}."""
    )


def sentences(raw: dict[str, Any], judged: dict[str, Any], calibration: dict[str, Any]) -> list[str]:
    """What was learnt, in three sentences, from the two reports and the calibration."""
    memory = raw["overall"]["memory"]
    ratio, under = memory["ratio"], memory["verdicts"]["underpredicted"]
    groups = calibration["groups"]
    fitted = sum(group["status"] == "calibrated" for group in groups)
    after = judged["overall"]["memory"]["calibrated"]
    cases = [case for case in judged["cases"] if case["calibration_multiplier"] is not None]
    before = sum(case["memory"] == "underpredicted" for case in cases)
    over = [case["calibrated_peak_bytes"] / case["measured_peak_bytes"] for case in cases]
    low = after["verdicts"]["underpredicted"]
    return [
        f"""VASP's own figure was too low in {under} of {memory["evaluable"]} held-out runs; the measured peak was
        {ratio["median"]:.2f} times the figure at the median and {ratio["max"]:.1f} times at worst.""",
        f"""The training runs gave a factor to {fitted} of {len(groups)} groups, and {after["evaluable"]} held-out runs
        find one: of these the figure was too low in {before} as printed and in {low} calibrated, while
        {after["uncalibrated"]} held-out runs have no factor at all.""",
        f"""Safety has its price: the calibrated figure was {median(over):.1f} times the measured peak at the median and
        {max(over):.1f} times at most, since a factor is the worst ratio seen in training and not a prediction.""",
    ]


def what_was_learnt(demo: Demo) -> None:
    """The end: three sentences, and where the files lie."""
    heading("What was learnt")
    documents = (load(demo.path(name)) for name in (_RAW, _JUDGED, _CALIBRATION))
    for sentence in sentences(*documents):
        paragraph(sentence)
    print("The files:")
    for name, content in (
        (_SETS, "the sets, and each receipt in them"),
        (_RAW, "the report on the held-out set"),
        (_CALIBRATION, "the calibration"),
        (_JUDGED, "the report with the calibration"),
        (_PICTURE, "a picture of that report"),
        (_ONE, "one calibrated estimate"),
    ):
        print(f"  {demo.path(name):42} {content}")


def main(arguments: Sequence[str]) -> int:
    """The exit status of the demonstration."""
    if len(arguments) > 1 or any(word.startswith("-") for word in arguments):
        print(__doc__)
        return 2
    out = os.path.abspath(arguments[0]) if arguments else os.path.join("demo-out", "vasp")
    os.chdir(REPOSITORY)
    try:
        demo = Demo(out)
        demo.clear()
        paragraph(
            """Every command below can be typed as it stands, in this folder, once .venv/bin is on your PATH
            and demo-out is removed."""
        )
        what_programs_say(demo)
        how_they_held_up(demo)
        what_calibration_does(demo)
        one_calibrated_estimate(demo)
        what_was_learnt(demo)
    except (VqError, OSError) as error:
        print(f"demo: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
