"""Fitting a calibration: a factor or an offset for each group of estimates, from the decided cases of one set.

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

By the method `offset` the same evidence for memory gives differences in place of ratios, and a group's
offset_bytes = max(0, worst difference). A margin in percent is recorded and applied last, to what either gives.
Runtime is always fitted by a factor, without margin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from operator import attrgetter
from typing import Any, Literal

from vq.canonical import digest
from vq.errors import placed
from vq.estimates.calibration import (
    JOB_WIDE_PEAK,
    MEMORY_UNUSED,
    NEWER_SCHEMA,
    OFFSET_JOB_WIDE_PEAK,
    OFFSET_PEAK,
    PEAK,
    RUNTIME,
    RUNTIME_UNUSED,
    SCHEMA,
)
from vq.estimates.cases import EvaluationSet, Identity, Observation, RuntimeIdentity
from vq.estimates.evaluation import UsageCheck, job_wide_verdict, memory_verdict, runtime_verdict
from vq.estimates.exact import decimal, round_up
from vq.estimates.program import Number

Document = dict[str, Any]

MIN_CASES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What one case says: that it needed `observed` of what `figure` was said, or at least that much."""

    observed: int | Fraction
    figure: int | Fraction
    exact: bool

    @property
    def ratio(self) -> Fraction:
        """The factor that the case needed."""
        return Fraction(self.observed, self.figure)

    @property
    def difference(self) -> Fraction:
        """What the case needed beside the figure; below 0 where that was more than enough."""
        return Fraction(self.observed - self.figure)


Measure = Callable[[Evidence], Fraction]
"""By what the worst case of a group is found: `ratio` or `difference`."""

_Worst = tuple[Fraction, bool]
"""The largest of what a measure gives in a group, and whether an exact case reaches it."""

_Written = Callable[[_Worst | None], Document]
"""How the correction that follows from the worst case is written, or that there is none."""


def memory_evidence(observation: Observation, *, job_wide: bool) -> Evidence | str:
    """The evidence of one case for its group's memory correction, or the verdict under which it goes unused."""
    figure = observation.receipt.predicted_peak_bytes
    verdict = memory_verdict(observation, figure)
    if figure is None:
        return verdict
    found: list[Evidence] = []
    peak, measured = observation.peak_bytes, verdict == "underpredicted"
    if peak is not None and observation.comparable and (verdict == "within" or (measured and peak > figure)):
        found.append(Evidence(observed=peak, figure=figure, exact=True))
    elif peak is not None and measured and peak > figure and observation.receipt.scope in ("job", "node"):
        found.append(Evidence(observed=peak, figure=figure, exact=False))
    limit = observation.case.memory_limit_bytes
    if measured and limit is not None and observation.oom_refutes(figure):
        found.append(Evidence(observed=limit, figure=figure, exact=False))
    if job_wide:
        found += _job_wide_evidence(observation, figure)
    return max(found, key=lambda evidence: (evidence.observed, evidence.exact)) if found else verdict


def _job_wide_evidence(observation: Observation, figure: int) -> list[Evidence]:
    usage = observation.usage
    match job_wide_verdict(observation):
        case "within" if usage is not None and usage.job_high_bytes is not None:
            return [Evidence(observed=usage.job_high_bytes, figure=figure, exact=True)]
        case "underpredicted" if usage is not None and usage.job_low_bytes is not None:
            return [Evidence(observed=usage.job_low_bytes, figure=figure, exact=False)]
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
    return Evidence(observed=longest, figure=decimal(interval[1]), exact=completed)


@dataclass(slots=True, kw_only=True)
class _Fit:
    """One group while its cases are met."""

    measure: Measure
    unused: dict[str, int]
    exact: int = 0
    lower_bound: int = 0
    worst: _Worst | None = None

    def add(self, evidence: Evidence | str) -> None:
        if isinstance(evidence, str):
            self.unused[evidence] += 1
            return
        self.exact += evidence.exact
        self.lower_bound += not evidence.exact
        found = (self.measure(evidence), evidence.exact)
        if self.worst is None or found > self.worst:
            self.worst = found

    def document(self, min_cases: int, correction: _Written) -> Document:
        decided = self.exact + self.lower_bound
        worst = self.worst if decided >= min_cases else None
        return {
            "status": "uncalibrated" if worst is None else "calibrated",
            **correction(worst),
            "decided": decided,
            "exact": self.exact,
            "lower_bound": self.lower_bound,
            "unused": self.unused,
        }


