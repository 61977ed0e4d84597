"""What the runs of pw.x show: `python examples/quantum-espresso/report.py SETS_DIR DOCS_DIR`.

Reads the sets training, held-out and limited below SETS_DIR, fits each method of calibration on the first, judges it on
the second, and writes a page and two pictures into DOCS_DIR. Every figure of the page is computed here, and a run is
found in the table of calculations by the digest of the input that its receipt is bound to.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from statistics import median, quantiles
from typing import Any, Literal

from materials import CALCULATIONS, MATERIALS, SETS, Calculation, set_of, text

from vq.actions.evaluation import calibrate_set, evaluate_set
from vq.canonical import parse, pretty
from vq.errors import BadDataError, VqError
from vq.estimates.calibration import read_calibration
from vq.estimates.fit import MIN_CASES, Recipe
from vq.plots.evaluation import draw

MIB = 2**20
WIDTH = 120
LIMITED = "limited"
PAGE = os.path.join("explanation", "quantum-espresso.md")
PICTURES = {"factor": "quantum-espresso-factor.svg", "offset + 10 %": "quantum-espresso-offset.svg"}
METHODS: Mapping[str, tuple[Literal["factor", "offset"], int | None]] = {
    "factor": ("factor", None),
    "factor + 10 %": ("factor", 10),
    "offset": ("offset", None),
    "offset + 10 %": ("offset", 10),
}
"""Method and margin, by the name that the tables give them."""
FOR_LIMITS = "offset + 10 %"

Document = dict[str, Any]
Rows = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: its calculation, what pw.x said (bytes), its two receipts, and its case in the set."""

    calculation: Calculation
    case: Document
    receipt: Document
    usage: Document

    @property
    def figure(self) -> int:
        """What pw.x said, in bytes."""
        return int(self.receipt["memory"]["predicted_peak_bytes"])

    @property
    def peak(self) -> int:
        """The resident peak of its process, in bytes."""
        return int(self.usage["peak_rss_kb"]) * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A held-out case under a calibration: whether the figure was too low for certain, or perhaps, and how large."""

    material: str
    under: bool
    perhaps: bool
    over: float


def read_runs(sets: str, name: str) -> list[Run]:
    """The runs of a set, in the order of the table of calculations; raises `VqError` where one is of none of them."""
    known = {sha256(text(calculation).encode()).hexdigest(): calculation for calculation in CALCULATIONS}
    runs = []
    for case in _load(sets, name, "set.json")["cases"]:
        receipt, usage = (_load(sets, name, case[kind]) for kind in ("estimate", "usage"))
        calculation = known.get(receipt["inputs"][0]["sha256"])
        if calculation is None:
            raise BadDataError("an input that materials.py makes").at(f"{name}, case {case['case_id']}")
        runs.append(Run(calculation=calculation, case=case, receipt=receipt, usage=usage))
    return sorted(runs, key=lambda run: CALCULATIONS.index(run.calculation))


def _load(*names: str) -> Document:
    with open(os.path.join(*names), "rb") as file:
        return parse(file.read())


def fit(set_file: str, method: str, min_cases: int) -> Document:
    """The calibration of a set by one of the methods, as a document; raises `BadDataError` without one group."""
    kind, margin = METHODS[method]
    recipe = Recipe(min_cases=min_cases, job_wide=False, method=kind, margin_percent=margin)
    document, _ = calibrate_set(set_file, recipe, iter)
    groups: Sequence[Document] = document["groups"]
    if [group["status"] for group in groups] != ["calibrated"]:
        raise BadDataError(f"runs of one group, at least {min_cases} of them").at(set_file)
    return document


def judge(set_file: str, calibration: Document, runs: Mapping[str, Run]) -> list[Judged]:
    """The cases of a set under a calibration; `runs` are by case."""
    report = evaluate_set(set_file, read_calibration(calibration), iter)
    return [
        Judged(
            material=runs[case["case_id"]].calculation.material,
            under=case["calibrated_memory"] == "underpredicted",
            perhaps=case["calibrated_memory"] != "within",
            over=case["calibrated_peak_bytes"] / case["measured_peak_bytes"],
        )
        for case in report.case_documents()
    ]


def each_held_out(sets: str, runs: Sequence[Run], min_cases: int) -> dict[str, list[Judged]]:
    """By method: the cases of every material, each judged by a calibration of all the others."""
    by_id = {run.calculation.name: run for run in runs}
    found: dict[str, list[Judged]] = {method: [] for method in METHODS}
    with tempfile.TemporaryDirectory() as folder:
        for name in SETS:
            shutil.copytree(os.path.join(sets, name), os.path.join(folder, name))
        for material in sorted({run.calculation.material for run in runs}):
            own = [run for run in runs if run.calculation.material == material]
            others = _write_set(folder, f"without-{material}", [run for run in runs if run not in own])
            only = _write_set(folder, f"only-{material}", own)
            for method in METHODS:
                found[method] += judge(only, fit(others, method, min_cases), by_id)
    return found


def _write_set(folder: str, set_id: str, runs: Iterable[Run]) -> str:
    cases = [
        {
            **run.case,
            "case_id": run.calculation.name,
            **{kind: f"{run.calculation.set_name}/{run.case[kind]}" for kind in ("estimate", "usage")},
        }
        for run in runs
    ]
    path = os.path.join(folder, f"{set_id}.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(pretty({"schema_name": "vq.estimate-evaluation-set/1", "set_id": set_id, "cases": cases}))
    return path


def table(headings: Sequence[str], rows: Rows) -> str:
    """A Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def mib(size: float) -> str:
    """A size in MiB."""
    return f"{size / MIB:,.0f}" if size >= 100 * MIB else f"{size / MIB:.1f}"


