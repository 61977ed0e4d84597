"""How an import went: rows taken, records left out and records that could not be read, counted by reason.

Reasons are counted in bounded memory. Peaks of which most lie over 500 times their caps are hardly peaks: more likely
one of the two columns is in another unit than was said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from vq.admission.history import Run
from vq.formats.outcomes import LeftOut, Outcome

FAR_OVER = 500
"""A peak of more than this many times its cap is far over it."""

_MOST_REASONS = 50
_MOST_REPOSITORIES = 4
_OTHER = "other reasons"


@dataclass(slots=True)
class Reason:
    """A reason: how many records it was that of, and the line of the first."""

    count: int
    first_line: int


@dataclass(slots=True)
class Tally:
    """What became of the records of a file so far, `rows` of them taken."""

    rows: int = 0
    capped: int = 0
    far_over: int = 0
    left_out: dict[str, Reason] = field(default_factory=dict)
    unread: dict[str, Reason] = field(default_factory=dict)
    repositories: dict[str, None] = field(default_factory=dict)
    """The first few repositories of the rows."""

    def count(self, outcome: Outcome) -> None:
        """Count one outcome."""
        if isinstance(outcome, Run):
            self.rows += 1
            if len(self.repositories) < _MOST_REPOSITORIES:
                self.repositories[outcome.repository] = None
            if outcome.memory_cap:
                self.capped += 1
                self.far_over += outcome.memory_peak > FAR_OVER * outcome.memory_cap
        elif isinstance(outcome, LeftOut):
            _count(self.left_out, outcome.reason, outcome.line)
        else:
            _count(self.unread, f"expected {outcome.error.expected}", outcome.line)

    @property
    def records(self) -> int:
        """How many records there were."""
        return self.rows + sum(reason.count for found in (self.left_out, self.unread) for reason in found.values())

    @property
    def likely_unit_error(self) -> bool:
        """Whether most of the peaks with a cap lie far over it."""
        return self.far_over * 2 > self.capped

    def document(self) -> dict[str, Any]:
        """The counts as a JSON object."""
        return {
            "rows": self.rows,
            "left_out": _document(self.left_out),
            "unread": _document(self.unread),
            "likely_unit_error": self.likely_unit_error,
        }


def _count(reasons: dict[str, Reason], reason: str, line: int) -> None:
    if reason not in reasons and len(reasons) >= _MOST_REASONS:
        reason = _OTHER
    known = reasons.setdefault(reason, Reason(0, line))
    known.count += 1


def _document(reasons: dict[str, Reason]) -> list[dict[str, Any]]:
    return [
        {"reason": reason, "count": found.count, "first_line": found.first_line} for reason, found in reasons.items()
    ]
