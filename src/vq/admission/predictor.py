"""A job's memory peak and average CPU, predicted from the runs that it, and the other jobs of its profile, had before.

A peak with its margin is peak + peak·margin/100 rounded down, then rounded up to 256 MiB, at least 256 MiB. No
prediction passes the cap. Memory goes by the first of these that holds; the window is the job's in its profile,
the peers are all runs in the windows of the profile:

| when                                                                  | memory                                    |
|-----------------------------------------------------------------------|-------------------------------------------|
| it met its cap or was killed, at most 7 days ago and < 3 clean runs    | the cap                                   |
| it is known, but its window is empty                                   | the cap                                   |
| it ran past its reservation, at most 7 days ago                        | margin(largest of window and those runs)  |
| at least min_jobs runs in its window                                   | margin(p95 of the window)                 |
| min_jobs peers, 2 successes of its own, no copy beside it              | margin(largest of the window)             |
| min_jobs peers, and it is known                                        | margin(largest of window, peers' p95)     |
| min_jobs peers                                                         | margin(largest of the peers)              |
| otherwise                                                              | the cap                                   |

CPU goes by the last five of them, over all runs that say their average, copies or not: no margin, rounded up to
a tenth of a CPU, at least that and at most the job's CPUs.

Source: the requirements of admission by measured peaks (Predictor, Copies, OWN_RUNS, UNPREDICTABLE_FOR), and the rules
of the predictor that fix their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Literal

from vq.admission.facts import Fact
from vq.admission.history import Key, Run, in_order
from vq.admission.ranked import Counted, Ranked, Ranks
from vq.admission.recent import JobRuns, Recent, says, window

CPU_GRANULE = 100
"""CPU predictions round up to this many millicores: a tenth of a CPU."""

OWN_RUNS = 2
"""From this many successful runs of its own, fewer than min_jobs, a job without copies beside it goes by them."""

UNPREDICTABLE_FOR = 7 * 24 * 60 * 60 * 1000
"""For at most this many milliseconds a run at its cap, or past its reservation, counts against its job."""

MEMORY_GRANULE = 256 << 20
"""Memory predictions round up to this many bytes."""

PERCENT = 95


class Copies(Enum):
    """Whether other copies of a job may run beside the one predicted: queued with it, or running."""

    ALONE = "alone"
    SEVERAL = "several"


@dataclass(frozen=True, slots=True)
class _Basis(Fact):
    """What a prediction goes by, and what may change it beside a run of the job."""

    leans: ClassVar[bool] = False
    """Any run of the profile may change it."""
    passes: ClassVar[bool] = False
    """Time alone may change it."""
    minds_copies: ClassVar[bool] = False
    """A job with copies beside it goes by something else."""


@dataclass(frozen=True, slots=True)
class AtCap(_Basis):
    """The cap: too little is known."""

    kind: ClassVar[str] = "cap"
    leans: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Unmeasured(_Basis):
    """The cap: there is no fresh sample of what the job uses."""

    kind: ClassVar[str] = "unmeasured"


@dataclass(frozen=True, slots=True)
class Unpredictable(_Basis):
    """The cap, at most until this second of the epoch: a run met its cap or was killed for memory."""

    kind: ClassVar[str] = "unpredictable"
    passes: ClassVar[bool] = True
    until: int


@dataclass(frozen=True, slots=True)
class Overran(_Basis):
    """The largest peak, at most until this second of the epoch: a run used more than its reservation."""

    kind: ClassVar[str] = "overran"
    passes: ClassVar[bool] = True
    until: int


@dataclass(frozen=True, slots=True)
class OwnRuns(_Basis):
    """The p95 of this many runs of its own."""

    kind: ClassVar[str] = "job"
    runs: int


@dataclass(frozen=True, slots=True)
class OwnLargest(_Basis):
    """The largest of these few runs of its own, which say little of copies beside one another."""

    kind: ClassVar[str] = "job"
    minds_copies: ClassVar[bool] = True
    runs: int
    peak: Literal["largest"] = "largest"


@dataclass(frozen=True, slots=True)
class ProfileRuns(_Basis):
    """Its own largest run, and the p95 of this many runs in its profile."""

    kind: ClassVar[str] = "profile"
    leans: ClassVar[bool] = True
    runs: int


@dataclass(frozen=True, slots=True)
class ProfileLargest(_Basis):
    """The largest of this many runs in its profile: the job was never seen."""

    kind: ClassVar[str] = "profile-max"
    leans: ClassVar[bool] = True
    runs: int


Basis = AtCap | Unmeasured | Unpredictable | Overran | OwnRuns | OwnLargest | ProfileRuns | ProfileLargest


@dataclass(frozen=True, slots=True)
class Prediction:
    """The memory in bytes that admission reserves for a job, at most its cap, and what it goes by."""

    memory: int
    basis: Basis


@dataclass(frozen=True, slots=True)
class CpuPrediction:
    """The CPU in millicores that is reserved for a job, and what it goes by."""

    cpu: int
    basis: Basis


_KINDS: Mapping[str, type[Basis]] = {
    kind.kind: kind for kind in (AtCap, Unmeasured, Unpredictable, Overran, OwnRuns, ProfileRuns, ProfileLargest)
}


def read_basis(data: Mapping[str, Any]) -> Basis:
    """The basis that `as_data` wrote."""
    figures = {key: value for key, value in data.items() if key != "kind"}
    kind = OwnLargest if "peak" in figures else _KINDS[data["kind"]]
    return kind(**figures)


AT_CAP = AtCap()
UNMEASURED = Unmeasured()


def with_margin(peak: int, margin: int) -> int:
    """`peak` bytes with `margin` percent on top, in whole granules, at least one."""
    return max(1, -(-(peak + peak * margin // 100) // MEMORY_GRANULE)) * MEMORY_GRANULE


class Predictor:
    """Predicts a job's peak from the runs it learned.

    `margin` is in percent; `min_jobs` runs make a percentile; `caps` are the memory limits of the profiles, in bytes,
    for rows that do not say what they ran under. What it knows is what the rows learned say, in the order they were
    learned: reading a history at once or row by row makes the same predictor.
    """

    def __init__(self, *, margin: int, min_jobs: int, caps: Mapping[str, int]) -> None:
        self._margin = margin
        self._min_jobs = min_jobs
        self._caps = caps
        self._recent = Recent(window(min_jobs))
        self._cpu: dict[tuple[Key, str], _CpuRuns] = {}
        self._cpu_peers: dict[str, Counted] = {}

    def read(self, runs: Iterable[Run]) -> None:
        """Learn all that `runs` say, in the order they finished."""
        for run in in_order(runs):
            if run.cancelled:
                self.mark(run)
            else:
                self.learn(run)
                self.learn_cpu(run)

    def learn(self, run: Run) -> None:
        """Learn the memory of a run that ended by itself, the last to finish of those learned."""
        self._recent.read(run, self._cap(run))

    def mark(self, run: Run) -> None:
        """Learn what a cancelled run says: a limit it met, a reservation it passed, and that the job is known."""
        self.learn(run)

    def learn_apart(self, before: JobRuns | None, run: Run) -> JobRuns | None:
        """The runs of a job with one more, apart from those that predictions go by; None while they say nothing."""
        if not says(run):
            return before
        job = self._recent.apart() if before is None else before
        job.read(run, self._cap(run))
        return job

    def recall(self, key: Key, profile: str, runs: Sequence[Run], *, now: int, is_all: bool) -> bool:
        """Learn the memory of the last runs of a job, in order, of which nothing was learned.

        False, and nothing is learned, where runs before them could change what is predicted at `now`; with `is_all`
        there are none.
        """
        if is_all:
            for run in runs:
                self.learn(run)
            return True
        return self._recent.recall(key, profile, [(run, self._cap(run)) for run in runs], now, UNPREDICTABLE_FOR)

    def needs_peers(self, key: Key, profile: str) -> bool:
        """Whether the memory of a job may go by what other jobs of its profile used."""
        job = self._recent.of(key, profile)
        return job is None or len(job.peaks) < self._min_jobs

    def needs_cpu_peers(self, key: Key, profile: str) -> bool:
        """Whether the CPU of a job goes by what other jobs of its profile used, or may."""
        job = self._cpu.get((key, profile))
        return job is None or len(job.averages) < self._min_jobs

    def put_back(self, key: Key, profile: str, before: JobRuns | None) -> None:
        """Know of the memory of a job what was known `before`, learned apart; None: nothing."""
        self._recent.put_back(key, profile, before)

    def learn_cpu(self, run: Run) -> None:
        """Learn the average CPU of a run that ended by itself, if it is known."""
        if run.cpu_average is None:
            return
        job = self._cpu.get((run.key, run.profile))
        if job is None:
            job = self._cpu[run.key, run.profile] = _CpuRuns()
        peers = self._cpu_peers.get(run.profile)
        if peers is None:
            peers = self._cpu_peers[run.profile] = Counted()
        granules = -(-run.cpu_average // CPU_GRANULE)
        job.averages.add(granules)
        job.successes += run.succeeded
        peers.add(granules)

    def predict(self, key: Key, profile: str, cap: int, *, now: int, copies: Copies) -> Prediction:
        """The memory to reserve at `now` for a job of `profile` that may use `cap` bytes."""
        job = self._recent.of(key, profile)
        if job is not None:
            held = job.held(now, UNPREDICTABLE_FOR)
            if held is not None:
                return Prediction(cap, Unpredictable(_second(held + UNPREDICTABLE_FOR)))
            if len(job.peaks) == 0:
                return Prediction(cap, AT_CAP)
            overruns = job.overruns(now, UNPREDICTABLE_FOR)
            if overruns:
                peak = max(job.peaks.largest(), overruns[0].peak)
                return self._reserved(peak, cap, Overran(_second(overruns[-1].finish + UNPREDICTABLE_FOR)))
        own = (job.peaks, job.successes) if job is not None else None
        value, basis = self._by_runs(own, self._recent.peers(profile), alone=copies is Copies.ALONE)
        return Prediction(cap, basis) if value is None else self._reserved(value, cap, basis)

    def predict_cpu(self, key: Key, profile: str, cap: int) -> CpuPrediction:
        """The CPU to reserve for a job of `profile` that may use `cap` millicores."""
        job = self._cpu.get((key, profile))
        own = (job.averages, job.successes) if job is not None else None
        value, basis = self._by_runs(own, self._cpu_peers.get(profile, _NONE), alone=True)
        most = max(cap, CPU_GRANULE)
        if value is None:
            return CpuPrediction(most, basis)
        return CpuPrediction(min(max(1, value) * CPU_GRANULE, most), basis)

    def changes_at(self, key: Key, profile: str, now: int) -> int | None:
        """When, after `now`, time alone next changes what is predicted for a job; None: never."""
        job = self._recent.of(key, profile)
        if job is None:
            return None
        held = job.held(now, UNPREDICTABLE_FOR)
        if held is not None:
            return held + UNPREDICTABLE_FOR
        overruns = job.overruns(now, UNPREDICTABLE_FOR)
        return overruns[0].finish + UNPREDICTABLE_FOR if overruns else None

    def known(self) -> Iterable[tuple[tuple[Key, str], JobRuns]]:
        """Every job that it knows with its profile, and the recent runs that its memory goes by."""
        return self._recent.jobs()

    def _cap(self, run: Run) -> int | None:
        return self._caps.get(run.profile) if run.memory_cap is None else run.memory_cap

    def _by_runs(
        self, own: tuple[Ranks, int] | None, peers: Ranks, *, alone: bool
    ) -> tuple[int, Basis] | tuple[None, AtCap]:
        """The value to go by, None for the cap, and why: from a job's own values with its successes, and its peers'."""
        values, successes = own if own is not None else (_NONE, 0)
        if len(values) >= self._min_jobs:
            return values.percentile(PERCENT), OwnRuns(len(values))
        if len(peers) < self._min_jobs:
            return None, AT_CAP
        if successes >= OWN_RUNS and alone:
            return values.largest(), OwnLargest(len(values))
        if own is not None:
            return max(values.largest(), peers.percentile(PERCENT)), ProfileRuns(len(peers))
        return peers.largest(), ProfileLargest(len(peers))

    def _reserved(self, peak: int, cap: int, basis: Basis) -> Prediction:
        return Prediction(min(with_margin(peak, self._margin), cap), basis)


class _CpuRuns:
    """The average CPU of every run of one job in one profile, and how many of them succeeded.

    Averages are counted in granules: rounded up before they are ranked, they are what they would be rounded after.
    """

    __slots__ = ("averages", "successes")

    def __init__(self) -> None:
        self.averages = Counted()
        self.successes = 0


_NONE: Ranks = Ranked()


def _second(at_ms: int) -> int:
    return at_ms // 1000