def span(values: Iterable[float]) -> str:
    """From the smallest to the largest of sizes, in MiB."""
    ordered = sorted(values)
    low, high = mib(ordered[0]), mib(ordered[-1])
    return low if low == high else f"{low} to {high}"


def verdict(judged: Sequence[Judged]) -> str:
    """How many were too low, from the certain to the possible ones, and the median of calibrated over measured."""
    low, high = sum(case.under for case in judged), sum(case.perhaps for case in judged)
    count = str(low) if low == high else f"{low} to {high}"
    return f"{count} of {len(judged)}, ×{median(case.over for case in judged):.2f}"


def as_printed(runs: Sequence[Run]) -> list[Judged]:
    """pw.x's own figures, judged likewise."""
    return [
        Judged(
            material=run.calculation.material,
            under=run.peak > run.figure,
            perhaps=run.peak > run.figure,
            over=run.figure / run.peak,
        )
        for run in runs
    ]


def by_material(columns: Mapping[str, Sequence[Judged]]) -> str:
    """A table of methods: a row a material, and all of them together."""
    first = next(iter(columns.values()))
    rows = []
    for material in [*sorted({case.material for case in first}), None]:
        own = [[case for case in judged if material in (case.material, None)] for judged in columns.values()]
        rows.append([material or "**all**", *map(verdict, own)])
    return table(["material", *columns], rows)


def materials_table(runs: Sequence[Run]) -> str:
    """What was run: a row a material."""
    rows = []
    for material in sorted({run.calculation.material for run in runs}):
        own = [run for run in runs if run.calculation.material == material]
        pseudopotentials = ", ".join(f"`{file}`" for _, file in MATERIALS[material].species.values())
        figures, peaks = span(run.figure for run in own), span(run.peak for run in own)
        rows.append([material, set_of(material), pseudopotentials, str(len(own)), figures, peaks])
    return table(["material", "set", "pseudopotentials", "runs", "pw.x says, MiB", "peak, MiB"], rows)


