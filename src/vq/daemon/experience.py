"""What a daemon has learned from the history: row by row as runs end, and all anew where that is not the same.

It is read anew when rows were imported or forgotten, which the store tells by a number, and when a run became known too
late to find its place among those of its job. Reading takes a second or so for 100,000 rows, in which nothing starts;
so where clocks keep making runs late, little of the time goes into it.
"""

from __future__ import annotations

import time

from vq.admission.learner import Learner
from vq.admission.predictor import Predictor
from vq.config.values import Config
from vq.daemon.learning import learn, learner_of
from vq.jobs.history_row import HistoryRow
from vq.store.connection import Store
from vq.store.history import rows_in_order
from vq.store.settings import imports_changed

_LARGEST_SHARE = 0.02


class Experience:
    """The predictor of a daemon."""

    def __init__(self, config: Config, store: Store) -> None:
        self._config = config
        self._store = store
        self._is_behind = False
        self._not_before = 0.0
        self._imports, self._learner = self._read()

    @property
    def predictor(self) -> Predictor:
        """What is predicted by."""
        return self._learner.predictor

    def learn(self, rows: tuple[HistoryRow, ...]) -> None:
        """Know runs that have just ended."""
        self._is_behind |= not learn(self._learner, rows)

    def catch_up(self) -> bool:
        """Whether everything had to be read anew, and was."""
        late = self._is_behind and time.monotonic() >= self._not_before
        if not late and imports_changed(self._store) == self._imports:
            return False
        began = time.monotonic()
        self._imports, self._learner = self._read()
        self._is_behind = False
        self._not_before = time.monotonic() + (time.monotonic() - began) / _LARGEST_SHARE
        return True

    def _read(self) -> tuple[int, Learner]:
        # The number first: what changes meanwhile is read twice and not missed.
        return imports_changed(self._store), learner_of(self._config, rows_in_order(self._store))
