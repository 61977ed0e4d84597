"""`vq estimate-calibrate`: fit a factor for each group of estimates on a training set."""

from __future__ import annotations

from typing import Any

import click

from vq.actions.evaluation import calibrate_set
from vq.canonical import pretty_rows
from vq.cli.options import PATH, json_option, progress, quiet_option
from vq.cli.output import Output, warn
from vq.errors import BadDataError
from vq.estimates.calibration import MOST_BYTES
from vq.estimates.fit import MIN_CASES
from vq.files.documents import refuse_existing, write_new
from vq.wording import counted


@click.command(
    epilog="""Examples:

\b
  vq estimate-calibrate training/set.json -o calibration.json
  vq estimate-calibrate training/set.json -o calibration.json --min-cases 10
  vq estimate-evaluate held-out/set.json --calibration calibration.json"""
)
@click.argument("set_file", metavar="SET", type=PATH)
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    required=True,
    type=PATH,
    help="Write the calibration to this new file.",
)
@click.option(
    "--min-cases",
    metavar="N",
    type=click.IntRange(1, 2**53 - 1),
    default=MIN_CASES,
    show_default=True,
    help="Decided cases that a group needs; choose it before fitting.",
)
@click.option("--job-wide", is_flag=True, help="Also use what the whole job was measured to hold at once.")
@json_option
@quiet_option
def calibrate(set_file: str, target: str, min_cases: int, *, job_wide: bool, as_json: bool, quiet: bool) -> None:
    """Fit a calibration on a training SET.

    A group's multiplier is the worst ratio of measured to predicted in it, never below 1. Judge it on another set that
    it never saw, before you rely on it: vq estimate-evaluate HELD-OUT --calibration FILE.
    """
    output = Output(json=as_json, quiet=quiet)
    refuse_existing(target)
    document, warnings = calibrate_set(set_file, min_cases, progress, job_wide=job_wide)
    pieces = list(pretty_rows({**document, "training_cases": []}, "training_cases", iter(document["training_cases"])))
    size = sum(map(len, pieces))
    if size > MOST_BYTES:
        raise BadDataError(f"a calibration of at most {MOST_BYTES} bytes, found {size}; split the set").at(set_file)
    write_new(target, pieces)
    for warning in warnings:
        warn(warning)
    if output.json:
        output.document(pieces)
    elif output.quiet:
        output.line(document["calibration_id"])
    else:
        _show(output, document, target)


def _show(output: Output, document: dict[str, Any], target: str) -> None:
    output.line(f"Calibration {document['calibration_id']}", bold=True)
    cases = len(document["training_cases"])
    output.paragraph(
        f"fitted on {document['training_set']['set_id']}: {counted(cases, 'case')}; "
        f"a group needs {document['min_cases']} decided"
    )
    for title, key, scope in (("Memory", "groups", "memory_scope"), ("Runtime", "runtime_groups", None)):
        output.line()
        _show_groups(output, title, document[key], scope)
    output.line()
    left_out = f"{document['unidentified']} cases of unknown program version or method"
    output.fields([*([("Left out", left_out)] if document["unidentified"] else []), ("Written to", target)])


def _show_groups(output: Output, title: str, groups: list[dict[str, Any]], scope: str | None) -> None:
    if not any(group["decided"] for group in groups):
        output.line(f"{title}: nothing to fit, no case has such evidence", bold=True)
        return
    output.line(title, bold=True)
    headings = ["METHOD", "VERSION", "ALGORITHM", *(["SCOPE"] if scope else [])]
    headings += ["HARDWARE", "DECIDED", "OF", "MULTIPLIER"]
    rows = [_row(group, scope) for group in groups]
    output.table(headings, rows, keys=3, text_columns=5 if scope else 4)


def _row(group: dict[str, Any], scope: str | None) -> list[str]:
    multiplier = group["multiplier"]
    if multiplier is None:
        shown = "too few"
    else:
        shown = f"{'>= ' if group['multiplier_is_lower_bound'] else ''}{multiplier:.15g}"
    return [
        group["method"],
        f"{group['program']} {group['program_version']}",
        group["algorithm"] or "none",
        *([group[scope]] if scope else []),
        group["hardware_class"],
        str(group["decided"]),
        str(group["decided"] + sum(group["unused"].values())),
        shown,
    ]
