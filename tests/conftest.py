"""Fixtures and hypothesis profiles of the whole suite."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from support.command import Result, Run
from vq.cli import run

_QUIET = (HealthCheck.too_slow, HealthCheck.data_too_large)
settings.register_profile("quick", max_examples=40, deadline=None, suppress_health_check=_QUIET, derandomize=True)
settings.register_profile("thorough", max_examples=1000, deadline=None, suppress_health_check=_QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# A shell starts what it puts in the background with interrupts ignored, and every program below inherits that.
signal.signal(signal.SIGINT, signal.default_int_handler)

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def given(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the sets with right answers, the names that are no UTF-8 restored."""
    folder = tmp_path_factory.mktemp("given") / "estimates"
    shutil.copytree(DATA / "estimates", folder)
    for path in folder.rglob("*%E9"):
        os.rename(path, os.fsencode(path).replace(b"%E9", b"\xe9"))
    yield folder
    shutil.rmtree(folder.parent)


@pytest.fixture
def vq(capfd: pytest.CaptureFixture[str]) -> Run:
    """`vq` run in this process."""

    def command(*arguments: object) -> Result:
        capfd.readouterr()
        status = run([os.fspath(word) if isinstance(word, os.PathLike) else str(word) for word in arguments])
        sys.stdout.flush()
        return Result(status, *capfd.readouterr())

    return command
