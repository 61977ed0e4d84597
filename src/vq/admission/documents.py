"""The documents of admission: the setup that a history is replayed under, and what a replay and a prediction come to.

A setup is an object in which every key may be missing: `margin` (percent, 15), `min_jobs` (10), `profiles` {name:
{`memory`, `cpus`, `slots`}}, `memory_max` and `mirror` (bytes), `cpu_budget` (millicores), `slots` {profile: number},
`caps`, `dispatch`, `barrier_after_ms`, `cpu_admission`. Without `profiles` they are those of the rows: each as large as
the largest limits that its rows ran under.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from vq.admission.history import Run
from vq.admission.replay import Caps, Profile, Replay, Setup, Started
from vq.admission.rules import CpuAdmission, Dispatch, Policy
from vq.errors import BadDataError
from vq.shapes import ANY_OBJECT, Record, integer, one_of

MARGIN = 15
MIN_JOBS = 10

_MOST_CPUS = 1_000_000
_SLOTS = integer(0, null=True)
_PROFILE = Record({"memory": integer(0), "cpus": integer(0, _MOST_CPUS)}, {"slots": _SLOTS})
_SETUP = Record(
    {},
    {
        "margin": integer(0, 10_000),
        "min_jobs": integer(1, 1_000_000),
        "profiles": ANY_OBJECT,
        "memory_max": integer(0, null=True),
        "cpu_budget": integer(0, null=True),
        "slots": ANY_OBJECT,
        "mirror": integer(0),
        "caps": one_of(caps.value for caps in Caps),
        "dispatch": one_of(dispatch.value for dispatch in Dispatch),
        "barrier_after_ms": integer(0, null=True),
        "cpu_admission": one_of((cpu.value for cpu in CpuAdmission), null=True),
    },
)


def check_setup(document: Any) -> None:
    """Nothing, or the `BadDataError` that `document` is no setup."""
    _SETUP.check(document)
    for name, profile in document.get("profiles", {}).items():
        _PROFILE.check(profile, ("profiles", name))
    for name, slots in document.get("slots", {}).items():
        _SLOTS.check(slots, ("slots", name))


def read_setup(document: Mapping[str, Any], rows: Iterable[Run]) -> Setup:
    """The setup that a document describes, for `rows`; raises `BadDataError`."""
    check_setup(document)
    profiles = document.get("profiles")
    named = {name: Profile(**profile) for name, profile in profiles.items()} if profiles else _profiles_of(rows)
    cpu_admission = document.get("cpu_admission")
    return Setup(
        margin=document.get("margin", MARGIN),
        min_jobs=document.get("min_jobs", MIN_JOBS),
        profiles=named,
        memory_max=document.get("memory_max"),
        cpu_budget=document.get("cpu_budget"),
        slots=document.get("slots", {}),
        mirror=document.get("mirror", 0),
        caps=Caps(document.get("caps", Caps.JOB.value)),
        dispatch=Dispatch(document.get("dispatch", Dispatch.KNOWN.value)),
        barrier_after_ms=document.get("barrier_after_ms"),
        cpu_admission=None if cpu_admission is None else CpuAdmission(cpu_admission),
    )


def _profiles_of(rows: Iterable[Run]) -> dict[str, Profile]:
    """The profiles of `rows`, each as large as the largest limits in it, with at least one CPU."""
    memory: dict[str, int] = {}
    cpus: dict[str, int] = {}
    for row in rows:
        memory[row.profile] = max(memory.get(row.profile, 0), row.memory_cap or 0)
        cpus[row.profile] = max(cpus.get(row.profile, 1), -(-(row.cpu_cap or 0) // 1000))
    unlimited = next((name for name, most in memory.items() if most == 0), None)
    if unlimited is not None:
        raise BadDataError(
            f"a memory limit for profile {unlimited}: no row says its own; name the profile in the setup"
        )
    return {name: Profile(memory=most, cpus=cpus[name]) for name, most in memory.items()}


def replay_document(policy: Policy, replay: Replay) -> dict[str, Any]:
    """What a policy would have done, as a JSON object of exact integers."""
    return {"policy": policy.value, "replay": asdict(replay)}


def started_document(policy: Policy, started: Started) -> dict[str, Any]:
    """A start in a replay as a JSON object: the job, when, its wait, what it reserved and why."""
    run = started.run
    return {
        "policy": policy.value,
        "repository": run.repository,
        "workflow": run.workflow,
        "name": run.name,
        "profile": run.profile,
        "queued_at": run.queued_at,
        "started_at": started.at,
        "wait_ms": started.wait_ms,
        "memory": started.memory.memory,
        "basis": started.memory.basis.as_data(),
        "cpu": started.cpu.cpu,
        "cpu_basis": started.cpu.basis.as_data(),
    }
