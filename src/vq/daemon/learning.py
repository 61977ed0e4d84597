"""From rows of the history to a predictor: read in the order in which runs finished, at the start or row by row."""

from __future__ import annotations

from collections.abc import Iterable

from vq.admission.history import Run
from vq.admission.predictor import Predictor
from vq.config.values import Config
from vq.jobs.history_row import HistoryRow


def predictor_of(config: Config, rows: Iterable[HistoryRow]) -> Predictor:
    """A predictor that has learned `rows`, which come in the order in which the runs finished."""
    caps = {name: profile.memory_bytes for name, profile in config.profiles.items() if profile.memory_bytes is not None}
    predictor = Predictor(margin=config.margin_percent, min_jobs=config.min_jobs, caps=caps)
    for row in rows:
        learn(predictor, (row,))
    return predictor


def learn(predictor: Predictor, rows: Iterable[HistoryRow]) -> None:
    """Have a predictor learn runs that have just ended, in the order in which they finished."""
    predictor.read(Run(**row._asdict()) for row in rows)
