"""What the runs of each job asked for, had reserved, used and wasted: sums over the history. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from vq.jobs.history_row import HistoryRow

_MS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The runs of one name: sizes in bytes, byte-seconds whole; None where no run says it.

    `asked_bytes` and `reserved_bytes` are those of the last run. `used_byte_seconds` counts each run's peak for as
    long as it ran, `wasted_byte_seconds` what was set aside beyond that.
    """

    repository: str
    workflow: str | None
    name: str
    runs: int
    peak_p50_bytes: int | None
    peak_max_bytes: int | None
    asked_bytes: int | None
    reserved_bytes: int | None
    wasted_byte_seconds: int
    used_byte_seconds: int


@dataclass(slots=True)
class _Sums:
    peaks: list[int] = field(default_factory=list)
    runs: int = 0
    asked: int | None = None
    reserved: int | None = None
    used: int = 0
    wasted: int = 0

    def add(self, row: HistoryRow) -> None:
        self.runs += 1
        self.asked = row.memory_cap
        self.reserved = row.memory_cap if row.reserved is None else row.reserved
        if row.page_cache:
            return
        self.peaks.append(row.memory_peak)
        if row.started_at is not None and row.finished_at is not None:
            milliseconds = max(0, row.finished_at - row.started_at)
            self.used += row.memory_peak * milliseconds
            self.wasted += max(0, (self.reserved or 0) - row.memory_peak) * milliseconds


def usage_by_name(rows: Iterable[HistoryRow]) -> list[Usage]:
    """The usage of each repository, workflow and name, what wasted most first; a peak with page cache is not known."""
    found: dict[tuple[str, str | None, str], _Sums] = {}
    for row in rows:
        found.setdefault((row.repository, row.workflow, row.name), _Sums()).add(row)
    ordered = sorted(found.items(), key=lambda item: (-item[1].wasted, item[0][0], item[0][1] or "", item[0][2]))
    return [_usage(key, sums) for key, sums in ordered]


def _usage(key: tuple[str, str | None, str], sums: _Sums) -> Usage:
    peaks = sorted(sums.peaks)
    return Usage(
        repository=key[0],
        workflow=key[1],
        name=key[2],
        runs=sums.runs,
        peak_p50_bytes=peaks[(len(peaks) - 1) // 2] if peaks else None,
        peak_max_bytes=peaks[-1] if peaks else None,
        asked_bytes=sums.asked,
        reserved_bytes=sums.reserved,
        wasted_byte_seconds=sums.wasted // _MS,
        used_byte_seconds=sums.used // _MS,
    )
