"""`vq estimate`: a receipt of what a program says beforehand."""

from __future__ import annotations

import os
from typing import Any

import click

from vq.actions.estimate import AUTO, DEFAULT, Request, apply
from vq.actions.estimate import estimate as make_estimate
from vq.canonical import pretty
from vq.cli.corrections import long
from vq.cli.mebibytes import MEM_MB
from vq.cli.options import PATH, hardware_class, json_option, quiet_option
from vq.cli.output import Output, note, warn
from vq.estimates.program import UNSPECIFIED
from vq.estimates.programs import PROGRAMS
from vq.files.documents import refuse_existing, write_new
from vq.wording import human_bytes

_STDOUT = 1
_WHOLE_JOB = '{"schema_version": 1, "memory_scope": "job"}'

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
  vq estimate dry-run.out --program quantum-espresso --input pw.in --json
  vq estimate calculation.system --input calculation.py \\
      --calibration calibration.json --hardware-class class-a --json"""
)
@click.argument("manifest", metavar="OUTPUT", type=PATH)
@click.option(
    "--program",
    type=click.Choice([*PROGRAMS, AUTO]),
    default=DEFAULT,
    show_default=True,
    help="The program that wrote OUTPUT; auto recognises it and says by what.",
)
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
    help="What you know and the program does not say (JSON).",
)
@click.option(
    "--memory-mb",
    "--mem-mb",
    "--mem",
    metavar="SIZE",
    type=MEM_MB,
    help="Your own memory limit for the job, a number of MiB or a size such as 4G; it overrides the figure.",
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
@quiet_option("only the figure in bytes, or a word where there is none")
def estimate(**options: Any) -> None:
    """Turn a program's OUTPUT (a dry-run manifest, a log) into an estimate receipt.

    The receipt keeps the program's own memory figure, bound to the digests of the output and of the inputs.
    Nothing is guessed: what the output does not say stays unknown. With a calibration, a calibrated figure is
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
            program=options["program"],
            saw=note,
            inputs=options["inputs"],
            features=options["features"],
            memory_mb=options["memory_mb"],
            own_output=_own_output(),
        )
    )
    document = receipt if calibration is None else apply(receipt, calibration, label)
    if target is not None:
        write_new(target, [pretty(document)])
    for warning in receipt["warnings"]:
        warn(warning)
    _show(Output(json=options["as_json"], quiet=options["quiet"]), receipt, document, target)


def _own_output() -> tuple[os.stat_result, ...]:
    """A reading of what stdout goes to, so that a receipt is no input of itself."""
    try:
        return (os.fstat(_STDOUT),)
    except OSError:
        return ()


def _show(output: Output, receipt: dict[str, Any], document: dict[str, Any], target: str | None) -> None:
    if output.json:
        output.document([pretty(document)])
    elif output.quiet:
        output.line(_bare(receipt, document))
    else:
        output.fields(
            [
                *_fields(receipt),
                *(_calibrated_fields(document) if document is not receipt else []),
                ("Unknown", ", ".join(receipt["unknown"])),
                ("Limitations", receipt["limitations"][0]),
                *(("", limitation) for limitation in receipt["limitations"][1:]),
                *([("Written to", target)] if target is not None else []),
            ]
        )


def _bare(receipt: dict[str, Any], document: dict[str, Any]) -> str:
    """The figure in bytes: the calibrated one where a calibration was asked for, and never the raw one in its place."""
    if document is not receipt:
        figure, without = document["calibrated_peak_bytes"], "uncalibrated"
    else:
        figure, without = receipt["memory"]["predicted_peak_bytes"], "unknown"
    return without if figure is None else str(figure)


def _fields(receipt: dict[str, Any]) -> list[tuple[str, str]]:
    memory, inputs, evidence = receipt["memory"], receipt["inputs"], receipt["evidence"] or {}
    version = receipt["program_version"] or "of unknown version"
    known = [f"{name} {value}" for name, value in receipt["features"].items() if value is not None]
    given = [f"{name} {value}" for name, value in evidence.items() if name not in ("sha256", "schema_version")]
    fields = [
        ("Program", f"{receipt['program']} {version} ({receipt['estimator']})"),
        ("Features", ", ".join(known) or "none reported"),
    ]
    if evidence:
        fields.append(("Evidence", ", ".join(given) or "none given"))
    fields.append(("Memory", _memory(memory)))
    if memory["override"]:
        fields.append(("Override", f"{memory['override']['memory_mb']} MiB, the limit that you set for the job"))
    effective = memory["effective_job_memory_bytes"]
    fields.append(("For the job", _unknown(memory) if effective is None else _bytes(effective)))
    if inputs:
        size = human_bytes(sum(file["bytes"] for file in inputs))
        fields.append(("Inputs", f"{len(inputs)} fingerprinted, {size}"))
    fields.append(("Input digest", receipt["input_digest"]))
    return fields


def _unknown(memory: dict[str, Any]) -> str:
    """That the figure for the whole job is not known, and what makes it known."""
    own = "--memory-mb sets a limit of your own"
    if memory["predicted_peak_bytes"] is None:
        return f"unknown; {own}"
    declare = f"say {_WHOLE_JOB} in a --features file"
    if memory["scope"] == UNSPECIFIED:
        return f"unknown, as what the figure covers is not said; if it is the whole job, {declare}; {own}"
    return (
        f"unknown, as the figure is of one {memory['scope']}; if the program prints one of the whole job, too, "
        f"{declare}; {own}"
    )


def _memory(memory: dict[str, Any]) -> str:
    if memory["predicted_peak_bytes"] is None:
        return f"unknown (scope {memory['scope']})"
    margin = "safety margin included" if memory["safety_margin"] == "included" else "without a safety margin"
    return f"{_bytes(memory['predicted_peak_bytes'])}, scope {memory['scope']}, {margin}"


def _bytes(size: int) -> str:
    return f"{human_bytes(size)} ({size} bytes)"


def _calibrated_fields(document: dict[str, Any]) -> list[tuple[str, str]]:
    if document["status"] == "calibrated":
        memory = f"{_bytes(document['calibrated_peak_bytes'])}, {long(document)}"
    else:
        memory = f"none: {_REASONS[document['reason']]}"
    if document["runtime_status"] == "calibrated":
        runtime = f"at most {document['calibrated_runtime_upper_seconds']} s, {_runtime_source(document)}"
    else:
        runtime = f"none: {_REASONS[document['runtime_reason']]}"
    return [("Calibrated memory", memory), ("Calibrated runtime", runtime)]


def _runtime_source(document: dict[str, Any]) -> str:
    at_least = "at least " if document["runtime_multiplier_is_lower_bound"] else ""
    training = document["calibration"]["training_set"]["set_id"]
    return f"the figure x {at_least}{document['runtime_multiplier']}, the worst ratio in {training}"
