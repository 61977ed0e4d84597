"""What this host gives the queue: its memory and CPUs now, and how jobs can be limited and measured here."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any

from vq.actions.daemon import daemon_status
from vq.actions.explain import reservations
from vq.actions.looking import host_beside, host_remembered, processes_of, running_jobs, uses_of
from vq.actions.place import Place, config_in_force, config_of_file, open_place
from vq.admission import host
from vq.admission.rules import HIGH_WATER, Policy
from vq.config.resolve import config_path
from vq.config.values import Config
from vq.daemon.presence import present
from vq.errors import VqError
from vq.files.copying import SPARE_BYTES
from vq.hosts.local import scopes
from vq.jobs.record import Job, State
from vq.readings import cgroups
from vq.readings.cgroups import open_group
from vq.readings.group import paths_from
from vq.readings.pressure import memory_pressure_percent
from vq.readings.programs import Program, programs
from vq.store import jobs as stored
from vq.wording import counted, human_bytes

_MOST_OUTSIDE = 5
_WHAT = "control groups"
_SCOPE = "a scope of your systemd"
_HOLDS = "limits hold, every process is measured"
_SAMPLED = "memory is sampled and a limit holds only from one sample to the next"
_BOOTED = "/run/systemd/system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing looked at: whether it is `ok`, `lost` (the queue works without) or `wrong`, and what to do."""

    what: str
    state: str
    text: str
    fix: str | None = None


def host_document(place: Place, environment: Mapping[str, str], now_ms: int) -> dict[str, Any]:
    """The host as it is now: sizes in bytes, pressure in percent, null where it is not known.

    `host_limit_bytes` is what jobs may hold together beside the host's other programs, `host_left_bytes` what the next
    start may take of it; `outside` are the programs that hold most.
    """
    config = config_in_force(place, environment)
    running = running_jobs(place)
    uses = uses_of(place, running)
    memory, pressure = host_beside(uses), memory_pressure_percent()
    by_peaks = config.host.admission == Policy.MEASURED.value
    reserved = _reserved(place, running, config, now_ms) if by_peaks else _recorded(running)
    charged = sum(max(size, uses.get(job) or 0) for job, size in reserved.items())
    budget = host.budget(memory, charged, host_remembered(place, now_ms))
    counts = stored.counts(place.store)
    return {
        "host": "localhost",
        "memory_total_bytes": memory.total,
        "memory_available_bytes": memory.available,
        "memory_pressure_percent": pressure,
        "memory_max_bytes": config.host.memory_max_bytes,
        "memory_used_bytes": memory.slice,
        "memory_reserved_bytes": sum(reserved.values()),
        "high_water_bytes": config.host.memory_max_bytes * HIGH_WATER // 100 if by_peaks else None,
        "host_limit_bytes": budget.limit,
        "host_left_bytes": budget.spare,
        "host_stalled": budget.stalled,
        "outside": [asdict(program) for program in _outside(place, running)],
        "cpus": config.host.cpus,
        "cpus_reserved_millicores": sum(job.life.cpu_reserved_millicores or 0 for job in running),
        "admission": config.host.admission,
        "running": counts.get(State.RUNNING, 0),
        "pending": counts.get(State.PENDING, 0),
    }


def _reserved(place: Place, running: Sequence[Job], config: Config, now_ms: int) -> dict[str, int]:
    found = reservations(place, running, config, now_ms) if running else {}
    return {job: reservation.memory.memory for job, reservation in found.items()}


def _recorded(running: Sequence[Job]) -> dict[str, int]:
    return {job.id: job.life.reserved_bytes or 0 for job in running}


def _outside(place: Place, running: Sequence[Job]) -> list[Program]:
    """The programs that hold most memory beside the queue's jobs and its daemon."""
    ours = processes_of(place, running)
    daemon = daemon_status(place.folder)
    if daemon["pid"] is not None:
        ours.add(daemon["pid"])
    return programs(ours)[:_MOST_OUTSIDE]


def examine(environment: Mapping[str, str]) -> list[Finding]:
    """What is well here, what is lost, and what is wrong; a state folder that cannot be used is a finding, too."""
    return [
        Finding(what="python", state="ok", text=f"{sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}"),
        _configuration(environment),
        *_queue(environment),
        _pressure(),
    ]


def _queue(environment: Mapping[str, str]) -> list[Finding]:
    """What is found in the state folder; where it cannot be opened, only that, and what is found without."""
    with ExitStack() as stack:
        try:
            place = stack.enter_context(open_place(environment))
        except VqError as error:
            return [Finding(what="state folder", state="wrong", text=str(error), fix=error.hint), _tried()]
        return [_state(place), _daemon(place, environment), _groups(place, environment)]


