"""How estimates held up: the evaluation set, the verdict on each case, and the report.

Rules (the requirements' tables, in the order in which the first that holds decides):

memory   1. `no_prediction`   the receipt has no figure
         2. `excluded`        the run failed, or the collector did: not a measurement
         3. `underpredicted`  the measured peak > the figure, or an OOM kill at a covering limit ≥ the figure
         4. completed         `unobserved` without a measured peak; `within` where it compares; else `not_refuted`
         5. `censored`        stopped before it could decide
runtime  `no_prediction`, `excluded` as above; completed: `unobserved`, `below`, `covered` (bounds included), `above`;
         stopped: `above` past the upper bound, by its wall time or by the time limit that stopped it; else `censored`

A measured peak is the largest single process, so it *compares* only where the estimate is of rank scope or the run was
a single process. A limit *covers* an estimate when both scopes are known and the limit's is the same or narrower.

Frequencies, with n = cases that are neither `no_prediction` nor `excluded`:
underprediction from underpredicted/n to (underpredicted + not_refuted + censored + unobserved)/n;
coverage of runtime from covered/n to (covered + censored + unobserved)/n.

Beside the memory verdict, never in its place, stands what a job-wide measurement says: the job held at least
lo = max(peak RSS, job peak) and at most hi = max(lo, the kernel's own mark): `underpredicted` when lo > the figure,
`within` when hi ≤ it, else `not_refuted`. Source: the requirement on held-out evaluation, and the fine print of the
estimates page for what it leaves open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from vq.errors import BadDataError
from vq.estimates.cases import Corrections, EvaluationSet, Observation
from vq.estimates.correction import Correction
from vq.estimates.exact import decimal, exceeds, nearest, round_up
from vq.estimates.program import Number
from vq.estimates.summary import UNCALIBRATED, Summary

REPORT_SCHEMA = "vq.estimate-evaluation-report/1"
NEWER_REPORT_SCHEMA = "vq.estimate-evaluation-report/2"
"""A report with a calibration by an offset or with a margin: each case has one more key."""

_LIMITATIONS = (
    "The report speaks of these estimators, programs, methods and hardware classes only.",
    "A measured peak is that of the largest single process, so it cannot confirm the estimate of a run of several.",
)


def memory_verdict(observation: Observation, figure: int | None) -> str:
    """The memory verdict on `figure` bytes: the program's own, or a calibrated one."""
    if figure is None:
        return "no_prediction"
    if observation.excluded:
        return "excluded"
    peak = observation.peak_bytes
    if (peak is not None and peak > figure) or observation.oom_refutes(figure):
        return "underpredicted"
    if observation.case.outcome != "completed":
        return "censored"
    if peak is None:
        return "unobserved"
    return "within" if observation.comparable else "not_refuted"


def job_wide_verdict(observation: Observation) -> str | None:
    """What the job-wide measurement of a completed job says; None where there is none to compare."""
    figure, usage = observation.receipt.predicted_peak_bytes, observation.usage
    compares = observation.receipt.scope in ("job", "node") and observation.case.outcome == "completed"
    if figure is None or usage is None or usage.job_low_bytes is None or not compares:
        return None
    if usage.job_low_bytes > figure:
        return "underpredicted"
    return "within" if usage.job_high_bytes is not None and usage.job_high_bytes <= figure else "not_refuted"


def runtime_verdict(observation: Observation, upper: Number | None) -> str:
    """The runtime verdict on the receipt's interval with `upper` seconds as its upper bound."""
    interval = observation.receipt.interval
    if interval is None or upper is None:
        return "no_prediction"
    if observation.excluded:
        return "excluded"
    wall, case = observation.wall_seconds, observation.case
    past = wall is not None and exceeds(wall, upper)
    if case.outcome != "completed":
        limit = case.wall_limit_seconds if case.outcome == "time_exceeded" else None
        return "above" if past or (limit is not None and exceeds(limit, upper)) else "censored"
    if wall is None:
        return "unobserved"
    if past:
        return "above"
    return "below" if exceeds(interval[0], wall) else "covered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """A case under a calibration: its verdicts, figures and what gave them, None where there are none."""

    memory: str
    peak_bytes: int | None
    correction: Correction | None
    runtime: str
    upper_seconds: float | None
    runtime_multiplier: Number | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One row of the report."""

    observation: Observation
    memory: str
    job_wide: str | None
    runtime: str
    calibrated: Calibrated | None

    @property
    def ratio(self) -> tuple[int, int] | None:
        """Measured peak over figure, where it counts in the statistics."""
        figure, peak = self.observation.receipt.predicted_peak_bytes, self.observation.peak_bytes
        counts = self.memory in ("within", "not_refuted", "underpredicted")
        if figure is None or peak is None or not counts or (self.memory == "underpredicted" and peak <= figure):
            return None
        return peak, figure


