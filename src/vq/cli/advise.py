"""`vq advise`: what memory would have been enough to ask for."""

from __future__ import annotations

import json
from typing import Any

import click

from vq.actions.admission import load_setup_document
from vq.admission.advice import PAGE_CACHE, Advice
from vq.admission.advice import advise as advise_on
from vq.admission.predictor import MEMORY_GRANULE
from vq.cli.admission_options import history_of, history_option, setup_option
from vq.cli.options import json_option
from vq.cli.output import Output, note
from vq.wording import MIB, human_bytes


@click.command(
    epilog="""Examples:

\b
  vq advise
  vq advise --history rows.jsonl
  vq advise --history rows.jsonl --json"""
)
@history_option
@setup_option
@json_option
def advise(rows_file: str | None, setup_file: str | None, *, as_json: bool) -> None:
    """Say for each job what memory would have been enough, beside what was asked for.

    It changes nothing. A job with too few runs, or one that met its limit and has not run clean three times since,
    gets no figure. A run that met its limit counts with that limit.
    """
    document = load_setup_document(setup_file)
    history = history_of(rows_file, "advise --history rows.jsonl")
    setup = history.setup(document)
    caps = {name: profile.memory for name, profile in setup.profiles.items()}
    found = advise_on(history.rows, margin=setup.margin, min_jobs=setup.min_jobs, caps=caps)
    output = Output(json=as_json)
    if output.json:
        output.document([json.dumps({"advice": [_document(advice) for advice in found]}, indent=2), "\n"])
        return
    advised = any(advice.enough for advice in found)
    if not advised:
        note(f"nothing to advise: a figure takes {setup.min_jobs} runs of a job that do not meet its limit")
    headings = ["JOB", "PROFILE", "RUNS", "LARGEST PEAK", "ASKED FOR", "ENOUGH", "--mem-mb"]
    # Without any figure the last column is empty, and would stand alone below all others.
    shown = len(headings) if advised else len(headings) - 1
    rows = [_row(advice, setup.min_jobs)[:shown] for advice in found]
    output.table(headings[:shown], rows, keys=2, text_columns=2)
    output.line()
    spare = human_bytes(PAGE_CACHE)
    output.paragraph(
        f"ENOUGH is the largest peak + {setup.margin} %, at least + {spare} for page cache, in steps of"
        f" {human_bytes(MEMORY_GRANULE)}; --mem-mb is what to submit with for it. RUNS counts the last ones only, and a"
        " run that met its limit has that limit as its peak."
    )
    if not advised:
        return
    output.line()
    output.paragraph(
        f"Why {spare} more, even for a small job: a peak is measured without the files that the kernel keeps in memory"
        " for the job, but its limit counts them, and without room for them its reading and writing is slow. A large"
        " limit costs little where admission is measured: the next jobs reserve by measured peaks, not by their limits."
    )


def _document(advice: Advice) -> dict[str, Any]:
    return {
        **advice.key._asdict(),
        "profile": advice.profile,
        "runs": advice.runs,
        "peak": advice.peak,
        "asked": advice.asked,
        "enough": advice.enough,
        "held": advice.held,
    }


def _row(advice: Advice, min_jobs: int) -> list[str]:
    if advice.enough is None:
        figures = ["none: it met its limit" if advice.held else f"none: under {min_jobs} runs", ""]
    else:
        figures = [human_bytes(advice.enough), str(advice.enough // MIB)]
    asked = "unknown" if advice.asked is None else human_bytes(advice.asked)
    peak = human_bytes(advice.peak) if advice.runs else "none"
    return [advice.key.name, advice.profile, str(advice.runs), peak, asked, *figures]
