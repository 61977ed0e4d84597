"""`vq host` and `vq doctor`: what there is for jobs, and what this machine lacks."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

import click

from vq.actions.machine import examine, host_document
from vq.actions.requesting import now_ms
from vq.admission.rules import Policy
from vq.canonical import pretty
from vq.cli.jobs import the_queue
from vq.cli.options import json_option
from vq.cli.output import Output
from vq.wording import escape, human_bytes

_MILLICORES = 1000
_WORDS = {"lost": "warning"}
"""What is written for the state of a finding, where that is another word than in the JSON."""
_ADMISSION = {
    Policy.MEASURED.value: "measured: a job reserves by what its earlier runs used",
    Policy.CAPS.value: "caps: a job reserves its whole limit",
}
_LEGEND = (
    "reserved: kept free for jobs that run, until they end; used: what they hold now."
    " A job starts when what it is to reserve fits into what is free."
)


@click.command(
    epilog="""Examples:

\b
  vq host
  vq host --json"""
)
@json_option
def host(as_json: bool) -> None:  # noqa: FBT001 - click passes flags so
    """Show what the host has for jobs, what of it is taken, and which other programs hold most of the rest.

    The host leaves jobs what they hold, and what is available less a margin for its page cache. Others are the programs
    outside the queue that hold most, named as the kernel knows them.
    """
    output = Output(json=as_json)
    with the_queue() as place:
        found = host_document(place, os.environ, now_ms())
    if output.json:
        output.document([pretty(found)])
        return
    output.fields(fields_of_host(found))
    output.line()
    output.paragraph(_LEGEND)


def fields_of_host(found: dict[str, Any]) -> list[tuple[str, str]]:
    """The host as lines to show."""
    keys = ("total", "available", "max", "reserved", "used")
    memory = {key: human_bytes(found[f"memory_{key}_bytes"]) for key in keys}
    pressure, high_water = found["memory_pressure_percent"], found["high_water_bytes"]
    stood_still = "unknown" if pressure is None else f"all programs waited for memory {pressure:g} % of the last 10 s"
    left = (
        f"{human_bytes(found['host_left_bytes'])} for the next job, of {human_bytes(found['host_limit_bytes'])}"
        " for all of them; other programs have the rest"
    )
    from_there = None if high_water is None else f"no job starts while jobs use {human_bytes(high_water)} or more"
    return [
        ("Memory", f"{memory['total']}, {memory['available']} available"),
        ("Pressure", stood_still),
        ("For jobs", f"{memory['max']} in all: {memory['reserved']} reserved, {memory['used']} used"),
        *([("Nearly full", from_there)] if from_there is not None else []),
        ("Host leaves", "nothing while its programs wait for memory" if found["host_stalled"] else left),
        *_outside(found["outside"]),
        ("CPUs", f"{found['cpus']} for jobs, {found['cpus_reserved_millicores'] / _MILLICORES:g} reserved"),
        ("Admission", _ADMISSION[found["admission"]]),
        ("Jobs", f"{found['running']} running, {found['pending']} waiting"),
    ]


def _outside(programs: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """A line for each program outside the queue that holds most of the memory."""
    return [
        ("" if number else "Others hold", f"{human_bytes(each['held_bytes'])} {escape(each['name'])}{_many(each)}")
        for number, each in enumerate(programs)
    ]


def _many(program: dict[str, Any]) -> str:
    return "" if program["processes"] == 1 else f" ({program['processes']:,} processes)"


@click.command(
    epilog="""Examples:

\b
  vq doctor
  vq doctor --json"""
)
@json_option
def doctor(as_json: bool) -> int:  # noqa: FBT001 - click passes flags so
    """Say what this machine gives the queue, what is lost without it, and the command that would help.

    Exit status 1 if something is wrong; with what is a mere warning the queue works.
    """
    output = Output(json=as_json)
    found = examine(os.environ)
    if output.json:
        output.document([pretty({"findings": [asdict(finding) for finding in found]})])
    else:
        fields: list[tuple[str, str]] = []
        for finding in found:
            fields.append((finding.what.capitalize(), f"{_WORDS.get(finding.state, finding.state)}: {finding.text}"))
            fields.extend([("", f"to fix it: {finding.fix}")] if finding.fix is not None else [])
        output.fields(fields)
    return int(any(finding.state == "wrong" for finding in found))
