"""The evaluation set, `vq.estimate-evaluation-set/1`, and one case of it with what its receipts say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from vq.canonical import digest
from vq.errors import BadDataError
from vq.estimates.correction import Correction
from vq.estimates.exact import Quantity
from vq.estimates.program import SCOPES, UNSPECIFIED, Number
from vq.estimates.receipt import Receipt
from vq.estimates.usage import Usage
from vq.shapes import HARDWARE_CLASS, Listing, Record, constant, integer, label, number, one_of, text

SET_SCHEMA = "vq.estimate-evaluation-set/1"
MOST_BYTES = 64 * 1024 * 1024

NAME = label(128)

_SET_SHAPE = Record(
    {
        "schema_name": constant(SET_SCHEMA),
        "set_id": NAME,
        "cases": Listing(
            Record(
                {
                    "case_id": NAME,
                    "estimate": text(least=1),
                    "usage": text(null=True, least=1),
                    "outcome": one_of(("completed", "failed", "oom_killed", "time_exceeded", "killed")),
                    "hardware_class": HARDWARE_CLASS,
                },
                {
                    "memory_limit_bytes": integer(1),
                    "memory_limit_scope": one_of((*SCOPES, UNSPECIFIED)),
                    "wall_limit_seconds": number(),
                },
            ),
            least=1,
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case of a set: where its receipts are (relative to the set), how the job ended, and its limits."""

    case_id: str
    estimate: str
    usage: str | None
    outcome: str
    hardware_class: str
    memory_limit_bytes: int | None = None
    memory_limit_scope: str = "job"
    wall_limit_seconds: Number | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSet:
    """A frozen set of cases and the digest of its document."""

    set_id: str
    sha256: str
    cases: tuple[Case, ...]


class Identity(NamedTuple):
    """What a calibration is fitted on and applies to, in document order."""

    estimator: str
    program: str
    program_version: str
    method: str
    algorithm: str | None
    memory_scope: str
    hardware_class: str

    def runtime(self) -> RuntimeIdentity:
        """The identity of a runtime group: wall time does not depend on what a memory figure covers."""
        return RuntimeIdentity(*self[:5], self.hardware_class)


class RuntimeIdentity(NamedTuple):
    """`Identity` without the memory scope."""

    estimator: str
    program: str
    program_version: str
    method: str
    algorithm: str | None
    hardware_class: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrections:
    """What a calibration's calibrated groups do to a memory figure and (a factor) to the upper bound of a runtime.

    `newer` is whether it has an offset or a margin, which documents of the first version have no keys for.
    """

    memory: Mapping[Identity, Correction]
    runtime: Mapping[RuntimeIdentity, Number]
    newer: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One case with what its receipts say; `usage` and its digest are None where there is no usage receipt."""

    case: Case
    receipt: Receipt
    usage: Usage | None
    usage_sha256: str | None

    @property
    def identity(self) -> Identity | None:
        """The group it belongs to; None when its program version or method is unknown."""
        return identity_of(self.receipt, self.case.hardware_class)

    @property
    def counted_usage(self) -> str | None:
        """The usage receipt's digest; None without one, or when the collector failed."""
        return self.usage_sha256 if self.usage is not None and self.usage.ok else None

    @property
    def excluded(self) -> bool:
        """Whether the case is no measurement: a failed run, or a failed collector."""
        return self.case.outcome == "failed" or (self.usage is not None and not self.usage.ok)

    @property
    def peak_bytes(self) -> int | None:
        """The measured peak of the largest single process."""
        return self.usage.peak_bytes if self.usage is not None else None

    @property
    def wall_seconds(self) -> Quantity | None:
        """The measured wall time, less the time paused."""
        return self.usage.wall_seconds if self.usage is not None else None

    @property
    def comparable(self) -> bool:
        """Whether the measured peak is of what the figure speaks of."""
        return self.receipt.scope == "rank" or (self.usage is not None and self.usage.single_process)

    def oom_refutes(self, figure: int) -> bool:
        """Whether an OOM kill at a limit that covers the estimate shows that `figure` was too low."""
        case = self.case
        if case.outcome != "oom_killed" or case.memory_limit_bytes is None or case.memory_limit_bytes < figure:
            return False
        known = self.receipt.scope in SCOPES and case.memory_limit_scope in SCOPES
        return known and SCOPES.index(case.memory_limit_scope) <= SCOPES.index(self.receipt.scope)


def identity_of(receipt: Receipt, hardware_class: str) -> Identity | None:
    """The calibration group of a receipt on a class of hardware; None when version or method is unknown."""
    if receipt.program_version is None or receipt.method is None:
        return None
    return Identity(
        receipt.estimator,
        receipt.program,
        receipt.program_version,
        receipt.method,
        receipt.algorithm,
        receipt.scope,
        hardware_class,
    )


def read_set(document: dict[str, Any]) -> EvaluationSet:
    """The evaluation set in a parsed document; raises `BadDataError`, naming the case by its place."""
    _SET_SHAPE.check(document)
    sha256 = digest(document)
    seen: set[str] = set()
    words: dict[str, str] = {}
    cases = []
    for index, item in enumerate(document["cases"]):
        if item["case_id"] in seen:
            raise BadDataError("each case_id once", path=("cases", index, "case_id"), found=item["case_id"])
        seen.add(item["case_id"])
        for key in ("outcome", "hardware_class"):
            item[key] = words.setdefault(item[key], item[key])
        cases.append(Case(**item))
    return EvaluationSet(set_id=document["set_id"], sha256=sha256, cases=tuple(cases))
