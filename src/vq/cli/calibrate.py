"""`vq estimate-calibrate`: fit a factor or an offset for each group of estimates on a training set."""

from __future__ import annotations

import re
from typing import Any

import click

from vq.actions.evaluation import calibrate_set
from vq.canonical import pretty_rows
from vq.cli.corrections import margin_words
from vq.cli.options import PATH, json_option, progress, quiet_option
from vq.cli.output import Output, warn
from vq.errors import BadDataError
from vq.estimates.calibration import MOST_BYTES
from vq.estimates.correction import MOST_MARGIN
from vq.estimates.fit import MIN_CASES, Recipe
from vq.files.documents import refuse_existing, write_new
from vq.wording import counted, human_bytes


def margin(_: click.Context, __: click.Parameter, value: str | None) -> int | float | None:
    """A percentage as the decimal that was given, a whole one as an integer; None for none and for 0."""
    if value is None:
        return None
    digits = re.fullmatch(r"([0-9]{1,4})(?:\.([0-9]{1,6}))?", value)
    if digits is None or float(value) > MOST_MARGIN:
        raise click.BadParameter(f"expected a percentage from 0 to {MOST_MARGIN}, such as 10 or 12.5")
    return (float(value) if int(digits[2] or 0) else int(digits[1])) or None


@click.command(
    epilog="""Examples:

\b
  vq estimate-calibrate training/set.json -o calibration.json
  vq estimate-calibrate training/set.json -o calibration.json --min-cases 10
  vq estimate-calibrate training/set.json -o calibration.json \\
      --method offset --margin 10
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
@click.option(
    "--method",
    type=click.Choice(["factor", "offset"]),
    default="factor",
    show_default=True,
    help="Multiply memory figures by the worst ratio, or add the worst difference.",
)
@click.option(
    "--margin",
    "margin_percent",
    metavar="PERCENT",
    callback=margin,
    help=f"So much more on top of a calibrated memory figure, at most {MOST_MARGIN}.",
)
@click.option("--job-wide", is_flag=True, help="Also use what the whole job was measured to hold at once.")
@json_option
@quiet_option("only the id of the calibration")
def calibrate(set_file: str, target: str, *, as_json: bool, quiet: bool, **options: Any) -> None:
    """Fit a calibration on a training SET.

    A group's multiplier is the worst ratio of measured to predicted in it, never below 1; its offset, by the other
    method, the worst difference, never below 0. Judge it on another set that it never saw, before you rely on it:
    vq estimate-evaluate HELD-OUT --calibration FILE.
    """
    output = Output(json=as_json, quiet=quiet)
    refuse_existing(target)
    document, warnings = calibrate_set(set_file, Recipe(**options), progress)
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
    if "margin_percent" in document:
        output.paragraph(f"{document['method']}, {margin_words(document['margin_percent'])}")
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
    offset = any(group.get("offset_bytes") is not None for group in groups)
    headings += ["HARDWARE", "DECIDED", "OF", "OFFSET" if offset else "MULTIPLIER"]
    rows = [_row(group, scope) for group in groups]
    output.table(headings, rows, keys=3, text_columns=5 if scope else 4)


def _row(group: dict[str, Any], scope: str | None) -> list[str]:
    multiplier, offset_bytes = group["multiplier"], group.get("offset_bytes")
    at_least = ">= " if group.get("multiplier_is_lower_bound") or group.get("is_lower_bound") else ""
    if multiplier is not None:
        shown = f"{at_least}{multiplier:.15g}"
    else:
        shown = "too few" if offset_bytes is None else f"{at_least}{human_bytes(offset_bytes)}"
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
