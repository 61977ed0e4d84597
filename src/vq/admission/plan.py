from enum import Enum
class Policy(Enum):
    """How a queued job is admitted."""
    CAPS = "caps"
    MEASURED = "measured"
class CpuAdmission(Enum):
    CAPS = "caps"
    MEASURED = "measured"
    OFF = "off"
class Dispatch(Enum):
    KNOWN = "known"
    POOL = "pool"
