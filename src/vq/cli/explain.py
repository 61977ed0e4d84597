"""`vq explain`: why a job is where it is."""

from __future__ import annotations

import os
from typing import Any

import click

from vq.actions.explain import Explained
from vq.actions.explain import explain as explain_job
from vq.actions.place import config_in_force
from vq.actions.requesting import now_ms
from vq.actions.waking import absence
from vq.canonical import pretty
from vq.cli.endings import next_step, what_became
from vq.cli.jobs import the_queue
from vq.cli.options import json_option, quiet_option
from vq.cli.output import Output, note
from vq.cli.sentences import reserved_cpus_sentence, reserved_sentence, too_large_sentence, waits_sentence
from vq.config.values import Config
from vq.jobs.reasons import reason_document
from vq.jobs.record import State


@click.command(
    epilog="""Examples:

\b
  vq explain a7
  vq explain a7 --json"""
)
@click.argument("job")
@json_option
@quiet_option("only the kind of the reason, one word; an empty line where there is none")
def explain(job: str, as_json: bool, quiet: bool) -> None:  # noqa: FBT001 - click passes flags so
    """Say why JOB waits, or what became of it, and what is reserved for it.

    The answer is computed by the plan that the daemon goes by, also while none runs.
    """
    output = Output(json=as_json, quiet=quiet)
    with the_queue() as place:
        config = config_in_force(place, os.environ)
        found = explain_job(place, job, config, now_ms())
        absent = absence(place)
    if output.json:
        output.document([pretty(_document(found))])
        return
    if output.quiet:
        output.line("" if found.reason is None else str(found.reason.kind))
        return
    output.fields(_fields(found, config))
    if absent is not None and found.job.state is State.PENDING:
        note(absent)


def _document(found: Explained) -> dict[str, Any]:
    prediction = found.prediction
    return {
        "id": found.job.id,
        "state": found.job.state.value,
        "reason": None if found.reason is None else reason_document(found.reason),
        "ahead": found.ahead,
        "prediction": {
            "memory": prediction.memory,
            "basis": prediction.basis,
            "cpu": prediction.cpu,
            "cpu_basis": prediction.cpu_basis,
        },
    }


def _fields(found: Explained, config: Config) -> list[tuple[str, str]]:
    job, prediction = found.job, found.prediction
    fields = [("Job", job.id), ("State", job.state.value)]
    if job.state is State.PENDING:
        fields.append(("Waits", waits_sentence(found.reason, found.ahead)))
        if prediction.memory is not None and prediction.memory > config.host.memory_max_bytes:
            fields.append(("Too large", too_large_sentence(job, config.host.memory_max_bytes)))
    elif found.reason is not None or job.state is State.FAILED:
        fields.append(("Why", what_became(job)))
    step = next_step(job, config.host.memory_max_bytes)
    if step is not None:
        fields.append(("Next", step))
    if prediction.memory is not None:
        fields.append(("Reserved", reserved_sentence(job, prediction.memory, prediction.basis, config.margin_percent)))
    if prediction.cpu is not None:
        fields.append(("CPUs", reserved_cpus_sentence(prediction.cpu, prediction.cpu_basis)))
    return fields
