"""The receipt of an estimate, `vq.resource-estimate/1`: made from a program's word, read back without trust.

A receipt binds a figure to the digests of the manifest, the evidence and the input files. It is a pure function of
them: no clock, host name, user or absolute path. `read_receipt` recomputes whatever can be recomputed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from sys import intern
from typing import Any

from vq.canonical import digest
from vq.errors import BadDataError
from vq.estimates.evidence import RECORDED, Evidence, refuse_contradiction
from vq.estimates.program import SCOPES, UNSPECIFIED, Feature, Number, ProgramEstimate, Scope, upper
from vq.estimates.programs import BY_ESTIMATOR
from vq.shapes import (
    ANY_OBJECT,
    NULL,
    SHA256,
    Kind,
    Listing,
    Path,
    Record,
    constant,
    integer,
    is_number,
    matching,
    number,
    one_of,
    text,
)

SCHEMA = "vq.resource-estimate/1"
MOST_BYTES = 256 * 1024

MIB = 1024 * 1024

ESTIMATOR = matching(r"[a-z0-9-]{1,48}/[1-9][0-9]{0,8}", "an estimator such as vibe-qc-dry-run/1")
_MOST_FEATURES = 32

_SCOPE_WORDS: dict[str, Scope] = {word: word for word in (*SCOPES, UNSPECIFIED)}

_UNCALIBRATED = "The program's figure is uncalibrated: no confidence and no upper bound is implied."
_NOT_MODELLED = "Runtime, scratch space and CPU layouts are not modelled."
_NO_SCOPE = (
    "What the figure covers (job, node or rank) is not declared, so no limit for the job follows from it; declare "
    "memory_scope in a features file."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """One fingerprinted input: its name (never an absolute path), size and the digest of its raw bytes."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What evaluation and calibration need of a receipt.

    `method` is the known method in upper case (the program's, else the evidence's) or None; `interval` the runtime
    interval in seconds or None; `sha256` the digest of the document.
    """

    sha256: str
    estimator: str
    program: str
    program_version: str | None
    method: str | None
    algorithm: str | None
    scope: Scope
    predicted_peak_bytes: int | None
    interval: tuple[Number, Number] | None


def make_receipt(
    estimate: ProgramEstimate,
    *,
    evidence: Evidence | None = None,
    inputs: Sequence[InputFile] = (),
    memory_mb: int | None = None,
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """The receipt document of an estimate; raises `BadDataError` when the evidence contradicts the program."""
    given = evidence.given if evidence else {}
    refuse_contradiction(given, estimate.features, estimate.unknown_features)
    scope, figure = _covered(estimate, given)
    memory = _memory(estimate, scope, figure, memory_mb)
    lower, upper_bound = estimate.runtime_seconds or (None, None)
    listed = [[file.path, file.bytes, file.sha256] for file in inputs]
    digest_of_inputs = _input_digest(evidence.sha256 if evidence else None, listed, estimate.source.sha256)
    document: dict[str, Any] = {
        "schema_name": SCHEMA,
        "estimator": estimate.estimator,
        "program": estimate.program,
        "program_version": estimate.program_version,
        "features": dict(estimate.features),
        "evidence": evidence.document() if evidence else None,
        "manifest": {"sha256": estimate.source.sha256, "bytes": estimate.source.bytes},
        "inputs": [{"path": file.path, "bytes": file.bytes, "sha256": file.sha256} for file in inputs],
        "input_digest": digest_of_inputs,
        "memory": memory,
        "runtime": {"lower_seconds": lower, "upper_seconds": upper_bound},
        "scratch_bytes": None,
        "cpu_layouts": None,
        "calibration": {"status": "uncalibrated"},
    }
    no_scope = (_NO_SCOPE,) if scope == UNSPECIFIED else ()
    return {
        **document,
        "unknown": _unknown(document, estimate.unknown_features),
        "limitations": [_UNCALIBRATED, _NOT_MODELLED, *estimate.limitations, *no_scope],
        "warnings": list(warnings),
    }


def _covered(estimate: ProgramEstimate, given: Mapping[str, Any]) -> tuple[Scope, int | None]:
    """What the figure covers, and the figure: of the whole job where the evidence asks for that and there is one."""
    own, declared, figure = estimate.scope, given.get("memory_scope"), estimate.predicted_peak_bytes
    if own is None or declared in (None, own):
        return own or declared or UNSPECIFIED, figure
    if declared == "job" and estimate.job_peak_bytes is not None:
        return declared, estimate.job_peak_bytes
    raise BadDataError(f'no contradiction of the program\'s own scope, "{own}"', path=("memory_scope",))


def _memory(estimate: ProgramEstimate, scope: Scope, figure: int | None, memory_mb: int | None) -> dict[str, Any]:
    override = None if memory_mb is None else {"memory_mb": memory_mb, "bytes": memory_mb * MIB}
    return {
        "predicted_peak_bytes": figure,
        "scope": scope,
        "safety_margin": None if figure is None else estimate.safety_margin,
        "raw_bytes": None,
        "margin_factor": None,
        "override": override,
        "effective_job_memory_bytes": _effective(override, figure, scope),
    }


def _effective(override: dict[str, int] | None, figure: int | None, scope: str) -> int | None:
    if override is not None:
        return override["bytes"]
    return figure if scope == "job" else None


def _unknown(document: dict[str, Any], unknown_features: frozenset[str]) -> list[str]:
    """What a receipt leaves open, in the order of its keys."""
    memory = document["memory"]
    names = [] if document["program_version"] is not None else ["program_version"]
    names += [f"features.{name}" for name in document["features"] if name in unknown_features]
    if "nbf" not in (document["evidence"] or {}):
        names.append("nbf")
    unspecified = {**memory, "scope": None if memory["scope"] == UNSPECIFIED else memory["scope"]}
    for name in ("predicted_peak_bytes", "scope", "raw_bytes", "margin_factor", "effective_job_memory_bytes"):
        if unspecified[name] is None:
            names.append(f"memory.{name}")
    if document["runtime"]["upper_seconds"] is None:
        names.append("runtime")
    return [*names, "scratch_bytes", "cpu_layouts"]


def _input_digest(evidence: str | None, inputs: list[list[Any]], manifest: str) -> str:
    """The digest of all that an estimate rests on; each input as path, bytes and sha256."""
    return digest({"evidence": evidence, "inputs": inputs, "manifest": manifest})


_FEATURE_NAME = matching(r"[a-z0-9_]{1,48}", "a feature name of 1 to 48 of a-z 0-9 _")
_FEATURE = Kind(
    "a string, number, true, false or null",
    lambda v: v is None or type(v) in (str, bool) or is_number(v) or (type(v) in (int, float) and is_number(-v)),
)
_METHOD = text(null=True, least=1)
_BYTES = integer(1)
_BYTES_OR_NULL = integer(1, null=True)

_SHAPE = Record(
    {
        "schema_name": constant(SCHEMA),
        "estimator": ESTIMATOR,
        "program": text(least=1),
        "program_version": text(null=True, least=1),
        "features": ANY_OBJECT,
        "evidence": RECORDED,
        "manifest": Record({"sha256": SHA256, "bytes": _BYTES}),
        "inputs": Listing(
            Record(
                {
                    "path": Kind("a relative path", lambda v: type(v) is str and v != "" and not v.startswith("/")),
                    "bytes": integer(0),
                    "sha256": SHA256,
                }
            )
        ),
        "input_digest": SHA256,
        "memory": Record(
            {
                "predicted_peak_bytes": _BYTES_OR_NULL,
                "scope": one_of((*SCOPES, UNSPECIFIED)),
                "safety_margin": one_of(("included", "none"), null=True),
                "raw_bytes": NULL,
                "margin_factor": NULL,
                "override": Record({"memory_mb": integer(1), "bytes": _BYTES}, nullable=True),
                "effective_job_memory_bytes": _BYTES_OR_NULL,
            }
        ),
        "runtime": Record({"lower_seconds": number(null=True), "upper_seconds": number(null=True)}),
        "scratch_bytes": NULL,
        "cpu_layouts": NULL,
        "calibration": Record({"status": constant("uncalibrated")}),
        "unknown": Listing(text()),
        "limitations": Listing(text()),
        "warnings": Listing(text()),
    }
)


def read_receipt(document: dict[str, Any], path: Path = ()) -> Receipt:
    """The receipt in a parsed document at `path`; raises `BadDataError` for anything that the format does not allow.

    Beyond keys and kinds it refuses what does not follow: override arithmetic, effective memory, a scope that the
    evidence contradicts, a margin without a figure, a runtime interval with one bound or bounds out of order, and a
    wrong `input_digest`.
    """
    _SHAPE.check(document, path)
    features, evidence = document["features"], document["evidence"] or {}
    _check_features(document, (*path, "features"))
    _check_memory(document, path)
    interval = _interval(document["runtime"], (*path, "runtime"))
    inputs = [[file["path"], file["bytes"], file["sha256"]] for file in document["inputs"]]
    expected = _input_digest(evidence.get("sha256"), inputs, document["manifest"]["sha256"])
    if document["input_digest"] != expected:
        raise BadDataError(
            f"{expected}, the digest of this receipt's manifest, evidence and inputs",
            path=(*path, "input_digest"),
            found=document["input_digest"],
        )
    method = features["method"] or evidence.get("method")
    return Receipt(
        sha256=digest(document),
        estimator=intern(document["estimator"]),
        program=intern(document["program"]),
        program_version=_intern(document["program_version"]),
        method=None if method is None else intern(upper(method)),
        algorithm=_intern(evidence.get("algorithm")),
        scope=_SCOPE_WORDS[document["memory"]["scope"]],
        predicted_peak_bytes=document["memory"]["predicted_peak_bytes"],
        interval=interval,
    )


def _intern(word: str | None) -> str | None:
    """The one copy of a word that a hundred thousand receipts repeat."""
    return None if word is None else intern(word)


def _check_features(document: dict[str, Any], path: Path) -> None:
    features: dict[str, Feature] = document["features"]
    known = BY_ESTIMATOR.get(document["estimator"])
    if known is not None:
        known.features.check(features, path)
    elif not 1 <= len(features) <= _MOST_FEATURES or "method" not in features:
        raise BadDataError(f"at most {_MOST_FEATURES} features, among them method", path=path)
    else:
        for name, value in features.items():
            _FEATURE_NAME.check(name, path)
            (_METHOD if name == "method" else _FEATURE).check(value, (*path, name))
    if document["evidence"]:
        unknown = frozenset(name for name, value in features.items() if value is None)
        refuse_contradiction(document["evidence"], features, unknown, (*path[:-1], "evidence"))


def _check_memory(document: dict[str, Any], path: Path) -> None:
    memory, evidence = document["memory"], document["evidence"] or {}
    path = (*path, "memory")
    figure, scope, override = memory["predicted_peak_bytes"], memory["scope"], memory["override"]
    known = BY_ESTIMATOR.get(document["estimator"])
    declared = evidence.get("memory_scope")
    possible = (declared,) if declared is not None else (scope,) if known is None else known.scopes
    if scope not in possible:
        expected = " or ".join(f'"{word}"' for word in possible)
        why = "the scope that the evidence declares" if declared is not None else "since the evidence declares none"
        raise BadDataError(f"{expected}, {why}", path=(*path, "scope"), found=scope)
    margins = (None,) if figure is None else ("included", "none") if known is None else (known.margin,)
    if memory["safety_margin"] not in margins:
        expected = "null without a figure" if figure is None else " or ".join(f'"{margin}"' for margin in margins)
        raise BadDataError(expected, path=(*path, "safety_margin"), found=memory["safety_margin"])
    if override is not None and override["bytes"] != override["memory_mb"] * MIB:
        raise BadDataError(
            f"{override['memory_mb'] * MIB}, the override in bytes",
            path=(*path, "override", "bytes"),
            found=override["bytes"],
        )
    effective = _effective(override, figure, scope)
    if memory["effective_job_memory_bytes"] != effective:
        raise BadDataError(
            f"{effective if effective is not None else 'null'}, which follows from figure, scope and override",
            path=(*path, "effective_job_memory_bytes"),
            found=memory["effective_job_memory_bytes"],
        )


def _interval(runtime: dict[str, Any], path: Path) -> tuple[Number, Number] | None:
    lower, upper_bound = runtime["lower_seconds"], runtime["upper_seconds"]
    if lower is None and upper_bound is None:
        return None
    if lower is None or upper_bound is None:
        raise BadDataError(
            "both bounds, or neither", path=(*path, "lower_seconds" if lower is None else "upper_seconds")
        )
    if lower > upper_bound:
        raise BadDataError(
            f"lower_seconds of at most upper_seconds ({upper_bound})",
            path=(*path, "lower_seconds"),
            found=lower,
        )
    return lower, upper_bound
