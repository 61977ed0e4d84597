"""Counts of verdicts over a group of cases, and the frequencies and ratios that follow from them."""

from __future__ import annotations

from typing import Any

from vq.estimates.exact import median, nearest

UNCALIBRATED = "uncalibrated"

MEMORY_VERDICTS = (
    "underpredicted",
    "within",
    "not_refuted",
    "censored",
    "unobserved",
    "excluded",
    "no_prediction",
)
RUNTIME_VERDICTS = ("covered", "above", "below", "censored", "unobserved", "excluded", "no_prediction")
JOB_WIDE_VERDICTS = ("underpredicted", "within", "not_refuted")

_NOT_EVALUABLE = ("excluded", "no_prediction")
_COULD_BE_UNDER = ("underpredicted", "not_refuted", "censored", "unobserved")
_COULD_BE_COVERED = ("covered", "censored", "unobserved")


class Tally:
    """How often each verdict was given, and the range of one verdict's frequency over the evaluable cases."""

    __slots__ = ("_frequency", "_possible", "counts", "uncalibrated")

    def __init__(self, verdicts: tuple[str, ...], frequency: str, possible: tuple[str, ...]) -> None:
        self.counts = dict.fromkeys(verdicts, 0)
        self.uncalibrated = 0
        self._frequency = frequency
        self._possible = possible

    def add(self, verdict: str) -> None:
        """Count one case; `uncalibrated` is kept apart from the verdicts."""
        if verdict == UNCALIBRATED:
            self.uncalibrated += 1
        else:
            self.counts[verdict] += 1

    @property
    def evaluable(self) -> int:
        """The cases that say anything."""
        return sum(count for verdict, count in self.counts.items() if verdict not in _NOT_EVALUABLE)

    @property
    def decided(self) -> int:
        """The cases that certainly are what the frequency is of: its lower bound times `evaluable`."""
        return self.counts[self._possible[0]]

    @property
    def possible(self) -> int:
        """The cases that may be: the upper bound times `evaluable`."""
        return sum(self.counts.get(verdict, 0) for verdict in self._possible)

    def document(self) -> dict[str, Any]:
        """Counts and range, as every report writes them; both bounds None without an evaluable case."""
        n = self.evaluable
        return {
            "verdicts": dict(self.counts),
            "evaluable": n,
            f"{self._frequency}_lower": self.decided / n if n else None,
            f"{self._frequency}_upper": self.possible / n if n else None,
        }


def _memory_tally(verdicts: tuple[str, ...] = MEMORY_VERDICTS) -> Tally:
    return Tally(verdicts, "underprediction", _COULD_BE_UNDER)


def _runtime_tally() -> Tally:
    return Tally(RUNTIME_VERDICTS, "coverage", _COULD_BE_COVERED)


class Summary:
    """What a report says of a group of cases, and of all."""

    __slots__ = (
        "calibrated_memory",
        "calibrated_runtime",
        "cases",
        "job_wide",
        "memory",
        "ratios",
        "runtime",
    )

    def __init__(self, *, calibrated: bool) -> None:
        self.cases = 0
        self.memory = _memory_tally()
        self.job_wide = _memory_tally(JOB_WIDE_VERDICTS)
        self.runtime = _runtime_tally()
        self.calibrated_memory = _memory_tally() if calibrated else None
        self.calibrated_runtime = _runtime_tally() if calibrated else None
        self.ratios: list[tuple[int, int]] = []

    def add(self, memory: str, runtime: str, job_wide: str | None, ratio: tuple[int, int] | None) -> None:
        """Count one case by its raw verdicts; `ratio` is (measured, predicted) bytes where it counts."""
        self.cases += 1
        self.memory.add(memory)
        self.runtime.add(runtime)
        if job_wide is not None:
            self.job_wide.add(job_wide)
        if ratio is not None:
            self.ratios.append(ratio)

    def add_calibrated(self, memory: str, runtime: str) -> None:
        """Count the same case by its calibrated verdicts."""
        if self.calibrated_memory is not None and self.calibrated_runtime is not None:
            self.calibrated_memory.add(memory)
            self.calibrated_runtime.add(runtime)

    def ratio(self) -> dict[str, Any]:
        """Sample size, median and maximum of measured over predicted; None of no cases."""
        if not self.ratios:
            return {"n": 0, "median": None, "max": None}
        largest = max(measured / predicted for measured, predicted in self.ratios)
        return {"n": len(self.ratios), "median": nearest(median(self.ratios)), "max": largest}

    def document(self) -> dict[str, Any]:
        """The summary as reports write it."""
        memory = {**self.memory.document(), "ratio": self.ratio(), "job_wide": self.job_wide.document()}
        runtime = self.runtime.document()
        for document, tally in ((memory, self.calibrated_memory), (runtime, self.calibrated_runtime)):
            if tally is not None:
                document["calibrated"] = {**tally.document(), "uncalibrated": tally.uncalibrated}
        return {"cases": self.cases, "memory": memory, "runtime": runtime}
