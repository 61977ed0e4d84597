"""The life of one attempt: start it, watch it, end it, and say how it ended.

Three stages. *Running*: samples, the wall limit, requests. *Ending*: everything was asked to end (TERM) and has its
grace; it begins with a request, a limit, or the end of the command, when something of the job is left. *Killing*: KILL,
again and again, until nothing is left. What the end was is decided by what came first.
"""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass
from typing import Literal

from vq.readings import processes
from vq.readings.group import Counters, Group
from vq.readings.processes import Process
from vq.supervisor import job
from vq.supervisor.decisions import Cause, Timer, end_of, exit_code_of, process_count
from vq.supervisor.outcome import Measured, Outcome
from vq.supervisor.requests import OUTGREW, Request, hear
from vq.supervisor.sampling import Sampler
from vq.supervisor.spec import Spec
from vq.supervisor.start import NOT_FOUND, NOT_RUNNABLE, Refused
from vq.supervisor.waking import Waking

_LOOK_AGAIN_SECONDS = 0.05
_OOM_LOOK_SECONDS = 0.002
_OOM_LOOKS = 250

Stage = Literal["running", "ending", "killing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """When the command began, on both clocks; `monotonic_seconds` for lengths, `at_ms` for people."""

    monotonic_seconds: float
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEnd:
    """The end of the command itself, as it was when it was reaped."""

    at_seconds: float
    at_ms: int
    exit_code: int
    signal: int | None
    executed: bool
    child_faults: int | None
    counters: Counters | None
    cpu_seconds: float | None


class Supervision:
    """Watches one started command; `run` returns its outcome once nothing of the job is left."""

    def __init__(self, spec: Spec, group: Group | None, requests: int, waking: Waking) -> None:
        self._spec = spec
        self._group = group
        self._requests = requests
        self._waking = waking
        self._stage: Stage = "running"
        self._cause: Cause | None = None
        self._why: str | None = None
        self._counters_then: Counters | None = None
        self._kill_at = 0.0
        self._command_end: CommandEnd | None = None
        self._childless = False
        self._left_over = 0
        self._peak_rss_kb = 0
        self._user_seconds = 0.0
        self._system_seconds = 0.0
        self._oom_looks = 0
        self._stopped: frozenset[Process] = frozenset()

    def listen(self) -> None:
        """Hear requests, and the kernel when memory runs out, from now on: before the command begins."""
        self._waking.add(self._requests)
        self._watched = frozenset(self._group.watch() if self._group is not None else ())
        for descriptor in self._watched:
            self._waking.add(descriptor)

    def run(self, command: Process, start: Start) -> Outcome:
        """Watch `command` to its end and the job to its last process."""
        self._command = command
        self._start = start
        self._timer = Timer(started_seconds=start.monotonic_seconds)
        self._sampler = Sampler(self._group, command, self._spec.memory_limit_bytes)
        self._next_sample = start.monotonic_seconds
        while True:
            self._reap()
            self._step(time.monotonic())
            if self._command_end is not None and self._is_empty():
                return self._outcome(self._command_end)
            ready = self._waking.sleep(self._timeout(time.monotonic()))
            if self._requests in ready:
                for request in hear(self._requests):
                    self._obey(request, time.monotonic())
            if self._watched & ready:
                self._oom_looks = _OOM_LOOKS

    def _step(self, now: float) -> None:
        if self._oom_looks:
            self._look_for_oom(now)
        if self._stage == "running":
            if self._command_end is not None:
                self._left_over = len(job.everyone(self._group))
                if self._left_over:
                    self._begin_to_end(now, self._spec.kill_grace_seconds)
            elif self._timer.seconds_left(now, self._spec.wall_limit_seconds) == 0.0:
                self._end_for("wall_limit", now, self._spec.kill_grace_seconds)
        if self._command_end is None and now >= self._next_sample:
            self._sample(now)
        if self._stage == "ending" and now >= self._kill_at:
            self._stage = "killing"
        if self._stage == "killing":
            job.kill(self._group)

    def _sample(self, now: float) -> None:
        if self._timer.paused and self._group is None:
            self._stopped = job.stop(self._stopped)
        wait = self._sampler.take(self._timer.running_seconds(now))
        self._next_sample = time.monotonic() + wait
        if self._sampler.over_limit:
            self._end_for("out_of_memory", now, 0.0)

    def _look_for_oom(self, now: float) -> None:
        # The kernel speaks before it kills, so the count may come a moment later.
        self._oom_looks -= 1
        if self._group is not None and self._group.counters().oom_kills:
            self._oom_looks = 0
            self._end_for("out_of_memory", now, 0.0)

    def _timeout(self, now: float) -> float | None:
        if self._stage == "killing" or self._command_end is not None:
            until_kill = self._kill_at - now if self._stage == "ending" else _LOOK_AGAIN_SECONDS
            return min(_LOOK_AGAIN_SECONDS, max(0.0, until_kill))
        times = [self._next_sample - now]
        left = self._timer.seconds_left(now, self._spec.wall_limit_seconds)
        if self._stage == "ending":
            times.append(self._kill_at - now)
        elif left is not None:
            times.append(left)
        if self._oom_looks:
            times.append(_OOM_LOOK_SECONDS)
        return max(0.0, min(times))

    def _obey(self, request: Request, now: float) -> None:
        match request.action:
            case "pause" if self._stage == "running" and self._command_end is None and not self._timer.paused:
                self._timer = self._timer.pause(now)
                if self._group is not None:
                    self._group.freeze()
                else:
                    self._stopped = job.stop(frozenset())
            case "resume":
                self._resume(now)
            case "kill" if self._stage == "running":
                self._kill(request, now, self._spec.kill_grace_seconds)
            case "kill-now" if self._stage != "killing":
                self._kill(request, now, 0.0)
            case _:
                pass

    def _kill(self, request: Request, now: float, grace_seconds: float) -> None:
        self._why = self._why or request.why
        self._end_for("outgrew" if request.why == OUTGREW else "killed", now, grace_seconds)

    def _resume(self, now: float) -> None:
        if self._timer.paused:
            self._timer = self._timer.resume(now)
            if self._group is not None:
                self._group.thaw()
            job.go_on(self._stopped)
            self._stopped = frozenset()

    def _end_for(self, cause: Cause, now: float, grace_seconds: float) -> None:
        if self._cause is None and self._command_end is None:
            self._cause = cause
            self._counters_then = None if self._group is None else self._group.counters()
        self._begin_to_end(now, grace_seconds)

    def _begin_to_end(self, now: float, grace_seconds: float) -> None:
        if grace_seconds <= 0:
            self._stage = "killing"
            job.kill(self._group)
        elif self._stage == "running":
            self._stage = "ending"
            self._kill_at = now + grace_seconds
            job.ask_to_end(self._group)
        # What is frozen or stopped hears the signal when it goes on, and not before.
        self._resume(now)

    def _reap(self) -> None:
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                self._childless = True
                return
            self._childless = False
            if ended is None:
                return
            is_command = ended.si_pid == self._command.pid and self._command_end is None
            zombie = processes.read_stat(ended.si_pid) if is_command else None
            if is_command:
                status = processes.read_status(ended.si_pid)
                self._sampler.saw_zombie(ignores_children=status is None or status.ignores_children)
            else:
                self._sampler.saw_orphan()
            _, wait_status, usage = os.wait4(ended.si_pid, 0)
            self._add(usage)
            if is_command:
                self._command_end = self._end_now(wait_status, zombie)

    def _add(self, usage: resource.struct_rusage) -> None:
        self._peak_rss_kb = max(self._peak_rss_kb, usage.ru_maxrss)
        self._user_seconds += usage.ru_utime
        self._system_seconds += usage.ru_stime

    def _end_now(self, wait_status: int, zombie: processes.Stat | None) -> CommandEnd:
        now = time.monotonic()
        code, number = exit_code_of(wait_status)
        if self._timer.paused:
            self._timer = self._timer.resume(now)
        return CommandEnd(
            at_seconds=now,
            at_ms=self._start.at_ms + round((now - self._start.monotonic_seconds) * 1000),
            exit_code=code,
            signal=number,
            # Only then is 126 or 127 the word of whoever tried to run the program.
            executed=zombie is None or zombie.executed or code not in (NOT_FOUND, NOT_RUNNABLE),
            child_faults=None if zombie is None else zombie.child_faults,
            counters=None if self._group is None else self._group.counters(),
            cpu_seconds=None if self._group is None else self._group.cpu_seconds(),
        )

    def _is_empty(self) -> bool:
        if not self._childless or self._group is None:
            return self._childless
        # As long as nobody was asked to end, the step has just looked who is left.
        return not (self._left_over if self._stage == "running" else self._group.members())

    def _outcome(self, command_end: CommandEnd) -> Outcome:
        end = end_of(self._cause, self._counters_then or command_end.counters)
        refused = None if command_end.executed else _cannot_run(self._spec, command_end.exit_code)
        ran = refused is None or end.kind != "ended"
        if self._group is not None:
            self._sampler.take_last()
        return Outcome(
            attempt=self._spec.attempt,
            boot_id=processes.boot_id(),
            enforcement="sampled" if self._group is None else self._group.source,
            kind=end.kind if ran else "cannot_run",
            exit_code=command_end.exit_code,
            signal=command_end.signal if ran else None,
            text=None if ran or refused is None else refused.text,
            why=self._why if self._cause in ("killed", "outgrew") else None,
            started_at_ms=self._start.at_ms,
            finished_at_ms=command_end.at_ms,
            left_over=self._left_over,
            measured=self._measured(command_end) if ran else None,
        )

    def _measured(self, command_end: CommandEnd) -> Measured:
        group = self._group
        return Measured(
            exit_code=command_end.exit_code,
            wall_seconds=command_end.at_seconds - self._start.monotonic_seconds,
            user_cpu_seconds=self._user_seconds,
            system_cpu_seconds=self._system_seconds,
            peak_rss_kb=self._peak_rss_kb,
            process_count=process_count(self._sampler.evidence(command_end.child_faults)),
            job_peak_bytes=self._sampler.peak_bytes,
            job_peak_source=self._sampler.source(),
            group_peak_bytes=None if group is None else group.peak_bytes(),
            group_cpu_seconds=command_end.cpu_seconds,
            limit_bytes=self._spec.memory_limit_bytes,
            limit_fired=end_of(self._cause, self._counters_then or command_end.counters).limit_fired,
            counters=None if group is None else group.counters(),
            paused_seconds=self._timer.paused_seconds(command_end.at_seconds),
            samples=self._sampler.samples,
        )


def _cannot_run(spec: Spec, exit_code: int) -> Refused:
    text = f"{spec.command[0]}: cannot be run; its interpreter or format is not one of this machine"
    return Refused(text=text, exit_code=exit_code)
