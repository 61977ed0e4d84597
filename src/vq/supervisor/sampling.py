"""What the job holds, looked at again and again: from its control group, else summed over its processes.

The sum is of Pss, which shares pages fairly and is dear to read (80 ms for a process of 6 GiB); what the processes
hold with shared pages counted whole is cheap, and never less. So Pss is read only when that bound exceeds the peak.
"""

from __future__ import annotations

import os
import time

from vq.readings import processes
from vq.readings.group import Group
from vq.readings.processes import Process
from vq.supervisor import job
from vq.supervisor.decisions import Evidence, next_interval_seconds


class Sampler:
    """Samples of one job: the peak so far (None when it cannot be told), their number, and who was seen."""

    def __init__(self, group: Group | None, command: Process, limit_bytes: int | None) -> None:
        self._group = group
        self._command = command
        self._limit = limit_bytes if group is None else None
        self._told = True
        self._peak = 0
        self._orphans = 0
        self._others = False
        self._ignores = False
        self._cost = 0.0
        self.samples = 0
        self.over_limit = False

    @property
    def peak_bytes(self) -> int | None:
        """The most that the job was seen to hold at once."""
        return self._peak if self._told and self.samples else None

    def source(self) -> str:
        """Where the peak comes from, as a receipt names it."""
        return "proc-pss" if self._group is None else self._group.source

    def evidence(self, child_faults: int | None) -> Evidence:
        """What was seen, with what the command's zombie says."""
        return Evidence(
            child_faults=child_faults,
            orphans=self._orphans,
            others_seen=self._others,
            ignored_children=self._ignores,
        )

    def saw_orphan(self) -> None:
        """A process was handed to us that is not the command."""
        self._orphans += 1

    def saw_zombie(self, *, ignores_children: bool) -> None:
        """The command has ended, with SIGCHLD ignored or not."""
        self._ignores = self._ignores or ignores_children

    def take(self, elapsed_seconds: float) -> float:
        """One sample; how many seconds to wait before the next."""
        before = time.process_time()
        if self._group is None:
            self._sum_over_processes()
        else:
            held = self._group.memory_bytes()
            if held is not None:
                self._note(held)
            self._look_at_processes()
        cost, before_that = time.process_time() - before, self._cost
        self._cost = cost
        # The dearer of two in a row is a cold start, for which the job shall not go unseen.
        return next_interval_seconds(elapsed_seconds, min(cost, before_that), enforcing=self._limit is not None)

    def take_last(self) -> None:
        """The group's own word once more, when all have ended."""
        held = None if self._group is None else self._group.memory_bytes()
        if held is not None:
            self._note(held)

    def _note(self, held_bytes: int) -> None:
        self.samples += 1
        self._peak = max(self._peak, held_bytes)
        self.over_limit = self._limit is not None and held_bytes > self._limit

    def _look_at_processes(self) -> None:
        # Once it is known that the count is not certain, there is nothing more to learn.
        if self._others or self._ignores:
            return
        own = processes.children(os.getpid())
        self._others = any(pid != self._command.pid for pid in own) or bool(processes.children(self._command.pid))
        status = processes.read_status(self._command.pid)
        if status is not None:
            self._ignores = status.ignores_children

    def _sum_over_processes(self) -> None:
        everybody = job.below_us()
        self._others = self._others or any(stat.pid != self._command.pid for stat in everybody)
        bound = 0
        for stat in everybody:
            status = processes.read_status(stat.pid)
            if status is not None:
                bound += status.held_bytes
                if stat.pid == self._command.pid:
                    self._ignores = self._ignores or status.ignores_children
        if bound <= self._peak and not self.over_limit:
            self._note(bound)
            return
        shares = [processes.read_pss(stat.pid) for stat in everybody]
        known = [share for share in shares if share is not None]
        if len(known) < len(shares):
            self._told = False
        self._note(sum(known))