def _factor(worst: _Worst | None) -> Document:
    multiplier = None if worst is None else round_up(max(Fraction(1), worst[0]))
    return {"multiplier": multiplier, "multiplier_is_lower_bound": None if worst is None else not worst[1]}


def _factor_of_newer(worst: _Worst | None) -> Document:
    older = _factor(worst)
    flag = older["multiplier_is_lower_bound"]
    return {"multiplier": older["multiplier"], "offset_bytes": None, "is_lower_bound": flag}


def _offset(worst: _Worst | None) -> Document:
    offset_bytes = None if worst is None else max(0, int(worst[0]))
    return {"multiplier": None, "offset_bytes": offset_bytes, "is_lower_bound": None if worst is None else not worst[1]}


@dataclass(slots=True, kw_only=True)
class _Fits:
    measure: Measure
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
            fit = self.memory[identity] = _Fit(measure=self.measure, unused=dict.fromkeys(MEMORY_UNUSED, 0))
        fit.add(memory_evidence(observation, job_wide=job_wide))
        runtime = identity.runtime()
        fit = self.runtime.get(runtime)
        if fit is None:
            fit = self.runtime[runtime] = _Fit(measure=_RATIO, unused=dict.fromkeys(RUNTIME_UNUSED, 0))
        fit.add(runtime_evidence(observation))


_RATIO: Measure = attrgetter("ratio")
_DIFFERENCE: Measure = attrgetter("difference")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How to fit: by `factor` or `offset`, with a margin in percent or None, over job-wide evidence too or not."""

    method: Literal["factor", "offset"] = "factor"
    margin_percent: Number | None = None
    job_wide: bool = False
    min_cases: int = MIN_CASES

    @property
    def newer(self) -> bool:
        """Whether the document is one of the second version: it has an offset or a margin."""
        return self.method == "offset" or self.margin_percent is not None


def calibrate(
    training_set: EvaluationSet, observations: Iterable[Observation], recipe: Recipe
) -> tuple[Document, tuple[str, ...]]:
    """The calibration document fitted on a set, and warnings about the set.

    Raises `BadDataError` where receipts contradict the set, or a factor is not finite.
    """
    offset = recipe.method == "offset"
    check, fits = UsageCheck(), _Fits(measure=_DIFFERENCE if offset else _RATIO)
    cases = []
    for observation in observations:
        check.check(observation)
        fits.add(observation, job_wide=recipe.job_wide)
        cases.append(
            {
                "case_id": observation.case.case_id,
                "estimate_sha256": observation.receipt.sha256,
                "usage_sha256": observation.usage_sha256,
            }
        )
    correction = _offset if offset else _factor_of_newer if recipe.newer else _factor
    content = {
        "method": _METHODS[recipe.method, recipe.job_wide],
        **({"margin_percent": recipe.margin_percent} if recipe.newer else {}),
        "min_cases": recipe.min_cases,
        "training_set": {"set_id": training_set.set_id, "sha256": training_set.sha256},
        "training_cases": cases,
        "groups": _groups(fits.memory, recipe.min_cases, correction),
        "runtime_method": RUNTIME,
        "runtime_groups": _groups(fits.runtime, recipe.min_cases, _factor),
        "unidentified": fits.unidentified,
    }
    schema = NEWER_SCHEMA if recipe.newer else SCHEMA
    calibration_id = digest({"schema_name": schema, **content})
    return {"schema_name": schema, "calibration_id": calibration_id, **content}, tuple(check.warnings)


_METHODS = {
    ("factor", False): PEAK,
    ("factor", True): JOB_WIDE_PEAK,
    ("offset", False): OFFSET_PEAK,
    ("offset", True): OFFSET_JOB_WIDE_PEAK,
}


def _groups(fits: Mapping[Any, _Fit], min_cases: int, correction: _Written) -> list[Document]:
    ordered = sorted(fits, key=lambda identity: [(word is None, word or "") for word in identity])
    documents = []
    for identity in ordered:
        with placed(f"group {', '.join(word or 'none' for word in identity)}"):
            documents.append({**identity._asdict(), **fits[identity].document(min_cases, correction)})
    return documents
