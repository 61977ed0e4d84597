"""The size of this machine: the defaults of the budgets, and the most that can be asked of it."""

from __future__ import annotations

from vq.config.resolve import Facts
from vq.readings.cpus import usable_cpus
from vq.readings.meminfo import host_memory


def facts() -> Facts:
    """What the host has for us: memory (bytes) within every limit above us, and the CPUs we may use."""
    return Facts(memory_bytes=host_memory().total_bytes, cpus=usable_cpus())
