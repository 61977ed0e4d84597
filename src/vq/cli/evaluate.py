"""`vq estimate-evaluate`: how estimates held up against what jobs used."""

from __future__ import annotations

from typing import Any

import click

from vq.actions.evaluation import evaluate_set, load_calibration
from vq.canonical import pretty_rows
from vq.cli.options import PATH, json_option, progress, quiet_option
from vq.cli.output import Output, dash, warn
from vq.estimates.calibration import Calibration
from vq.estimates.evaluation import Report
from vq.estimates.summary import MEMORY_VERDICTS, Summary, Tally

_MEANINGS = {
    "underpredicted": "needed more than estimated",
    "within": "measured at or below the estimate, and the measurement compares",
    "not_refuted": "nothing measured exceeds the estimate, but the run had several processes (or an unknown "
    "number), so its largest process says too little",
    "censored": "stopped before it could decide",
    "unobserved": "completed without a measurement",
    "excluded": "failed, or its measurement did: no evidence",
    "no_prediction": "the receipt has no figure",
}


@click.command(
    epilog="""Examples:

\b
  vq estimate-evaluate held-out/set.json
  vq estimate-evaluate held-out/set.json --calibration calibration.json
  vq estimate-evaluate held-out/set.json --json"""
)
@click.argument("set_file", metavar="SET", type=PATH)
@click.option("--calibration", metavar="FILE", type=PATH, help="Judge this calibration on the set.")
@json_option
@quiet_option
def evaluate(set_file: str, calibration: str | None, *, as_json: bool, quiet: bool) -> None:
    """Say how estimates held up on a frozen SET of runs.

    For each method and class of hardware: how many cases, each verdict's count, measured over predicted, and how often
    the estimate was too low, as a range from what is certain to what is possible.
    """
    output = Output(json=as_json, quiet=quiet)
    fitted = None if calibration is None else load_calibration(calibration)
    report = evaluate_set(set_file, fitted, progress)
    for warning in report.warnings:
        warn(warning)
    if output.json:
        document = report.document(None if fitted is None else fitted.document())
        output.document(pretty_rows(document, "cases", report.case_documents()))
    elif output.quiet:
        output.line(_frequency(report.overall.memory))
    else:
        _show(output, report, fitted)


def _show(output: Output, report: Report, calibration: Calibration | None) -> None:
    output.paragraph(f"Estimates of {report.set_id}: {len(report.rows)} cases", bold=True)
    output.line(f"set {report.sha256}")
    if calibration is not None:
        output.line(f"calibration {calibration.calibration_id}")
        output.paragraph(f"  fitted on {calibration.training_set_id}, {calibration.method}")
    output.line()
    headings = ["METHOD", "HARDWARE", "N", *(verdict.upper() for verdict in MEMORY_VERDICTS)]
    headings += ["RATIO MED/MAX", f"UNDER (lo{dash()}hi)", f"COVERED (lo{dash()}hi)"]
    if calibration is not None:
        headings += ["CALIBRATED UNDER", "UNCALIBRATED", "CALIBRATED COVERED"]
    rows = [_row(method or "unknown", hardware, summary) for method, hardware, summary in report.groups]
    output.table(headings, [*rows, _row("overall", "", report.overall)], keys=3, text_columns=2)
    output.line()
    counts = report.overall.memory.counts
    for verdict, meaning in _MEANINGS.items():
        if counts[verdict]:
            output.field(verdict, meaning)
    output.field("RATIO", "measured over predicted peak, median and largest, of so many cases")
    output.field("UNDER", "how often the estimate was too low: from the certain cases to all that could be")
    for limitation in report.document()["limitations"][:1]:
        output.field("Limits", limitation)


def _row(method: str, hardware: str, summary: Summary) -> list[str]:
    cells = [method, hardware, str(summary.cases)]
    cells += [str(count) for count in summary.memory.counts.values()]
    cells += [_ratio(summary.ratio()), _frequency(summary.memory), _frequency(summary.runtime)]
    if summary.calibrated_memory is not None and summary.calibrated_runtime is not None:
        cells += [_frequency(summary.calibrated_memory), str(summary.calibrated_memory.uncalibrated)]
        cells.append(_frequency(summary.calibrated_runtime))
    return cells


def _ratio(ratio: dict[str, Any]) -> str:
    return f"{ratio['median']:.3g}/{ratio['max']:.3g} of {ratio['n']}" if ratio["n"] else "none"


def _frequency(tally: Tally) -> str:
    n = tally.evaluable
    if not n:
        return "none"
    low, high = f"{tally.decided / n:.2f}", f"{tally.possible / n:.2f}"
    return f"{low} of {n}" if tally.decided == tally.possible else f"{low}{dash()}{high} of {n}"
