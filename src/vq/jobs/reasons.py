"""Why a job is where it is: a kind with its details, as data, and the sentence that says it to a person.

The kinds are those of admission (why a job waits) and those of the life of a job. The sentence is made from the data
and never read back: two versions may word it differently, and a program reads the kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from vq.errors import BadDataError
from vq.jobs.times import shown_moment, shown_seconds
from vq.shapes import BOOLEAN, Path, Record, integer, one_of, text
from vq.shapes import Kind as Scalar
from vq.wording import human_bytes, human_cpus

_CPU = 1000


class Kind(StrEnum):
    """What sort of reason it is."""

    HELD = "held"
    NOT_BEFORE = "not_before"
    DEPENDENCY = "dependency"
    RETRY = "retry"
    DRAIN = "drain"
    ARRAY = "array"
    SLOT = "slot"
    MEMORY = "memory"
    HIGH_WATER = "high_water"
    STALLED = "stalled"
    HOST_MEMORY = "host_memory"
    CPU = "cpu"
    BEHIND = "behind"
    ENDING = "ending"
    EXEC = "exec"
    OOM = "oom"
    OUTGREW = "outgrew"
    WALL_LIMIT = "wall_limit"
    STARVED = "starved"
    KILL = "kill"
    LOST = "lost"
    NOT_STARTED = "not_started"


class StopCause(StrEnum):
    """Why we stop a job that runs."""

    KILL = "kill"
    WALL_LIMIT = "wall_limit"
    STARVED = "starved"
    OOM = "oom"
    OUTGREW = "outgrew"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A reason: its kind, and the details that the kind has (sizes in bytes, CPU in millicores, times in ms)."""

    kind: Kind
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The sentence for a person, without a full stop; with the option that helps, where one does."""
        if self.kind is Kind.OOM and self.details["limit_fired"] == "job":
            return f"{self.what}; vq resubmit JOB --mem-mb N raises it"
        return self.what

    @property
    def what(self) -> str:  # noqa: PLR0911 - one sentence a kind
        """The same without what helps."""
        details = self.details
        match self.kind:
            case Kind.DEPENDENCY:
                return _dependency(details["job"], details["state"])
            case Kind.RETRY:
                return _retry(details["cause"], details["attempt"], details["at"])
            case Kind.MEMORY | Kind.HOST_MEMORY | Kind.CPU:
                return _room(self.kind, details["needs"], details["free"])
            case Kind.EXEC:
                return _not_run(details["program"], details["error"])
            case Kind.ENDING:
                return f"being ended: {_CAUSES[details['cause']]}"
            case Kind.OOM:
                return _oom(details)
        written = _WRITTEN.get(self.kind, {})
        return _SENTENCES[self.kind].format(**{key: written.get(key, str)(value) for key, value in details.items()})


_COUNT = integer(0)
_NAME = text(least=1)

_SHAPES = {
    Kind.NOT_BEFORE: Record({"at": _COUNT}),
    Kind.DEPENDENCY: Record({"job": _NAME, "state": text(null=True)}),
    Kind.RETRY: Record({"attempt": _COUNT, "cause": one_of(("failed", "oom")), "at": _COUNT}),
    Kind.ARRAY: Record({"group": _NAME, "at_once": _COUNT}),
    Kind.SLOT: Record({"profile": _NAME}),
    Kind.MEMORY: Record({"needs": _COUNT, "free": _COUNT}),
    Kind.HIGH_WATER: Record({"used": _COUNT, "budget": _COUNT}),
    Kind.HOST_MEMORY: Record({"needs": _COUNT, "free": _COUNT}),
    Kind.CPU: Record({"needs": _COUNT, "free": _COUNT}),
    Kind.BEHIND: Record({"job": _NAME}),
    Kind.ENDING: Record({"cause": one_of(StopCause), "at_once": BOOLEAN}),
    Kind.EXEC: Record({"program": text(), "error": text()}),
    Kind.OOM: Record(
        {
            "limit_fired": one_of(("job", "host")),
            "cap": _COUNT,
            "cap_source": text(null=True),
            "peak": integer(0, null=True),
        }
    ),
    Kind.OUTGREW: Record({"reserved": _COUNT, "cap": _COUNT}),
    Kind.WALL_LIMIT: Record({"seconds": integer(0, null=True)}),
    Kind.LOST: Record({"what": one_of(("supervisor", "host"))}),
    Kind.NOT_STARTED: Record({"error": text()}),
}
_WITHOUT_DETAILS = Record({})
_KIND = one_of(Kind)
_TEXT = text()

_SENTENCES = {
    Kind.HELD: "held until it is resumed",
    Kind.NOT_BEFORE: "not to start before {at}",
    Kind.DRAIN: "the queue is draining and starts nothing new; `vq daemon resume` ends that",
    Kind.ARRAY: "array {group} runs at most {at_once} at once",
    Kind.SLOT: "every slot of profile {profile} is taken",
    Kind.HIGH_WATER: "jobs use {used} of the budget of {budget}, and nothing starts so close to it",
    Kind.STALLED: "the host stalls for memory",
    Kind.BEHIND: "{job} has waited so long that nothing may start before it",
    Kind.OUTGREW: "the jobs together outgrew the memory of the host while {reserved} were reserved for this one;"
    " it starts once more with its whole limit of {cap} reserved",
    Kind.WALL_LIMIT: "stopped at its time limit of {seconds}",
    Kind.STARVED: "stopped: it used almost no CPU for the configured time",
    Kind.KILL: "killed by `vq kill`",
    Kind.LOST: "the {what} went down while it ran, and how it ended is not known",
    Kind.NOT_STARTED: "the queue could not start it: {error}",
}
_WRITTEN: Mapping[Kind, Mapping[str, Callable[[Any], str]]] = {
    Kind.NOT_BEFORE: {"at": shown_moment},
    Kind.HIGH_WATER: {"used": human_bytes, "budget": human_bytes},
    Kind.OUTGREW: {"reserved": human_bytes, "cap": human_bytes},
    Kind.WALL_LIMIT: {"seconds": lambda seconds: "unknown length" if seconds is None else shown_seconds(seconds)},
}
_CAUSES = {
    StopCause.KILL: "`vq kill`",
    StopCause.WALL_LIMIT: "its time limit",
    StopCause.STARVED: "it uses almost no CPU",
    StopCause.OOM: "its memory limit",
    StopCause.OUTGREW: "the jobs together outgrew the memory of the host",
}
_ROOMS = {Kind.MEMORY: "of memory", Kind.HOST_MEMORY: "that the host can spare", Kind.CPU: "CPUs"}
_SOURCES = {
    "explicit": "as asked for",
    "calibrated-estimate": "from the calibrated estimate",
    "profile": "from its profile",
    "oom-retry": "from --oom-retry",
    None: "its share of the host",
}


def reason_document(reason: Reason) -> dict[str, Any]:
    """The reason as the record holds it: `kind`, `text`, and its details beside them."""
    return {"kind": str(reason.kind), "text": reason.text, **reason.details}


def read_reason(document: Any, path: Path = ()) -> Reason:
    """The reason in a parsed object; raises `BadDataError` for a kind or a detail that is not known."""
    if type(document) is not dict:
        raise BadDataError("an object", path=path, found=document)
    details = dict(document)
    _check(_KIND, details.pop("kind", None), (*path, "kind"))
    _check(_TEXT, details.pop("text", None), (*path, "text"))
    kind = Kind(document["kind"])
    _SHAPES.get(kind, _WITHOUT_DETAILS).check(details, path)
    return Reason(kind=kind, details=details)


def _check(kind: Scalar, value: Any, path: Path) -> None:
    kind.check(value, path)


def _dependency(job: str, state: str | None) -> str:
    return f"waits for {job}" if state is None else f"{job}, which it depends on, ended as {state}"


def _retry(cause: str, attempt: int, at_ms: int) -> str:
    why = "failed" if cause == "failed" else "met its memory limit and gets a larger one"
    return f"attempt {attempt} {why}; starts again from {shown_moment(at_ms)} on"


def _room(kind: Kind, needs: int, free: int) -> str:
    if kind is Kind.CPU:
        return f"needs {human_cpus(needs)}, {free / _CPU:g} are free"
    return f"needs {human_bytes(needs)} {_ROOMS[kind]}, {human_bytes(free)} are free"


def _not_run(program: str, error: str) -> str:
    """Why a program cannot be run; an error that begins with the program, or says as much, says it once."""
    why = error.removeprefix(f"{program}: ")
    return f"{program} {why}" if why.startswith("cannot be run") else f"{program} cannot be run: {why}"


def _oom(details: Mapping[str, Any]) -> str:
    cap = f"{human_bytes(details['cap'])} ({_SOURCES.get(details['cap_source'], details['cap_source'])})"
    peak = "" if details["peak"] is None else f"; it was seen to use {human_bytes(details['peak'])}"
    if details["limit_fired"] == "host":
        return f"the jobs together met the host's memory limit, not this job its own of {cap}{peak}"
    return f"met its memory limit of {cap}{peak}"
