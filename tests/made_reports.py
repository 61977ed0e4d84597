"""Evaluation reports made from a few figures a case, for tests of what is done with reports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vq.estimates.cases import Case, Corrections, EvaluationSet, Identity, Observation
from vq.estimates.correction import Correction
from vq.estimates.evaluation import Report, evaluate
from vq.estimates.receipt import Receipt
from vq.estimates.usage import Usage

MIB = 2**20
DIGEST = "5e" * 32


@dataclass(frozen=True, kw_only=True)
class Run:
    """One case: sizes in bytes; `limit` is the memory limit at which an OOM kill happened."""

    predicted: int | None = 100 * MIB
    measured: int | None = 90 * MIB
    method: str | None = "RKS"
    hardware: str = "class-a"
    outcome: str = "completed"
    single: bool = True
    limit: int | None = None


def report(runs: Iterable[Run], multiplier: float | None = None) -> Report:
    """The report on a set of these runs; with a multiplier, under a calibration of every known method by it."""
    observations = [_observation(number, run) for number, run in enumerate(runs)]
    cases = tuple(observation.case for observation in observations)
    known = [observation.identity for observation in observations if observation.identity]
    memory: dict[Identity, Correction] = dict.fromkeys(known, Correction(multiplier=multiplier))
    corrections = None if multiplier is None else Corrections(memory=memory, runtime={})
    return evaluate(EvaluationSet(set_id="made:1", sha256=DIGEST, cases=cases), observations, corrections)


def _observation(number: int, run: Run) -> Observation:
    case = Case(
        case_id=f"case-{number}",
        estimate="e.json",
        usage=None,
        outcome=run.outcome,
        hardware_class=run.hardware,
        memory_limit_bytes=run.limit,
    )
    receipt = Receipt(
        sha256=DIGEST,
        estimator="vibe-qc-dry-run/1",
        program="vibe-qc",
        program_version="1",
        method=run.method,
        algorithm=None,
        scope="job",
        predicted_peak_bytes=run.predicted,
        interval=None,
    )
    usage = Usage(
        ok=True,
        direct=True,
        failed=run.outcome == "failed",
        single_process=run.single,
        peak_bytes=run.measured,
        wall_seconds=None,
        job_low_bytes=None,
        job_high_bytes=None,
    )
    return Observation(case=case, receipt=receipt, usage=usage, usage_sha256=f"{number:064x}")
