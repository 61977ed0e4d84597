"""`vq simulate`: what admission by limits, and by measured peaks, would have done with a history."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from vq.actions.admission import load_setup_document
from vq.admission import CpuAdmission, Policy, Replay, Run, Setup
from vq.admission import simulate as replay
from vq.admission.documents import replay_document, started_document
from vq.admission.replay import Started, replayable
from vq.cli.admission_options import history_of, note_left_out, setup_fields, setup_option, with_said
from vq.cli.options import PATH, json_option, svg_name
from vq.cli.output import Output, warn
from vq.cli.progress import counting
from vq.cli.quantities import CPUS_TYPE, OFF, SECONDS_TYPE, SIZE_TYPE, named_profiles, or_off
from vq.cli.sentences import comparison, without_cpus
from vq.files.documents import refuse_existing, write_new
from vq.wording import human_bytes, human_cpus, human_seconds

if TYPE_CHECKING:
    from vq.plots.course import Course

_GIB_HOUR = (1 << 30) * 3_600_000

_MEANINGS = (
    ("WAIT", "from queued to started"),
    ("OVERLAP", "the most memory in use at once"),
    ("UNDER", "jobs that used more than was reserved for them"),
    ("HELD", "each time a job that fitted by predictions waited as memory was nearly full; CPU HELD: for CPUs alone"),
    ("RESERVED, USED", "memory over time"),
)


@click.command(
    epilog="""Examples:

