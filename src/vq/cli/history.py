"""`vq history`: rows of a history, brought in from other tools' records, or given out by this queue."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from datetime import datetime

import click

from vq.actions.history import FORMATS, ImportRequest, Taught, forget_history, import_history, teach_history
from vq.actions.place import Place, config_in_force
from vq.actions.requesting import now_ms
from vq.canonical import pretty
from vq.cli.jobs import the_queue
from vq.cli.options import PATH, Subcommands, json_option, quiet_option
from vq.cli.output import Output, note, warn
from vq.cli.progress import counting
from vq.errors import shown
from vq.files.documents import refuse_existing, write_new
from vq.formats.tally import FAR_OVER, Reason, Tally
from vq.store.history import imports as stored_imports
from vq.store.history import rows_in_order
from vq.wording import counted


@click.group(
    cls=Subcommands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""Examples:

\b
  vq history import accounting.txt --format sacct -o rows.jsonl
  vq history import accounting.txt --format sacct --store
  vq history imports
  vq history forget accounting.txt
  vq history export -o runs.jsonl""",
)
def history() -> None:
    """Bring in, forget or give out the history of runs.

    One row is one run. Rows are what vq predict, vq simulate and vq advise read.
    """


@history.command(
    "import",
    epilog="""Examples:

\b
  vq history import accounting.txt --format sacct -o rows.jsonl
  vq history import trace.txt --format nextflow -o rows.jsonl
  vq history import accounting.txt --format sacct --store
  vq history import jobs.csv --format csv -o rows.jsonl \\
      --map name=tool --map memory_peak=peak_mb:MB --map queued_at=created:s \\
      --map started_at=start:s --map finished_at=end:s \\
      --map succeeded=state:ok""",
)
@click.argument("file", type=PATH)
@click.option("--format", "form", type=click.Choice(FORMATS), required=True, help="What wrote the file.")
@click.option(
    "-o",
    "--output",
    "target",
    metavar="ROWS.jsonl",
    type=PATH,
    help="Write the rows to this new file, whole or not at all.",
)
@click.option(
    "--store",
    "to_store",
    is_flag=True,
    help="Add the rows to this queue's own history instead, all or none; those it has already are passed over.",
)
@click.option(
    "--map",
    "rules",
    multiple=True,
    metavar="FIELD=COLUMN[:UNIT]",
    help="csv: read a field of the row from a column, in a unit; FIELD==VALUE is the same value for all rows "
    "(repeatable).",
)
@click.option("--repository", metavar="R", help="The repository of all rows; default: the file's name.")
@click.option("--profile", metavar="P", help="The profile of all rows; default: what the file says, else `default`.")
@click.option("--skip-bad", is_flag=True, help="Count records that cannot be read, instead of stopping at the first.")
@json_option
def import_command(
    file: str,
    form: str,
    target: str | None,
    *,
    to_store: bool,
    rules: tuple[str, ...],
    repository: str | None,
    profile: str | None,
    skip_bad: bool,
    as_json: bool,
) -> None:
    """Turn FILE, another tool's records of jobs, into rows of a history.

    Records of runs that have not ended, were cached, or say no memory peak are left out and counted by reason. The
    memory of sacct and of Nextflow is resident memory, without page cache.

    With --store a queue starts with the experience of another: a daemon that runs learns the rows within a second.
    Predictions go by repository, workflow, name and profile, so name them as your jobs will be. `vq history forget`
    undoes it.
    """
    if (target is None) != to_store:
        raise click.UsageError("say where the rows are to go: -o ROWS.jsonl, or --store")
    if target is not None:
        refuse_existing(target)
    request = ImportRequest(
        path=file,
        format=form,
        target=target,
        rules=rules,
        repository=repository,
        profile=profile,
        skip_bad=skip_bad,
    )
    taught = None
    with counting("records") as tick:
        if target is None:
            with the_queue() as place:
                taught = teach_history(place, request, now_ms(), tick)
                _note_strange(place, request, taught)
            tally = taught.tally
        else:
            tally = import_history(request, tick)
    if tally.likely_unit_error:
        warn(
            f"likely a unit error: {tally.far_over:,} of {counted(tally.capped, 'peak')} with a limit "
            f"lie over {FAR_OVER} times that limit; check the units of both columns"
        )
    output = Output(json=as_json)
    if output.json:
        found = {"file": file, "output": target, **tally.document()}
        if taught is not None:
            found |= {"source": request.source, "added": taught.added, "known": tally.rows - taught.added}
        output.document([json.dumps(found, indent=2), "\n"])
    else:
        _show(output, request, tally, taught)


