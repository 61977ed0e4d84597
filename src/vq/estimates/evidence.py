"""Operator evidence (`--features FILE`): what the person who runs the program adds to its own report.

Evidence is kept apart from what the program says, may not contradict it, and is never inferred.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from vq.canonical import parse
from vq.errors import BadDataError
from vq.estimates.program import SCOPES, Feature, Scope, lower
from vq.shapes import SHA256, Kind, Path, Record, constant, integer, matching, one_of

MOST_BYTES = 64 * 1024

ALGORITHM = r"[A-Za-z0-9._+/()-]{1,64}"
ALGORITHM_EXPECTED = "1 to 64 characters of A-Z a-z 0-9 . _ + / ( ) -"

_TOLD = Kind('a non-empty string other than "unknown"', lambda v: type(v) is str and v not in ("", "unknown"))

_OPTIONAL = {
    "method": _TOLD,
    "basis": _TOLD,
    "task_type": _TOLD,
    "nbf": integer(1),
    "basis_representation": one_of(("spherical", "cartesian")),
    "algorithm": matching(ALGORITHM, ALGORITHM_EXPECTED),
    "mpi_ranks": integer(1),
    "threads_per_rank": integer(1),
    "memory_scope": one_of(SCOPES),
}

_FILE = Record({"schema_version": constant(1)}, _OPTIONAL)
RECORDED = Record({"sha256": SHA256, "schema_version": constant(1)}, _OPTIONAL, nullable=True)
"""The shape of evidence inside a receipt: exactly the keys given, and the file's digest."""

MUST_AGREE = ("method", "basis", "task_type", "mpi_ranks", "threads_per_rank")
"""The keys that name what the program also reports; they must agree, words in any case of letters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """An evidence file: the digest of its raw bytes, and exactly the keys that it gives."""

    sha256: str
    given: Mapping[str, Any]

    @property
    def memory_scope(self) -> Scope | None:
        """What the figure covers, as declared by the operator."""
        return self.given.get("memory_scope")

    def document(self) -> dict[str, Any]:
        """The evidence as a receipt records it."""
        ordered = {key: self.given[key] for key in ("schema_version", *_OPTIONAL) if key in self.given}
        return {"sha256": self.sha256, **ordered}


def read_evidence(data: bytes) -> Evidence:
    """The evidence in the bytes of a `--features` file; raises `BadDataError`."""
    given = parse(data)
    _FILE.check(given)
    return Evidence(sha256=sha256(data).hexdigest(), given=given)


def refuse_contradiction(
    given: Mapping[str, Any], reported: Mapping[str, Feature], unknown: frozenset[str], path: Path = ()
) -> None:
    """Nothing, or the `BadDataError` of the first key that contradicts what the program reported."""
    for key in MUST_AGREE:
        if key not in given or key in unknown or key not in reported:
            continue
        said, told = reported[key], given[key]
        same = lower(told) == lower(said) if isinstance(told, str) and isinstance(said, str) else told == said
        if not same:
            there = f'"{said}"' if isinstance(said, str) else "none" if said is None else said
            raise BadDataError(f"no contradiction of what the program reported, {there}", path=(*path, key), found=told)
