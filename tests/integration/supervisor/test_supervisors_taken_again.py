"""Supervisors of a warm process take one attempt after the other: each by itself, and none twice."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from supervised import MIB, Attempt, Make, python, wait_until
from vq.supervisor.command import SERVE, supervisor_command
from vq.supervisor.folder import read_attempt, read_result
from vq.supervisor.warm import MOST_ATTEMPTS, _Warm

HOLD = "x = b'x' * (100 << 20)"


class Warm:
    """A warm process, and what it says of the attempts that it is given."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def give(self, spec_path: str) -> None:
        """Hand a spec over."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{spec_path}\n".encode())
        self.process.stdin.flush()

    def supervisors(self) -> set[int]:
        """The processes that supervise, or wait for an attempt."""
        return {child.pid for child in psutil.Process(self.process.pid).children()}

    def says(self) -> tuple[str, str, str]:
        assert self.process.stdout is not None
        word, number, path = self.process.stdout.readline().decode().rstrip("\n").split(" ", 2)
        return word, number, path

    def run(self, one: Attempt) -> int:
        """Run an attempt to its end; the process that supervised it."""
        one.write_spec()
        self.give(one.spec_path)
        assert self.says() == ("ended", "0", one.spec_path)
        return supervisor_of(one)


@pytest.fixture
def warm() -> Iterator[Warm]:
    with (
        ExitStack() as stack,
        subprocess.Popen(supervisor_command(SERVE), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process,
    ):
        stack.callback(lambda: process.stdin is not None and process.stdin.close())
        yield Warm(process)


def supervisor_of(one: Attempt) -> int:
    begun = wait_until(lambda: read_attempt(str(one.folder)), "it has begun")
    pid: int = begun.supervisor_pid
    return pid


def gone(pid: int) -> Callable[[], bool]:
    return lambda: not psutil.pid_exists(pid)


def test_the_next_attempt_goes_to_the_same_supervisor_and_is_measured_by_itself(
    mode: str, attempt: Make, warm: Warm
) -> None:
    large, small = attempt(mode, python(HOLD)), attempt(mode, ["sh", "-c", "echo out; exit 3"])
    assert warm.run(large) == warm.run(small)
    first, second = (read_result(f"{one.folder}/result.json", one.attempt) for one in (large, small))
    assert first is not None
    assert second is not None
    assert first["usage"]["peak_rss_kb"] > 100 * 1024 > 20 * 1024 > second["usage"]["peak_rss_kb"]
    assert (second["usage"]["job_peak_bytes"] or 0) < 20 * MIB
    assert (second["attempt"], second["exit_code"]) == (f"{small.name}-{os.getpid()}", 3)
    assert small.log.read_text() == "out\n"
    assert large.is_gone()
    assert small.is_gone()


def test_attempts_at_one_time_have_each_a_supervisor(mode: str, attempt: Make, warm: Warm) -> None:
    waiting = attempt(mode, python("import os; os.read(os.open('go', os.O_RDONLY), 1)"))
    os.mkfifo(waiting.folder / "go")
    waiting.write_spec()
    warm.give(waiting.spec_path)
    assert warm.run(attempt(mode, ["true"])) != supervisor_of(waiting)
    (waiting.folder / "go").write_bytes(b"")
    assert warm.says() == ("ended", "0", waiting.spec_path)


def test_a_supervisor_whose_attempt_cannot_begin_takes_no_other(attempt: Make, warm: Warm, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    warm.give(str(bad))
    assert warm.says() == ("ended", "1", str(bad))
    assert not warm.supervisors()
    took = warm.run(attempt("sampled", ["true"]))
    assert warm.supervisors() == {took}


def test_a_supervisor_killed_while_it_waits_is_given_nothing(attempt: Make, warm: Warm) -> None:
    killed = warm.run(attempt("sampled", ["true"]))
    os.kill(killed, signal.SIGKILL)
    wait_until(gone(killed), "the killed supervisor is reaped")
    assert warm.run(attempt("sampled", ["true"])) != killed


def test_supervisors_that_nobody_needs_end(attempt: Make, warm: Warm) -> None:
    pid = warm.run(attempt("sampled", ["true"]))
    wait_until(gone(pid), "it has waited long enough")


def test_supervisors_end_with_the_warm_process_that_would_have_told_them(attempt: Make, warm: Warm) -> None:
    pid = warm.run(attempt("sampled", ["true"]))
    warm.process.kill()
    wait_until(gone(pid), "nobody can give it another attempt")


def test_a_supervisor_takes_so_many_attempts_and_no_more(attempt: Make, warm: Warm) -> None:
    took = [warm.run(attempt("sampled", ["true"])) for _ in range(MOST_ATTEMPTS + 1)]
    assert len(set(took[:MOST_ATTEMPTS])) == 1
    assert took[MOST_ATTEMPTS] != took[0]


def test_a_supervisor_killed_right_after_it_said_that_it_waits_is_given_nothing() -> None:
    warm = _Warm()
    try:
        # Reaped between two looks at what was said: its attempt is known no more.
        os.write(warm._freed, b"1234\n")  # noqa: SLF001 - the moment cannot be hit from outside
        warm._hear_free()  # noqa: SLF001 - the same
        assert not warm._idle  # noqa: SLF001 - the same
    finally:
        warm._waking.close()  # noqa: SLF001 - the same
        for descriptor in (warm._free, warm._freed):  # noqa: SLF001 - the same
            os.close(descriptor)
