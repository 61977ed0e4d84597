"""What the daemon's last look found to keep the first waiting jobs from starting, told to commands in a small file.

To work that out takes the whole history, which the daemon knows and a command would have to read; and whether the host
is short of memory depends on what it was a moment ago, which only the daemon has seen. It is written at most
once a second, only while jobs wait, and holds for a few seconds: nothing depends on it, so it is not forced to disk.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from vq.errors import BadDataError
from vq.files.documents import KIB, FileError, read_json, replace_private
from vq.jobs.reasons import Reason, read_reason, reason_document
from vq.shapes import ANY_OBJECT, BOOLEAN, Record, integer

if TYPE_CHECKING:  # it loads all of admission, which `vq queue` needs not
    from vq.admission.host import Remembered

MOST_TOLD = 50
"""Of so many jobs, the first in order: as many as `vq queue` shows."""

PERIOD_SECONDS = 1.0
HOLDS_MS = 5_000

_NAME = "waits.json"
_MOST_BYTES = 256 * KIB
_SHAPE = Record({"at_ms": integer(0), "host": Record({"short": BOOLEAN, "stalled": BOOLEAN}), "reasons": ANY_OBJECT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Why jobs wait, by their ids, and what a look remembers of the host, as `Remembered` takes it.

    Neither, where no daemon said it just now.
    """

    reasons: Mapping[str, Reason] = field(default_factory=dict)
    host: Mapping[str, bool] = field(default_factory=dict)


class Told:
    """The file of one daemon."""

    def __init__(self, state_folder: str) -> None:
        self._folder = state_folder
        self._next = 0.0
        self._is_empty = False

    def is_due(self) -> bool:
        """Whether it is time to write it again."""
        return time.monotonic() >= self._next

    def tell(self, reasons: Mapping[str, Reason], host: Remembered, now_ms: int) -> None:
        """Write why jobs wait, by their ids, and how the host was; where that fails (a full disk), nobody is told."""
        if not reasons and self._is_empty:
            return
        self._next, self._is_empty = time.monotonic() + PERIOD_SECONDS, not reasons
        document = {
            "at_ms": now_ms,
            "host": asdict(host),
            "reasons": {job: reason_document(reason) for job, reason in reasons.items()},
        }
        with suppress(OSError):
            replace_private(f"{self._folder}/{_NAME}", json.dumps(document))

    def close(self) -> None:
        """Tell nothing any more."""
        with suppress(OSError):
            os.unlink(f"{self._folder}/{_NAME}")


def told(state_folder: str, now_ms: int) -> Said:
    """What a daemon said a moment ago."""
    try:
        document: Any = read_json(f"{state_folder}/{_NAME}", _MOST_BYTES)
        _SHAPE.check(document)
        if abs(now_ms - document["at_ms"]) > HOLDS_MS:
            return Said()
        reasons = {job: read_reason(reason) for job, reason in document["reasons"].items()}
        return Said(reasons=reasons, host=document["host"])
    except (FileError, BadDataError):
        return Said()