\b
  vq simulate
  vq simulate rows.jsonl --memory-max 64GiB
  vq simulate rows.jsonl --memory-max 64GiB --cpu-budget 16 --plot replay.svg
  vq simulate rows.jsonl --setup setup.json --policy measured --json"""
)
@click.argument("rows_file", metavar="[ROWS.jsonl]", required=False, type=PATH)
@setup_option
@click.option("--memory-max", metavar="SIZE", type=SIZE_TYPE, help="The memory for all jobs together, such as 64GiB.")
@click.option("--cpu-budget", metavar="CPUS", type=CPUS_TYPE, help="The CPUs for all jobs together.")
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    metavar="NAME=MEM:CPUS:SLOTS",
    callback=named_profiles,
    help="A class of jobs and its limits, such as big=64GiB:16:4; without slots as many as fit (repeatable). "
    "Without any, the largest limits in the rows.",
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    type=click.Choice([policy.value for policy in Policy]),
    help="Only this policy (repeatable); default: both.",
)
@click.option("--caps", type=click.Choice(["job", "profile"]), help="Whose limits: the row's own, or its profile's.")
@click.option("--dispatch", type=click.Choice(["known", "pool"]), help="Whether the queue knows which job it starts.")
@click.option(
    "--barrier",
    metavar="DURATION|off",
    callback=or_off(SECONDS_TYPE),
    help="After waiting this long (10m; a number is seconds), a job lets none past.",
)
@click.option("--cpu-admission", type=click.Choice(["caps", "measured", "off"]), help="By what the CPU budget goes.")
@click.option("--jobs", metavar="FILE", type=PATH, help="Also write each job's start to this new file.")
@click.option("--plot", metavar="FILE.svg", type=PATH, callback=svg_name, help="Also draw what ran over time.")
@json_option
def simulate(**options: Any) -> None:
    """Replay a history, by default this queue's own under its own settings: what would have happened to the same jobs.

    Each job arrives when it was queued and runs as long as it ran. By caps it is admitted by its limit, by measured
    peaks by what is predicted from the runs that had ended before. With a CPU budget the table shows both
    without it, too.
    The same rows always give the same figures.
    """
    targets = [options[name] for name in ("jobs", "plot") if options[name] is not None]
    if len(targets) != len(set(targets)):
        raise click.UsageError("--jobs and --plot name the same file")
    for target in targets:
        refuse_existing(target)
    document = load_setup_document(options["setup_file"])
    history = history_of(options["rows_file"], "simulate rows.jsonl")
    rows = history.rows
    setup = history.setup(with_said({**history.document, **document}, _said(options)))
    if setup.memory_max is None:
        warn("no memory budget: everything fits; name one with --memory-max")
    note_left_out(rows, setup)
    found = {
        policy: _replayed(setup, rows, policy, keep=options["jobs"] is not None, draw=options["plot"] is not None)
        for policy in Policy
        if not options["policies"] or policy.value in options["policies"]
    }
    if options["jobs"] is not None:
        write_new(options["jobs"], _starts(found))
    if options["plot"] is not None:
        write_new(options["plot"], _picture(found, setup))
    output = Output(json=options["as_json"])
    if output.json:
        results = [replay_document(policy, replayed.replay) for policy, replayed in found.items()]
        output.document([json.dumps({"results": results}, indent=2), "\n"])
    else:
        free = _without_cpus(setup, rows, found)
        if len(found) == len(Policy):
            killed = sum(run.oom_killed for run in replayable(setup, rows))
            _sum_up(output, setup, found, free, killed)
        _show(output, setup, _table(found, free), targets)


def _without_cpus(setup: Setup, rows: Sequence[Run], found: Iterable[Policy]) -> dict[Policy, Replay]:
    """What the same policies would have done with as many CPUs as anybody asks for; nothing where that is so anyway."""
    if setup.cpu_budget is None or setup.cpu_admission is CpuAdmission.OFF:
        return {}
    free = replace(setup, cpu_budget=None)
    return {policy: _replayed(free, rows, policy, keep=False, draw=False).replay for policy in found}


def _table(found: dict[Policy, _Replayed], free: dict[Policy, Replay]) -> dict[str, Replay]:
    """The replays by what their rows of the table are called."""
    with_cpus = {policy.value: replayed.replay for policy, replayed in found.items()}
    return {**with_cpus, **{f"{policy.value}, any CPUs": replay for policy, replay in free.items()}}


def _said(options: dict[str, Any]) -> dict[str, Any]:
    """What the command line says of the setup, by the keys of its document."""
    names = ("memory_max", "cpu_budget", "profiles", "caps", "dispatch", "cpu_admission")
    said = {name: options[name] for name in names if options[name] is not None}
    if options["barrier"] is not None:
        said["barrier_after_ms"] = None if options["barrier"] == OFF else options["barrier"]
    return said


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replayed:
    """What a policy would have done; its starts and its course over time where they are wanted."""

    replay: Replay
    started: list[Started]
    course: Course | None


def _replayed(setup: Setup, rows: Sequence[Run], policy: Policy, *, keep: bool, draw: bool) -> _Replayed:
    started: list[Started] = []
    course = _course() if draw else None
    total = len(replayable(setup, rows))
    with counting(f"jobs started ({policy.value})", total) as tick:

        def tell(start: Started) -> None:
            tick()
            if keep:
                started.append(start)

        found = replay(setup, rows, policy, tell=tell, look=None if course is None else course.look)
    return _Replayed(replay=found, started=started, course=course)


def _course() -> Course:
    from vq.plots.course import Course  # noqa: PLC0415 - only who asks for a picture pays for what draws it

    return Course()


def _picture(found: dict[Policy, _Replayed], setup: Setup) -> Iterator[str]:
    from vq.plots.replay import draw  # noqa: PLC0415

    courses = {policy: replayed.course for policy, replayed in found.items() if replayed.course is not None}
    return draw(courses, setup)


def _starts(found: dict[Policy, _Replayed]) -> Iterator[str]:
    for policy, replayed in found.items():
        for started in replayed.started:
            yield json.dumps(started_document(policy, started)) + "\n"


def _show(output: Output, setup: Setup, found: dict[str, Replay], targets: list[str]) -> None:
    output.fields(setup_fields(setup))
    output.line()
    rows = [[name, *(show(replay) for _, show in _COLUMNS)] for name, replay in found.items()]
    output.table(["POLICY", *(heading for heading, _ in _COLUMNS)], rows, keys=1, text_columns=1)
    output.line()
    output.fields([*_MEANINGS, *([("Written to", ", ".join(targets))] if targets else [])])


def _sum_up(
    output: Output, setup: Setup, found: dict[Policy, _Replayed], free: dict[Policy, Replay], killed: int
) -> None:
    caps, measured = found[Policy.CAPS].replay, found[Policy.MEASURED].replay
    said = [comparison(caps, measured, setup, killed=killed)]
    if free:
        said.append(without_cpus(measured, free[Policy.MEASURED]))
    output.paragraph(" ".join(said), bold=True)
    output.line()


_COLUMNS: tuple[tuple[str, Callable[[Replay], str]], ...] = (
    ("JOBS", lambda replay: f"{replay.jobs:,}"),
    ("NEVER STARTED", lambda replay: f"{replay.never_started:,}"),
    ("MEAN WAIT", lambda replay: human_seconds(replay.mean_wait)),
    ("WAIT P50", lambda replay: human_seconds(replay.wait.p50)),
    ("WAIT P95", lambda replay: human_seconds(replay.wait.p95)),
    ("WAIT P99", lambda replay: human_seconds(replay.wait.p99)),
    ("WAIT MAX", lambda replay: human_seconds(replay.wait.max)),
    ("MAKESPAN", lambda replay: human_seconds(replay.makespan)),
    ("MOST RUNNING", lambda replay: f"{replay.most_running:,}"),
    ("OVERLAP", lambda replay: human_bytes(replay.worst_overlap)),
    ("UNDER", lambda replay: f"{replay.under_predicted:,}"),
    ("HELD", lambda replay: f"{replay.held_back:,}"),
    ("CPU HELD", lambda replay: f"{replay.cpu_held:,}"),
    ("MOST CPU", lambda replay: human_cpus(replay.worst_cpu)),
    ("RESERVED", lambda replay: _gib_hours(replay.reserved_byte_ms)),
    ("USED", lambda replay: _gib_hours(replay.peak_byte_ms)),
)
"""The columns of the table after the policy, and what stands in each."""


def _gib_hours(byte_ms: int) -> str:
    return f"{byte_ms / _GIB_HOUR:,.4g} GiB h"
