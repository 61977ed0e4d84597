"""What the supervisor decides, as pure functions over values: no clock, no file, no process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from vq.readings.group import Counters

EndKind = Literal["ended", "out_of_memory", "wall_limit", "killed", "cannot_run", "not_started"]
Cause = Literal["out_of_memory", "outgrew", "wall_limit", "killed"]
LimitFired = Literal["job", "host"]

SHORTEST_SECONDS = 0.02
LONGEST_SECONDS = 1.0
LONGEST_ENFORCING_SECONDS = 0.1
"""Without a kernel that enforces the limit, a second would let a job grow far past it."""
_EAGER_SECONDS = 2.0
_LARGEST_SHARE = 0.02

_SIGNALED = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How an attempt ended, and which memory limit killed it where one did."""

    kind: EndKind
    limit_fired: LimitFired | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was seen that tells one process from several.

    `child_faults` are those of the command's zombie, read before it was reaped; None when it could not be read.
    """

    child_faults: int | None = None
    orphans: int = 0
    others_seen: bool = False
    ignored_children: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Timer:
    """Time that runs, except while the job is paused; seconds of a monotonic clock."""

    started_seconds: float
    paused_before_seconds: float = 0.0
    paused_since_seconds: float | None = None

    @property
    def paused(self) -> bool:
        """Whether time stands still."""
        return self.paused_since_seconds is not None

    def paused_seconds(self, now: float) -> float:
        """How long it stood still in all."""
        since = self.paused_since_seconds
        return self.paused_before_seconds + (0.0 if since is None else max(0.0, now - since))

    def running_seconds(self, now: float) -> float:
        """How long it ran in all."""
        return max(0.0, now - self.started_seconds - self.paused_seconds(now))

    def pause(self, now: float) -> Timer:
        """This timer, standing still from `now` on."""
        return self if self.paused else replace(self, paused_since_seconds=now)

    def resume(self, now: float) -> Timer:
        """This timer, running from `now` on."""
        return replace(self, paused_before_seconds=self.paused_seconds(now), paused_since_seconds=None)

    def seconds_left(self, now: float, limit_seconds: float | None) -> float | None:
        """What is left of the limit; None without a limit or while paused."""
        if limit_seconds is None or self.paused:
            return None
        return max(0.0, limit_seconds - self.running_seconds(now))


def next_interval_seconds(elapsed_seconds: float, cost_seconds: float, *, enforcing: bool) -> float:
    """How long to wait before the next sample of a job that has run for `elapsed_seconds`.

    20 ms for the first 2 s, then growing to 1 s (0.1 s when we enforce the limit ourselves), and so long that a sample
    that cost `cost_seconds` of CPU time takes at most 2 % of a core.
    """
    longest = LONGEST_ENFORCING_SECONDS if enforcing else LONGEST_SECONDS
    grown = SHORTEST_SECONDS * max(1.0, elapsed_seconds / _EAGER_SECONDS)
    return max(min(grown, longest), cost_seconds / _LARGEST_SHARE)


def end_of(cause: Cause | None, counters: Counters | None) -> End:
    """How the attempt ended: `cause` is what we ended it for, if we did.

    `counters` are the kernel's from when we began to end it, or else from the command's end; None without a group.
    A memory limit that killed any process outweighs the rest, whatever the exit code.
    """
    if counters is not None and counters.oom_kills:
        return End(kind="out_of_memory", limit_fired=fired(counters))
    if cause == "out_of_memory":
        return End(kind="out_of_memory", limit_fired="job")
    if cause == "outgrew":
        return End(kind="out_of_memory", limit_fired="host")
    return End(kind=cause or "ended")


def fired(counters: Counters) -> LimitFired | None:
    """Whose memory limit killed: the job's own, or one above it (also the machine's); None where nobody says."""
    if not counters.oom_kills or counters.own_ooms is None:
        return None
    return "job" if counters.own_ooms else "host"


def process_count(evidence: Evidence) -> int | None:
    """1 when the job was one process for certain, else None: the number of several is never certain."""
    alone = not (evidence.others_seen or evidence.orphans or evidence.ignored_children)
    return 1 if alone and evidence.child_faults == 0 else None


def exit_code_of(wait_status: int) -> tuple[int, int | None]:
    """Exit code and signal of a wait status: 128 + signal, where a signal ended it."""
    # The layout of a wait status is the kernel's own, on every architecture: signal in the low seven bits.
    number = wait_status & 0x7F
    return (_SIGNALED + number, number) if number else ((wait_status >> 8) & 0xFF, None)


def millicores(cpu_seconds: float | None, running_seconds: float) -> float | None:
    """CPU time over the time that the job ran unpaused, in thousandths of a core."""
    if cpu_seconds is None or running_seconds <= 0:
        return None
    return cpu_seconds / running_seconds * 1000
