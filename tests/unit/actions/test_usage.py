from __future__ import annotations

from typing import Any

from vq.actions.usage import usage_by_name
from vq.jobs.history_row import HistoryRow


def row(**changes: Any) -> HistoryRow:
    values: dict[str, Any] = dict.fromkeys(HistoryRow._fields)
    values |= {"repository": "o/r", "name": "n", "profile": "default", "memory_cap": 100, "memory_peak": 40}
    values |= {"page_cache": False, "queued_at": 0, "started_at": 1000, "finished_at": 3000, "oom_killed": False}
    return HistoryRow(**(values | {"succeeded": True, "cancelled": False} | changes))


def test_a_run_wastes_what_was_reserved_and_not_used() -> None:
    (found,) = usage_by_name([row(reserved=70), row(memory_peak=60), row(memory_peak=120)])
    assert (found.runs, found.peak_p50_bytes, found.peak_max_bytes) == (3, 60, 120)
    assert (found.asked_bytes, found.reserved_bytes) == (100, 100)
    assert found.used_byte_seconds == 2 * (40 + 60 + 120)
    assert found.wasted_byte_seconds == 2 * (30 + 40)


def test_a_peak_with_page_cache_is_not_known() -> None:
    (found,) = usage_by_name([row(page_cache=True, memory_cap=None)])
    assert (found.runs, found.peak_p50_bytes, found.peak_max_bytes, found.asked_bytes) == (1, None, None, None)
    assert (found.used_byte_seconds, found.wasted_byte_seconds) == (0, 0)


def test_what_wasted_most_stands_first() -> None:
    rows = [row(name="little", memory_peak=99), row(name="much"), row(name="never ran", started_at=None)]
    assert [found.name for found in usage_by_name(rows)] == ["much", "little", "never ran"]
    assert usage_by_name([]) == []