def judge(observation: Observation, corrections: Corrections | None) -> Judged:
    """The verdicts on one case, raw and (with corrections) calibrated."""
    receipt = observation.receipt
    return Judged(
        observation=observation,
        memory=memory_verdict(observation, receipt.predicted_peak_bytes),
        job_wide=job_wide_verdict(observation),
        runtime=runtime_verdict(observation, receipt.interval[1] if receipt.interval else None),
        calibrated=None if corrections is None else _calibrated(observation, corrections),
    )


def calibrated_upper(upper: Number, multiplier: Number) -> float:
    """`upper` × `multiplier` seconds, rounded up as multipliers are; raises `BadDataError` if not finite."""
    return round_up(decimal(upper) * decimal(multiplier))


def _calibrated(observation: Observation, corrections: Corrections) -> Calibrated:
    identity, receipt = observation.identity, observation.receipt
    correction = corrections.memory.get(identity) if identity else None
    runtime_multiplier = corrections.runtime.get(identity.runtime()) if identity else None
    memory, peak, figure = UNCALIBRATED, None, receipt.predicted_peak_bytes
    if correction is not None:
        peak = None if figure is None else correction.applied(figure)
        memory = memory_verdict(observation, peak)
    runtime, upper = UNCALIBRATED, None
    if runtime_multiplier is not None and receipt.interval is None:
        runtime = "no_prediction"
    elif runtime_multiplier is not None and receipt.interval and receipt.interval[1] > 0:
        upper = calibrated_upper(receipt.interval[1], runtime_multiplier)
        runtime = runtime_verdict(observation, upper)
    return Calibrated(
        memory=memory,
        peak_bytes=peak,
        correction=None if peak is None else correction,
        runtime=runtime,
        upper_seconds=upper,
        runtime_multiplier=None if upper is None else runtime_multiplier,
    )