def runs_table(runs: Sequence[Run]) -> str:
    """Every run."""
    rows = []
    for run in runs:
        features = run.receipt["features"]
        size = (features["kpoints"], features["bands"], features["fft_grid"].replace("x", "·"))
        differences = (mib(run.figure), mib(run.peak), mib(run.peak - run.figure), f"{run.peak / run.figure:.2f}")
        rows.append([f"`{run.calculation.name}`", *map(str, size), *differences])
    headings = ("run", "k points", "bands", "FFT grid", "pw.x says, MiB", "peak, MiB", "left out, MiB", "ratio")
    return table(headings, rows)


def limits_table(held_out: Sequence[Run], limited: Sequence[Run]) -> str:
    """Each held-out run with its limit."""
    before = {run.calculation.name: run for run in held_out}
    rows = []
    for run in limited:
        charged = run.usage["cgroup_peak_bytes"]
        sizes = [mib(size) for size in (run.usage["limit_bytes"], before[run.calculation.name].peak, run.peak)]
        outcome = run.case["outcome"].replace("_", " ")
        rows.append([f"`{run.calculation.name}`", *sizes, "unknown" if charged is None else mib(charged), outcome])
    return table(("run", "limit, MiB", "peak before, MiB", "peak now, MiB", "charged to the job, MiB", "ended"), rows)


def charged_sentence(limited: Sequence[Run]) -> str:
    """How much of a resident peak the job's control group is not charged for."""
    differences = [run.peak - run.usage["cgroup_peak_bytes"] for run in limited if run.usage["cgroup_peak_bytes"]]
    if not differences:
        return "The control group's own peak is unknown here."
    return (
        f"The most that a job was charged for, page cache included, lay {mib(median(differences))} MiB below its "
        f"resident peak at the median ({span(differences)}): room that the limits had beside the margin. On a machine "
        "that has just started, the first job is charged for those pages, too; they are page cache, which goes before "
        "a job does."
    )


def limits_sentence(held_out: Sequence[Run], limited: Sequence[Run]) -> str:
    """How many limits held, and whether those that did not were too low."""
    before = {run.calculation.name: run.peak for run in held_out}
    ended = [run for run in limited if run.case["outcome"] != "completed"]
    wrong = [run for run in ended if before[run.calculation.name] <= run.usage["limit_bytes"]]
    held = f"**{len(limited) - len(ended)} of {len(limited)} limits held.**"
    if not ended:
        return f"{held} No run was killed."
    return (
        f"{held} {len(ended)} runs were ended, {len(ended) - len(wrong)} of them where the run without a limit had "
        f"held more than the limit, and {len(wrong)} for a wrong reason."
    )


def left_out_sentence(runs: Sequence[Run]) -> str:
    """What the figure leaves out, as a ratio and as a difference."""
    by_difference = sorted(runs, key=lambda run: run.peak - run.figure)
    differences = [run.peak - run.figure for run in by_difference]
    ratios = [run.peak / run.figure for run in runs]
    low = sum(difference > 0 for difference in differences)
    quarter, middle, three_quarters = (mib(cut) for cut in quantiles(differences, n=4))
    least, most = (
        f"`{run.calculation.name}` ({mib(run.peak - run.figure)})" for run in by_difference[:: len(runs) - 1]
    )
    return (
        f"The peak exceeded the figure in {low} of {len(runs)} runs. As a ratio, peak over figure goes from "
        f"{min(ratios):.2f} to {max(ratios):.1f}. As a difference, it is {middle} MiB at the median, and between "
        f"{quarter} and {three_quarters} MiB in the middle half of the runs, while the figures themselves go from "
        f"{span(run.figure for run in runs)} MiB. The least was left out of {least}, the most of {most}."
    )


def in_short(judged: Mapping[str, Sequence[Judged]]) -> str:
    """The methods on the held-out set, a line each."""
    return "\n".join(f"- {method}: {verdict(cases)}" for method, cases in judged.items())


