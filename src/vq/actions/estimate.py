"""Make the receipt of an estimate, apply a calibration to it, name a document. Files in, values out.

These functions start no process, open no socket and read neither the queue's state nor its daemon.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from vq.canonical import digest, parse, pretty
from vq.errors import BadDataError, placed
from vq.estimates import evidence as evidences
from vq.estimates.evidence import read_evidence
from vq.estimates.kinds import CALIBRATION, kind_of, meant_as
from vq.estimates.program import Program, ProgramEstimate
from vq.estimates.programs import PROGRAMS, recognised
from vq.estimates.receipt import MOST_BYTES, make_receipt
from vq.files.documents import MIB, read_file
from vq.files.inputs import fingerprint

_MOST_BYTES = 64 * MIB

DEFAULT = next(iter(PROGRAMS))
AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What `vq estimate` was asked: paths as given; `own_output` are readings of this command's output files.

    `program` names the program that wrote the file, or is `AUTO`; then `saw` hears by which words it was recognised.
    """

    manifest: str
    program: str = DEFAULT
    saw: Callable[[str], None] | None = None
    inputs: Sequence[str] = ()
    features: str | None = None
    memory_mb: int | None = None
    own_output: tuple[os.stat_result, ...] = ()


def estimate(request: Request) -> dict[str, Any]:
    """The receipt document of a program's file, its evidence and its inputs; raises `VqError`."""
    with placed(request.manifest):
        program = _estimate_of(request)
    evidence = None
    if request.features is not None:
        with placed(request.features):
            evidence = read_evidence(read_file(request.features, evidences.MOST_BYTES))
    found = fingerprint(request.inputs, request.own_output)
    with placed(request.features or request.manifest):
        document = make_receipt(
            program,
            evidence=evidence,
            inputs=found.files,
            memory_mb=request.memory_mb,
            warnings=found.warnings,
        )
        refuse_large(document)
        return document


def _estimate_of(request: Request) -> ProgramEstimate:
    if request.program != AUTO:
        program = PROGRAMS[request.program]
        data = read_file(request.manifest, program.most_bytes)
        try:
            return program.read(data)
        except BadDataError as error:
            error.hint = _taken_for_another(data, program) or error.hint
            raise
    data = read_file(request.manifest, max(program.most_bytes for program in PROGRAMS.values()))
    program = _recognised(data, request)
    if len(data) > program.most_bytes:
        raise BadDataError(f"a file of {program.name} of at most {program.most_bytes} bytes, found {len(data)}")
    return program.read(data)


def _taken_for_another(data: bytes, program: Program) -> str | None:
    """What to say of a file that `program` does not take, and that no word in it says is one of its own."""
    found = recognised(data)
    if any(other is program for other, _ in found):
        return None
    if found:
        other, words = found[0]
        return f'it looks like {other.name} ("{words}"): --program {other.name}'
    with suppress(BadDataError):
        kind = kind_of(parse(data))
        if kind is not None:
            return f"this is {kind.name}; expected is what a program printed or wrote beforehand"
    others = "|".join([AUTO, *(name for name in PROGRAMS if name != program.name)])
    return f"it was read as a file of {program.name}; of another program: --program {others}"


def _recognised(data: bytes, request: Request) -> Program:
    """The one program that a file is of; says by which words."""
    found = recognised(data)
    if len(found) != 1:
        names = ", ".join(program.name for program, _ in found) or "none"
        error = BadDataError(f"a file of one of {', '.join(PROGRAMS)}; by its words it is of {names}")
        error.hint = "name the program that wrote it with --program"
        raise error
    program, words = found[0]
    if request.saw is not None:
        request.saw(f'{request.manifest}: {program.name}, by "{words}"')
    return program


def apply(document: dict[str, Any], calibration: str, hardware_class: str) -> dict[str, Any]:
    """The calibrated estimate of a receipt document by the calibration in a file; raises `VqError`."""
    from vq.estimates.calibrated import apply_calibration  # noqa: PLC0415 - only a few estimates are calibrated
    from vq.estimates.calibration import read_calibration  # noqa: PLC0415

    with placed(calibration):
        fitted_document = parse(read_file(calibration, _MOST_BYTES))
        with meant_as(CALIBRATION, fitted_document):
            fitted = read_calibration(fitted_document)
        calibrated = apply_calibration(document, fitted, hardware_class)
        refuse_large(calibrated)
        return calibrated


def refuse_large(document: dict[str, Any]) -> None:
    """Nothing, or the `BadDataError` that no reader would accept a document of this size."""
    size = len(pretty(document))
    if size > MOST_BYTES:
        raise BadDataError(f"a receipt of at most {MOST_BYTES} bytes, found {size}; name fewer or shorter inputs")


def document_digest(path: str) -> str:
    """The digest of the JSON document in a file, as receipts name it; raises `VqError`."""
    with placed(path):
        return digest(parse(read_file(path, _MOST_BYTES)))
