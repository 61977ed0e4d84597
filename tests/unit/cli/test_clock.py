"""Moments beside the clock of whoever reads them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from vq.cli.clock import clock, local_moment
from vq.jobs.times import LAST_MS


@pytest.fixture(params=["UTC", "Pacific/Kiritimati", "Etc/GMT+12"])
def _zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_zone")
@pytest.mark.parametrize("at_ms", [LAST_MS + 86_400_000, 2**53 - 1])
def test_a_moment_that_no_calendar_has_is_shown_as_the_last(at_ms: int) -> None:
    assert clock(at_ms) == clock(LAST_MS)
    assert local_moment(at_ms) == local_moment(LAST_MS)
