"""By what jobs are admitted: the policies, the budgets, and what may keep a job from starting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

HIGH_WATER = 90
"""While this percent of the memory budget or more is in use, measured admission starts nothing."""


class Policy(Enum):
    """How a queued job is admitted: by what it asked for, or by what was measured."""

    CAPS = "caps"
    MEASURED = "measured"


class CpuAdmission(Enum):
    """What of the CPU budget a job takes: what it asked for, its measured average, or there is no budget."""

    CAPS = "caps"
    MEASURED = "measured"
    OFF = "off"


class Dispatch(Enum):
    """Whether the queue knows the job that it starts, or a runner takes any of its repository and profile."""

    KNOWN = "known"
    POOL = "pool"


class Verdict(Enum):
    """What keeps a job from starting now, the first that holds in this order."""

    SLOT = "slot"
    MEMORY = "memory"
    HIGH_WATER = "high_water"
    STALLED = "stalled"
    HOST_MEMORY = "host_memory"
    CPU = "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The policy and the budgets.

    `memory` in bytes and `cpu` in millicores, None without a budget; `slots` by profile, without an entry as many as
    there is room for; `cpu_admission` None is as the policy; `barrier_after_ms` None is no barrier.
    """

    policy: Policy
    memory: int | None = None
    cpu: int | None = None
    slots: Mapping[str, int | None] = field(default_factory=dict)
    cpu_admission: CpuAdmission | None = None
    dispatch: Dispatch = Dispatch.KNOWN
    barrier_after_ms: int | None = None

    @property
    def cpu_by(self) -> CpuAdmission:
        """What of the CPU budget a job takes, the default filled in; without a budget off."""
        if self.cpu is None:
            return CpuAdmission.OFF
        return CpuAdmission(self.policy.value) if self.cpu_admission is None else self.cpu_admission
