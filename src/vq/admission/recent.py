"""A job's recent runs, as admission and sizing read them: one rule for what each row says, whoever feeds it.

Each row of the history is read once, in the order the runs finished, into the window of its job in its profile. A
window holds the last N successful runs, N = max(20, min_jobs), and the failed ones among them. A row, in this order:

1. Its peak holds page cache: it says nothing, unless the kernel killed it for memory; then the hold starts, and that
   is all it says.
2. It holds (`history.capped`): the hold starts at its finish. Else, if it succeeded and a hold exists, also one that
   has run out, it is one more clean run; after a run past its reservation the count starts again. A failed clear run
   leaves the count alone.
3. It used more than its reservation: that is remembered, of cancelled runs too.
4. It ended by itself, or met its cap: its peak, at least the cap it met, enters the window.

The window keeps at most N successes, and with N of them starts with one. It starts when its oldest run finished once
it has N successes, before that at 0; runs past their reservation from before its start are forgotten at each entry.

Source: the requirements of admission by measured peaks, module `recent`, and the rules of a job's recent runs.
Nothing is kept that the rows do not say, so reading the same rows again, after a restart, decides the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from math import inf
from typing import NamedTuple

from vq.admission.history import Capped, Key, Run, capped
from vq.admission.ranked import Ranked, Ranks

RECENT_RUNS = 20
"""A window holds at least this many successful runs."""

CLEAN_RUNS = 3
"""This many clean runs end a hold."""


class Seen(NamedTuple):
    """A run in the window: when it finished, its peak, and whether it succeeded."""

    finish: int
    peak: int
    succeeded: bool


class Overrun(NamedTuple):
    """A run past what it reserved: when it finished, and its peak."""

    finish: int
    peak: int


class JobRuns:
    """The recent runs of one job in one profile."""

    __slots__ = ("_hold", "_most", "_overruns", "_peers", "_window", "clean", "peaks", "start", "successes")

    def __init__(self, most: int, peers: Ranked | None) -> None:
        """`peers` are those of its profile, None apart from any."""
        self._most = most
        self._peers = peers
        self._window: deque[Seen] = deque()
        self._hold: int | None = None
        self._overruns: deque[Overrun] = deque()
        self.clean = 0
        self.successes = 0
        self.start = 0
        self.peaks = Ranked()

    def held(self, now: int = 0, for_ms: float = inf) -> int | None:
        """When the hold in force at `now` started, or None; without `for_ms` no time ends a hold."""
        at = self._hold
        return at if at is not None and self.clean < CLEAN_RUNS and now < at + for_ms else None

    def overruns(self, now: int, for_ms: int) -> tuple[Overrun, ...]:
        """The runs past their reservation that count at `now`: the largest first, the latest last.

        One is left out when a later run reached as far: that one speaks for both, and for longer.
        """
        return tuple(overrun for overrun in self._overruns if now < overrun.finish + for_ms)

    def read(self, run: Run, cap: int | None) -> None:
        """Take in `run`, which ran under `cap` bytes and is not to be ignored."""
        if run.page_cache:
            self._start_hold(run.finish)
            return
        verdict = capped(run, cap)
        if verdict.holds:
            self._start_hold(run.finish)
        elif run.succeeded and not run.cancelled and self._hold is not None:
            self.clean = 0 if run.overran else self.clean + 1
        if run.overran:
            self._remember(Overrun(run.finish, run.memory_peak))
        if verdict.meets or not run.cancelled:
            self._push(run, verdict, cap)

    def suppose_hold(self, at: int) -> None:
        """Before any run is read: as if one that held had finished at `at`."""
        self._start_hold(at)

    def speaks_alone(self, begin: int, now: int, for_ms: int) -> bool:
        """Whether no run before those read changes what is said at `now`.

        Those before finished by `begin`, where a hold was supposed. They say nothing where the window is full, what was
        supposed is over, and so is whatever ran past its reservation before.
        """
        if self.successes < self._most or self.held(now, for_ms) == begin:
            return False
        return begin < self.start or now >= begin + for_ms

    def among(self, peers: Ranked) -> JobRuns:
        """A copy, its window among `peers`."""
        copy = JobRuns(self._most, peers)
        copy._window, copy._overruns = self._window.copy(), self._overruns.copy()
        copy._hold, copy.clean, copy.successes, copy.start = self._hold, self.clean, self.successes, self.start
        for seen in self._window:
            copy.peaks.add(seen.peak)
            peers.add(seen.peak)
        return copy

    def leave(self, peers: Ranked) -> None:
        """Take its window from among `peers`."""
        for seen in self._window:
            peers.remove(seen.peak)

    def _start_hold(self, at: int) -> None:
        self._hold = at
        self.clean = 0

    def _remember(self, overrun: Overrun) -> None:
        while self._overruns and self._overruns[-1].peak <= overrun.peak:
            self._overruns.pop()
        self._overruns.append(overrun)

    def _push(self, run: Run, verdict: Capped, cap: int | None) -> None:
        peak = max(run.memory_peak, cap) if cap is not None and verdict.meets else run.memory_peak
        succeeded = run.succeeded and not run.cancelled
        self._window.append(Seen(run.finish, peak, succeeded))
        self.successes += succeeded
        self.peaks.add(peak)
        if self._peers is not None:
            self._peers.add(peak)
        while self.successes > self._most or (self.successes == self._most and not self._window[0].succeeded):
            self._drop()
        self.start = self._window[0].finish if self.successes == self._most else 0
        while self._overruns and self._overruns[0].finish < self.start:
            self._overruns.popleft()

    def _drop(self) -> None:
        oldest = self._window.popleft()
        self.successes -= oldest.succeeded
        self.peaks.remove(oldest.peak)
        if self._peers is not None:
            self._peers.remove(oldest.peak)


class Recent:
    """The recent runs of all jobs, and the peers of each profile: the peaks of all its jobs' windows together."""

    __slots__ = ("_jobs", "_most", "_peers")

    def __init__(self, most: int) -> None:
        self._most = most
        self._jobs: dict[tuple[Key, str], JobRuns] = {}
        self._peers: dict[str, Ranked] = {}

    def of(self, key: Key, profile: str) -> JobRuns | None:
        """The recent runs of a job; None while no row of it was read that says something."""
        return self._jobs.get((key, profile))

    def peers(self, profile: str) -> Ranks:
        """The peaks, in bytes, of all windows of a profile."""
        return self._peers.get(profile, _NONE)

    def jobs(self) -> Iterable[tuple[tuple[Key, str], JobRuns]]:
        """Every job known with its profile, and its recent runs, in the order in which they became known."""
        return self._jobs.items()

    def apart(self) -> JobRuns:
        """The recent runs of a job not read yet, apart from all profiles."""
        return JobRuns(self._most, None)

    def put_back(self, key: Key, profile: str, before: JobRuns | None) -> None:
        """Let what is known of a job be what was known `before`, None: nothing, so that runs can be read once more."""
        job, peers = self._jobs.pop((key, profile), None), self._peers.setdefault(profile, Ranked())
        if job is not None:
            job.leave(peers)
        if before is not None:
            self._jobs[key, profile] = before.among(peers)

    def recall(self, key: Key, profile: str, runs: Sequence[tuple[Run, int | None]], now: int, for_ms: int) -> bool:
        """Take in the last runs of a job not read yet, each with its cap, if those before them say nothing at `now`."""
        job, begin = self.apart(), runs[0][0].finish
        job.suppose_hold(begin)
        for run, cap in runs:
            if says(run):
                job.read(run, cap)
        if not job.speaks_alone(begin, now, for_ms):
            return False
        self._jobs[key, profile] = job.among(self._peers.setdefault(profile, Ranked()))
        return True

    def read(self, run: Run, cap: int | None) -> None:
        """Take in `run`, which ran under `cap` bytes (None: not known)."""
        if not says(run):
            return
        job = self._jobs.get((run.key, run.profile))
        if job is None:
            peers = self._peers.setdefault(run.profile, Ranked())
            job = self._jobs[run.key, run.profile] = JobRuns(self._most, peers)
        job.read(run, cap)


_NONE: Ranks = Ranked()


def says(run: Run) -> bool:
    """Whether a row says anything of the memory of its job."""
    return not run.page_cache or run.oom_killed


def window(min_jobs: int) -> int:
    """How many successful runs a window holds."""
    return max(RECENT_RUNS, min_jobs)
