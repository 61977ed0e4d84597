"""Moments in the time of this host, as people read them beside their own clock."""

from __future__ import annotations

from datetime import datetime

from vq.jobs.times import LAST_MS

_MS = 1000


def clock(at_ms: int) -> str:
    """A moment in few columns: of today only the hour."""
    moment = _local(at_ms)
    return f"{moment:%H:%M:%S}" if moment.date() == datetime.now().astimezone().date() else f"{moment:%m-%d %H:%M}"


def local_moment(at_ms: int) -> str:
    """A moment with its date and its time zone: `2026-11-30 18:00:00 CET`."""
    return f"{_local(at_ms):%Y-%m-%d %H:%M:%S %Z}"


def _local(at_ms: int) -> datetime:
    return datetime.fromtimestamp(min(at_ms, LAST_MS) / _MS).astimezone()