def _configuration(environment: Mapping[str, str]) -> Finding:
    path = config_path(environment)
    try:
        config: Config = config_of_file(environment)
    except VqError as error:
        return Finding(what="configuration", state="wrong", text=str(error), fix=error.hint or f"repair {path}")
    budget = f"{human_bytes(config.host.memory_max_bytes)} and {config.host.cpus} CPUs for jobs"
    source = path if os.path.lexists(path) else "no file, all defaults"
    return Finding(what="configuration", state="ok", text=f"{budget} ({source})")


def _state(place: Place) -> Finding:
    free = shutil.disk_usage(place.folder).free
    text = f"{place.folder}, {human_bytes(free)} free"
    if free < SPARE_BYTES:
        return Finding(what="state folder", state="wrong", text=text, fix="vq purge --older-than 7d --yes")
    return Finding(what="state folder", state="ok", text=text)


def _daemon(place: Place, environment: Mapping[str, str]) -> Finding:
    """Whether a daemon runs; that none does is well where nothing waits for one, and the next submission starts it."""
    status = daemon_status(place.folder)
    if status["running"]:
        return Finding(what="daemon", state="ok", text=f"process {status['pid']}, version {status['version']}")
    waiting = stored.counts(place.store).get(State.PENDING, 0)
    if waiting:
        text = f"none runs, so {counted(waiting, 'job')} {'waits' if waiting == 1 else 'wait'} for one"
    elif _autostarts(place, environment):
        return Finding(what="daemon", state="ok", text="none runs now; the next vq submit starts one by itself")
    else:
        text = "none runs, so nothing will start, and vq submit starts none"
    return Finding(what="daemon", state="lost", text=text, fix="vq daemon start")


def _autostarts(place: Place, environment: Mapping[str, str]) -> bool:
    """Whether a submission starts a daemon; not where the configuration cannot be read."""
    try:
        return config_in_force(place, environment).autostart
    except VqError:
        return False


def _groups(place: Place, environment: Mapping[str, str]) -> Finding:
    """How limits are enforced: by the daemon that runs, or as one would that starts now."""
    presence = present(place.folder)
    if presence is None:
        return _tried()
    if presence.group is None:
        possible = _tried()
        if possible.state != "ok":
            return possible
        fix = 'host.enforcement = "auto", then vq daemon stop and vq daemon start'
        return _lost(f"the daemon samples memory: {_SAMPLED}; possible here: {possible.text}", fix)
    group = open_group(paths_from(presence.group))
    limit, budget = group.limit_bytes(), config_in_force(place, environment).host.memory_max_bytes
    if limit is not None and limit > budget:
        held = f"jobs hold more than the budget of {human_bytes(budget)}, so the limit of them all stays at"
        return _lost(f"{held} {human_bytes(limit)} until they end", "vq queue --state running; vq kill what shall end")
    if presence.enforcement == "systemd" and not scopes.lingers():
        return _lost(f"{_SCOPE}; it ends, with all jobs, when you log out", scopes.linger_command())
    kind = _SCOPE if presence.enforcement == "systemd" else f"cgroup{group.paths.version}"
    return Finding(what=_WHAT, state="ok", text=f"{kind}: {_HOLDS}")


def _tried() -> Finding:
    """Whether a control group can be made: tried, and removed again."""
    name, reasons = f"vq-doctor-{os.getpid()}", []
    for version in ("cgroup2", "cgroup1"):
        try:
            _try(name, version)
        except VqError as error:
            reasons.append(error.message)
        else:
            return Finding(what=_WHAT, state="ok", text=f"{version}: {_HOLDS}")
    try:
        scopes.enter_scope(name)
        cgroups.move_into_leaf()
        _try(name, "systemd")
    except VqError as error:
        reasons.append(error.message)
        fix = scopes.linger_command() if os.path.isdir(_BOOTED) else "give this container a /sys/fs/cgroup to write to"
        return _lost(f"none can be made, so {_SAMPLED}: {'; '.join(reasons)}", fix)
    if scopes.lingers():
        return Finding(what=_WHAT, state="ok", text=f"{_SCOPE}: {_HOLDS}")
    text = f"only {_SCOPE} is to be had, which ends, with all jobs, when you log out; so {_SAMPLED}"
    return _lost(text, f"{scopes.linger_command()}, then vq daemon stop and vq daemon start")


def _try(name: str, enforcement: str) -> None:
    group = cgroups.make_parent(f"{name}.slice", enforcement)
    if group is not None:
        group.remove()


def _lost(text: str, fix: str) -> Finding:
    return Finding(what=_WHAT, state="lost", text=text, fix=fix)


def _pressure() -> Finding:
    if memory_pressure_percent() is None:
        text = "the kernel does not say it, so a host that stalls for memory is not seen"
        return Finding(what="memory pressure", state="lost", text=text, fix="boot with psi=1")
    return Finding(what="memory pressure", state="ok", text="known")
