"""A calibration applied to one new estimate: `vq.calibrated-estimate/1`, made and read back without trust."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vq.errors import BadDataError
from vq.estimates import receipt as receipts
from vq.estimates.calibration import METHOD, MULTIPLIER, STATUS, TRAINING_SET, Calibration, Group
from vq.estimates.cases import identity_of
from vq.estimates.evaluation import calibrated_peak, calibrated_upper
from vq.estimates.program import Number
from vq.estimates.receipt import Receipt, read_receipt
from vq.shapes import (
    ANY_OBJECT,
    BOOLEAN_OR_NULL,
    HARDWARE_CLASS,
    SHA256,
    Record,
    constant,
    integer,
    number,
    one_of,
)

SCHEMA = "vq.calibrated-estimate/1"
MOST_BYTES = 256 * 1024


_RUNTIME_KEYS = {
    "runtime_status": STATUS,
    "runtime_reason": one_of(("no_interval", "zero_upper_bound", "no_matching_group", "too_few_cases"), null=True),
    "runtime_multiplier": MULTIPLIER,
    "runtime_multiplier_is_lower_bound": BOOLEAN_OR_NULL,
    "calibrated_runtime_upper_seconds": number(null=True),
}
_SHAPE = Record(
    {
        "schema_name": constant(SCHEMA),
        "estimate": ANY_OBJECT,
        "estimate_sha256": SHA256,
        "calibration": Record({"calibration_id": SHA256, "method": METHOD, "training_set": TRAINING_SET}),
        "hardware_class": HARDWARE_CLASS,
        "status": STATUS,
        "reason": one_of(("no_memory_figure", "no_matching_group", "too_few_cases"), null=True),
        "multiplier": MULTIPLIER,
        "multiplier_is_lower_bound": BOOLEAN_OR_NULL,
        "calibrated_peak_bytes": integer(1, null=True),
    },
    _RUNTIME_KEYS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """The memory part or the runtime part: a calibrated figure with its group, or the reason for none."""

    reason: str | None
    group: Group | None
    figure: Number | None

    def values(self) -> tuple[Any, ...]:
        """Status, reason, multiplier, its flag and the figure, in document order."""
        multiplier, flag = (self.group.multiplier, self.group.is_lower_bound) if self.group else (None, None)
        return (
            "calibrated" if self.reason is None else "uncalibrated",
            self.reason,
            multiplier,
            flag,
            self.figure,
        )


def apply_calibration(document: dict[str, Any], calibration: Calibration, hardware_class: str) -> dict[str, Any]:
    """The calibrated estimate of a receipt document on a class of hardware.

    The raw figure is multiplied, never an override. Raises `BadDataError` for an invalid receipt or a figure that
    does not fit.
    """
    receipt = read_receipt(document)
    identity = identity_of(receipt, hardware_class)
    memory = _memory_part(receipt, calibration.groups.get(identity) if identity else None)
    runtime = _runtime_part(receipt, calibration.runtime_groups.get(identity.runtime()) if identity else None)
    return {
        "schema_name": SCHEMA,
        "estimate": document,
        "estimate_sha256": receipt.sha256,
        "calibration": calibration.document(),
        "hardware_class": hardware_class,
        **dict(zip(_MEMORY_KEYS, memory.values(), strict=True)),
        **dict(zip(_RUNTIME_KEYS, runtime.values(), strict=True)),
    }


_MEMORY_KEYS = ("status", "reason", "multiplier", "multiplier_is_lower_bound", "calibrated_peak_bytes")


def _memory_part(receipt: Receipt, group: Group | None) -> _Part:
    figure = receipt.predicted_peak_bytes
    if figure is None:
        return _Part(reason="no_memory_figure", group=None, figure=None)
    if group is None or group.multiplier is None:
        return _without(group)
    return _Part(reason=None, group=group, figure=calibrated_peak(figure, group.multiplier))


def _runtime_part(receipt: Receipt, group: Group | None) -> _Part:
    if receipt.interval is None:
        return _Part(reason="no_interval", group=None, figure=None)
    if receipt.interval[1] == 0:
        return _Part(reason="zero_upper_bound", group=None, figure=None)
    if group is None or group.multiplier is None:
        return _without(group)
    return _Part(reason=None, group=group, figure=calibrated_upper(receipt.interval[1], group.multiplier))


def _without(group: Group | None) -> _Part:
    return _Part(reason="no_matching_group" if group is None else "too_few_cases", group=None, figure=None)


def read_calibrated(document: dict[str, Any]) -> Receipt:
    """The receipt inside a parsed calibrated estimate, once the whole is checked; raises `BadDataError`.

    Checked are the receipt and its digest, each status against its reason and nulls, and the arithmetic of both
    parts. The five runtime keys may all be absent (an older document), never some of them.
    """
    _SHAPE.check(document)
    receipt = read_receipt(document["estimate"], ("estimate",))
    if document["estimate_sha256"] != receipt.sha256:
        raise BadDataError(
            f"{receipt.sha256}, the digest of the receipt inside",
            path=("estimate_sha256",),
            found=document["estimate_sha256"],
        )
    identified = identity_of(receipt, document["hardware_class"]) is not None
    _check_part(document, _MEMORY_KEYS, _memory_part(receipt, _claimed(document, _MEMORY_KEYS)), identified=identified)
    present = [key for key in _RUNTIME_KEYS if key in document]
    if present:
        missing = next((key for key in _RUNTIME_KEYS if key not in document), None)
        if missing is not None:
            raise BadDataError("all runtime keys, or none; this one is missing", path=(missing,))
        keys = tuple(_RUNTIME_KEYS)
        _check_part(document, keys, _runtime_part(receipt, _claimed(document, keys)), identified=identified)
    return receipt


def _claimed(document: dict[str, Any], keys: tuple[str, ...]) -> Group | None:
    """The group that a part says it was matched with."""
    status, reason, multiplier, flag, _ = (document[key] for key in keys)
    if status == "calibrated":
        for key, value in ((keys[2], multiplier), (keys[3], flag)):
            if value is None:
                raise BadDataError("a value beside status calibrated", path=(key,))
        return Group(multiplier=multiplier, is_lower_bound=flag)
    return Group(multiplier=None, is_lower_bound=None) if reason == "too_few_cases" else None


def _check_part(document: dict[str, Any], keys: tuple[str, ...], part: _Part, *, identified: bool) -> None:
    for key, expected in zip(keys, part.values(), strict=True):
        found = document[key]
        same = found is expected if found is None or expected is None else found == expected
        if not same:
            raise BadDataError(
                f"{_shown(expected)}, which follows from receipt and multiplier", path=(key,), found=found
            )
    if not identified and part.reason in (None, "too_few_cases"):
        raise BadDataError(
            "no group for an unknown program version or method", path=(keys[0],), found=document[keys[0]]
        )


def _shown(value: Any) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def read_estimate(document: dict[str, Any]) -> Receipt:
    """The receipt in a document that is a receipt or a calibrated estimate; raises `BadDataError`."""
    schema = document.get("schema_name")
    if schema == SCHEMA:
        return read_calibrated(document)
    if schema != receipts.SCHEMA:
        one_of((SCHEMA, receipts.SCHEMA)).check(schema, ("schema_name",))
    return read_receipt(document)
