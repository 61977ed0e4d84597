"""Requests to a running supervisor: lines in a FIFO of its folder.

`kill [WHY]`, `kill-now [WHY]`, `pause`, `resume`. A request may be sent again; none is answered: what came of it
stands in the result, and for as long as it has no effect it can be repeated.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from vq.files.fifo import tell

Action = Literal["kill", "kill-now", "pause", "resume"]

OUTGREW = "outgrew"
"""The reason of a kill for the host's sake: an end out of memory, by the host's limit."""

REQUESTS = "requests"
_LINE = re.compile(r"(kill|kill-now|pause|resume)(?: ([a-z][a-z0-9_-]{0,31}))?")
# All that a pipe can hold, so that no line is cut.
_PIECE = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to do with the job, and for a kill, on whose behalf (`user`, `outgrew`, `starved`)."""

    action: Action
    why: str | None = None


def parse_requests(data: bytes) -> tuple[Request, ...]:
    """The requests in whole lines; what is none is passed over."""
    found = []
    for line in data.decode("ascii", "replace").splitlines():
        match = _LINE.fullmatch(line)
        if match:
            action: Action = match[1]  # type: ignore[assignment]  # the pattern knows no other
            found.append(Request(action=action, why=match[2]))
    return tuple(found)


def open_requests(folder: str) -> int:
    """A descriptor to poll and read requests from. What is told when it is closed goes to nobody."""
    path = f"{folder}/{REQUESTS}"
    with suppress(FileExistsError):
        os.mkfifo(path, 0o600)
    # Open for writing too: otherwise the last writer's leaving would look like an end for ever.
    return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)


def hear(descriptor: int) -> tuple[Request, ...]:
    """The requests that have come."""
    try:
        return parse_requests(os.read(descriptor, _PIECE))
    except BlockingIOError:
        return ()


def ask(folder: str, request: Request) -> bool:
    """Whether a supervisor listens in `folder` and was told; False when there is none (yet, or any more)."""
    line = request.action if request.why is None else f"{request.action} {request.why}"
    return tell(f"{folder}/{REQUESTS}", line)
