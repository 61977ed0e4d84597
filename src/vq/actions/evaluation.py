"""Evaluate a set, fit a calibration on one, judge it on another. Files in, values out.

These functions start no process, open no socket and read neither the queue's state nor its daemon.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from vq.canonical import digest, parse
from vq.errors import VqError, placed
from vq.estimates import calibration as calibrations
from vq.estimates import receipt as receipts
from vq.estimates import usage as usages
from vq.estimates.calibrated import read_estimate
from vq.estimates.calibration import Calibration, read_calibration, refuse_overlap, refuse_training_set
from vq.estimates.cases import MOST_BYTES, Case, EvaluationSet, Observation, read_set
from vq.estimates.evaluation import Report, evaluate
from vq.estimates.fit import Recipe, calibrate
from vq.estimates.kinds import CALIBRATION, ESTIMATE, SET, USAGE, meant_as, other_kind
from vq.estimates.usage import read_usage
from vq.files.documents import Folder, read_file

Watch = Callable[[Sequence[Case]], Iterable[Case]]
"""How the caller watches the progress over cases: it yields them all, in order."""


def load_calibration(path: str) -> Calibration:
    """The calibration in a file; raises `VqError`."""
    with placed(path):
        document = parse(read_file(path, calibrations.MOST_BYTES))
        with meant_as(CALIBRATION, document):
            return read_calibration(document)


def evaluate_set(path: str, calibration: Calibration | None, watch: Watch) -> Report:
    """The report on the set in a file, judged with a calibration or without; raises `VqError`."""
    with _opened(path) as (evaluation_set, folder):
        if calibration is not None:
            refuse_training_set(calibration, evaluation_set)
        corrections = None if calibration is None else calibration.corrections()
        report = evaluate(evaluation_set, _observe(folder, watch(evaluation_set.cases)), corrections)
        if calibration is not None:
            refuse_overlap(calibration, report.rows)
        return report


def calibrate_set(path: str, recipe: Recipe, watch: Watch) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The calibration document fitted on the set in a file, and warnings about the set; raises `VqError`."""
    with _opened(path) as (evaluation_set, folder):
        observations = _observe(folder, watch(evaluation_set.cases))
        return calibrate(evaluation_set, observations, recipe)


@contextmanager
def _opened(path: str) -> Iterator[tuple[EvaluationSet, Folder]]:
    """The set in a file and the folder below which its receipts are; what goes wrong inside names the file."""
    with placed(path), _uncollected():
        document = parse(read_file(path, MOST_BYTES))
        with meant_as(SET, document):
            evaluation_set = read_set(document)
        with Folder(os.path.dirname(path) or ".") as folder:
            yield evaluation_set, folder


@contextmanager
def _uncollected() -> Iterator[None]:
    """Cyclic garbage is not looked for meanwhile: records hold none, and each look would visit all there are so far."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _observe(folder: Folder, cases: Iterable[Case]) -> Iterator[Observation]:
    """Each case with what its receipts say, one after another."""
    for case in cases:
        kind, path, wanted, document = "estimate", case.estimate, ESTIMATE, None
        try:
            document = parse(folder.read(path, receipts.MOST_BYTES))
            receipt = read_estimate(document)
            usage = sha256 = None
            if case.usage is not None:
                kind, path, wanted, document = "usage", case.usage, USAGE, None
                document = parse(folder.read(path, usages.MOST_BYTES))
                usage, sha256 = read_usage(document), digest(document)
        except VqError as error:
            error.hint = other_kind(document, wanted) or error.hint
            if error.where is None:
                error.at(path)
            raise error.at(f"case {case.case_id}, {kind} receipt")  # noqa: B904 - the same error, placed
        yield Observation(case=case, receipt=receipt, usage=usage, usage_sha256=sha256)
