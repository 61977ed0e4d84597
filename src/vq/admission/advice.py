"""What would have been enough to ask for: each job's largest recent peak, with room for page cache, rounded up.

    enough = largest peak + max(peak·margin/100 rounded down, 1 GiB), rounded up to 256 MiB

It reads the history as admission does (`recent`), over a window three times as long and with a hold that no time ends:
a job that met its cap, or was killed for memory, and has not had its clean runs since, gets no figure, nor does one
with fewer than min_jobs runs. It advises, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vq.admission.history import Key, Run, in_order
from vq.admission.predictor import MEMORY_GRANULE
from vq.admission.recent import Recent, window

WINDOWS = 3
"""Advice looks back over this many windows of admission."""

PAGE_CACHE = 1 << 30
"""At least this many bytes over the largest peak are left for page cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What a job should ask for.

    `runs` are those looked at and `peak` is the largest, in bytes; `asked` is the limit that its last run had and
    `enough` the one that would do, each None where it is not known; `held` says that its runs met their limits.
    """

    key: Key
    profile: str
    runs: int
    peak: int
    asked: int | None
    enough: int | None
    held: bool


def advise(runs: Iterable[Run], *, margin: int, min_jobs: int, caps: Mapping[str, int]) -> list[Advice]:
    """Advice on every job that `runs` say something of, in the order in which they first do.

    `margin` is in percent, `caps` are the limits of the profiles, in bytes, for runs that do not say their own.
    """
    recent = Recent(WINDOWS * window(min_jobs))
    asked: dict[tuple[Key, str], int | None] = {}
    for run in in_order(runs):
        cap = caps.get(run.profile) if run.memory_cap is None else run.memory_cap
        asked[run.key, run.profile] = cap
        recent.read(run, cap)
    advice: list[Advice] = []
    for (key, profile), job in recent.jobs():
        peak = job.peaks.largest()
        held = job.held() is not None
        known = len(job.peaks) >= min_jobs and not held
        advice.append(
            Advice(
                key=key,
                profile=profile,
                runs=len(job.peaks),
                peak=peak,
                asked=asked[key, profile],
                enough=enough(peak, margin) if known else None,
                held=held,
            )
        )
    return advice


def enough(peak: int, margin: int) -> int:
    """The bytes to ask for, for a largest peak of `peak` bytes and a margin in percent."""
    return -(-(peak + max(peak * margin // 100, PAGE_CACHE)) // MEMORY_GRANULE) * MEMORY_GRANULE
