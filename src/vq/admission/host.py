"""What the host's memory leaves runners beside its other programs.

The runners may hold what they hold now without page cache, plus the host's available memory, less a margin kept for
the host's page cache, so that reclaim stays cheap; and nothing starts while the host, short of memory, stalls for it:

    margin = max(min(2 GiB, total/4), total/16), each rounded down, and half of it more while short
    stalls = (`full` avg10 >= 5 %, or it stalled before and >= 1 %) and available < 2 · margin(not short)
    limit  = slice + available - margin, not below 0
    left   = 0 while stalled, else limit - reserved, which may be negative
    spare  = left, not below 0

Both bounds have hysteresis, so that a host at the edge does not start and hold runners by turns: the margin grows
while the host is short, and a stall ends lower than it began. Running jobs are never stopped for any of it.

Source: the requirements of admission by measured peaks, module `host`. Pure: the caller passes in the reading and
what it remembers of the last plan. Memory is in bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

_GIB = 1 << 30

_LARGEST_FLOOR = 2 * _GIB
_STALLS_FROM = 500
_STALLED_UNTIL = 100


@dataclass(frozen=True, slots=True)
class HostMemory:
    """A reading: the host's `total` and `available` memory, what running jobs hold without page cache and reclaimable
    slab (`slice`), and the `full` memory pressure over ten seconds in hundredths of a percent, or None.
    """  # noqa: D205 - the reading is one sentence

    total: int
    available: int
    slice: int
    full_avg10: int | None


@dataclass(frozen=True, slots=True)
class Remembered:
    """What one plan leaves for the next: whether the host was short of memory, and whether it stalled."""

    short: bool = False
    stalled: bool = False


@dataclass(frozen=True, slots=True)
class HostBudget:
    """What the runners may hold together, what a start may take of it now, and whether the host stalls.

    `left` is `limit` less what is reserved, negative where reservations grew past it; `spare` is not below 0.
    """

    limit: int
    spare: int
    left: int
    stalled: bool


def margin(total: int, short: bool) -> int:  # noqa: FBT001 - the name says it, and callers may use it
    """The bytes kept for the page cache of a host with `total` bytes."""
    kept = max(min(_LARGEST_FLOOR, total // 4), total // 16)
    return kept + kept // 2 if short else kept


def stalls(memory: HostMemory, before: bool) -> bool:  # noqa: FBT001 - as above
    """Whether the host is short of memory and stalls for it; `before`: whether it did at the last reading."""
    full = memory.full_avg10 or 0
    pressed = full >= (_STALLED_UNTIL if before else _STALLS_FROM)
    return pressed and memory.available < 2 * margin(memory.total, short=False)


def limit(memory: HostMemory, short: bool) -> int:  # noqa: FBT001 - as above
    """The bytes that all runners together may hold."""
    return max(0, memory.slice + memory.available - margin(memory.total, short))


def left(limit: int, reserved: int, stalled: bool) -> int:  # noqa: FBT001 - as above
    """The bytes that the next start may take, negative where more is reserved than the limit."""
    return 0 if stalled else limit - reserved


def budget(memory: HostMemory, reserved: int, remembered: Remembered) -> HostBudget:
    """What `memory` leaves runners that have `reserved` bytes."""
    stalled = stalls(memory, remembered.stalled)
    most = limit(memory, remembered.short or stalled)
    free = left(most, reserved, stalled)
    return HostBudget(limit=most, spare=max(0, free), left=free, stalled=stalled)


def remember(budget: HostBudget, *, waits: bool, runs: bool) -> Remembered:
    """What the next plan has to know: `waits`, some job waits for host memory; `runs`, some job is running.

    While nothing runs, no margin would come back by waiting: short is cleared.
    """
    return Remembered(short=runs and (budget.stalled or waits), stalled=budget.stalled)
