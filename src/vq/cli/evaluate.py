"""`vq estimate-evaluate`: how estimates held up against what jobs used."""

from __future__ import annotations

from typing import Any

import click

from vq.actions.evaluation import evaluate_set, load_calibration
from vq.canonical import pretty_rows
from vq.cli.corrections import margin_words
from vq.cli.options import PATH, json_option, progress, quiet_option, svg_name
from vq.cli.output import Output, dash, warn
from vq.estimates.calibration import Calibration
from vq.estimates.evaluation import Report
from vq.estimates.summary import MEMORY_VERDICTS, Summary, Tally
from vq.files.documents import refuse_existing, write_new
from vq.wording import counted, human_ratio, share

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
  vq estimate-evaluate held-out/set.json --plot held-out.svg
  vq estimate-evaluate held-out/set.json --json"""
)
@click.argument("set_file", metavar="SET", type=PATH)
@click.option("--calibration", metavar="FILE", type=PATH, help="Judge this calibration on the set.")
@click.option(
    "--plot",
    metavar="FILE.svg",
    type=PATH,
    callback=svg_name,
    help="Also draw measured against predicted peak memory into this new file.",
)
@json_option
@quiet_option("only how often the estimates were too low")
def evaluate(set_file: str, calibration: str | None, plot: str | None, *, as_json: bool, quiet: bool) -> None:
    """Say how estimates held up on a frozen SET of runs.

    For each method and class of hardware: how many cases, each verdict's count, measured over predicted, and how often
    the estimate was too low, as a range from what is certain to what is possible.
    """
    output = Output(json=as_json, quiet=quiet)
    if plot is not None:
        refuse_existing(plot)
    fitted = None if calibration is None else load_calibration(calibration)
    report = evaluate_set(set_file, fitted, progress)
    if plot is not None:
        _draw(report, fitted, plot)
    for warning in report.warnings:
        warn(warning)
    if output.json:
        document = report.document(None if fitted is None else fitted.document())
        output.document(pretty_rows(document, "cases", report.case_documents()))
    elif output.quiet:
        output.line(_frequency(report.overall.calibrated_memory or report.overall.memory))
    else:
        _show(output, report, fitted, plot)


def _draw(report: Report, calibration: Calibration | None, target: str) -> None:
    # Only who asks for a picture pays for loading what draws it.
    from vq.plots.evaluation import draw  # noqa: PLC0415

    write_new(target, draw(report, None if calibration is None else _named(calibration)))


def _named(calibration: Calibration) -> str:
    """A calibration as the picture names it: by its id, and by its method and margin where it is no plain factor."""
    if not calibration.newer:
        return calibration.calibration_id
    return f"{calibration.calibration_id}, {_method(calibration)}"


def _method(calibration: Calibration) -> str:
    margin = f", {margin_words(calibration.margin_percent)}" if calibration.newer else ""
    return calibration.method + margin


def _show(output: Output, report: Report, calibration: Calibration | None, plot: str | None) -> None:
    output.paragraph(f"Estimates of {report.set_id}: {counted(len(report.rows), 'case')}", bold=True)
    output.line(f"set {report.sha256}")
    if calibration is not None:
        output.line(f"calibration {calibration.calibration_id}")
        output.paragraph(f"  fitted on {calibration.training_set_id}, {_method(calibration)}")
    output.line()
    counts = report.overall.memory.counts
    met = [verdict for verdict in MEMORY_VERDICTS if counts[verdict]]
    headings = ["METHOD", "HARDWARE", "N", *(verdict.upper() for verdict in met)]
    headings += ["RATIO MED/MAX", f"UNDER (lo{dash()}hi)", f"COVERED (lo{dash()}hi)"]
    if calibration is not None:
        headings += ["CALIBRATED UNDER", "UNCALIBRATED", "CALIBRATED COVERED"]
    rows = [_row(method or "unknown", hardware, summary, met) for method, hardware, summary in report.groups]
    output.table(headings, [*rows, _row("overall", "", report.overall, met)], keys=3, text_columns=2)
    output.line()
    never = ", ".join(verdict for verdict in MEMORY_VERDICTS if verdict not in met)
    output.fields(
        [
            *((verdict, _MEANINGS[verdict]) for verdict in met),
            *([("no case", never)] if never else []),
            ("RATIO", "measured over predicted peak, median and largest, of so many cases"),
            ("UNDER", "how often the estimate was too low: from the certain cases to all that could be"),
            ("COVERED", "how often the run took as long as the estimate's interval says, likewise"),
            ("limits", report.document()["limitations"][0]),
            *([("picture", plot)] if plot else []),
        ]
    )


def _row(method: str, hardware: str, summary: Summary, met: list[str]) -> list[str]:
    cells = [method, hardware, str(summary.cases)]
    cells += [str(summary.memory.counts[verdict]) for verdict in met]
    cells += [_ratio(summary.ratio()), _frequency(summary.memory), _frequency(summary.runtime)]
    if summary.calibrated_memory is not None and summary.calibrated_runtime is not None:
        cells += [_frequency(summary.calibrated_memory), str(summary.calibrated_memory.uncalibrated)]
        cells.append(_frequency(summary.calibrated_runtime))
    return cells


def _ratio(ratio: dict[str, Any]) -> str:
    return f"{human_ratio(ratio['median'])}/{human_ratio(ratio['max'])} of {ratio['n']}" if ratio["n"] else "none"


def _frequency(tally: Tally) -> str:
    n = tally.evaluable
    if not n:
        return "none"
    low, high = share(tally.decided, n), share(tally.possible, n)
    return f"{low} of {n}" if tally.decided == tally.possible else f"{low}{dash()}{high} of {n}"
