"""A predictor for one question: of the history it reads what the answer takes, when it is asked.

A job is predicted from its last runs; those of its profile matter only while it has few of its own. So of most jobs the
last few rows are enough, whatever stands before them: the predictor itself says whether they are (`Predictor.recall`).
What comes out is what reading every row would have made.
"""

from __future__ import annotations

from collections.abc import Iterator

from vq.admission.history import Key, Run
from vq.admission.predictor import Copies, CpuPrediction, Prediction, Predictor
from vq.config.values import Config
from vq.daemon.learning import run_of, settings_of
from vq.store.connection import Store
from vq.store.history import jobs_of_profile, last_rows

_FIRST_ROWS = 64
_MORE = 8


class Remembering(Predictor):
    """Predicts at one moment, `now_ms`, from the history in a store."""

    def __init__(self, config: Config, store: Store, now_ms: int) -> None:
        super().__init__(**settings_of(config))
        self._store = store
        self._now_ms = now_ms
        self._recalled: set[tuple[Key, str]] = set()
        self._cpu_recalled: set[tuple[Key, str]] = set()
        self._profiles: dict[str, list[Key]] = {}

    def predict(self, key: Key, profile: str, cap: int, *, now: int, copies: Copies) -> Prediction:
        """The memory to reserve for a job; `now` is the moment that this is for."""
        self._recall(key, profile)
        if self.needs_peers(key, profile):
            for peer in self._keys(profile):
                self._recall(peer, profile)
        return super().predict(key, profile, cap, now=now, copies=copies)

    def predict_cpu(self, key: Key, profile: str, cap: int) -> CpuPrediction:
        """The CPU to reserve for a job."""
        self._recall_cpu(key, profile)
        if self.needs_cpu_peers(key, profile):
            for peer in self._keys(profile):
                self._recall_cpu(peer, profile)
        return super().predict_cpu(key, profile, cap)

    def _keys(self, profile: str) -> list[Key]:
        if profile not in self._profiles:
            self._profiles[profile] = [Key(*names) for names in jobs_of_profile(self._store, profile)]
        return self._profiles[profile]

    def _recall(self, key: Key, profile: str) -> None:
        if (key, profile) in self._recalled:
            return
        self._recalled.add((key, profile))
        rows = _FIRST_ROWS
        while True:
            runs = list(self._last(key, profile, rows))
            if self.recall(key, profile, runs, now=self._now_ms, is_all=len(runs) < rows):
                return
            rows *= _MORE

    def _recall_cpu(self, key: Key, profile: str) -> None:
        if (key, profile) not in self._cpu_recalled:
            self._cpu_recalled.add((key, profile))
            for run in self._last(key, profile, None):
                if not run.cancelled:
                    self.learn_cpu(run)

    def _last(self, key: Key, profile: str, most: int | None) -> Iterator[Run]:
        return map(run_of, last_rows(self._store, key, profile, most))
