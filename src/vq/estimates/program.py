"""What one program says about a calculation before it runs: the plain value that every estimator module returns.

An estimator is one module in `programs` with a `Program`: what it is called, how its file is recognised and read, and
what a receipt of it may hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from vq.shapes import Record

Scope = Literal["job", "node", "rank", "unspecified"]
Margin = Literal["included", "none"]
Feature = str | int | float | bool | None
Number = int | float

SCOPES: tuple[Scope, ...] = ("rank", "node", "job")
"""The known scopes of a memory figure or a limit, narrowest first."""

UNSPECIFIED: Scope = "unspecified"


def lower(text: str) -> str:
    """ASCII lower case: how two spellings of a method or basis are compared."""
    return text.translate(_LOWER)


def upper(text: str) -> str:
    """ASCII upper case: how a method is named in groups."""
    return text.translate(_UPPER)


_LOWER = {ord(letter): ord(letter) + 32 for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_UPPER = {ord(letter): ord(letter) - 32 for letter in "abcdefghijklmnopqrstuvwxyz"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The file that an estimate was read from: the digest of its raw bytes and their number."""

    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEstimate:
    """A program's own estimate, as printed: nothing inferred, nothing scaled.

    `features` maps the estimator's fixed names to what the program reported; `unknown_features` names those that it
    left open (a null feature that is not among them means "none"). `scope` is None where the program does not say
    what its figure covers. `job_peak_bytes` is what the same program says of the whole job, where its figure is of one
    rank; None where it says nothing. `safety_margin` tells whether the program has its margin in the figure already.
    """

    estimator: str
    program: str
    program_version: str | None
    features: Mapping[str, Feature]
    unknown_features: frozenset[str]
    predicted_peak_bytes: int | None
    safety_margin: Margin
    scope: Scope | None
    runtime_seconds: tuple[float, float] | None
    source: Source
    limitations: tuple[str, ...]
    job_peak_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """An estimator: how a program's file is recognised and read, and what a receipt of it may hold.

    `recognise` returns the words in a file's bytes that only this program writes, or None. `read` returns the estimate
    in the bytes of a file of at most `most_bytes`, or raises `BadDataError`. `features` is the shape of its features,
    `scopes` what its figure covers without anybody's word but its own, `margin` its word on a safety margin.
    """

    name: str
    estimator: str
    most_bytes: int
    features: Record
    scopes: tuple[Scope, ...]
    margin: Margin
    recognise: Callable[[bytes], str | None]
    read: Callable[[bytes], ProgramEstimate]
