"""One attempt from its spec to its result."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

from vq.files.documents import FileError
from vq.files.fifo import tell
from vq.readings import cgroups, processes
from vq.readings.group import Group, Limits
from vq.supervisor import job
from vq.supervisor.decisions import end_of
from vq.supervisor.folder import Attempt, ResultFile, has_attempt, take_lock, write_attempt
from vq.supervisor.launch import launch
from vq.supervisor.libc import become_subreaper
from vq.supervisor.outcome import Outcome, result_document
from vq.supervisor.receipt import leave_receipt, remove_receipt
from vq.supervisor.requests import open_requests
from vq.supervisor.spec import MARK, Spec, read_spec
from vq.supervisor.start import Launch, Refused, Started
from vq.supervisor.supervision import Start, Supervision
from vq.supervisor.waking import Waking

LEFT_A_RESULT = 0
FAILED = 1
ANOTHER_HAS_IT = 75
"""EX_TEMPFAIL: another supervisor has, or had, this attempt."""


def supervise(spec_path: str) -> int:
    """Run the attempt of the spec at `spec_path` to its end; the exit status, 0 when a result was left.

    Raises `VqError` or `OSError` when nothing could be started at all; then there is no result and nothing ran.
    """
    folder = os.path.dirname(os.path.abspath(spec_path))
    lock = take_lock(folder)
    if lock is None:
        return ANOTHER_HAS_IT
    try:
        if has_attempt(folder):
            return ANOTHER_HAS_IT
        return _supervise(folder, lock, read_spec(spec_path))
    finally:
        os.close(lock)


def _supervise(folder: str, lock: int, spec: Spec) -> int:
    become_subreaper()
    result = ResultFile(spec.result_path)
    group = None
    try:
        group = _make_group(spec)
        write_attempt(folder, _attempt(spec, group))
        if spec.workspace is not None:
            # Where it cannot be removed, none can be left either, which is said then.
            with suppress(FileError):
                remove_receipt(spec.workspace)
        outcome = _run(folder, spec, group)
    except BaseException:
        # Whatever went wrong here, nothing may go on without anybody watching it.
        job.kill(group)
        result.give_up()
        _remove(group)
        raise
    result.write(_with_receipt(result_document(outcome), spec.workspace))
    # Nothing is left in the group, and nobody needs to wait for its folder to go; nor for the disk: whoever reads the
    # result now keeps it in the store. Where nobody does, it is to be found here after a power cut.
    if spec.notify_path is not None:
        with suppress(OSError):
            tell(spec.notify_path, spec.attempt)
    os.fsync(lock)
    _remove(group)
    return LEFT_A_RESULT


def _with_receipt(document: dict[str, Any], workspace: str | None) -> dict[str, Any]:
    """The result; that of what has run leaves its receipt in the workspace first, or says why not (`no_receipt`)."""
    if workspace is None or document["end"] == "not_started":
        return document
    try:
        leave_receipt(workspace, document["usage"])
    except FileError as error:
        return {**document, "no_receipt": str(error)}
    return document


def _run(folder: str, spec: Spec, group: Group | None) -> Outcome:
    waking, requests = Waking(), open_requests(folder)
    try:
        supervision = Supervision(spec, group, requests, waking)
        # Before the start, so that no child's end and no lack of memory goes unheard.
        supervision.listen()
        join = () if group is None else group.join_files()
        start = Start(monotonic_seconds=time.monotonic(), at_ms=time.time_ns() // 1_000_000)
        begun = launch(_launch(spec, join, joined_by_thread=group is not None and group.joined_by_thread))
        for descriptor in join:
            os.close(descriptor)
        if isinstance(begun, Started):
            return supervision.run(begun.process, start)
        return _refused(spec, group, begun, start)
    finally:
        if group is not None:
            group.close()
        os.close(requests)
        waking.close()


def _launch(spec: Spec, join: tuple[int, ...], *, joined_by_thread: bool) -> Launch:
    return Launch(
        command=spec.command,
        cwd=spec.cwd,
        environment={**spec.environment, MARK: spec.attempt},
        stdout_path=spec.stdout_path,
        stderr_path=spec.stderr_path,
        umask=spec.umask,
        oom_score_adj=spec.oom_score_adj,
        join=join,
        joined_by_thread=joined_by_thread,
    )


def _make_group(spec: Spec) -> Group | None:
    if spec.enforcement == "sampled":
        return None
    if spec.cgroup_parent is not None:
        parent: Group | None = cgroups.open_group(spec.cgroup_parent)
    else:
        parent = cgroups.make_parent(spec.cgroup_parent_name, spec.enforcement)
    if parent is None:
        return None
    group = cgroups.open_group(parent.paths.below(spec.attempt))
    limits = Limits(memory_bytes=spec.memory_limit_bytes, pids_max=spec.pids_max, cpus=spec.cpus, one_job=True)
    try:
        group.create(limits)
    except FileExistsError:
        # A supervisor that was killed before it began leaves one that nobody was in. One in use is in the way.
        with suppress(OSError):
            group.remove()
        group.create(limits)
    return group


def _attempt(spec: Spec, group: Group | None) -> Attempt:
    own = _identity(os.getpid())
    return Attempt(
        attempt=spec.attempt,
        boot_id=processes.boot_id(),
        since_ticks=0 if own is None else own.start_ticks,
        supervisor_pid=os.getpid(),
        mark=spec.mark,
        result_path=spec.result_path,
        group=None if group is None else group.paths,
    )


@cache
def _identity(pid: int) -> processes.Process | None:
    # Asked of this process alone, which takes one attempt after the other; a forked one asks by its own number.
    return processes.identify(pid)


def _refused(spec: Spec, group: Group | None, refused: Refused, start: Start) -> Outcome:
    # The start itself may have been too much for the limit.
    end = end_of(None, None if group is None else group.counters())
    kind = "not_started" if refused.exit_code is None else "cannot_run"
    text = f"{refused.text} (out of memory)" if end.kind == "out_of_memory" else refused.text
    return Outcome(
        attempt=spec.attempt,
        boot_id=processes.boot_id(),
        enforcement="sampled" if group is None else group.source,
        kind="not_started" if kind == "not_started" else "cannot_run",
        exit_code=refused.exit_code,
        signal=None,
        text=text,
        why=None,
        started_at_ms=start.at_ms,
        finished_at_ms=start.at_ms,
        left_over=0,
        measured=None,
    )


def _remove(group: Group | None) -> None:
    if group is not None:
        with suppress(OSError):
            _until(group.remove)


def _until(done: Callable[[], bool], looks: int = 100) -> None:
    for _ in range(looks):
        if done():
            return
        # The kernel may hold on to a group for a moment after its last process.
        time.sleep(0.005)
