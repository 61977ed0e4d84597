"""`vq host` and `vq doctor`: what there is for jobs, and what this machine lacks."""

from __future__ import annotations

import os
from dataclasses import asdict

import click

from vq.actions.machine import examine, host_document
from vq.canonical import pretty
from vq.cli.jobs import the_queue
from vq.cli.options import json_option
from vq.cli.output import Output
from vq.wording import human_bytes

_MILLICORES = 1000


@click.command(
    epilog="""Examples:

\b
  vq host
  vq host --json"""
)
@json_option
def host(as_json: bool) -> None:  # noqa: FBT001 - click passes flags so
    """Show what the host has for jobs, and what of it is taken."""
    output = Output(json=as_json)
    with the_queue() as place:
        found = host_document(place, os.environ)
    if output.json:
        output.document([pretty(found)])
        return
    memory = {key: human_bytes(found[f"memory_{key}_bytes"]) for key in ("total", "available", "max", "reserved")}
    pressure = found["memory_pressure_percent"]
    output.fields(
        [
            ("Memory", f"{memory['total']}, {memory['available']} available"),
            ("Pressure", "unknown" if pressure is None else f"{pressure:g} % of the last 10 s stalled"),
            ("For jobs", f"{memory['max']}, {memory['reserved']} reserved"),
            ("CPUs", f"{found['cpus']}, {found['cpus_reserved_millicores'] / _MILLICORES:g} reserved"),
            ("Admission", found["admission"]),
            ("Jobs", f"{found['running']} running, {found['pending']} pending"),
        ]
    )


@click.command(
    epilog="""Examples:

\b
  vq doctor
  vq doctor --json"""
)
@json_option
def doctor(as_json: bool) -> int:  # noqa: FBT001 - click passes flags so
    """Say what this machine gives the queue, what is lost without it, and the command that would help.

    Exit status 1 if something is wrong; what is merely lost is none.
    """
    output = Output(json=as_json)
    with the_queue() as place:
        found = examine(place, os.environ)
    if output.json:
        output.document([pretty({"findings": [asdict(finding) for finding in found]})])
    else:
        fields: list[tuple[str, str]] = []
        for finding in found:
            fields.append((finding.what.capitalize(), f"{finding.state}: {finding.text}"))
            fields.extend([("", f"to fix it: {finding.fix}")] if finding.fix is not None else [])
        output.fields(fields)
    return int(any(finding.state == "wrong" for finding in found))
