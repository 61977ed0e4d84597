"""The attempts of one state folder on this host: their folders, what is seen of them, and what is done to them.

An attempt is named `JOB.NUMBER.DIGEST`: the digest is the state folder's, so that the processes and control groups of
two queues of one user are never taken for each other's.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from vq.errors import VqError
from vq.files.copying import Progress
from vq.files.documents import MIB, FileError, read_file, reasons, replace_private
from vq.files.staging import open_staging
from vq.hosts.local.environment import job_environment
from vq.hosts.local.results import Finished, finished
from vq.hosts.local.spares import Spares
from vq.jobs.record import Job
from vq.readings import cgroups, processes
from vq.readings.group import GroupPaths
from vq.readings.processes import MOST_OOM_SCORE
from vq.store.layout import (
    ATTEMPTS,
    LOGS,
    RESULT,
    SPEC,
    WORKSPACES,
    attempt_folder,
    log_paths,
    snapshots_folder,
    staging_folder,
    wake_path,
    workspace_folder,
)
from vq.supervisor import recovery
from vq.supervisor.folder import has_attempt, read_attempt, read_result, take_lock
from vq.supervisor.spec import MARK, SCHEMA

PIDS_MAX = 4096

_LOG = "supervisor.log"
_DIGITS = 16
_MS = 1000
_NS_A_MS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an attempt runs and what it writes to."""

    workspace: str
    cwd: str
    stdout_path: str
    stderr_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Enforcement:
    """How limits are enforced: the mode, the group to run under (None: by sampling), and the grace of a kill.

    `budget_bytes` is what all attempts may hold together.
    """

    mode: str
    parent: GroupPaths | None
    budget_bytes: int
    kill_grace_ms: int


@dataclass(frozen=True, slots=True)
class NotBegun:
    """Nothing of it has run yet; nobody may be about to run it."""


@dataclass(frozen=True, slots=True)
class Running:
    """It has a supervisor."""


@dataclass(frozen=True, slots=True)
class Unwatched:
    """Its supervisor vanished without a result, and something of it may still run."""


Seen = NotBegun | Running | Unwatched | Finished


def digest_of(state_folder: str) -> str:
    """What tells this state folder from others, in the names of groups and attempts."""
    return hashlib.sha256(os.fsencode(os.path.realpath(state_folder))).hexdigest()[:_DIGITS]


