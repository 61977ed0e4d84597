"""Calibration methods beside each other: `python examples/compare_methods.py NAME TRAINING_SET HELD_OUT_SET`.

Each method is fitted on the training set and judged on the held-out set by the installed `vq` command, with its default
of `--min-cases`. What comes out are the rows of a table in Markdown, one a method, over the held-out cases that find a
calibrated group: how many they are, how often the calibrated figure was too low (a range where not every case is
decided), and how many times too large it was at the median and at most (calibrated over measured peak).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from statistics import median
from typing import Any

RECIPES: tuple[tuple[str, ...], ...] = (
    ("--method", "factor"),
    ("--method", "factor", "--margin", "10"),
    ("--method", "offset"),
    ("--method", "offset", "--margin", "10"),
)
HEADINGS = ("runs", "method", "cases", "too low", "median over-allocation", "largest")
_CALIBRATED = ("underpredicted", "within", "not_refuted", "censored", "unobserved")


def vq(*arguments: str) -> str:
    """What the `vq` beside this Python prints; its own message, and the end, where it fails."""
    command = os.path.join(os.path.dirname(sys.executable), "vq")
    ended = subprocess.run(  # noqa: S603 - this project's own command
        [command, *arguments], stdout=subprocess.PIPE, text=True, check=False
    )
    if ended.returncode:
        sys.exit(ended.returncode)
    return ended.stdout


def judged(training: str, held_out: str, recipe: Sequence[str]) -> list[dict[str, Any]]:
    """The held-out cases that find a calibrated group, each with what the report says of it."""
    with tempfile.TemporaryDirectory(prefix="vq-compare-") as folder:
        calibration = os.path.join(folder, "calibration.json")
        vq("estimate-calibrate", training, "-o", calibration, "--quiet", *recipe)
        report = json.loads(vq("estimate-evaluate", held_out, "--calibration", calibration, "--json"))
    return [case for case in report["cases"] if case["calibrated_memory"] in _CALIBRATED]


def row(cases: Sequence[dict[str, Any]], verdict: str, figure: str) -> list[str]:
    """The cells of one method: cases, the range of those too low, over-allocation at the median and at most."""
    low = sum(case[verdict] == "underpredicted" for case in cases)
    open_ones = sum(case[verdict] not in ("underpredicted", "within") for case in cases)
    over = [case[figure] / case["measured_peak_bytes"] for case in cases if case["measured_peak_bytes"]]
    too_low = f"{low}" if not open_ones else f"{low} to {low + open_ones}"
    sizes = (f"×{median(over):.2f}", f"×{max(over):.1f}") if over else ("none", "none")
    return [str(len(cases)), too_low, *sizes]


def table(name: str, training: str, held_out: str) -> list[str]:
    """The lines of the table: first the figures as printed, then each method."""
    rows: list[list[str]] = []
    for recipe in RECIPES:
        cases = judged(training, held_out, recipe)
        if not rows:
            rows.append([name, "as printed", *row(cases, "memory", "predicted_peak_bytes")])
        method = recipe[1] + (f" + {recipe[3]} %" if len(recipe) > 2 else "")  # noqa: PLR2004 - a margin follows
        rows.append([name, method, *row(cases, "calibrated_memory", "calibrated_peak_bytes")])
    return [f"| {' | '.join(cells)} |" for cells in (HEADINGS, ["---"] * len(HEADINGS), *rows)]


def main(arguments: Sequence[str]) -> int:
    """The exit status of the script."""
    parser = argparse.ArgumentParser(prog="compare_methods.py", description="Compare calibration methods.")
    parser.add_argument("name", metavar="NAME", help="what the first column says of the runs")
    parser.add_argument("training", metavar="TRAINING_SET", help="the set file to fit on")
    parser.add_argument("held_out", metavar="HELD_OUT_SET", help="the set file to judge on")
    chosen = parser.parse_args(arguments)
    print("\n".join(table(chosen.name, chosen.training, chosen.held_out)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
