"""Slurm's accounting, as `sacct --parsable2` (or `--parsable`) prints it: a line a job, then a line for each step.

| row | fields |
|---|---|
| name, profile | JobName, Partition |
| memory cap | ReqMem; `n` behind it: a node, x NNodes; `c`: a CPU, x AllocCPUS |
| memory peak | the largest MaxRSS of the job and its steps: that of one task, by samples, so a lower bound |
| CPU cap | AllocCPUS (NCPUS) |
| CPU average | TotalCPU of the job, else that of its steps, else AveCPU x NTasks of its steps; / Elapsed |
| queued, started, finished | Submit, Start, End; without an End, Start + Elapsed |
| succeeded | State COMPLETED; without a State, ExitCode `0:0` |
| cancelled | CANCELLED, DEADLINE, PREEMPTED, REQUEUED, TIMEOUT: stopped, so their peaks may be cut short |
| killed for memory | OUT_OF_MEMORY, of the job or one of its steps |

A step is folded into the job whose line it follows. An array task (`123_4`) and a component of a heterogeneous job
(`123+0`) is a job of its own. A job next to a line that cannot be read is not read either: that line may be the step
with its peak. Figures of 0 are what sacct prints where none was gathered. It prints local time, read here as UTC: a job
that ran while clocks were changed seems an hour longer or shorter.

Source: the manual of sacct, "Job Accounting Fields", "JOB STATE CODES" and "OPTIONS".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

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
    Unread,
    named,
    outcomes,
)
from vq.formats.quantities import CLOCK, COUNT, CPUS, SIZE, UNKNOWN, moment_in, plain
from vq.formats.tables import Record, read_table
from vq.sizes import prefix_bytes

_MOMENT = moment_in(1000)
_ELAPSED_RAW = plain("a number of seconds", 1000)
_REQUEST = re.compile(r"([0-9]{1,15}(?:\.[0-9]{0,15})?)([KMGTPE]?)([nc]?)", re.IGNORECASE | re.ASCII)

_OOM = "OUT_OF_MEMORY"
_COMPLETED = "COMPLETED"
_FAILED = "FAILED"
_STOPPED = frozenset({"CANCELLED", "DEADLINE", "PREEMPTED", "REQUEUED", "TIMEOUT"})
_LOST = frozenset({_FAILED, "BOOT_FAIL", "NODE_FAIL", _OOM})
_NOT_YET = frozenset({"PENDING", "RUNNING", "SUSPENDED", "RESIZING", "REVOKED", "COMPLETING", "CONFIGURING"})
_STATES = {state: state for state in (_COMPLETED, *_STOPPED, *_LOST, *_NOT_YET)} | {
    "BF": "BOOT_FAIL",
    "CA": "CANCELLED",
    "CD": _COMPLETED,
    "DL": "DEADLINE",
    "F": _FAILED,
    "NF": "NODE_FAIL",
    "OOM": _OOM,
    "PD": "PENDING",
    "PR": "PREEMPTED",
    "R": "RUNNING",
    "RQ": "REQUEUED",
    "RS": "RESIZING",
    "RV": "REVOKED",
    "S": "SUSPENDED",
    "TO": "TIMEOUT",
}


@dataclass(slots=True)
class _Job:
    """The line of a job, and what its steps say so far; `problem` is what keeps one of its lines from being read."""

    number: int
    record: Record
    peak: int = 0
    steps_cpu_ms: int = 0
    oom_killed: bool = False
    problem: BadDataError | None = None

    def take(self, record: Record) -> None:
        """Take in what every line of a job may say, its own or that of a step."""
        try:
            self.peak = max(self.peak, record.read("maxrss", SIZE) or 0)
            self.oom_killed |= _state(record) == _OOM
            if record is not self.record:
                self.steps_cpu_ms += _cpu_ms(record)
        except BadDataError as error:
            self.problem = self.problem or error


def read(lines: Iterable[Line], source: Source) -> Iterator[Outcome]:
    """The outcomes of an accounting; raises `BadDataError` if its header lacks what every job needs."""
    try:
        table = read_table(lines, separators="|\t,;", lower=True)
        for column in ("jobid", "jobname", "submit", "start", "maxrss"):
            table.require(column)
        table.require("end", "elapsed", "elapsedraw")
        table.require("state", "exitcode")
    except BadDataError as error:
        error.hint = "see the how-to from sacct to a decision for the command that prints what is needed"
        raise

    return outcomes(_jobs(table.records), lambda job: _row(job, source), source)


def _row(job: _Job, source: Source) -> Run | str:
    record = job.record
    if job.problem is not None:
        raise job.problem
    state = _state(record)
    times = _times(record)
    name = named(record.cells["jobname"], "jobname")
    if state in _NOT_YET:
        return NOT_ENDED
    if not name or not job.peak or times is None:
        return NO_NAME if not name else NO_TIMES if job.peak else NO_PEAK
    queued, started, finished = times
    return Run(
        repository=source.repository_of(),
        workflow=None,
        name=name,
        profile=source.profile_of(named(record.cells.get("partition", ""), "partition")),
        memory_cap=_requested(record),
        cpu_cap=_cpus(record),
        memory_peak=job.peak,
        cpu_average=_cpu_average(job, finished - started),
        queued_at=queued,
        started_at=started,
        finished_at=finished,
        oom_killed=job.oom_killed,
        succeeded=state == _COMPLETED,
        cancelled=state in _STOPPED,
        **UNRECORDED,
    )


def _jobs(records: Iterator[Record | Unread]) -> Iterator[_Job | Unread]:
    """Each job once all of its lines are read: those that follow its own and begin with its id and a dot."""
    job: _Job | None = None
    for record in records:
        if isinstance(record, Unread):
            yield record
            if job is not None:
                job.problem = BadDataError("lines of its steps that can be read")
            continue
        identity, dot, _ = record.cells["jobid"].strip().partition(".")
        if not dot:
            if job is not None:
                yield job
            job = _Job(record.number, record)
            job.take(record)
        elif job is not None and job.record.cells["jobid"].strip() == identity:
            job.take(record)
        else:
            yield Unread(record.number, BadDataError(f"the line of job {identity[:40]} before that of its step"))
    if job is not None:
        yield job


def _state(record: Record) -> str:
    """The state in full, without who cancelled the job; without such a column by the exit code."""
    text = record.cells.get("state")
    if text is None:
        return _COMPLETED if record.cells["exitcode"].strip() == "0:0" else _FAILED
    word = text.strip().partition(" ")[0].upper()
    known = _STATES.get(word)
    if known is None and word.endswith("+"):
        # A column of fixed width cuts a long state off.
        cut = [state for state in _STATES.values() if state.startswith(word[:-1])]
        known = cut[0] if len(set(cut)) == 1 else None
    if known is None:
        raise BadDataError("a state of Slurm in column State", found=text)
    return known


def _times(record: Record) -> tuple[int, int, int] | None:
    """When the job was submitted, started and ended, in milliseconds since the epoch; None unless all are known."""
    queued, started, finished = (record.read(column, _MOMENT) for column in ("submit", "start", "end"))
    if finished is None and started is not None:
        elapsed = _elapsed_ms(record)
        finished = None if elapsed is None else started + elapsed
    return None if queued is None or started is None or finished is None else (queued, started, finished)


def _elapsed_ms(record: Record) -> int | None:
    elapsed = record.read("elapsed", CLOCK)
    return record.read("elapsedraw", _ELAPSED_RAW) if elapsed is None else elapsed


def _cpus(record: Record) -> int | None:
    allocated = record.read("alloccpus", CPUS)
    return (record.read("ncpus", CPUS) if allocated is None else allocated) or None


def _requested(record: Record) -> int | None:
    """The memory requested in bytes; None if it is 0, which stands for all that a node has, or a CPU count lacks."""
    text = record.cells.get("reqmem", "").strip()
    if text in UNKNOWN:
        return None
    found = _REQUEST.fullmatch(text)
    if found is None:
        raise BadDataError("memory such as 4G, 4000Mc or 16Gn in column ReqMem", found=text)
    number, prefix, per = found.groups()
    size = Decimal(number) * prefix_bytes(prefix or "M")
    if per.lower() == "c":
        return int(size * (_cpus(record) or 0) / 1000) or None
    nodes = record.read("nnodes", COUNT) or record.read("allocnodes", COUNT)
    return int(size * (nodes or 1 if per else 1)) or None


def _cpu_ms(step: Record) -> int:
    total = step.read("totalcpu", CLOCK)
    if total is not None:
        return total
    return (step.read("avecpu", CLOCK) or 0) * (step.read("ntasks", COUNT) or 1)


def _cpu_average(job: _Job, ran_ms: int) -> int | None:
    used = job.record.read("totalcpu", CLOCK) or job.steps_cpu_ms
    ran = _elapsed_ms(job.record) or ran_ms
    return used * 1000 // ran if used and ran > 0 else None
