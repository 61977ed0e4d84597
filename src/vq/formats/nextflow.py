"""Nextflow's trace file: the tab-separated `trace.txt`, or with any other separator; for people or with raw numbers.

| row | trace |
|---|---|
| name | `process`; without that column `name` less its ` (tag)` |
| memory cap, peak | `memory`, `peak_rss` |
| CPU cap, average | `cpus`, `%cpu` |
| queued, started, finished | `submit`, `start`, `complete` |
| succeeded, cancelled | status COMPLETED, ABORTED |

The default trace has neither `start` nor `complete`, but says how long a task took since it was submitted (`duration`)
and how long it ran (`realtime`), from which both follow. A task that was too short to be sampled has a peak of 0, which
is none. CACHED tasks did not run.

Source: the manual of Nextflow, "Trace file" and "Trace fields" on its page on reports, and the scope `trace` of its
configuration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vq.admission.history import Run
from vq.errors import BadDataError
from vq.formats.outcomes import (
    NO_NAME,
    NO_PEAK,
    NO_TIMES,
    NOT_ENDED,
    UNRECORDED,
    Line,
    Outcome,
    Source,
    named,
    outcomes,
)
from vq.formats.quantities import CPUS, DURATION, MOMENT, PERCENT, SIZE
from vq.formats.tables import Record, read_table

_ENDED = ("COMPLETED", "FAILED", "ABORTED")
_CACHED = "CACHED"
_NOT_YET = ("NEW", "SUBMITTED", "RUNNING")


def read(lines: Iterable[Line], source: Source) -> Iterator[Outcome]:
    """The outcomes of a trace; raises `BadDataError` if its header lacks what every row needs."""
    table = read_table(lines, separators="\t,;|")
    table.require("process", "name")
    for column in ("status", "peak_rss", "submit"):
        table.require(column)
    table.require("complete", "duration")

    return outcomes(table.records, lambda record: _row(record, source), source)


def _row(record: Record, source: Source) -> Run | str:
    status = record.cells["status"].strip()
    if status not in _ENDED:
        return _why_not(status)
    peak = record.read("peak_rss", SIZE)
    name = _name(record.cells)
    times = _times(record)
    if not name or not peak or times is None:
        return NO_NAME if not name else NO_TIMES if peak else NO_PEAK
    queued, started, finished = times
    return Run(
        repository=source.repository_of(),
        workflow=None,
        name=name,
        profile=source.profile_of(),
        memory_cap=record.read("memory", SIZE),
        cpu_cap=record.read("cpus", CPUS),
        memory_peak=peak,
        cpu_average=record.read("%cpu", PERCENT),
        queued_at=queued,
        started_at=started,
        finished_at=finished,
        oom_killed=False,
        succeeded=status == "COMPLETED",
        cancelled=status == "ABORTED",
        **UNRECORDED,
    )


def _why_not(status: str) -> str:
    if status == _CACHED:
        return "cached, not run"
    if status in _NOT_YET:
        return NOT_ENDED
    raise BadDataError("a status of Nextflow in column status", found=status)


def _name(cells: dict[str, str]) -> str | None:
    process = cells.get("process")
    return named(cells["name"].split(" (", 1)[0], "name") if process is None else named(process, "process")


def _times(record: Record) -> tuple[int, int, int] | None:
    """When the task was submitted, started and completed, None unless all are known."""
    submit, start, complete = (record.read(column, MOMENT) for column in ("submit", "start", "complete"))
    if complete is None and submit is not None:
        took = record.read("duration", DURATION)
        complete = None if took is None else submit + took
    if start is None and complete is not None:
        ran = record.read("realtime", DURATION)
        start = None if ran is None else max(complete - ran, 0)
    return None if submit is None or start is None or complete is None else (submit, start, complete)
