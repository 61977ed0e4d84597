"""The queue and its host as a look of the daemon sees them, read by a command: what runs, and what it uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vq.actions.place import Place
from vq.admission.host import HostMemory, Remembered
from vq.daemon.known import rank_of
from vq.daemon.told import told
from vq.jobs.record import Job, State
from vq.readings import cgroups, processes
from vq.readings.meminfo import host_memory
from vq.readings.pressure import memory_pressure_percent
from vq.store import jobs as stored
from vq.store.jobs import Selection
from vq.store.layout import attempt_folder
from vq.supervisor.folder import Attempt, read_attempt

_HUNDREDTHS = 100


def running_jobs(place: Place) -> list[Job]:
    """The jobs that run, in the order in which they started."""
    records = stored.select(place.store, Selection(states=(State.RUNNING,)))
    return in_start_order(stored.read(place.store, record["id"]) for record in records)


def in_start_order(jobs: Iterable[Job]) -> list[Job]:
    """Running jobs in the order in which they started."""
    return sorted(jobs, key=rank_of)


def uses_of(place: Place, running: Sequence[Job]) -> dict[str, int | None]:
    """What each running job holds, in bytes; what is reserved for it, where that cannot be told."""
    uses: dict[str, int | None] = {}
    for job in running:
        attempt = _attempt(place, job)
        held = None
        if attempt is not None and attempt.group is not None:
            held = cgroups.open_group(attempt.group).memory_bytes()
        uses[job.id] = job.life.reserved_bytes if held is None else held
    return uses


def host_beside(uses: Mapping[str, int | None]) -> HostMemory:
    """A reading of the host beside jobs that hold `uses`, in bytes."""
    now, pressure = host_memory(), memory_pressure_percent()
    return HostMemory(
        total=now.total_bytes,
        available=now.available_bytes,
        slice=sum(use or 0 for use in uses.values()),
        full_avg10=None if pressure is None else round(pressure * _HUNDREDTHS),
    )


def host_remembered(place: Place, now_ms: int) -> Remembered:
    """What the daemon's last look remembers of the host; nothing, where none said it just now."""
    return Remembered(**told(place.folder, now_ms).host)


def processes_of(place: Place, running: Sequence[Job]) -> set[int]:
    """The ids of the processes of running jobs, their supervisors among them."""
    found: set[int] = set()
    for job in running:
        attempt = _attempt(place, job)
        if attempt is not None:
            found.add(attempt.supervisor_pid)
            found.update(stat.pid for stat in processes.descendants(attempt.supervisor_pid))
            if attempt.group is not None:
                found.update(cgroups.open_group(attempt.group).members())
    return found


def _attempt(place: Place, job: Job) -> Attempt | None:
    return read_attempt(attempt_folder(place.folder, job.id, job.life.attempt))
