"""Make the receipt of an estimate, apply a calibration to it, name a document. Files in, values out.

These functions start no process, open no socket and read neither the queue's state nor its daemon.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vq.canonical import digest, parse, pretty
from vq.errors import BadDataError, placed
from vq.estimates import evidence as evidences
from vq.estimates import manifest as manifests
from vq.estimates.evidence import read_evidence
from vq.estimates.manifest import read_manifest
from vq.estimates.receipt import MOST_BYTES, make_receipt
from vq.files.documents import MIB, read_file
from vq.files.inputs import fingerprint

_MOST_BYTES = 64 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What `vq estimate` was asked: paths as given; `own_output` are readings of this command's output files."""

    manifest: str
    inputs: Sequence[str] = ()
    features: str | None = None
    memory_mb: int | None = None
    own_output: tuple[os.stat_result, ...] = ()


def estimate(request: Request) -> dict[str, Any]:
    """The receipt document of a manifest, its evidence and its inputs; raises `VqError`."""
    with placed(request.manifest):
        program = read_manifest(read_file(request.manifest, manifests.MOST_BYTES))
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


def apply(document: dict[str, Any], calibration: str, hardware_class: str) -> dict[str, Any]:
    """The calibrated estimate of a receipt document by the calibration in a file; raises `VqError`."""
    from vq.estimates.calibrated import apply_calibration  # noqa: PLC0415 - only a few estimates are calibrated
    from vq.estimates.calibration import read_calibration  # noqa: PLC0415

    with placed(calibration):
        fitted = read_calibration(parse(read_file(calibration, _MOST_BYTES)))
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
