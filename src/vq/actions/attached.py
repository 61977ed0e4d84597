"""An estimate attached to a job: read without trust, bound to the payload, and the limits that follow from it.

What is kept is the bare receipt, and beside it the calibrated document without the receipt inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vq.canonical import digest, parse
from vq.errors import UsageError, placed
from vq.estimates.calibrated import MOST_BYTES, SCHEMAS, read_estimate
from vq.estimates.exact import decimal
from vq.estimates.kinds import ESTIMATE, meant_as
from vq.estimates.receipt import MIB, InputFile
from vq.files.documents import read_file

_MINUTE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """An estimate: where it came from, the bare receipt, and the calibrated document without it, or None."""

    where: str
    receipt: dict[str, Any]
    calibration: Mapping[str, Any] | None
    receipt_sha256: str
    calibration_sha256: str | None

    @property
    def inputs(self) -> tuple[InputFile, ...]:
        """The files that it was made for."""
        return tuple(InputFile(**file) for file in self.receipt["inputs"])

    def mem_mb(self) -> int:
        """The memory limit in MiB that the calibrated figure gives; raises `UsageError` where there is none."""
        calibration = self._calibration("--mem-from-estimate")
        if calibration["status"] != "calibrated":
            raise self._refusal(f"its memory is not calibrated: {calibration['reason']}", "--mem-mb")
        scope = self.receipt["memory"]["scope"]
        if scope != "job":
            raise self._refusal(f"its figure is of scope {scope}, and a limit is of the job", "--mem-mb")
        return -(-int(calibration["calibrated_peak_bytes"]) // MIB)

    def wall_time_seconds(self) -> int:
        """The time limit that the calibrated runtime gives, whole minutes; raises `UsageError` where there is none."""
        calibration = self._calibration("--time-from-estimate")
        if calibration.get("runtime_status") != "calibrated":
            reason = calibration.get("runtime_reason", "it has no runtime part")
            raise self._refusal(f"its runtime is not calibrated: {reason}", "--time-limit")
        upper = decimal(calibration["calibrated_runtime_upper_seconds"])
        return _MINUTE * -int(-upper // _MINUTE)

    def _calibration(self, flag: str) -> Mapping[str, Any]:
        if self.calibration is None:
            raise UsageError(
                f"{flag} needs a calibrated estimate, and this is a bare receipt",
                where=self.where,
                hint="make one with vq estimate … --calibration FILE --hardware-class LABEL --json",
            )
        return self.calibration

    def _refusal(self, why: str, flag: str) -> UsageError:
        return UsageError(f"no limit follows from this estimate; {why}", where=self.where, hint=f"give {flag} instead")


def read_attached(path: str) -> Attached:
    """The estimate in a file; raises `VqError` for what is no estimate, or one that contradicts itself."""
    with placed(path):
        document = parse(read_file(path, MOST_BYTES))
        with meant_as(ESTIMATE, document):
            receipt_sha256 = read_estimate(document).sha256
    if document["schema_name"] not in SCHEMAS:
        return Attached(
            where=path, receipt=document, calibration=None, receipt_sha256=receipt_sha256, calibration_sha256=None
        )
    calibration = {key: value for key, value in document.items() if key != "estimate"}
    return Attached(
        where=path,
        receipt=document["estimate"],
        calibration=calibration,
        receipt_sha256=receipt_sha256,
        calibration_sha256=digest(calibration),
    )
