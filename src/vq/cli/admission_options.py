"""Options that the commands of admission share: where the history is, and under which setup."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from vq.actions.admission import live_setup, setup_for
from vq.actions.history import load_rows, own_rows
from vq.actions.place import config_in_force
from vq.admission import Run, Setup
from vq.admission.replay import replayable
from vq.cli.jobs import the_queue
from vq.cli.options import PATH
from vq.cli.output import note
from vq.cli.progress import counting
from vq.errors import VqError
from vq.wording import counted, human_bytes, human_cpus, human_seconds

history_option = click.option(
    "--history",
    "rows_file",
    metavar="ROWS.jsonl",
    type=PATH,
    help="The history to learn from; default: this queue's own.",
)
setup_option = click.option(
    "--setup",
    "setup_file",
    metavar="FILE",
    type=PATH,
    help="Profiles, budgets and switches (JSON); for its own history, what this queue goes by is the default.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Rows, where they are from, and the setup document that they have of themselves: the queue's, for its own."""

    rows: list[Run]
    where: str
    document: Mapping[str, Any]

    def setup(self, *documents: Mapping[str, Any]) -> Setup:
        """The setup that documents describe for the rows, a later one before an earlier one; raises `VqError`."""
        document: Mapping[str, Any] = self.document
        for said in documents:
            document = {**document, **said}
        return setup_for(document, self.rows, self.where)


def history_of(path: str | None, command: str) -> History:
    """The history in a file, without one this queue's own; raises `VqError`, also where it has no run yet."""
    with counting("rows") as tick:
        if path is not None:
            return History(rows=load_rows(path, tick), where=path, document={})
        with the_queue() as place:
            rows = own_rows(place, tick)
            document = live_setup(config_in_force(place, os.environ))
    if not rows:
        raise VqError(
            "this queue has no history of its own yet; name a file of rows",
            hint="vq history import makes one of other tools' records, or teaches this queue with --store; "
            f"then: vq {command}",
        )
    return History(rows=rows, where="the history of this queue", document=document)


def setup_fields(setup: Setup) -> list[tuple[str, str]]:
    """The setup as fields to show."""
    memory = "no memory budget" if setup.memory_max is None else human_bytes(setup.memory_max)
    cpus = "no CPU budget" if setup.cpu_budget is None else human_cpus(setup.cpu_budget)
    profiles = "; ".join(_profile(setup, name) for name in setup.profiles)
    barrier = "off" if setup.barrier_after_ms is None else human_seconds(setup.barrier_after_ms // 1000)
    cpu_admission = "" if setup.cpu_admission is None else f", CPU by {setup.cpu_admission.value}"
    return [
        ("Budget", f"{memory}, {cpus}" + (f", {human_bytes(setup.mirror)} set aside" if setup.mirror else "")),
        ("Profiles", profiles or "none"),
        ("Predictions", f"margin {setup.margin} %, from {counted(setup.min_jobs, 'run')} on"),
        (
            "Switches",
            f"limits of the {setup.caps.value}, dispatch {setup.dispatch.value}, barrier {barrier}{cpu_admission}",
        ),
    ]


def _profile(setup: Setup, name: str) -> str:
    profile = setup.profiles[name]
    slots = setup.slots.get(name, profile.slots)
    limits = f"{name}: {human_bytes(profile.memory)}, {human_cpus(profile.cpus * 1000)}"
    return limits if slots is None else f"{limits}, {counted(slots, 'slot')}"


def note_left_out(rows: Sequence[Run], setup: Setup) -> None:
    """Say on stderr which rows a replay leaves out."""
    cancelled = sum(row.cancelled for row in rows)
    strange = sum(not row.cancelled and row.profile not in setup.profiles for row in rows)
    timeless = len(rows) - len(replayable(setup, rows)) - cancelled - strange
    reasons = (
        (cancelled, "cancelled or timed out"),
        (strange, "of a profile not configured"),
        (timeless, "without the times of a run"),
    )
    parts = [f"{count:,} {reason}" for count, reason in reasons if count]
    if parts:
        note(f"rows left out: {'; '.join(parts)}")


def with_said(document: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """A setup document with what the command line says instead; the profiles that it names are added."""
    profiles = {**document.get("profiles", {}), **said.get("profiles", {})}
    return {**document, **said, **({"profiles": profiles} if profiles else {})}
