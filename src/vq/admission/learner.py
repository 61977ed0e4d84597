"""A predictor that is fed as runs become known: a run that comes late is put in its place among those of its job.

Runs are read in the order in which they finished, but a queue does not hear of them in that order. Of memory, only the
order among the runs of one job in one profile matters; of CPU none. So the last `LATE_RUNS` rows of each job are kept,
with what was known before them; a late one is put among them, and they are read once more from there. What comes out
is what reading all rows anew, in order, would have made: a restart changes nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from vq.admission.history import Key, Run, in_order
from vq.admission.predictor import Predictor
from vq.admission.recent import JobRuns

LATE_RUNS = 64
"""A run finds its place as long as no more than so many of its job, known before it, finished later."""


class Learner:
    """Feeds `predictor`, of which nothing else has learned anything."""

    def __init__(self, predictor: Predictor, *, late_runs: int = LATE_RUNS) -> None:
        self.predictor = predictor
        self._late_runs = late_runs
        self._tails: dict[tuple[Key, str], _Tail] = {}

    def learn(self, runs: Iterable[Run]) -> bool:
        """Learn runs that have become known, in any order.

        False: one was so late that its place is no longer known. It was learned as if in time; only reading all anew
        makes that right.
        """
        tails: dict[tuple[Key, str], _Tail] = {}
        for run in in_order(runs):
            tail = self._tails.get((run.key, run.profile))
            if tail is None:
                tail = self._tails[run.key, run.profile] = _Tail(run.key, run.profile)
            tail.take(run, self.predictor)
            tails[run.key, run.profile] = tail
        found = [tail.settle(self.predictor, self._late_runs) for tail in tails.values()]
        return all(found)


class _Tail:
    """The last rows of a job in one profile, and what was known before them.

    `is_cut`: there were rows before them; `is_late`: one came out of order; `lost`: one came before all of them.
    """

    __slots__ = ("before", "is_cut", "is_late", "job", "lost", "rows")

    def __init__(self, key: Key, profile: str) -> None:
        self.job = (key, profile)
        self.rows: list[Run] = []
        self.before: JobRuns | None = None
        self.is_cut = self.is_late = self.lost = False

    def take(self, run: Run, predictor: Predictor) -> None:
        """Put `run` in its place, and learn it if that is the last."""
        place = bisect_right(self.rows, _order(run), key=_order)
        if place == 0 and self.is_cut:
            self.lost, place = True, len(self.rows)
        if place < len(self.rows):
            self.is_late = True
        self.rows.insert(place, run)
        if not self.is_late:
            predictor.learn(run)
        if not run.cancelled:
            predictor.learn_cpu(run)

    def settle(self, predictor: Predictor, most: int) -> bool:
        """Read the rows once more where one came late, and let go of all but `most`; whether all found their place."""
        if self.is_late:
            predictor.put_back(*self.job, self.before)
            for run in self.rows:
                predictor.learn(run)
        for run in self.rows[:-most]:
            self.before = predictor.learn_apart(self.before, run)
            self.is_cut = True
        del self.rows[:-most]
        found = not self.lost
        self.is_late = self.lost = False
        return found


def _order(run: Run) -> tuple[int, bool]:
    return run.finish, run.cancelled
