"""`vq estimate`: a receipt of what a program says beforehand."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from vq.actions.estimate import Request, apply
from vq.actions.estimate import estimate as make_estimate
from vq.canonical import pretty
from vq.cli.options import PATH, hardware_class, json_option, quiet_option
from vq.cli.output import Output, human_bytes, warn
from vq.estimates.receipt import MOST_MEMORY_MB
from vq.files.documents import refuse_existing, write_new

_REASONS = {
    "no_memory_figure": "the estimate has no memory figure",
    "no_interval": "the estimate has no runtime interval",
    "zero_upper_bound": "the upper bound of the runtime interval is zero",
    "no_matching_group": "no group of the calibration matches this estimate",
    "too_few_cases": "the matching group had too few cases",
}


@click.command(
    epilog="""Examples:

\b
  vq estimate calculation.system --input calculation.py
  vq estimate calculation.system --input calculation-dir --json
  vq estimate calculation.system --features features.json -o receipt.json
  vq estimate calculation.system --input calculation.py \\
      --calibration calibration.json --hardware-class class-a --json"""
)
@click.argument("manifest", type=PATH)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="PATH",
    type=PATH,
    help="Fingerprint this file, or every file under this folder (repeatable).",
)
@click.option(
    "--features",
    metavar="FILE",
    type=PATH,
    help="What you know and the manifest does not say (JSON).",
)
@click.option(
    "--memory-mb",
    metavar="N",
    type=click.IntRange(1, MOST_MEMORY_MB),
    help="Your own memory limit for the job, in MiB; it overrides the figure.",
)
@click.option("--calibration", metavar="FILE", type=PATH, help="Apply this calibration.")
@click.option(
    "--hardware-class",
    metavar="LABEL",
    callback=hardware_class,
    help="The class of hardware that the job will run on.",
)
@click.option("-o", "--output", "target", metavar="FILE", type=PATH, help="Write the receipt to a new file.")
@json_option
@quiet_option
def estimate(**options: Any) -> None:
    """Turn a dry-run MANIFEST into an estimate receipt.

    The receipt keeps the program's own memory figure, bound to the digests of the manifest and of the inputs.
    Nothing is guessed: what the manifest does not say stays unknown. With a calibration, a calibrated figure is
    added beside it.
    """
    calibration, label, target = options["calibration"], options["hardware_class"], options["target"]
    if (calibration is None) != (label is None):
        raise click.UsageError("--calibration and --hardware-class go together: a calibration speaks of one class")
    if target is not None:
        refuse_existing(target)
    receipt = make_estimate(
        Request(
            manifest=options["manifest"],
            inputs=options["inputs"],
            features=options["features"],
            memory_mb=options["memory_mb"],
            own_output=(os.fstat(sys.stdout.fileno()),),
        )
    )
    document = receipt if calibration is None else apply(receipt, calibration, label)
    if target is not None:
        write_new(target, [pretty(document)])
    for warning in receipt["warnings"]:
        warn(warning)
    _show(Output(json=options["as_json"], quiet=options["quiet"]), receipt, document, target)


def _show(output: Output, receipt: dict[str, Any], document: dict[str, Any], target: str | None) -> None:
    if output.json:
        output.document([pretty(document)])
    elif output.quiet:
        figure = document.get("calibrated_peak_bytes") or receipt["memory"]["predicted_peak_bytes"]
        output.line("unknown" if figure is None else str(figure))
    else:
        _show_receipt(output, receipt)
        if document is not receipt:
            output.field("Calibrated memory", _calibrated_memory(document))
            output.field("Calibrated runtime", _calibrated_runtime(document))
        output.field("Unknown", ", ".join(receipt["unknown"]))
        for number, limitation in enumerate(receipt["limitations"]):
            output.field("" if number else "Limitations", limitation)
        if target is not None:
            output.field("Written to", target)


def _show_receipt(output: Output, receipt: dict[str, Any]) -> None:
    memory = receipt["memory"]
    version = receipt["program_version"] or "of unknown version"
    output.field("Program", f"{receipt['program']} {version} ({receipt['estimator']})")
    known = [f"{name} {value}" for name, value in receipt["features"].items() if value is not None]
    output.field("Features", ", ".join(known) or "none reported")
    if receipt["evidence"]:
        given = [
            f"{name} {value}" for name, value in receipt["evidence"].items() if name not in ("sha256", "schema_version")
        ]
        output.field("Evidence", ", ".join(given) or "none given")
    output.field("Memory", _memory(memory))
    if memory["override"]:
        output.field("Override", f"{memory['override']['memory_mb']} MiB, the limit you set for the job")
    effective = memory["effective_job_memory_bytes"]
    output.field("For the job", "unknown" if effective is None else _bytes(effective))
    inputs = receipt["inputs"]
    if inputs:
        output.field("Inputs", f"{len(inputs)} fingerprinted, {human_bytes(sum(file['bytes'] for file in inputs))}")
    output.field("Input digest", receipt["input_digest"])


def _memory(memory: dict[str, Any]) -> str:
    if memory["predicted_peak_bytes"] is None:
        return f"unknown (scope {memory['scope']})"
    margin = "safety margin included" if memory["safety_margin"] == "included" else "without a safety margin"
    return f"{_bytes(memory['predicted_peak_bytes'])}, scope {memory['scope']}, {margin}"


def _bytes(size: int) -> str:
    return f"{human_bytes(size)} ({size} bytes)"


def _calibrated_memory(document: dict[str, Any]) -> str:
    if document["status"] == "uncalibrated":
        return f"none: {_REASONS[document['reason']]}"
    return f"{_bytes(document['calibrated_peak_bytes'])}, {_source(document, '')}"


def _calibrated_runtime(document: dict[str, Any]) -> str:
    if document["runtime_status"] == "uncalibrated":
        return f"none: {_REASONS[document['runtime_reason']]}"
    return f"at most {document['calibrated_runtime_upper_seconds']} s, {_source(document, 'runtime_')}"


def _source(document: dict[str, Any], part: str) -> str:
    at_least = "at least " if document[f"{part}multiplier_is_lower_bound"] else ""
    training = document["calibration"]["training_set"]["set_id"]
    return f"the figure x {at_least}{document[f'{part}multiplier']}, the worst ratio in {training}"
