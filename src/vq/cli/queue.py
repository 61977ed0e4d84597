"""`vq queue`: the jobs, one a line."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import click

from vq.actions.place import Place
from vq.actions.why import Waits, why_waiting
from vq.canonical import pretty_rows
from vq.cli.jobs import DRAINS, NOBODY, the_queue
from vq.cli.notes import note_of
from vq.cli.options import json_option, quiet_option
from vq.cli.output import Output, note
from vq.cli.states import StateWord
from vq.errors import UsageError
from vq.jobs.reasons import reason_document
from vq.jobs.record import State
from vq.jobs.times import shown_seconds
from vq.store import jobs as stored
from vq.store.jobs import Selection
from vq.store.settings import is_draining
from vq.wording import MIB, human_bytes

_HEADINGS = ("ID", "STATE", "NAME", "CPUS", "MEMORY", "TIME", "NOTE")
_RIGHT = frozenset((3, 4, 5))
_NAMES = 2
_MS = 1000
_LOOK_SECONDS = 1.0
_HOME_AND_CLEAR = "\033[H\033[J"
_OWN_SCREEN, _USUAL_SCREEN = "\033[?1049h", "\033[?1049l"
_LINES_BESIDE = 6
"""Beside the jobs: the time, the headings, how many are not shown (two lines), that no daemon runs, and the cursor."""


@click.command(
    epilog="""Examples:

\b
  vq queue
  vq queue --watch
  vq queue --state PENDING --name train --limit 20
  vq queue --tag batch-7 --json"""
)
@click.option("-a", "--all", "everything", is_flag=True, help="Every job, the latest submitted first.")
@click.option(
    "--state",
    "states",
    multiple=True,
    metavar="STATE",
    type=StateWord(),
    help="In this state, such as pending, running or failed (repeatable); Slurm's words and letters do, too.",
)
@click.option("--name", metavar="TEXT", help="Of this name.")
@click.option("--tag", metavar="TEXT", help="With this tag.")
@click.option("--limit", metavar="N", type=click.IntRange(1), help="The latest N only.")
@click.option("-w", "--watch", is_flag=True, help="Look again every second, until Ctrl-C.")
@json_option
@quiet_option("only the ids")
def queue(watch: bool, as_json: bool, quiet: bool, **options: Any) -> None:  # noqa: FBT001 - click passes flags so
    """Show the jobs: those that run, the first 50 that wait, and those that ended in the last hour.

    The rest is counted in the last line. NOTE says in a few words what a job waits for, or what became of it; with all
    figures `vq explain JOB` says it.
    """
    output = Output(json=as_json, quiet=quiet)
    with the_queue() as place:
        if not watch:
            _show(output, place, _look(place, options))
            if is_draining(place.store) and not (as_json or quiet):
                note(DRAINS)
            return
        if as_json or not sys.stdout.isatty():
            raise UsageError("--watch is for a terminal", hint="in a script: vq queue --json, or vq wait JOB…")
        _watch(output, place, options)


def _watch(output: Output, place: Place, options: Mapping[str, Any]) -> None:
    """Show the jobs again every second, on a screen of their own, until an interrupt; as many as it has lines for."""
    import shutil  # noqa: PLC0415 - it loads every compression there is

    click.echo(_OWN_SCREEN, nl=False)
    try:
        while True:
            looked = _look(place, options)
            lines = shutil.get_terminal_size().lines - _LINES_BESIDE
            click.echo(_HOME_AND_CLEAR, nl=False)
            output.line(f"{datetime.now().astimezone():%H:%M:%S}  {_counted(looked.counts)}  (Ctrl-C ends)")
            _show(output, place, replace(looked, records=looked.records[: max(1, lines)]))
            time.sleep(_LOOK_SECONDS)
    finally:
        click.echo(_USUAL_SCREEN, nl=False)


def _counted(counts: Mapping[State, int]) -> str:
    return f"{counts.get(State.RUNNING, 0):,} running, {counts.get(State.PENDING, 0):,} waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looked:
    """The records to show; how many jobs are in each state, of the whole queue and of those `asked` for."""

    records: Sequence[dict[str, Any]]
    counts: Mapping[State, int]
    asked: Mapping[State, int]


def _look(place: Place, options: Mapping[str, Any]) -> _Looked:
    states = tuple(State(state) for state in options["states"])
    selection = Selection(states=states, name=options["name"], tag=options["tag"])
    if options["everything"] or options["limit"] is not None or selection != Selection():
        records = stored.select(place.store, selection, limit=options["limit"])
        return _Looked(records=records, counts=stored.counts(place.store), asked=stored.counts(place.store, selection))
    looked = stored.queue(place.store, time.time_ns() // 1_000_000)
    return _Looked(records=looked.jobs, counts=looked.counts, asked=looked.counts)


def _show(output: Output, place: Place, looked: _Looked) -> None:
    now_ms = time.time_ns() // 1_000_000
    records, counts = looked.records, looked.counts
    if output.json:
        waits = why_waiting(place, records, now_ms)
        document = {"jobs": [], "counts": {state.value: jobs for state, jobs in counts.items()}}
        output.document(pretty_rows(document, "jobs", (_explained(record, waits) for record in records)))
    elif output.quiet:
        for record in records:
            output.line(record["id"])
    elif not counts:
        note("the queue is empty; vq submit -- COMMAND… puts a job into it")
    else:
        waits = why_waiting(place, records, now_ms)
        if records:
            output.listing(_HEADINGS, [_row(record, waits, now_ms) for record in records], right=_RIGHT, names=_NAMES)
        else:
            note("no job to show; vq queue --all shows every job")
        rest = ", ".join(_rest(records, looked.asked))
        if rest:
            output.paragraph(f"not shown: {rest}")
        if not waits.is_served:
            note(NOBODY)


def _explained(record: dict[str, Any], waits: Waits) -> dict[str, Any]:
    """A record with why it waits."""
    reason = waits.reasons.get(record["id"])
    return record if reason is None else {**record, "reason": reason_document(reason)}


def _rest(records: Sequence[dict[str, Any]], counts: Mapping[State, int]) -> Iterator[str]:
    shown: dict[str, int] = {}
    for record in records:
        shown[record["state"]] = shown.get(record["state"], 0) + 1
    for state in State:
        hidden = counts.get(state, 0) - shown.get(state, 0)
        if hidden > 0:
            yield f"{hidden:,} {state.value}"


def _row(record: dict[str, Any], waits: Waits, now_ms: int) -> tuple[str, ...]:
    return (
        record["id"],
        record["state"],
        record["name"],
        str(record["cpus"]),
        human_bytes(record["mem_mb"] * MIB),
        _time(record, now_ms),
        note_of(record, waits),
    )


def _time(record: dict[str, Any], now_ms: int) -> str:
    """How long it has run, or ran."""
    started, finished = record["started_at"], record["finished_at"]
    if started is None or (finished is None and State(record["state"]).ended):
        return "-"
    return shown_seconds(max(0, (finished or now_ms) - started) // _MS)
