"""Predict, replay and advise from a history: of a file, or the queue's own under the settings it runs by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vq.actions.limits import share_mb
from vq.admission import Copies, CpuPrediction, Key, Prediction, Predictor, Run, Setup
from vq.admission.documents import check_setup, read_setup
from vq.admission.history import in_order
from vq.admission.ranked import Ranked
from vq.canonical import parse
from vq.config.values import Config
from vq.daemon.admission import rules_of
from vq.errors import UsageError, placed
from vq.files.documents import MIB, read_file

_MOST_SETUP_BYTES = MIB
_NO_RUNS = Ranked()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The jobs that are asked about: None in a field stands for any known job, or for what its last run had.

    With a name, a repository and a profile it is one job, known or not, and without a workflow one that has none.
    """

    name: str | None = None
    workflow: str | None = None
    repository: str | None = None
    profile: str | None = None
    memory_cap: int | None = None
    cpu_cap: int | None = None
    copies: Copies = Copies.ALONE

    @property
    def job(self) -> tuple[Key, str] | None:
        """The one job that is asked about, with its profile; None if it may be any of several."""
        if self.name is None or self.repository is None or self.profile is None:
            return None
        return Key(self.repository, self.workflow, self.name), self.profile

    def matches(self, key: Key, profile: str) -> bool:
        """Whether a known job is one that is asked about."""
        pairs = (
            (self.name, key.name),
            (self.workflow, key.workflow),
            (self.repository, key.repository),
            (self.profile, profile),
        )
        return all(asked is None or asked == known for asked, known in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """What a job would be given, and the peaks in bytes of the window behind it."""

    key: Key
    profile: str
    memory: Prediction
    cpu: CpuPrediction
    peaks: Ranked

    def document(self) -> dict[str, Any]:
        """The prediction as a JSON object."""
        return {
            **self.key._asdict(),
            "profile": self.profile,
            "memory": self.memory.memory,
            "basis": self.memory.basis.as_data(),
            "cpu": self.cpu.cpu,
            "cpu_basis": self.cpu.basis.as_data(),
        }


def load_setup_document(path: str | None) -> dict[str, Any]:
    """The setup document in a file, checked; without a file an empty one. Raises `VqError`."""
    if path is None:
        return {}
    with placed(path):
        document = parse(read_file(path, _MOST_SETUP_BYTES))
        check_setup(document)
        return document


def live_setup(config: Config) -> dict[str, Any]:
    """The setup document of a queue: what its daemon goes by, the barrier included."""
    rules = rules_of(config)
    profiles = {
        name: {
            "memory": share_mb(profile.cpus, config) * MIB if profile.memory_bytes is None else profile.memory_bytes,
            "cpus": profile.cpus,
            "slots": profile.slots,
        }
        for name, profile in config.profiles.items()
    }
    return {
        "margin": config.margin_percent,
        "min_jobs": config.min_jobs,
        "profiles": profiles,
        "memory_max": rules.memory,
        "cpu_budget": rules.cpu,
        "barrier_after_ms": rules.barrier_after_ms,
        "cpu_admission": rules.cpu_by.value,
    }


def setup_for(document: Mapping[str, Any], rows: Sequence[Run], path: str) -> Setup:
    """The setup that a document describes for the rows of a file at `path`; raises `VqError`."""
    check_setup(document)
    # What is wrong from here on is that the rows do not say what the setup leaves open.
    with placed(path):
        return read_setup(document, rows)


def predict(setup: Setup, rows: Sequence[Run], asked: Asked, now: int) -> list[Predicted]:
    """What the jobs asked about would be given at `now`, in the order in which they became known.

    A job with a name that no row has is predicted as one never seen. Raises `UsageError` for a profile not configured.
    """
    if asked.profile is not None and asked.profile not in setup.profiles:
        raise UsageError(f"no profile {asked.profile}; configured are {', '.join(setup.profiles)}")
    predictor = Predictor(
        margin=setup.margin,
        min_jobs=setup.min_jobs,
        caps={name: profile.memory for name, profile in setup.profiles.items()},
    )
    predictor.read(rows)
    windows = {job: runs.peaks for job, runs in predictor.known()}
    last = {(row.key, row.profile): row for row in in_order(rows) if row.profile in setup.profiles}
    jobs = [asked.job] if asked.job is not None else [job for job in last if asked.matches(*job)]
    if not jobs and asked.name is not None:
        jobs = [_never_seen(setup, rows, asked)]
    found = []
    for key, profile in jobs:
        memory_cap, cpu_cap = _limits(setup, last.get((key, profile)), profile)
        memory_cap = memory_cap if asked.memory_cap is None else asked.memory_cap
        cpu_cap = cpu_cap if asked.cpu_cap is None else asked.cpu_cap
        found.append(
            Predicted(
                key=key,
                profile=profile,
                memory=predictor.predict(key, profile, memory_cap, now=now, copies=asked.copies),
                cpu=predictor.predict_cpu(key, profile, cpu_cap),
                peaks=windows.get((key, profile), _NO_RUNS),
            )
        )
    return found


def _limits(setup: Setup, last: Run | None, profile: str) -> tuple[int, int]:
    """The limits in bytes and millicores that a job has today: those of its last run, or of its profile."""
    if last is not None:
        return setup.limits(last)
    limits = setup.profiles[profile]
    return limits.memory, limits.cpus * 1000


def _never_seen(setup: Setup, rows: Iterable[Run], asked: Asked) -> tuple[Key, str]:
    profile = asked.profile
    if profile is None:
        if len(setup.profiles) != 1:
            raise UsageError(
                f"no row is of job {asked.name}, and there is more than one profile",
                hint=f"say which it will run in: --profile {' | '.join(setup.profiles)}",
            )
        profile = next(iter(setup.profiles))
    repositories = {row.repository for row in rows}
    only = next(iter(repositories)) if len(repositories) == 1 else ""
    return Key(asked.repository or only, asked.workflow, asked.name or ""), profile
