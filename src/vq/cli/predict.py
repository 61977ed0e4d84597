"""`vq predict`: what jobs will need, by the runs that they had before."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from vq.actions.admission import Asked, Predicted, load_setup_document
from vq.actions.admission import predict as predict_jobs
from vq.admission import Copies, Setup
from vq.admission.predictor import PERCENT
from vq.cli.admission_options import history_of, history_option, setup_option
from vq.cli.options import json_option
from vq.cli.output import Output
from vq.cli.quantities import CPUS_TYPE, MOMENT_TYPE, SIZE_TYPE
from vq.cli.sentences import GOES_BY, cpu_sentence, memory_sentence
from vq.wording import counted, human_bytes, human_cpus


@click.command(
    epilog="""Examples:

\b
  vq predict
  vq predict --history rows.jsonl
  vq predict --history rows.jsonl --name align --copies several
  vq predict --history rows.jsonl --name new --profile big \\
      --mem-cap 16GiB --json"""
)
@click.option("--name", metavar="N", help="The job's name; default: every job known.")
@click.option("--workflow", metavar="W", help="Only this workflow.")
@click.option("--repository", metavar="R", help="Only this repository.")
@click.option("--profile", metavar="P", help="Only this profile; needed for a job never seen, if there are several.")
@click.option("--mem-cap", "memory_cap", metavar="SIZE", type=SIZE_TYPE, help="Its limit; default: its last run's.")
@click.option("--cpus", "cpu_cap", metavar="N", type=CPUS_TYPE, help="Its CPUs; default: its last run's.")
@click.option(
    "--copies",
    type=click.Choice([copies.value for copies in Copies]),
    default=Copies.ALONE.value,
    show_default=True,
    help="Whether other copies of it wait or run.",
)
@click.option("--at", metavar="TIME", type=MOMENT_TYPE, help="As of this time (2026-11-30T12:00, UTC); default: now.")
@history_option
@setup_option
@json_option
def predict(
    rows_file: str | None, setup_file: str | None, copies: str, *, at: int | None, as_json: bool, **asked: Any
) -> None:
    """Say what memory and CPU jobs would be given, and why.

    Nothing is guessed: with too few runs it is the job's limit. A name, a repository and a profile together are one
    job, known or not, which has no workflow unless you name one; fewer of them are every known job that matches.
    """
    document = load_setup_document(setup_file)
    history = history_of(rows_file, "predict --history rows.jsonl")
    setup = history.setup(document)
    now = time.time_ns() // 1_000_000 if at is None else at
    found = predict_jobs(setup, history.rows, Asked(**asked, copies=Copies(copies)), now)
    output = Output(json=as_json)
    if output.json:
        predictions = [predicted.document() for predicted in found]
        output.document([json.dumps({"predictions": predictions}, indent=2), "\n"])
    elif len(found) == 1:
        _show_one(output, found[0], setup)
    elif found:
        _show_all(output, found)
    else:
        output.line("no job of the history matches")


def _show_one(output: Output, predicted: Predicted, setup: Setup) -> None:
    key, peaks = predicted.key, predicted.peaks
    window = "no runs"
    if len(peaks):
        middle, high = (human_bytes(peaks.percentile(percent)) for percent in (50, PERCENT))
        window = (
            f"{counted(len(peaks), 'run')}, peaks: half up to {middle}, {PERCENT} % up to {high}, "
            f"all up to {human_bytes(peaks.largest())}"
        )
    output.fields(
        [
            ("Job", key.name),
            *([("Workflow", key.workflow)] if key.workflow is not None else []),
            ("Repository", key.repository),
            ("Profile", predicted.profile),
            ("Memory", memory_sentence(predicted.memory, setup.margin)),
            ("CPU", cpu_sentence(predicted.cpu)),
            ("Window", window),
        ]
    )


def _show_all(output: Output, found: list[Predicted]) -> None:
    headings = ["JOB", "PROFILE", "MEMORY", "GOES BY", "RUNS", "LARGEST PEAK", "CPU"]
    rows = [
        [
            predicted.key.name,
            predicted.profile,
            human_bytes(predicted.memory.memory),
            predicted.memory.basis.kind,
            str(len(predicted.peaks)),
            human_bytes(predicted.peaks.largest()) if len(predicted.peaks) else "none",
            human_cpus(predicted.cpu.cpu),
        ]
        for predicted in found
    ]
    output.table(headings, rows, keys=2, text_columns=2)
    used = {predicted.memory.basis.kind for predicted in found}
    output.line()
    output.fields([(kind, words) for kind, words in GOES_BY.items() if kind in used])
