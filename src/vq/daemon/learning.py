"""From rows of the history to a predictor: read in the order in which runs finished, at the start or row by row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vq.admission.history import Run
from vq.admission.learner import Learner
from vq.admission.predictor import Predictor
from vq.config.values import Config
from vq.jobs.history_row import HistoryRow


def settings_of(config: Config) -> dict[str, Any]:
    """What a predictor goes by beside the runs."""
    caps = {name: profile.memory_bytes for name, profile in config.profiles.items() if profile.memory_bytes is not None}
    return {"margin": config.margin_percent, "min_jobs": config.min_jobs, "caps": caps}


def predictor_of(config: Config, rows: Iterable[HistoryRow]) -> Predictor:
    """A predictor that has learned `rows`, which come in the order in which the runs finished."""
    predictor = Predictor(**settings_of(config))
    for row in rows:
        predictor.read((run_of(row),))
    return predictor


def learner_of(config: Config, rows: Iterable[HistoryRow]) -> Learner:
    """A learner that has learned `rows`, which come in the order in which the runs finished."""
    learner = Learner(predictor_of(config, ()))
    for row in rows:
        learner.learn((run_of(row),))
    return learner


def learn(learner: Learner, rows: Iterable[HistoryRow]) -> bool:
    """Have it learn runs that have just become known; False where one came too late to find its place."""
    return learner.learn(map(run_of, rows))


def run_of(row: HistoryRow) -> Run:
    """A row of the store as admission reads it."""
    return Run(**row._asdict())
