"""A daemon killed with SIGKILL at random moments, while jobs are submitted, start, run, are killed and end.

`VQ_TEST_KILLS` says how often (20 by default, `make test-kills` 200), `VQ_TEST_SEED` with which moments.
"""

from __future__ import annotations

import os
import random
import select
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from daemons import ENVIRONMENT
from made_jobs import job as made_job
from supervised import MODES, SLOWNESS, parent_group, remove_parent_groups, wait_until
from vq.actions.waking import poke
from vq.daemon.serving import now_ms
from vq.jobs.events import KillRequested
from vq.jobs.record import Dependency, Job, Need, State
from vq.store.connection import Store, open_store
from vq.store.jobs import counts, read
from vq.store.requests import post
from vq.store.submitting import Submission, submit

KILLS = int(os.environ.get("VQ_TEST_KILLS", "20"))
SEED = int(os.environ.get("VQ_TEST_SEED", "0")) or random.SystemRandom().randrange(1 << 32)
LONGEST_SECONDS = 0.6 * SLOWNESS


@dataclass
class Burst:
    """What was acknowledged: by its id, the exit code that each job leaves, and which were asked to end."""

    folder: Path
    store: Store
    rng: random.Random
    codes: dict[str, int] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)

    @property
    def state(self) -> str:
        return str(self.folder / "state")

    def lines(self, identifier: str) -> list[str]:
        """What the command of a job has written: one line each time that it ran."""
        path = self.folder / "ran" / str(list(self.codes).index(identifier))
        return path.read_text().split() if path.exists() else []

    def submit(self) -> None:
        codes = [self.rng.choice((0, 0, 3, 7)) for _ in range(self.rng.randint(1, 3))]
        submissions = []
        for place, code in enumerate(codes, start=len(self.codes)):
            seconds = self.rng.choice((0, 0, 0.05, 0.2, 30 if self.rng.random() < 0.1 else 0))
            command = f"echo {code} >> {self.folder}/ran/{place}; sleep {seconds}; exit {code}"
            before = [name for name in self.codes if name not in self.asked and not self.codes[name]]
            depends_on: tuple[Dependency, ...] = ()
            if before and self.rng.random() < 0.2:
                depends_on = (Dependency(job=self.rng.choice(before), kind=Need.ENDED),)
            made = made_job(queued_at_ms=now_ms(), command=("sh", "-c", command), mem_mb=50, depends_on=depends_on)
            submissions.append(Submission(job=made, environment=ENVIRONMENT))
        for (identifier, _), code in zip(submit(self.store, submissions).jobs, codes, strict=True):
            self.codes[identifier] = code
        poke(self.state)

    def ask_for_an_end(self) -> None:
        identifier = self.rng.choice(list(self.codes)[-12:])
        request = KillRequested(at_ms=now_ms(), at_once=self.rng.random() < 0.5)
        if post(self.store, [identifier], request).recorded:
            self.asked.add(identifier)
            poke(self.state)


@contextmanager
def daemon(burst: Burst, mode: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A daemon of its own process, and where it says that it is ready."""
    reader, writer = os.pipe()
    # A coverage that is killed while it writes leaves a file that nobody can read.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    environment |= {"VQ_ENFORCEMENT": mode, "XDG_CONFIG_HOME": str(burst.folder)}
    argv = [sys.executable, "-P", "-m", "vq.daemon", burst.state, str(writer)]
    with (
        open(burst.folder / "daemon.log", "ab") as log,
        subprocess.Popen(argv, pass_fds=(writer,), env=environment, stderr=log) as process,
    ):
        os.close(writer)
        try:
            yield process, reader
        finally:
            process.kill()
            os.close(reader)


def kill_at_a_random_moment(burst: Burst, mode: str) -> None:
    with daemon(burst, mode) as (_, reader):
        moments = [burst.rng.uniform(0, LONGEST_SECONDS) for _ in range(burst.rng.randint(1, 3))]
        if burst.rng.random() < 0.7:
            select.select([reader], [], [], 30 * SLOWNESS)
            moments = [moment / 3 for moment in moments]
        for moment in moments:
            burst.submit()
            if burst.rng.random() < 0.5:
                burst.ask_for_an_end()
            # Not a wait for a fact: the moment itself is what is tested.
            select.select([], [], [], moment / len(moments))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.timeout(60 + 5 * KILLS * SLOWNESS)
def test_nothing_is_lost_and_nothing_happens_twice(tmp_path: Path, mode: str) -> None:
    parent_group(mode)
    remove_parent_groups()
    (tmp_path / "ran").mkdir()
    (tmp_path / "vq").mkdir()
    (tmp_path / "vq" / "config.toml").write_text('[host]\ncpu_overcommit = 4\nkill_grace = "1s"\n')
    with open_store(str(tmp_path / "state")) as store:
        burst = Burst(tmp_path, store, random.Random(SEED))  # noqa: S311 - to be had again by its seed
        for _ in range(KILLS):
            kill_at_a_random_moment(burst, mode)
        with daemon(burst, mode) as (process, reader):
            # A daemon that is not ready yet hears no signal, and all may have ended before.
            assert select.select([reader], [], [], 30 * SLOWNESS)[0]
            for identifier in burst.codes:  # what would sleep on
                if post(store, [identifier], KillRequested(at_ms=now_ms())).recorded:
                    burst.asked.add(identifier)
            poke(burst.state)
            wait_until(lambda: not {State.PENDING, State.RUNNING} & counts(store).keys(), "all have ended", 120)
            process.terminate()
            assert process.wait(30) == 0, (tmp_path / "daemon.log").read_text()
        jobs = [read(store, identifier) for identifier in burst.codes]
        rows = Counter(job for (job,) in store.connection.execute("SELECT job FROM history"))
    assert not os.listdir(tmp_path / "state" / "attempts")
    for sequence, job in enumerate(jobs, start=1):
        check(burst, job, rows[sequence])
    assert {State.COMPLETED, State.FAILED} <= {job.state for job in jobs}, f"VQ_TEST_SEED={SEED}"


def check(burst: Burst, job: Job, rows: int) -> None:
    lines, code = burst.lines(job.id), burst.codes[job.id]
    assert len(lines) <= 1, f"{job.id} ran {len(lines)} times with VQ_TEST_SEED={SEED}"
    assert rows == job.life.attempt == len(job.life.attempts) <= 1, job
    match job.state:
        case State.COMPLETED | State.FAILED:
            assert (job.life.exit_code, lines) == (code, [str(code)]), job
            assert (job.state is State.COMPLETED) is (code == 0)
        case State.KILLED:
            assert job.id in burst.asked
        case _:
            raise AssertionError(job)
