"""The limits of a job: what was asked, else what its profile has, else its share of the host; none that cannot be.

A share is the memory budget × CPUs of the job / CPUs of the host, at least 2 GiB and at most the budget.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vq.actions.orders import MEM_OPTIONS, Order
from vq.config.values import Config, Profile
from vq.errors import UsageError
from vq.jobs.record import MemorySource, WallSource
from vq.jobs.times import LONGEST_SECONDS, shown_seconds
from vq.wording import MIB

if TYPE_CHECKING:
    from vq.actions.attached import Attached

DEFAULT_PROFILE = "default"
LEAST_SHARE_MB = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits that a job gets, in CPUs, MiB and seconds, and where they came from."""

    profile: str
    cpus: int
    mem_mb: int
    mem_mb_source: MemorySource | None
    wall_time_seconds: int | None
    wall_time_source: WallSource | None
    oom_retry_mb: int | None


def limits_of(order: Order, attached: Attached | None, config: Config) -> Limits:
    """The limits of an order; raises `UsageError` for what this host can never give, with what would fit."""
    name = order.profile or DEFAULT_PROFILE
    profile = _profile(name, order.written.named("profile"), config)
    cpus = order.cpus or profile.cpus
    refuse_cpus(cpus, order.written.named("cpus"), config)
    mem_mb, mem_source = _memory(order, attached, profile, (cpus, config))
    wall_seconds, wall_source = _wall_time(order, attached)
    return Limits(
        profile=name,
        cpus=cpus,
        mem_mb=mem_mb,
        mem_mb_source=mem_source,
        wall_time_seconds=wall_seconds,
        wall_time_source=wall_source,
        oom_retry_mb=_oom_retry_mb(order, mem_mb, config),
    )


def budget_mb(config: Config) -> int:
    """The memory budget in whole MiB."""
    return config.host.memory_max_bytes // MIB


def share_mb(cpus: int, config: Config) -> int:
    """The memory limit in MiB of a job for which neither it nor its profile names one."""
    share = config.host.memory_max_bytes * cpus // config.host.cpus // MIB
    return max(1, min(budget_mb(config), max(LEAST_SHARE_MB, share)))


def refuse_cpus(cpus: int, flag: str, config: Config) -> None:
    """Nothing, or the `UsageError` that the host never has so many CPUs."""
    if cpus > config.host.cpus:
        raise UsageError(
            f"{flag}: {cpus} CPUs are more than this host ever has for jobs",
            hint=f"at most {config.host.cpus} fit; host.cpus in the configuration says how many there are",
        )


def refuse_memory(mem_mb: int, flag: str, config: Config) -> None:
    """Nothing, or the `UsageError` that the host never has so much memory."""
    most = budget_mb(config)
    if mem_mb > most:
        raise UsageError(
            f"{flag}: {mem_mb} MiB are more than this host ever has for jobs",
            hint=f"{most} MiB fit; host.memory_max in the configuration is the budget",
        )


def _profile(name: str, flag: str, config: Config) -> Profile:
    profile = config.profiles.get(name)
    if profile is None:
        known = ", ".join(config.profiles)
        raise UsageError(
            f"{flag}: there is no profile {name!r}; known: {known}",
            hint=f"add [profiles.{name}] to the configuration and restart the daemon",
        )
    return profile


def _memory(
    order: Order, attached: Attached | None, profile: Profile, host: tuple[int, Config]
) -> tuple[int, MemorySource | None]:
    cpus, config = host
    if order.mem_from_estimate and attached is not None:
        mem_mb = attached.mem_mb()
        refuse_memory(mem_mb, order.written.named("mem-from-estimate"), config)
        return mem_mb, MemorySource.CALIBRATED
    if order.mem_mb is not None:
        refuse_memory(order.mem_mb, order.written.named(*MEM_OPTIONS), config)
        return order.mem_mb, MemorySource.EXPLICIT
    if profile.memory_bytes is not None:
        return max(1, profile.memory_bytes // MIB), MemorySource.PROFILE
    return share_mb(cpus, config), None


def _wall_time(order: Order, attached: Attached | None) -> tuple[int | None, WallSource | None]:
    if order.time_from_estimate and attached is not None:
        seconds = attached.wall_time_seconds()
        if seconds > LONGEST_SECONDS:
            raise UsageError(
                f"{order.written.named('time-from-estimate')}: {shown_seconds(seconds)} is more than the longest limit",
                hint="give --time-limit instead, or no limit",
            )
        return seconds, WallSource.CALIBRATED
    if order.wall_time_seconds is not None:
        return order.wall_time_seconds, WallSource.EXPLICIT
    return None, None


def _larger_mb(mem_mb: int, config: Config) -> str:
    """A limit that is larger than that one, as `--oom-retry` takes it."""
    return str(2 * mem_mb) if 2 * mem_mb <= budget_mb(config) else "max"


def _oom_retry_mb(order: Order, mem_mb: int, config: Config) -> int | None:
    if order.oom_retry is None:
        return None
    oom_retry_mb = budget_mb(config) if isinstance(order.oom_retry, str) else order.oom_retry
    flag = order.written.named("oom-retry")
    refuse_memory(oom_retry_mb, flag, config)
    if oom_retry_mb <= mem_mb:
        raise UsageError(
            f"{flag}: {oom_retry_mb} MiB are no more than the first limit of {mem_mb} MiB",
            hint="it is the limit of one more start, and not how often: give a larger one, such as"
            f" {_larger_mb(mem_mb, config)}, or a smaller first limit (--mem-mb)",
        )
    return oom_retry_mb