@dataclass(slots=True, kw_only=True)
class UsageCheck:
    """Refuses receipts that contradict the set, and one direct measurement that stands for two cases.

    Of one scheduler receipt in two cases it warns: coarse figures of short jobs can honestly coincide.
    """

    warnings: list[str] = field(default_factory=list)
    _seen: dict[str, str] = field(default_factory=dict)

    def check(self, observation: Observation) -> None:
        """Nothing, or the `BadDataError` that names the case and its receipt."""
        sha256, case_id = observation.counted_usage, observation.case.case_id
        if sha256 is None or observation.usage is None:
            return
        where = f"case {case_id}, usage receipt {observation.case.usage}"
        if observation.case.outcome == "completed" and observation.usage.failed:
            raise BadDataError(
                '"succeeded" in a case marked completed; correct its outcome, or supply its own receipt',
                path=("command_status",),
                found="failed",
            ).at(where)
        first = self._seen.setdefault(sha256, case_id)
        if first == case_id:
            return
        if observation.usage.direct:
            raise BadDataError(
                f"a usage receipt of its own; this one is also that of case {first} (one run measures one case)"
            ).at(where)
        self.warnings.append(f"cases {first} and {case_id} have the same scheduler receipt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The evaluation of a set. `groups` are sorted by method (unknown last), then hardware class."""

    set_id: str
    sha256: str
    rows: tuple[Judged, ...]
    groups: tuple[tuple[str | None, str, Summary], ...]
    overall: Summary
    warnings: tuple[str, ...]
    newer: bool

    def document(self, calibration: dict[str, Any] | None = None) -> dict[str, Any]:
        """The report document with `cases` left empty (see `case_documents`)."""
        document: dict[str, Any] = {
            "schema_name": NEWER_REPORT_SCHEMA if self.newer else REPORT_SCHEMA,
            "set": {"set_id": self.set_id, "sha256": self.sha256, "cases": len(self.rows)},
            "cases": [],
            "groups": [
                {"method": method, "hardware_class": hardware, "summary": summary.document()}
                for method, hardware, summary in self.groups
            ],
            "overall": self.overall.document(),
            "limitations": list(_LIMITATIONS),
            "warnings": list(self.warnings),
        }
        return document if calibration is None else {**document, "calibration": calibration}

    def case_documents(self) -> Iterator[dict[str, Any]]:
        """The report's `cases`, one after another: a hundred thousand need not stand in memory at once."""
        return (_case_document(row, newer=self.newer) for row in self.rows)


def evaluate(
    evaluation_set: EvaluationSet, observations: Iterable[Observation], corrections: Corrections | None = None
) -> Report:
    """The report on a set; raises `BadDataError` where receipts contradict the set."""
    check = UsageCheck()
    overall = Summary(calibrated=corrections is not None)
    groups: dict[tuple[bool, str, str], Summary] = {}
    rows = []
    for observation in observations:
        check.check(observation)
        try:
            row = judge(observation, corrections)
        except BadDataError as error:
            raise error.at(f"case {observation.case.case_id}")  # noqa: B904 - the same error, placed
        rows.append(row)
        method = observation.receipt.method
        key = (method is None, method or "", observation.case.hardware_class)
        if key not in groups:
            groups[key] = Summary(calibrated=corrections is not None)
        for summary in (groups[key], overall):
            summary.add(row.memory, row.runtime, row.job_wide, row.ratio)
            if row.calibrated is not None:
                summary.add_calibrated(row.calibrated.memory, row.calibrated.runtime)
    return Report(
        set_id=evaluation_set.set_id,
        sha256=evaluation_set.sha256,
        rows=tuple(rows),
        groups=tuple(
            (None if unknown else method, hardware, groups[unknown, method, hardware])
            for unknown, method, hardware in sorted(groups)
        ),
        overall=overall,
        warnings=tuple(check.warnings),
        newer=corrections is not None and corrections.newer,
    )


def _case_document(row: Judged, *, newer: bool) -> dict[str, Any]:
    observation, receipt, case = row.observation, row.observation.receipt, row.observation.case
    wall = observation.wall_seconds
    document: dict[str, Any] = {
        "case_id": case.case_id,
        "estimate_sha256": receipt.sha256,
        "usage_sha256": observation.usage_sha256,
        "outcome": case.outcome,
        "estimator": receipt.estimator,
        "program": receipt.program,
        "program_version": receipt.program_version,
        "method": receipt.method,
        "algorithm": receipt.algorithm,
        "memory_scope": receipt.scope,
        "hardware_class": case.hardware_class,
        "predicted_peak_bytes": receipt.predicted_peak_bytes,
        "measured_peak_bytes": observation.peak_bytes,
        "ratio": None if row.ratio is None else row.ratio[0] / row.ratio[1],
        "memory": row.memory,
        "job_wide_memory": row.job_wide,
        "runtime_interval_seconds": receipt.interval,
        "measured_wall_seconds": nearest(wall) if isinstance(wall, Fraction) else wall,
        "runtime": row.runtime,
    }
    if row.calibrated is not None:
        correction = row.calibrated.correction
        offset = {"calibration_offset_bytes": correction.offset_bytes if correction else None} if newer else {}
        document |= {
            "calibrated_memory": row.calibrated.memory,
            "calibrated_peak_bytes": row.calibrated.peak_bytes,
            "calibration_multiplier": correction.multiplier if correction else None,
            **offset,
            "calibrated_runtime": row.calibrated.runtime,
            "calibrated_runtime_upper_seconds": row.calibrated.upper_seconds,
            "runtime_calibration_multiplier": row.calibrated.runtime_multiplier,
        }
    return document