def _note_strange(place: Place, request: ImportRequest, taught: Taught) -> None:
    """Say of rows of profiles that are not configured what that means, and both ways to make them count."""
    known = config_in_force(place, os.environ).profiles
    strange = sorted(taught.profiles - set(known))
    if not strange:
        return
    note(
        f"no profile is configured as {', '.join(map(shown, strange))}: a job learns from rows of its own profile only,"
        " so no job learns from these"
    )
    again = f"vq history forget {shlex.quote(request.source)}, then import with --profile NAME"
    note(f"  either give all rows a profile that there is ({', '.join(known)}): {again}")
    note("  or configure [profiles.NAME] by the same name, and submit with --profile NAME")


def _show(output: Output, request: ImportRequest, tally: Tally, taught: Taught | None) -> None:
    where = [("Written to", request.target or "")]
    if taught is not None:
        known = tally.rows - taught.added
        where = [("Added", counted(taught.added, "row") + (f"; {known:,} were there already" if known else ""))]
        if taught.added:
            where.append(("Undo", f"vq history forget {shlex.quote(request.source)}"))
    output.fields(
        [
            ("Rows", f"{tally.rows:,} of {counted(tally.records, 'record')}"),
            ("Repository", _repository(request, tally)),
            *_reasons("Left out", tally.left_out),
            *_reasons("Not read", tally.unread),
            *where,
        ]
    )


def _repository(request: ImportRequest, tally: Tally) -> str:
    """The repositories of the rows, and where the only one came from if nobody said it."""
    first, *more = tally.repositories
    if more:
        return ", ".join([first, *more[:2], *(["…"] if len(more) > 2 else [])])  # noqa: PLR2004 - three are named
    if request.repository is None and first == request.stem:
        return f"{first}, the file's name; predictions go by it, and --repository names another"
    return first


def _reasons(label: str, reasons: dict[str, Reason]) -> list[tuple[str, str]]:
    return [
        ("" if number else label, f"{found.count:,} {reason} (the first at line {found.first_line})")
        for number, (reason, found) in enumerate(reasons.items())
    ]


@history.command(
    epilog="""Examples:

\b
  vq history imports
  vq history imports --json"""
)
@json_option
@quiet_option("only the names of the sources")
def imports(as_json: bool, quiet: bool) -> None:  # noqa: FBT001 - click passes flags so
    """List what was imported into this queue's history: the file's name, how many rows, and when their runs ended."""
    output = Output(json=as_json, quiet=quiet)
    with the_queue() as place:
        found = stored_imports(place.store)
    if output.json:
        output.document([pretty({"imports": [each._asdict() for each in found]})])
    elif output.quiet:
        for each in found:
            output.line(each.source)
    elif not found:
        note("nothing was imported; vq history import FILE --format FORMAT --store does it")
    else:
        rows = [(each.source, f"{each.rows:,}", _day(each.first_ms), _day(each.last_ms)) for each in found]
        output.table(["SOURCE", "ROWS", "FIRST", "LAST"], rows, keys=1, text_columns=1)


def _day(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000).astimezone():%Y-%m-%d}"


@history.command(
    epilog="""Examples:

\b
  vq history forget accounting.txt"""
)
@click.argument("source")
@json_option
def forget(source: str, as_json: bool) -> None:  # noqa: FBT001 - click passes flags so
    """Remove the rows that were imported from SOURCE, a name that `vq history imports` lists.

    A daemon that runs forgets them within a second. The rows of this queue's own runs always stay. A row that two files
    have belongs to the one that was imported first.
    """
    with the_queue() as place:
        forgotten = forget_history(place, source)
    output = Output(json=as_json)
    if output.json:
        output.document([pretty({"source": source, "forgotten": forgotten})])
    else:
        output.line(f"forgot {counted(forgotten, 'row')} of {source}")


@history.command()
@click.option("-o", "--output", "target", metavar="FILE", type=PATH, help="Write to a new file.")
def export(target: str | None) -> None:
    """Write every run as a line of JSON, in the order in which they finished."""
    with the_queue() as place:
        if target is None:
            Output(json=True).document(_lines(place))
        else:
            write_new(target, _lines(place))


def _lines(place: Place) -> Iterator[str]:
    encode = json.JSONEncoder(allow_nan=False).encode
    for row in rows_in_order(place.store):
        yield encode(row._asdict()) + "\n"
