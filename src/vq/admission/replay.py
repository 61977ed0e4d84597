from enum import Enum
from dataclasses import dataclass, field
from collections.abc import Mapping
from vq.admission.plan import Policy, CpuAdmission, Dispatch
class Caps(Enum):
    JOB='job'
    PROFILE='profile'
@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    memory: int
    cpus: int
    slots: int|None=None
@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    margin: int
    min_jobs: int
    profiles: Mapping[str, Profile]
    memory_max: int|None=None
    cpu_budget: int|None=None
    slots: Mapping[str, int|None] = field(default_factory=dict)
    mirror: int = 0
    caps: Caps = Caps.JOB
    dispatch: Dispatch = Dispatch.KNOWN
    barrier_after_ms: int|None=None
    cpu_admission: CpuAdmission|None=None
@dataclass(frozen=True, slots=True)
class Wait:
    p50: int
    p95: int
    p99: int
    max: int
@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    jobs: int
    never_started: int
    wait: Wait
    mean_wait: int
    most_running: int
    worst_overlap: int
    makespan: int
    under_predicted: int
    held_back: int
    cpu_held: int
    worst_cpu: int
    reserved_byte_ms: int
    peak_byte_ms: int
