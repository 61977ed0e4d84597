"""Fitting a calibration: a factor for each group of estimates, from the decided cases of one set.

Rules. Cases are grouped by estimator, program, program version, method, algorithm, memory scope and hardware class
(runtime: without the scope); a case whose version or method is unknown belongs to no group. Evidence for memory:

exact        measured/figure where the measurement compares (verdict `within`, or a measured `underpredicted`)
lower bound  measured/figure of a multi-process run that measurably exceeded a job- or node-scope estimate
lower bound  limit/figure of an OOM kill at a covering limit at or above the estimate
job-wide     (only on request) hi/figure, exact, where the job-wide verdict is `within`; lo/figure, a lower bound,
             where it is `underpredicted`

and for runtime, against the upper bound of the interval:

exact        wall/upper of a completed run
lower bound  max(wall, time limit)/upper of a run stopped at its time limit past the bound; wall/upper of a run that
             was stopped another way past it

A case counts once, by its largest ratio, and exact wins a tie. multiplier = max(1, worst ratio), exactly, rounded up
to 6 decimals: a calibration never lowers an estimate. It is a lower bound when no exact ratio reaches the worst one.
A group with fewer decided cases than `min_cases` stays uncalibrated. Source: the requirement on calibrating on a
training set, and the fine print of the estimates page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from vq.canonical import digest
from vq.errors import placed
from vq.estimates.calibration import JOB_WIDE_PEAK, MEMORY_UNUSED, PEAK, RUNTIME, RUNTIME_UNUSED, SCHEMA
from vq.estimates.cases import EvaluationSet, Identity, Observation, RuntimeIdentity
from vq.estimates.evaluation import UsageCheck, job_wide_verdict, memory_verdict, runtime_verdict
from vq.estimates.exact import decimal, round_up

MIN_CASES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What one case says of the true factor: the ratio itself, or that it is at least `ratio`."""

    ratio: Fraction
    exact: bool


def memory_evidence(observation: Observation, *, job_wide: bool) -> Evidence | str:
    """The evidence of one case for its group's memory factor, or the verdict under which it goes unused."""
    figure = observation.receipt.predicted_peak_bytes
    verdict = memory_verdict(observation, figure)
    if figure is None:
        return verdict
    found: list[Evidence] = []
    peak, measured = observation.peak_bytes, verdict == "underpredicted"
    if peak is not None and observation.comparable and (verdict == "within" or (measured and peak > figure)):
        found.append(Evidence(ratio=Fraction(peak, figure), exact=True))
    elif peak is not None and measured and peak > figure and observation.receipt.scope in ("job", "node"):
        found.append(Evidence(ratio=Fraction(peak, figure), exact=False))
    limit = observation.case.memory_limit_bytes
    if measured and limit is not None and observation.oom_refutes(figure):
        found.append(Evidence(ratio=Fraction(limit, figure), exact=False))
    if job_wide:
        found += _job_wide_evidence(observation, figure)
    return max(found, key=lambda evidence: (evidence.ratio, evidence.exact)) if found else verdict


def _job_wide_evidence(observation: Observation, figure: int) -> list[Evidence]:
    usage = observation.usage
    match job_wide_verdict(observation):
        case "within" if usage is not None and usage.job_high_bytes is not None:
            return [Evidence(ratio=Fraction(usage.job_high_bytes, figure), exact=True)]
        case "underpredicted" if usage is not None and usage.job_low_bytes is not None:
            return [Evidence(ratio=Fraction(usage.job_low_bytes, figure), exact=False)]
        case _:
            return []


def runtime_evidence(observation: Observation) -> Evidence | str:
    """The evidence of one case for its group's runtime factor, or the reason why it goes unused."""
    interval = observation.receipt.interval
    if interval is not None and interval[1] == 0:
        return "zero_upper"
    verdict = runtime_verdict(observation, interval[1] if interval else None)
    if interval is None or verdict in ("no_prediction", "excluded", "unobserved", "censored"):
        return verdict
    completed = observation.case.outcome == "completed"
    ends = [observation.wall_seconds]
    if observation.case.outcome == "time_exceeded":
        ends.append(observation.case.wall_limit_seconds)
    longest = max(decimal(seconds) for seconds in ends if seconds is not None)
    return Evidence(ratio=longest / decimal(interval[1]), exact=completed)


