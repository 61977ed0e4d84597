"""The replay as its rules read, a job at a time and everything anew at every moment: the oracle of the fast one.

It shares the predictor with the product, and nothing of `plan` or `replay` but the shapes of what goes in and out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from vq.admission.history import Key, Run
from vq.admission.predictor import Copies, Predictor
from vq.admission.ranked import percentile
from vq.admission.replay import Caps, Replay, Setup, Wait
from vq.admission.rules import CpuAdmission, Dispatch, Policy

INFINITE = float("inf")


@dataclass
class Job:
    run: Run
    cap: int
    cpu_cap: int
    use: int
    starts: int = 0
    ends: int = 0
    reserved: int = 0
    cpu: int = 0


class Slow:
    def __init__(self, setup: Setup, policy: Policy) -> None:
        self.setup = setup
        self.policy = policy
        caps = {name: profile.memory for name, profile in setup.profiles.items()}
        self.predictor = Predictor(margin=setup.margin, min_jobs=setup.min_jobs, caps=caps)
        self.budget = INFINITE if setup.memory_max is None else setup.memory_max - setup.mirror
        default = CpuAdmission.CAPS if policy is Policy.CAPS else CpuAdmission.MEASURED
        self.cpu_admission = setup.cpu_admission or default
        off = setup.cpu_budget is None or self.cpu_admission is CpuAdmission.OFF
        self.cpu_budget = INFINITE if off or setup.cpu_budget is None else setup.cpu_budget
        self.waiting: list[Job] = []
        self.running: list[Job] = []
        self.ended: list[Job] = []
        self.now = 0
        self.held_back = self.cpu_held = self.under = self.most = self.overlap = self.worst_cpu = self.integral = 0

    def job(self, run: Run) -> Job:
        profile = self.setup.profiles[run.profile]
        own = self.setup.caps is Caps.JOB
        cap = run.memory_cap if own and run.memory_cap is not None else profile.memory
        cpu = run.cpu_cap if own and run.cpu_cap is not None else profile.cpus * 1000
        return Job(run, cap, cpu, min(run.memory_peak, cap))

    def memory(self, job: Job, *, several: bool) -> int:
        if self.policy is Policy.CAPS:
            return job.cap
        copies = Copies.SEVERAL if several else Copies.ALONE
        return self.predictor.predict(job.run.key, job.run.profile, job.cap, now=self.now, copies=copies).memory

    def cpu(self, job: Job) -> int:
        cpu = job.cpu_cap
        if self.cpu_admission is CpuAdmission.MEASURED:
            cpu = self.predictor.predict_cpu(job.run.key, job.run.profile, job.cpu_cap).cpu
        return int(min(cpu, self.cpu_budget))

    def start(self, job: Job) -> tuple[int, int]:
        """What its start must find free: its memory and CPU."""
        key = job.run.key
        same = [other for other in self.waiting + self.running if other.run.key == key]
        return self.memory(job, several=len(same) > 1), self.cpu(job)

    def needs(self, job: Job) -> tuple[int, int]:
        if self.setup.dispatch is Dispatch.KNOWN:
            return self.start(job)
        pool = (job.run.repository, job.run.profile)
        starts = [self.start(other) for other in self.waiting if (other.run.repository, other.run.profile) == pool]
        return max(memory for memory, _ in starts), max(cpu for _, cpu in starts)

    def verdict(self, job: Job) -> str | None:
        slots = self.setup.profiles[job.run.profile].slots
        slots = self.setup.slots.get(job.run.profile, slots)
        if slots is not None and sum(other.run.profile == job.run.profile for other in self.running) >= slots:
            return "slot"
        memory, cpu = self.needs(job)
        if sum(max(other.reserved, other.use) for other in self.running) + memory > self.budget:
            return "memory"
        used = sum(other.use for other in self.running)
        if self.policy is Policy.MEASURED and used * 100 >= self.budget * 90:
            return "high water"
        if sum(other.cpu for other in self.running) + cpu > self.cpu_budget:
            return "cpu"
        return None

    def is_barrier(self, job: Job, verdict: str) -> bool:
        after = self.setup.barrier_after_ms
        if after is None or verdict not in {"memory", "cpu"} or self.now < job.run.queued_at + after:
            return False
        memory, cpu = self.needs(job)
        return memory <= self.budget and cpu <= self.cpu_budget

    def repredict(self) -> None:
        seen: set[Key] = set()
        for job in self.running:
            job.reserved = self.memory(job, several=job.run.key in seen)
            job.cpu = self.cpu(job)
            seen.add(job.run.key)

    def end(self) -> None:
        for job in sorted((job for job in self.running if job.ends <= self.now), key=lambda job: job.ends):
            self.running.remove(job)
            self.ended.append(job)
            self.under += job.use > job.reserved
            reserved = job.reserved if self.policy is Policy.MEASURED else None
            run = replace(job.run, finished_at=self.now, reserved=reserved)
            self.predictor.learn(run)
            self.predictor.learn_cpu(run)

    def sweep(self) -> None:
        for job in list(self.waiting):
            verdict = self.verdict(job)
            if verdict is None:
                job.reserved = self.memory(job, several=any(o.run.key == job.run.key for o in self.running))
                job.cpu = self.cpu(job)
                self.waiting.remove(job)
                self.running.append(job)
                job.starts = self.now
                job.ends = self.now + (job.run.finished_at or 0) - (job.run.started_at or 0)
            else:
                self.held_back += verdict == "high water"
                self.cpu_held += verdict == "cpu"
                if self.is_barrier(job, verdict):
                    break

    def simulate(self, runs: Iterable[Run]) -> Replay:
        usable = [
            run
            for run in runs
            if not run.cancelled
            and run.profile in self.setup.profiles
            and run.started_at is not None
            and run.finished_at is not None
            and run.finished_at >= run.started_at
        ]
        coming = [self.job(run) for run in sorted(usable, key=lambda run: run.queued_at)]
        jobs = list(coming)
        while coming or self.running:
            moments = [job.ends for job in self.running] + [job.run.queued_at for job in coming[:1]]
            now = min(moments)
            self.integral += sum(job.reserved for job in self.running) * (now - self.now)
            self.now = now
            self.end()
            self.repredict()
            while coming and coming[0].run.queued_at <= now:
                self.waiting.append(coming.pop(0))
            self.sweep()
            self.most = max(self.most, len(self.running))
            overlap = sum(job.use for job in self.running) + self.setup.mirror
            self.overlap = max(self.overlap, overlap)
            self.worst_cpu = max(self.worst_cpu, sum(job.run.cpu_average or 0 for job in self.running))
        return self.result(jobs)

    def result(self, jobs: list[Job]) -> Replay:
        waits = sorted((job.starts - job.run.queued_at) // 1000 for job in self.ended)
        first = jobs[0].run.queued_at if jobs else 0
        return Replay(
            jobs=len(jobs),
            never_started=len(self.waiting),
            wait=Wait(
                p50=percentile(waits, 50),
                p95=percentile(waits, 95),
                p99=percentile(waits, 99),
                max=percentile(waits, 100),
            ),
            mean_wait=sum(waits) // len(waits) if waits else 0,
            most_running=self.most,
            worst_overlap=self.overlap,
            makespan=(max(job.ends for job in self.ended) - first) // 1000 if self.ended else 0,
            under_predicted=self.under,
            held_back=self.held_back,
            cpu_held=self.cpu_held,
            worst_cpu=self.worst_cpu,
            reserved_byte_ms=self.integral,
            peak_byte_ms=sum(job.use * (job.ends - job.starts) for job in self.ended),
        )
