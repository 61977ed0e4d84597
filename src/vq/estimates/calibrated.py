"""A calibration applied to one new estimate: `vq.calibrated-estimate/1`, made and read back without trust."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vq.errors import BadDataError
from vq.estimates import receipt as receipts
from vq.estimates.calibration import (
    CORRECTION_KEYS,
    FACTOR_KEYS,
    METHOD,
    NEWER_METHOD,
    STATUS,
    TRAINING_SET,
    Calibration,
    Group,
    RuntimeGroup,
    correction_keys,
)
from vq.estimates.cases import identity_of
from vq.estimates.correction import MARGIN, MULTIPLIER, Correction
from vq.estimates.evaluation import calibrated_upper
from vq.estimates.program import Number
from vq.estimates.receipt import Receipt, read_receipt
from vq.shapes import (
    ANY_OBJECT,
    BOOLEAN_OR_NULL,
    HARDWARE_CLASS,
    SHA256,
    Record,
    Shape,
    constant,
    integer,
    number,
    one_of,
)

SCHEMA = "vq.calibrated-estimate/1"
NEWER_SCHEMA = "vq.calibrated-estimate/2"
SCHEMAS = (SCHEMA, NEWER_SCHEMA)
MOST_BYTES = 256 * 1024


_RUNTIME_KEYS = {
    "runtime_status": STATUS,
    "runtime_reason": one_of(("no_interval", "zero_upper_bound", "no_matching_group", "too_few_cases"), null=True),
    "runtime_multiplier": MULTIPLIER,
    "runtime_multiplier_is_lower_bound": BOOLEAN_OR_NULL,
    "calibrated_runtime_upper_seconds": number(null=True),
}


def _shape(schema: str, method: Mapping[str, Shape], correction: Mapping[str, Shape]) -> dict[str, Shape]:
    return {
        "schema_name": constant(schema),
        "estimate": ANY_OBJECT,
        "estimate_sha256": SHA256,
        "calibration": Record({"calibration_id": SHA256, **method, "training_set": TRAINING_SET}),
        "hardware_class": HARDWARE_CLASS,
        "status": STATUS,
        "reason": one_of(("no_memory_figure", "no_matching_group", "too_few_cases"), null=True),
        **correction,
        "calibrated_peak_bytes": integer(1, null=True),
    }


_SHAPES = {
    SCHEMA: Record(_shape(SCHEMA, {"method": METHOD}, FACTOR_KEYS), _RUNTIME_KEYS),
    NEWER_SCHEMA: Record(
        {
            **_shape(NEWER_SCHEMA, {"method": NEWER_METHOD, "margin_percent": MARGIN}, CORRECTION_KEYS),
            **_RUNTIME_KEYS,
        }
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """The memory part or the runtime part: a calibrated figure with what gave it, or the reason for none."""

    reason: str | None
    group: Group | RuntimeGroup | None
    figure: Number | None

    @property
    def status(self) -> str:
        return "calibrated" if self.reason is None else "uncalibrated"


def apply_calibration(document: dict[str, Any], calibration: Calibration, hardware_class: str) -> dict[str, Any]:
    """The calibrated estimate of a receipt document on a class of hardware.

    The raw figure is corrected, never an override. Raises `BadDataError` for an invalid receipt or a figure that
    does not fit.
    """
    receipt = read_receipt(document)
    identity = identity_of(receipt, hardware_class)
    memory = _memory_part(receipt, calibration.groups.get(identity) if identity else None)
    runtime = _runtime_part(receipt, calibration.runtime_groups.get(identity.runtime()) if identity else None)
    return {
        "schema_name": NEWER_SCHEMA if calibration.newer else SCHEMA,
        "estimate": document,
        "estimate_sha256": receipt.sha256,
        "calibration": calibration.document(),
        "hardware_class": hardware_class,
        **_memory_values(memory, newer=calibration.newer),
        **_runtime_values(runtime),
    }


def _memory_values(part: _Part, *, newer: bool) -> dict[str, Any]:
    """The memory part as a document of either version holds it."""
    correction = part.group.correction if isinstance(part.group, Group) else None
    flag = part.group.is_lower_bound if part.group else None
    multiplier = correction.multiplier if correction else None
    kept = (
        {"multiplier": multiplier, "offset_bytes": correction.offset_bytes if correction else None}
        | {"is_lower_bound": flag}
        if newer
        else {"multiplier": multiplier, "multiplier_is_lower_bound": flag}
    )
    return {"status": part.status, "reason": part.reason, **kept, "calibrated_peak_bytes": part.figure}


def _runtime_values(part: _Part) -> dict[str, Any]:
    group = part.group if isinstance(part.group, RuntimeGroup) else None
    multiplier, flag = (group.multiplier, group.is_lower_bound) if group else (None, None)
    values = (part.status, part.reason, multiplier, flag, part.figure)
    return dict(zip(_RUNTIME_KEYS, values, strict=True))


def _memory_part(receipt: Receipt, group: Group | None) -> _Part:
    figure = receipt.predicted_peak_bytes
    if figure is None:
        return _Part(reason="no_memory_figure", group=None, figure=None)
    if group is None or group.correction is None:
        return _without(group)
    return _Part(reason=None, group=group, figure=group.correction.applied(figure))


def _runtime_part(receipt: Receipt, group: RuntimeGroup | None) -> _Part:
    if receipt.interval is None:
        return _Part(reason="no_interval", group=None, figure=None)
    if receipt.interval[1] == 0:
        return _Part(reason="zero_upper_bound", group=None, figure=None)
    if group is None or group.multiplier is None:
        return _without(group)
    return _Part(reason=None, group=group, figure=calibrated_upper(receipt.interval[1], group.multiplier))


def _without(group: Group | RuntimeGroup | None) -> _Part:
    return _Part(reason="no_matching_group" if group is None else "too_few_cases", group=None, figure=None)


def read_calibrated(document: dict[str, Any]) -> Receipt:
    """The receipt inside a parsed calibrated estimate, once the whole is checked; raises `BadDataError`.

    Checked are the receipt and its digest, each status against its reason and nulls, and the arithmetic of both
    parts. In the first version the five runtime keys may all be absent (an older document), never some of them.
    """
    newer = document["schema_name"] == NEWER_SCHEMA
    _SHAPES[document["schema_name"]].check(document)
    receipt = read_receipt(document["estimate"], ("estimate",))
    if document["estimate_sha256"] != receipt.sha256:
        raise BadDataError(
            f"{receipt.sha256}, the digest of the receipt inside",
            path=("estimate_sha256",),
            found=document["estimate_sha256"],
        )
    identified = identity_of(receipt, document["hardware_class"]) is not None
    memory = _memory_part(receipt, _claimed_memory(document, newer=newer))
    _check_part(document, memory, _memory_values(memory, newer=newer), identified=identified)
    present = [key for key in _RUNTIME_KEYS if key in document]
    if present:
        missing = next((key for key in _RUNTIME_KEYS if key not in document), None)
        if missing is not None:
            raise BadDataError("all runtime keys, or none; this one is missing", path=(missing,))
        runtime = _runtime_part(receipt, _claimed_runtime(document))
        _check_part(document, runtime, _runtime_values(runtime), identified=identified)
    return receipt


def _claimed_memory(document: dict[str, Any], *, newer: bool) -> Group | None:
    """The group that the memory part says it was matched with."""
    calibration = document["calibration"]
    margin = calibration.get("margin_percent")
    kept = correction_keys(calibration["method"], margin, newer=newer, path=("calibration",))
    if document["status"] == "calibrated":
        _refuse_null(document, (kept.value, kept.flag))
        correction = Correction(**{kept.value: document[kept.value]}, margin_percent=margin)
        return Group(correction=correction, is_lower_bound=document[kept.flag])
    return Group(correction=None, is_lower_bound=None) if document["reason"] == "too_few_cases" else None


def _claimed_runtime(document: dict[str, Any]) -> RuntimeGroup | None:
    """The group that the runtime part says it was matched with."""
    keys = ("runtime_multiplier", "runtime_multiplier_is_lower_bound")
    if document["runtime_status"] == "calibrated":
        _refuse_null(document, keys)
        return RuntimeGroup(multiplier=document[keys[0]], is_lower_bound=document[keys[1]])
    few = document["runtime_reason"] == "too_few_cases"
    return RuntimeGroup(multiplier=None, is_lower_bound=None) if few else None


def _refuse_null(document: dict[str, Any], keys: tuple[str, ...]) -> None:
    for key in keys:
        if document[key] is None:
            raise BadDataError("a value beside status calibrated", path=(key,))


def _check_part(document: dict[str, Any], part: _Part, values: dict[str, Any], *, identified: bool) -> None:
    for key, expected in values.items():
        found = document[key]
        same = found is expected if found is None or expected is None else found == expected
        if not same:
            raise BadDataError(
                f"{_shown(expected)}, which follows from the rest of this document", path=(key,), found=found
            )
    if not identified and part.reason in (None, "too_few_cases"):
        status = next(iter(values))
        raise BadDataError("no group for an unknown program version or method", path=(status,), found=document[status])


def _shown(value: Any) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def read_estimate(document: dict[str, Any]) -> Receipt:
    """The receipt in a document that is a receipt or a calibrated estimate; raises `BadDataError`."""
    schema = document.get("schema_name")
    if schema in SCHEMAS:
        return read_calibrated(document)
    if schema != receipts.SCHEMA:
        one_of((*SCHEMAS, receipts.SCHEMA)).check(schema, ("schema_name",))
    return read_receipt(document)
