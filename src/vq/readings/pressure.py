"""Pressure: the share of time in which every task of the host waited for memory (PSI `full avg10`)."""

from __future__ import annotations

from vq.readings.kernel import read_text


def parse_pressure(text: str) -> float | None:
    """`avg10` of the line `full`, in percent; None without that line."""
    for line in text.splitlines():
        kind, *fields = line.split()
        if kind == "full":
            averages = dict(field.partition("=")[::2] for field in fields)
            return float(averages["avg10"]) if "avg10" in averages else None
    return None


def memory_pressure_percent() -> float | None:
    """How much of the last ten seconds all tasks stood still for memory; None where the kernel does not say."""
    try:
        text = read_text("/proc/pressure/memory")
    except OSError:
        # A kernel that was built with PSI and started without it.
        return None
    return None if text is None else parse_pressure(text)