@dataclass(slots=True, kw_only=True)
class _Fit:
    """One group while its cases are met."""

    unused: dict[str, int]
    exact: int = 0
    lower_bound: int = 0
    worst: Evidence | None = None

    def add(self, evidence: Evidence | str) -> None:
        if isinstance(evidence, str):
            self.unused[evidence] += 1
            return
        self.exact += evidence.exact
        self.lower_bound += not evidence.exact
        if self.worst is None or (evidence.ratio, evidence.exact) > (self.worst.ratio, self.worst.exact):
            self.worst = evidence

    def document(self, min_cases: int) -> dict[str, Any]:
        decided = self.exact + self.lower_bound
        calibrated = self.worst if decided >= min_cases else None
        return {
            "status": "uncalibrated" if calibrated is None else "calibrated",
            "multiplier": None if calibrated is None else round_up(max(Fraction(1), calibrated.ratio)),
            "multiplier_is_lower_bound": None if calibrated is None else not calibrated.exact,
            "decided": decided,
            "exact": self.exact,
            "lower_bound": self.lower_bound,
            "unused": self.unused,
        }


@dataclass(slots=True, kw_only=True)
class _Fits:
    memory: dict[Identity, _Fit] = field(default_factory=dict)
    runtime: dict[RuntimeIdentity, _Fit] = field(default_factory=dict)
    unidentified: int = 0

    def add(self, observation: Observation, *, job_wide: bool) -> None:
        identity = observation.identity
        if identity is None:
            self.unidentified += 1
            return
        fit = self.memory.get(identity)
        if fit is None:
            fit = self.memory[identity] = _Fit(unused=dict.fromkeys(MEMORY_UNUSED, 0))
        fit.add(memory_evidence(observation, job_wide=job_wide))
        runtime = identity.runtime()
        fit = self.runtime.get(runtime)
        if fit is None:
            fit = self.runtime[runtime] = _Fit(unused=dict.fromkeys(RUNTIME_UNUSED, 0))
        fit.add(runtime_evidence(observation))


def calibrate(
    training_set: EvaluationSet,
    observations: Iterable[Observation],
    *,
    min_cases: int = MIN_CASES,
    job_wide: bool = False,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The calibration document fitted on a set, and warnings about the set.

    Raises `BadDataError` where receipts contradict the set, or a factor is not finite.
    """
    check, fits = UsageCheck(), _Fits()
    cases = []
    for observation in observations:
        check.check(observation)
        fits.add(observation, job_wide=job_wide)
        cases.append(
            {
                "case_id": observation.case.case_id,
                "estimate_sha256": observation.receipt.sha256,
                "usage_sha256": observation.usage_sha256,
            }
        )
    content = {
        "method": JOB_WIDE_PEAK if job_wide else PEAK,
        "min_cases": min_cases,
        "training_set": {"set_id": training_set.set_id, "sha256": training_set.sha256},
        "training_cases": cases,
        "groups": _groups(fits.memory, min_cases),
        "runtime_method": RUNTIME,
        "runtime_groups": _groups(fits.runtime, min_cases),
        "unidentified": fits.unidentified,
    }
    calibration_id = digest({"schema_name": SCHEMA, **content})
    return {"schema_name": SCHEMA, "calibration_id": calibration_id, **content}, tuple(check.warnings)


def _groups(fits: Mapping[Any, _Fit], min_cases: int) -> list[dict[str, Any]]:
    ordered = sorted(fits, key=lambda identity: [(word is None, word or "") for word in identity])
    documents = []
    for identity in ordered:
        with placed(f"group {', '.join(word or 'none' for word in identity)}"):
            documents.append({**identity._asdict(), **fits[identity].document(min_cases)})
    return documents