def oom_score_adj(reserved_bytes: int, budget_bytes: int) -> int:
    """The score by which the kernel, if it has to pick, picks the process furthest past what is reserved for its job.

    From 0 to 1000. Under a limit, `oom_badness` of the kernel's `mm/oom_kill.c` is what a process holds, plus this many
    thousandths of the limit; here the limit is the budget, and what is reserved is taken off.
    """
    return max(0, MOST_OOM_SCORE - reserved_bytes * MOST_OOM_SCORE // budget_bytes)


class Attempts:
    """The attempts of a state folder; those that take a job do it for its present attempt."""

    def __init__(self, state_folder: str, parent: GroupPaths | None = None) -> None:
        """`parent` is the group under which attempts get theirs; None by sampling."""
        self.state_folder = state_folder
        self._parent = parent
        self.digest = digest_of(state_folder)
        self._alive: frozenset[str] = frozenset()
        self._spares = Spares(f"{state_folder}/{ATTEMPTS}")
        for name in (WORKSPACES, LOGS, ATTEMPTS):
            with reasons(f"{state_folder}/{name}"), suppress(FileExistsError):
                os.mkdir(f"{state_folder}/{name}", 0o700)

    def place(self, job: Job) -> Place:
        """Where the next attempt of `job` is to run: in its own folder, or in the workspace it has had before."""
        if job.work.here and job.work.cwd is not None:
            workspace = job.work.cwd
        else:
            workspace = job.work.workspace or workspace_folder(self.state_folder, job.id)
        out, err = log_paths(self.state_folder, job.id, job.life.attempt + 1)
        return Place(workspace=workspace, cwd=job.work.cwd or workspace, stdout_path=out, stderr_path=err)

    def folder(self, job: Job) -> str:
        """The folder of the attempt."""
        return attempt_folder(self.state_folder, job.id, job.life.attempt)

    def spec_path(self, job: Job) -> str:
        """What its supervisor is told."""
        return f"{self.folder(job)}/{SPEC}"

    def must_copy(self, job: Job) -> bool:
        """Whether its workspace is still to be copied from a snapshot, which may take long."""
        workspace = job.work.workspace
        copied = job.work.payload_sha256 is not None and not job.work.here
        return copied and workspace is not None and not os.path.isdir(workspace)

    def prepare(
        self,
        job: Job,
        environment: Mapping[str, str] | None,
        enforcement: Enforcement,
        progress: Progress | None = None,
    ) -> bool:
        """Whether a supervisor may be started: everything is in place. False: the attempt has begun already.

        Raises `VqError` or `OSError` where the workspace or the folder cannot be made.
        """
        folder = self.folder(job)
        if self.has_begun(job):
            return False
        if not self.is_prepared(job) and not self._spares.take(folder):
            os.mkdir(folder, 0o700)
        self._make_workspace(job, progress)
        replace_private(f"{folder}/{SPEC}", json.dumps(self._spec(job, environment, enforcement)))
        return True

    def see(self, job: Job) -> Seen:
        """What there is to see of the attempt. Not to be asked while its supervisor may be about to begin."""
        folder = self.folder(job)
        result = self.result(job)
        if result is not None:
            return result
        if not has_attempt(folder):
            return Unwatched() if self.has_begun(job) else NotBegun()
        if recovery.is_supervised(folder):
            return Running()
        # It may have left its result between the two looks.
        result = self.result(job)
        return Unwatched() if result is None else result

    def result(self, job: Job) -> Finished | None:
        """The result, if the attempt has left one; safe to ask at any moment."""
        document = read_result(f"{self.folder(job)}/{RESULT}", self._name(job))
        return None if document is None else finished(document)

    def has_begun(self, job: Job) -> bool:
        """Whether a supervisor has taken the attempt up, also where somebody removed its folder since.

        What a supervisor leaves elsewhere says so: processes of the attempt, or the log that it opened after the start
        was recorded. A log of that name from before is of another job, of a store that is there no more.
        """
        if has_attempt(self.folder(job)) or self._has_processes(job):
            return True
        try:
            written_ms = os.stat(job.life.stdout_path or "").st_mtime_ns // _NS_A_MS
        except FileNotFoundError:
            return False
        return written_ms + _MS >= (job.life.started_at_ms or 0)

    def is_prepared(self, job: Job) -> bool:
        """Whether the folder is there in which a supervisor would begin."""
        return os.path.isdir(self.folder(job))

    def end_left_over(self, job: Job) -> bool:
        """Whether nothing is left of an attempt whose supervisor vanished; what is left is killed. Ask again."""
        if read_attempt(self.folder(job)) is None:
            # Its supervisor may live, and can neither be told anything nor leave a result: it ends with the job.
            return recovery.end(f"{MARK}={self._name(job)}", self._group_paths(job))
        try:
            return recovery.recover(self.folder(job)).clean
        except recovery.SupervisedError:
            return False

    def seal(self, job: Job) -> str | None:
        """Why no supervisor can have begun the attempt, nor will: what the last one said. None: one has, or may."""
        folder = self.folder(job)
        lock = take_lock(folder)
        if lock is None:
            return None
        try:
            if has_attempt(folder):
                return None
            with suppress(FileNotFoundError):
                os.unlink(f"{folder}/{SPEC}")
        finally:
            os.close(lock)
        try:
            said = read_file(f"{folder}/{_LOG}", MIB).decode(errors="replace").strip()
        except FileError:
            said = ""
        return said.splitlines()[-1] if said else "its supervisor could not begin"

    def forget(self, job_id: str, attempt: int) -> None:
        """Remove the folder of an attempt whose end is recorded, and what its supervisor left of its group.

        One that ended as usual is kept for another attempt; its supervisor removes the group.
        """
        folder = attempt_folder(self.state_folder, job_id, attempt)
        if self._spares.keep(folder):
            return
        known = read_attempt(folder)
        if known is not None and known.group is not None:
            with suppress(OSError):
                cgroups.open_group(known.group).remove()
        # First, so that a supervisor that comes late does not find a spec, and no sign that it was taken up.
        with suppress(OSError):
            os.unlink(f"{folder}/{SPEC}")
        shutil.rmtree(folder, ignore_errors=True)

    def sweep(self, running: set[tuple[str, int]]) -> None:
        """Remove the folders and groups of all attempts but those that run, and see which attempts have processes."""
        self._alive = processes.values_of(MARK) if running else frozenset()
        for name in os.listdir(f"{self.state_folder}/{ATTEMPTS}"):
            job, _, word = name.partition(".")
            number = _number(word)
            if number is not None and (job, number) not in running:
                self.forget(job, number)
        if self._parent is not None:
            self._sweep_groups(self._parent, running)

    def close(self) -> None:
        """Keep no folder for further attempts."""
        self._spares.close()

    def named(self, name: str) -> tuple[str, int] | None:
        """The job and the number of an attempt of ours by its name; None for any other name."""
        words = name.split(".")
        if len(words) != len(("job", "number", "digest")) or words[2] != self.digest:
            return None
        number = _number(words[1])
        return None if number is None else (words[0], number)

    def _sweep_groups(self, parent: GroupPaths, running: set[tuple[str, int]]) -> None:
        # A supervisor that was killed behind its result leaves its group, and nothing else may tell of it any more.
        for name in cgroups.open_group(parent).inner():
            attempt = self.named(name)
            if attempt is not None and attempt not in running:
                with suppress(OSError):
                    cgroups.open_group(parent.below(name)).remove()

    def _name(self, job: Job) -> str:
        return f"{job.id}.{job.life.attempt}.{self.digest}"

    def _group_paths(self, job: Job) -> GroupPaths | None:
        return None if self._parent is None else self._parent.below(self._name(job))

    def _has_processes(self, job: Job) -> bool:
        group = self._group_paths(job)
        return self._name(job) in self._alive or (group is not None and bool(cgroups.open_group(group).members()))

    def _make_workspace(self, job: Job, progress: Progress | None) -> None:
        workspace, digest = job.work.workspace, job.work.payload_sha256
        if workspace is None or job.work.here or os.path.isdir(workspace):
            return
        if digest is None:
            os.mkdir(workspace, 0o700)
            return
        from vq.files.snapshots import make_durable_workspace, make_workspace  # noqa: PLC0415 - it loads archives

        with open_staging(staging_folder(self.state_folder)) as staging:
            snapshots = snapshots_folder(self.state_folder)
            # A job that goes on after a power cut does so in this very folder.
            make = make_durable_workspace if job.work.auto_resume else make_workspace
            make(staging, digest, snapshots, workspace, progress=progress)

    def _spec(self, job: Job, environment: Mapping[str, str] | None, enforcement: Enforcement) -> dict[str, Any]:
        life, work = job.life, job.work
        if work.cwd is None or life.stdout_path is None or life.stderr_path is None:
            raise VqError("has no folder to run in or no logs to write to", where=job.id)
        parent = enforcement.parent
        return {
            "schema": SCHEMA,
            "attempt": self._name(job),
            "command": list(work.command),
            "cwd": work.cwd,
            "environment": job_environment(job, environment, work.cwd),
            "stdout_path": life.stdout_path,
            "stderr_path": life.stderr_path,
            "result_path": f"{self.folder(job)}/{RESULT}",
            "memory_limit_bytes": work.cap_bytes,
            "pids_max": PIDS_MAX,
            "cpus": work.cpus,
            "wall_limit_seconds": work.wall_time_seconds,
            "kill_grace_seconds": enforcement.kill_grace_ms / _MS,
            "enforcement": enforcement.mode,
            "cgroup_parent": None if parent is None else parent.document(),
            "oom_score_adj": oom_score_adj(life.reserved_bytes or 0, enforcement.budget_bytes),
            "notify_path": wake_path(self.state_folder),
            "workspace": work.workspace,
        }


def _number(word: str) -> int | None:
    """The number of an attempt as names have it; None for any other word."""
    return int(word) if re.fullmatch(r"[0-9]{1,9}", word) else None
