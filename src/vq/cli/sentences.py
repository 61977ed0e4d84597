"""Predictions and replays in words: what a figure goes by, and what one policy would have done beside another."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, assert_never

from vq.admission import CpuPrediction, Prediction, Replay, Setup
from vq.admission.predictor import (
    AtCap,
    Basis,
    Overran,
    OwnLargest,
    OwnRuns,
    ProfileLargest,
    ProfileRuns,
    Unmeasured,
    Unpredictable,
    read_basis,
)
from vq.cli.clock import local_moment
from vq.jobs.reasons import Kind, Reason
from vq.jobs.record import Job, Reserve
from vq.jobs.times import shown_moment
from vq.wording import counted, human_bytes, human_cpus, human_seconds

_NOT_IN_LINE = frozenset((Kind.HELD, Kind.NOT_BEFORE, Kind.DEPENDENCY, Kind.RETRY))
"""What keeps a job of its own: it would not start either if it were the first in line."""
_LAST_SECOND = 253_402_300_799
"""The last second of the year 9999, the last that has a date."""


GOES_BY = {
    AtCap.kind: "its limit, as too little is known",
    Unmeasured.kind: "its limit, as there is no fresh sample of what it uses",
    Unpredictable.kind: "its limit: a run met its limit, or was killed for memory",
    Overran.kind: "its largest peak: a run passed what was reserved for it",
    OwnRuns.kind: "its own runs",
    ProfileRuns.kind: "its largest peak, and the runs of its profile",
    ProfileLargest.kind: "the largest peak of its profile, as it was never seen",
}
"""What each kind of basis is, in the few words of a table's legend."""


def memory_sentence(prediction: Prediction, margin: int) -> str:
    """What is reserved and why: `1.25 GiB: the p95 of its last 12 runs + 15 %`."""
    return f"{human_bytes(prediction.memory)}: {_why(prediction.basis, f' + {margin} %', 'peak')}"


def reserved_sentence(job: Job, memory: int, basis: Mapping[str, Any] | None, margin: int) -> str:
    """What is or would be reserved of a job's limit: `1.25 GiB of its 4 GiB: the p95 of its last 12 runs + 15 %`."""
    text = f"{human_bytes(memory)} of its {human_bytes(job.work.cap_bytes)}"
    if job.life.outgrew:
        return f"{text}: all of it, as the jobs together outgrew the memory of the host"
    if job.work.reserve is Reserve.CAP:
        return f"{text}: all of it, as asked for with --reserve cap"
    if basis is None:
        return f"{text}: this queue goes by limits"
    return f"{text}: {_why(read_basis(basis), f' + {margin} %', 'peak')}"


def reserved_cpus_sentence(millicores: int, basis: Mapping[str, Any] | None) -> str:
    """The CPUs that are or would be reserved."""
    text = human_cpus(millicores)
    return text if basis is None else f"{text}: {_why(read_basis(basis), '', 'average')}"


def waits_sentence(reason: Reason | None, ahead: int) -> str:
    """Why a job waits: `needs 1.25 GiB of memory, 819.2 MiB are free; 3 jobs ahead`."""
    why = "nothing keeps it: it starts at the daemon's next look" if reason is None else _by_our_clock(reason)
    if reason is not None and reason.kind in _NOT_IN_LINE:
        return why
    return f"{why}; {counted(ahead, 'job')} ahead" if ahead else f"{why}; first in line"


def _by_our_clock(reason: Reason) -> str:
    """The sentence of a reason, a moment in it as the other times beside it are shown: by the clock of this host."""
    at_ms = reason.details.get("at")
    return reason.text if at_ms is None else reason.text.replace(shown_moment(at_ms), local_moment(at_ms))


def too_large_sentence(job: Job, memory_max: int) -> str:
    """Why a job that was accepted under a larger budget cannot start, however long it waits, and what helps."""
    helps = f"vq edit {job.id} --mem-mb lowers its limit, host.memory_max in the configuration raises the budget"
    return f"all jobs together have {human_bytes(memory_max)}, and waiting does not help; {helps}"


def cpu_sentence(prediction: CpuPrediction) -> str:
    """The CPUs that are reserved and why."""
    return f"{human_cpus(prediction.cpu)}: {_why(prediction.basis, '', 'average')}"


