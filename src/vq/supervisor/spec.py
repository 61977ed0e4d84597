"""What a supervisor is told: the document `vq.attempt-spec.v1`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from vq.errors import BadDataError
from vq.files.documents import MIB, read_json
from vq.readings.cgroups import ENFORCEMENTS
from vq.readings.group import PATHS_OR_NULL, GroupPaths, paths_from
from vq.readings.processes import MOST_OOM_SCORE
from vq.shapes import Kind, Listing, Record, constant, integer, matching, number, one_of, text

SCHEMA = "vq.attempt-spec.v1"
MARK = "VQ_ATTEMPT"
"""The environment variable by which a process of an attempt is known again."""
MOST_BYTES = 16 * MIB

FEWEST_PIDS = 3
"""The thread that starts the program that forks the job, that program, and the job itself."""


def _texts(value: Any) -> bool:
    return type(value) is dict and all(
        type(item) is str and name and "=" not in name and "\0" not in name + item for name, item in value.items()
    )


_PLAIN = Kind("a string without NUL", lambda v: type(v) is str and "\0" not in v)
_PATH = Kind("an absolute path", lambda v: type(v) is str and v.startswith("/") and "\0" not in v)
_PATH_OR_NULL = Kind("an absolute path, or null", lambda v: v is None or _PATH.accepts(v))

_SHAPE = Record(
    {
        "schema": constant(SCHEMA),
        "attempt": matching(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", "a name of letters, digits, `.`, `_` and `-`"),
        "command": Listing(_PLAIN, least=1),
        "cwd": _PATH,
        "environment": Kind("an object of strings", _texts),
        "stdout_path": _PATH,
        "stderr_path": _PATH,
        "result_path": _PATH,
    },
    {
        "memory_limit_bytes": integer(1, null=True),
        "pids_max": integer(FEWEST_PIDS, null=True),
        "cpus": integer(1),
        "wall_limit_seconds": number(null=True),
        "kill_grace_seconds": number(),
        "enforcement": one_of(ENFORCEMENTS),
        "cgroup_parent": PATHS_OR_NULL,
        "cgroup_parent_name": text(least=1, most=128),
        "umask": integer(0, 0o777, null=True),
        "oom_score_adj": integer(0, MOST_OOM_SCORE),
        "notify_path": _PATH_OR_NULL,
        "workspace": _PATH_OR_NULL,
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One attempt. `cgroup_parent` is the group to run under; without it, `cgroup_parent_name` is made where we may.

    `notify_path` is a FIFO that is told, in one line, the attempt whose result is there; in `workspace` its receipt is
    left, too. `oom_score_adj` is the kernel's; a supervisor that has more itself raises it to that.
    """

    attempt: str
    command: tuple[str, ...]
    cwd: str
    environment: dict[str, str]
    stdout_path: str
    stderr_path: str
    result_path: str
    memory_limit_bytes: int | None = None
    pids_max: int | None = None
    cpus: int = 1
    wall_limit_seconds: float | None = None
    kill_grace_seconds: float = 10.0
    enforcement: str = "auto"
    cgroup_parent: GroupPaths | None = None
    cgroup_parent_name: str = "vq.slice"
    umask: int | None = None
    oom_score_adj: int = 500
    notify_path: str | None = None
    workspace: str | None = None

    @property
    def mark(self) -> str:
        """What stands in the environment of every process of the attempt."""
        return f"{MARK}={self.attempt}"


def spec_from(document: dict[str, Any]) -> Spec:
    """The spec in a document; raises `BadDataError` with the path of what is wrong in it."""
    _SHAPE.check(document)
    known = {key: value for key, value in document.items() if key != "schema"}
    known["command"] = tuple(known["command"])
    if known.get("cgroup_parent") is not None:
        known["cgroup_parent"] = paths_from(known["cgroup_parent"])
    return Spec(**known)


def read_spec(path: str) -> Spec:
    """The spec at `path`, `VQ_ENFORCEMENT` before its own word; raises `FileError` or `BadDataError`."""
    try:
        document = read_json(path, MOST_BYTES)
        if "VQ_ENFORCEMENT" in os.environ:
            document["enforcement"] = os.environ["VQ_ENFORCEMENT"]
        return spec_from(document)
    except TypeError as error:
        raise BadDataError("a JSON object").at(path) from error
    except BadDataError as error:
        raise error.at(path) from None