def corrections_table(fitted: Mapping[str, Document]) -> str:
    """What each method makes of the training set."""
    rows = []
    for method, document in fitted.items():
        (group,) = document["groups"]
        offset, margin = group.get("offset_bytes"), METHODS[method][1]
        correction = f"figure × {group['multiplier']}" if offset is None else f"figure + {mib(offset)} MiB"
        rows.append([method, correction if margin is None else f"({correction}) × 1.{margin}", str(group["decided"])])
    return table(["method", "calibrated figure", "decided cases"], rows)


class Evidence:
    """All that the page speaks of."""

    def __init__(self, sets: str, min_cases: int) -> None:
        self.training, self.held_out, self.limited = (read_runs(sets, name) for name in (*SETS, LIMITED))
        self.runs = [*self.training, *self.held_out]
        files = [os.path.join(sets, name, "set.json") for name in SETS]
        self.fitted = {method: fit(files[0], method, min_cases) for method in METHODS}
        cases = {run.case["case_id"]: run for run in self.held_out}
        judged = {method: judge(files[1], document, cases) for method, document in self.fitted.items()}
        self.judged = {"as printed": as_printed(self.held_out), **judged}
        self.each = {"as printed": as_printed(self.runs), **each_held_out(sets, self.runs, min_cases)}
        self._held_out_file = files[1]

    def picture(self, method: str) -> str:
        """The held-out set under one of the methods, as SVG."""
        calibration = read_calibration(self.fitted[method])
        return "".join(draw(evaluate_set(self._held_out_file, calibration, iter), calibration.calibration_id))


def page(evidence: Evidence) -> str:
    """The page: `page.md` with every figure filled in."""
    receipt, case = evidence.training[0].receipt, evidence.training[0].case
    minutes = sum(run.usage["active_cpu_seconds"] for run in (*evidence.runs, *evidence.limited)) / 60
    longest = max(run.usage["active_cpu_seconds"] for run in evidence.runs)
    with open(os.path.join(os.path.dirname(__file__), "page.md"), encoding="utf-8") as file:
        template = file.read()
    filled = template.format(
        version=receipt["program_version"],
        hardware=case["hardware_class"],
        runs=len(evidence.runs),
        materials=len({run.calculation.material for run in evidence.runs}),
        held=len(evidence.held_out),
        trained=len(evidence.training),
        longest=f"{longest:.0f}",
        minutes=f"{minutes:.0f}",
        in_short=in_short(evidence.judged),
        materials_table=materials_table(evidence.runs),
        left_out=left_out_sentence(evidence.runs),
        corrections=corrections_table(evidence.fitted),
        held_out_table=by_material(evidence.judged),
        each_table=by_material(evidence.each),
        limits=limits_sentence(evidence.held_out, evidence.limited),
        charged=charged_sentence(evidence.limited),
        limits_table=limits_table(evidence.held_out, evidence.limited),
        runs_table=runs_table(evidence.runs),
        factor_picture=PICTURES["factor"],
        offset_picture=PICTURES["offset + 10 %"],
        for_limits=FOR_LIMITS,
    )
    paragraphs = filled.rstrip().split("\n\n")
    return "\n\n".join(part if part[0] in "#|!`-" else textwrap.fill(part, WIDTH) for part in paragraphs) + "\n"


def main(arguments: Sequence[str]) -> int:
    """The exit status of the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", metavar="SETS_DIR")
    parser.add_argument("docs", metavar="DOCS_DIR")
    parser.add_argument("--min-cases", type=int, default=MIN_CASES, help="as the limits were calibrated with")
    given = parser.parse_args(arguments)
    try:
        evidence = Evidence(given.sets, given.min_cases)
        texts = {PAGE: page(evidence)}
        texts |= {os.path.join("images", name): evidence.picture(method) for method, name in PICTURES.items()}
        for name, content in texts.items():
            path = os.path.join(given.docs, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
    except (VqError, OSError) as error:
        print(f"report: error: {error}", file=sys.stderr)
        return 1
    print(limits_sentence(evidence.held_out, evidence.limited).replace("*", ""))
    print(f"written: {', '.join(os.path.join(given.docs, name) for name in texts)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