def _why(basis: Basis, margin: str, figure: str) -> str:  # noqa: PLR0911 - one sentence a kind
    match basis:
        case AtCap():
            return "its limit, as too little is known"
        case Unmeasured():
            return "its limit, as there is no fresh sample of what it uses"
        case Unpredictable(until):
            return f"its limit until {_date(until)} or 3 clean runs: a run met its limit, or was killed for memory"
        case Overran(until):
            return f"its largest {figure}{margin}, until {_date(until)} at most: a run passed what was reserved for it"
        case OwnRuns(runs):
            return f"the p95 of its last {counted(runs, 'run')}{margin}"
        case OwnLargest(runs):
            return f"the largest of its only {counted(runs, 'run')}{margin}"
        case ProfileRuns(runs):
            return (
                f"the larger of its own largest {figure} and the p95 of {counted(runs, 'run')} of its profile{margin}"
            )
        case ProfileLargest(runs):
            return f"never seen: the largest of {counted(runs, 'run')} of its profile{margin}"
        case _:
            assert_never(basis)


def _date(second: int) -> str:
    if second > _LAST_SECOND:
        return f"second {second} of the epoch"
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M} UTC"


def comparison(caps: Replay, measured: Replay, setup: Setup, *, killed: int = 0) -> str:
    """What admission by measured peaks would have done with the same jobs, against admission by what they asked for.

    `killed` of them were killed for memory in the history, so that their recorded peaks may be too low.
    """
    if measured.never_started == measured.jobs and measured.jobs and setup.memory_max is not None:
        return f"No job would have started by measured peaks: each needs more than {human_bytes(setup.memory_max)}."
    started = counted(measured.jobs - measured.never_started, "job")
    wait = human_seconds(measured.mean_wait) + " on average" + _instead(measured.mean_wait, caps.mean_wait)
    running = f"{measured.most_running:,} running at once"
    if measured.most_running != caps.most_running:
        running += f" instead of {caps.most_running:,}"
    span = human_seconds(measured.makespan) + _instead(measured.makespan, caps.makespan)
    waits = f"By measured peaks, {started} would have waited {wait}, with at most {running}"
    ends = f"and the last would have ended after {span}."
    return " ".join(
        [f"{waits}, {ends}", *_never_started(caps, measured), _risk(measured, killed), _overlap(measured, setup)]
    )


def without_cpus(measured: Replay, free: Replay) -> str:
    """What measured admission would have done without the CPU budget: whether CPUs are what jobs wait for."""
    if free.mean_wait >= measured.mean_wait:
        return "CPUs are not what jobs wait for: without their budget they would have waited as long."
    wait = human_seconds(free.mean_wait)
    return f"With as many CPUs as they ask for it would have been {wait}: CPUs are part of what jobs wait for."


def _instead(measured: int, caps: int) -> str:
    if measured == caps:
        return ", as by their limits"
    share = f" ({abs(measured - caps) * 100 / caps:.0f} % {'more' if measured > caps else 'less'})" if caps else ""
    return f" instead of {human_seconds(caps)}{share}"


def _never_started(caps: Replay, measured: Replay) -> list[str]:
    if not caps.never_started and not measured.never_started:
        return []
    never = f"{caps.never_started:,} by their limits, {measured.never_started:,} by measured peaks"
    return [f"Never started, as they need more than there is: {never}; the figures are of the others."]


def _risk(measured: Replay, killed: int) -> str:
    if measured.under_predicted:
        share = measured.under_predicted * 100 / (measured.jobs - measured.never_started)
        risk = f"{measured.under_predicted:,} of them ({share:.2g} %) would have used more than was reserved."
    else:
        risk = "None would have used more than was reserved for it."
    if not killed:
        return risk
    return f"{risk} That is by recorded peaks; those of {counted(killed, 'run')} killed for memory may be too low."


def _overlap(measured: Replay, setup: Setup) -> str:
    most = human_bytes(measured.worst_overlap)
    if setup.memory_max is None:
        return f"Up to {most} would have been in use at once, without a memory budget."
    budget = human_bytes(setup.memory_max)
    if measured.worst_overlap > setup.memory_max:
        return f"Up to {most} would have been in use at once, beyond {budget}: some jobs would have been stopped."
    started = " that started" if measured.never_started else ""
    return f"At most {most} of {budget} would have been in use at once, so all{started} would have fitted."
