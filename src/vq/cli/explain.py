"""`vq explain`: why a job is where it is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import click

from vq.actions.explain import Explained
from vq.actions.explain import explain as explain_job
from vq.actions.place import config_in_force
from vq.actions.requesting import now_ms
from vq.actions.waking import absence
from vq.canonical import pretty
from vq.cli.jobs import the_queue
from vq.cli.options import json_option, quiet_option
from vq.cli.output import Output, note
from vq.jobs.reasons import reason_document
from vq.jobs.record import State
from vq.wording import human_bytes

_MILLICORES = 1000

_BASES = {
    "cap": "its limit, as too little is known of its runs",
    "unmeasured": "its limit, as what it uses is not known",
    "unpredictable": "its limit, as a run met it lately",
    "overran": "its largest run, as one used more than was reserved",
    "job": "{runs} runs of its own",
    "profile": "its own largest run, and {runs} runs of its profile",
    "profile-max": "the largest of {runs} runs of its profile",
}


@click.command(
    epilog="""Examples:

\b
  vq explain a7
  vq explain a7 --json"""
)
@click.argument("job")
@json_option
@quiet_option
def explain(job: str, as_json: bool, quiet: bool) -> None:  # noqa: FBT001 - click passes flags so
    """Say why JOB waits, or what became of it, and what is reserved for it.

    The answer is computed by the plan that the daemon goes by, also while none runs.
    """
    output = Output(json=as_json, quiet=quiet)
    with the_queue() as place:
        found = explain_job(place, job, config_in_force(place, os.environ), now_ms())
        absent = absence(place)
    if output.json:
        output.document([pretty(_document(found))])
        return
    if output.quiet:
        output.line("" if found.reason is None else str(found.reason.kind))
        return
    output.fields(_fields(found))
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


def _fields(found: Explained) -> list[tuple[str, str]]:
    job, prediction = found.job, found.prediction
    pending = job.state is State.PENDING
    fields = [("Job", job.id), ("State", job.state.value)]
    if found.reason is not None:
        fields.append(("Why", found.reason.text))
    elif pending:
        fields.append(("Why", "nothing keeps it: it starts at the daemon's next look"))
    if pending:
        fields.append(("Before it", "nobody" if not found.ahead else f"{found.ahead} waiting"))
    if prediction.memory is not None:
        fields.append(("Memory", f"{human_bytes(prediction.memory)}{_basis(prediction.basis)}"))
    if prediction.cpu is not None:
        fields.append(("CPUs", f"{prediction.cpu / _MILLICORES:g}{_basis(prediction.cpu_basis)}"))
    return fields


def _basis(basis: Mapping[str, Any] | None) -> str:
    return "" if basis is None else f": {_BASES[basis['kind']].format(**basis)}"
