"""The Standard Workload Format of the Parallel Workloads Archive, version 2.2: 18 numbers a line, -1 is unknown.

| row | fields |
|---|---|
| name, profile | 14 executable, 15 queue |
| memory peak | 7 used memory, KB a processor, x 5 allocated processors |
| memory cap | 10 requested memory, KB a processor, x 8 requested processors |
| CPU cap | 5 allocated processors |
| CPU average | 6 average CPU seconds a processor x 5 processors / 4 run time |
| queued, started, finished | 2 submit, + 3 wait, + 4 run time, in seconds since `UnixStartTime` of the header |
| succeeded, cancelled | 11 status 1, 5 |

Requested processors stand for allocated ones that are not known, and the reverse. Lines of status 2, 3 and 4 are parts
of a job that has a line of its own as a whole. A used memory of 0 is no measurement.

Source: the definition of the format, "The Data Fields" and "Header Comments".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import NamedTuple

from vq.admission.history import Run
from vq.errors import BadDataError
from vq.formats.outcomes import (
    NO_PEAK,
    NO_TIMES,
    UNRECORDED,
    Line,
    Outcome,
    Source,
    Unread,
    outcomes,
    text_of,
)

_FIELDS = 18
_COMMENT = ";"
_NUMBER = re.compile(r"[+-]?[0-9]{1,20}(?:\.[0-9]{0,20})?")
_START_TIME = re.compile(r";\s*UnixStartTime:\s*([0-9]{1,15})\b")
_KB, _MS = 1024, 1000
_UNNAMED = "unknown"
_COMPLETED, _CANCELLED = 1, 5
_STATUSES = (-1, 0, 1, 5)
_PARTS = (2, 3, 4)


class _Job(NamedTuple):
    """A line of numbers, None where unknown, and when its log begins, in milliseconds since the epoch."""

    number: int
    values: tuple[Decimal | None, ...]
    epoch: int

    def field(self, number: int) -> Decimal | None:
        """A field by the number that the definition gives it."""
        return self.values[number - 1]

    def product(self, *factors: Decimal | None) -> int | None:
        """The product of `factors`, rounded down; None if one is unknown."""
        product = Decimal(1)
        for factor in factors:
            if factor is None:
                return None
            product *= factor
        return int(product)


def read(lines: Iterable[Line], source: Source) -> Iterator[Outcome]:
    """The outcomes of a log; comments and blank lines are passed over."""
    return outcomes(_jobs(lines), lambda job: _row(job, source), source)


def _row(job: _Job, source: Source) -> Run | str:
    status = job.field(11)
    if status in _PARTS:
        return "part of a job that has a line of its own"
    if status is not None and status not in _STATUSES:
        raise BadDataError("a status from -1 to 5 in field 11", found=str(status))
    allocated, requested = job.field(5) or job.field(8), job.field(8) or job.field(5)
    peak = job.product(job.field(7), allocated, Decimal(_KB))
    times = _times(job)
    if not peak or times is None:
        return NO_TIMES if peak else NO_PEAK
    queued, started, finished = times
    return Run(
        repository=source.repository_of(),
        workflow=None,
        name=_label(job.field(14)) or _UNNAMED,
        profile=source.profile_of(_label(job.field(15))),
        memory_cap=job.product(job.field(10), requested, Decimal(_KB)) or None,
        cpu_cap=job.product(allocated, Decimal(1000)),
        memory_peak=peak,
        cpu_average=_cpu_average(job, allocated),
        queued_at=queued,
        started_at=started,
        finished_at=finished,
        oom_killed=False,
        succeeded=status == _COMPLETED,
        cancelled=status == _CANCELLED,
        **UNRECORDED,
    )


def _jobs(lines: Iterable[Line]) -> Iterator[_Job | Unread]:
    epoch = 0
    for line in lines:
        try:
            text = text_of(line).strip()
            if not text:
                continue
            if text.startswith(_COMMENT):
                start = _START_TIME.match(text)
                epoch = int(start[1]) * _MS if start else epoch
                continue
            job = _Job(line.number, _values(text), epoch)
        except BadDataError as error:
            yield Unread(line.number, error)
        else:
            yield job


def _values(text: str) -> tuple[Decimal | None, ...]:
    words = text.split(None, _FIELDS)
    if len(words) != _FIELDS:
        found = len(words) if len(words) < _FIELDS else f"more than {_FIELDS}"
        raise BadDataError(f"{_FIELDS} numbers separated by spaces", found=found)
    values = []
    for number, word in enumerate(words, start=1):
        if not _NUMBER.fullmatch(word):
            raise BadDataError(f"a number in field {number}", found=word)
        value = Decimal(word)
        if value < 0 and value != -1:
            raise BadDataError(f"a number of 0 or more, or -1 for unknown, in field {number}", found=word)
        values.append(None if value < 0 else value)
    return tuple(values)


def _times(job: _Job) -> tuple[int, int, int] | None:
    """When the job was submitted, started and ended, in milliseconds since the epoch; None unless all are known."""
    submit, wait, run = (job.product(job.field(number), Decimal(_MS)) for number in (2, 3, 4))
    if submit is None or wait is None or run is None:
        return None
    queued = job.epoch + submit
    return queued, queued + wait, queued + wait + run


def _cpu_average(job: _Job, processors: Decimal | None) -> int | None:
    used, ran = job.product(job.field(6), processors, Decimal(1000)), job.field(4)
    return int(used / ran) if used is not None and ran else None


def _label(value: Decimal | None) -> str | None:
    """The number of an executable or queue as its name."""
    return None if value is None else str(int(value))
