"""The calibration document, `vq.estimate-calibration/1`: read back without trust, and kept off its own training cases.

A calibration holds one factor (never below 1) or one offset (never below 0) for each group of estimates, and the
digests of the cases that it was fitted on. `calibration_id` is the digest of the rest of the document. Fitting is in
`fit`. The second version of the document has an offset or a margin; the first, of a factor alone, stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from vq.canonical import digest
from vq.errors import BadDataError
from vq.estimates.cases import NAME, Corrections, EvaluationSet, Identity, RuntimeIdentity
from vq.estimates.correction import MARGIN, MULTIPLIER, Correction
from vq.estimates.evaluation import Judged
from vq.estimates.evidence import ALGORITHM, ALGORITHM_EXPECTED
from vq.estimates.program import SCOPES, UNSPECIFIED, Number, upper
from vq.estimates.receipt import ESTIMATOR
from vq.shapes import (
    BOOLEAN_OR_NULL,
    HARDWARE_CLASS,
    SHA256,
    SHA256_OR_NULL,
    Kind,
    Listing,
    Path,
    Record,
    Shape,
    constant,
    integer,
    matching,
    one_of,
    text,
)

SCHEMA = "vq.estimate-calibration/1"
NEWER_SCHEMA = "vq.estimate-calibration/2"
PEAK = "worst-observed-over-predicted-peak/1"
JOB_WIDE_PEAK = "worst-observed-over-predicted-job-wide-peak/1"
OFFSET_PEAK = "worst-observed-minus-predicted-peak/1"
OFFSET_JOB_WIDE_PEAK = "worst-observed-minus-predicted-job-wide-peak/1"
OFFSETS = (OFFSET_PEAK, OFFSET_JOB_WIDE_PEAK)
"""The methods that add bytes; the others multiply."""
RUNTIME = "worst-observed-over-predicted-runtime-upper/1"
MOST_BYTES = 64 * 1024 * 1024

MEMORY_UNUSED = ("underpredicted", "not_refuted", "censored", "unobserved", "excluded", "no_prediction")
RUNTIME_UNUSED = ("censored", "unobserved", "excluded", "no_prediction", "zero_upper")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What a calibration says of one memory group; both are None when it had too few cases."""

    correction: Correction | None
    is_lower_bound: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeGroup:
    """What a calibration says of one runtime group; both are None when it had too few cases."""

    multiplier: Number | None
    is_lower_bound: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A calibration document that has been checked."""

    calibration_id: str
    method: str
    margin_percent: Number | None
    training_set_id: str
    training_set_sha256: str
    training_usages: frozenset[str]
    training_estimates_without_usage: frozenset[str]
    groups: Mapping[Identity, Group]
    runtime_groups: Mapping[RuntimeIdentity, RuntimeGroup]

    @property
    def newer(self) -> bool:
        """Whether it has an offset or a margin, which documents of the first version have no keys for."""
        return self.method in OFFSETS or self.margin_percent is not None

    def document(self) -> dict[str, Any]:
        """How reports and calibrated estimates name it."""
        return {
            "calibration_id": self.calibration_id,
            "method": self.method,
            **({"margin_percent": self.margin_percent} if self.newer else {}),
            "training_set": {"set_id": self.training_set_id, "sha256": self.training_set_sha256},
        }

    def corrections(self) -> Corrections:
        """What its calibrated groups do to figures."""
        return Corrections(
            memory={key: group.correction for key, group in self.groups.items() if group.correction is not None},
            runtime={
                key: group.multiplier for key, group in self.runtime_groups.items() if group.multiplier is not None
            },
            newer=self.newer,
        )


_COUNT = integer(0)
STATUS = one_of(("calibrated", "uncalibrated"))
FACTOR_KEYS = {"multiplier": MULTIPLIER, "multiplier_is_lower_bound": BOOLEAN_OR_NULL}
CORRECTION_KEYS = {
    "multiplier": MULTIPLIER,
    "offset_bytes": integer(0, null=True),
    "is_lower_bound": BOOLEAN_OR_NULL,
}
_COUNTS = {"decided": _COUNT, "exact": _COUNT, "lower_bound": _COUNT}
_GROUP_IDENTITY = {
    "estimator": ESTIMATOR,
    "program": text(least=1),
    "program_version": text(least=1),
    "method": Kind("a method in upper case", lambda v: type(v) is str and v != "" and upper(v) == v),
    "algorithm": matching(ALGORITHM, ALGORITHM_EXPECTED, null=True),
}
TRAINING_SET = Record({"set_id": NAME, "sha256": SHA256})
METHOD = one_of((PEAK, JOB_WIDE_PEAK))
NEWER_METHOD = one_of((PEAK, JOB_WIDE_PEAK, *OFFSETS))


def _shape(schema: str, head: Mapping[str, Shape], correction: Mapping[str, Shape]) -> Record:
    """The shape of a calibration document of one version."""
    return Record(
        {
            "schema_name": constant(schema),
            "calibration_id": SHA256,
            **head,
            "min_cases": integer(1),
            "training_set": TRAINING_SET,
            "training_cases": Listing(
                Record({"case_id": NAME, "estimate_sha256": SHA256, "usage_sha256": SHA256_OR_NULL}), least=1
            ),
            "groups": Listing(
                Record(
                    {
                        **_GROUP_IDENTITY,
                        "memory_scope": one_of((*SCOPES, UNSPECIFIED)),
                        "hardware_class": HARDWARE_CLASS,
                        "status": STATUS,
                        **correction,
                        **_COUNTS,
                        "unused": Record(dict.fromkeys(MEMORY_UNUSED, _COUNT)),
                    }
                )
            ),
            "unidentified": _COUNT,
        },
        {"runtime_method": constant(RUNTIME), "runtime_groups": _RUNTIME_GROUPS},
    )


_RUNTIME_GROUPS = Listing(
    Record(
        {
            **_GROUP_IDENTITY,
            "hardware_class": HARDWARE_CLASS,
            "status": STATUS,
            **FACTOR_KEYS,
            **_COUNTS,
            "unused": Record(dict.fromkeys(RUNTIME_UNUSED, _COUNT)),
        }
    )
)
_SHAPES = {
    SCHEMA: _shape(SCHEMA, {"method": METHOD}, FACTOR_KEYS),
    NEWER_SCHEMA: _shape(NEWER_SCHEMA, {"method": NEWER_METHOD, "margin_percent": MARGIN}, CORRECTION_KEYS),
}
_SCHEMA = one_of(_SHAPES)


def read_calibration(document: dict[str, Any]) -> Calibration:
    """The calibration in a parsed document; raises `BadDataError` for one that its own content does not bear out."""
    schema = document.get("schema_name")
    _SCHEMA.check(schema, ("schema_name",))
    _SHAPES[str(schema)].check(document)
    content = {key: value for key, value in document.items() if key != "calibration_id"}
    if (expected := digest(content)) != document["calibration_id"]:
        raise BadDataError(
            f"{expected}, the digest of this document's content; it was changed after it was written",
            path=("calibration_id",),
            found=document["calibration_id"],
        )
    if ("runtime_method" in document) != ("runtime_groups" in document):
        raise BadDataError("runtime_method and runtime_groups together, or neither", path=("runtime_groups",))
    cases = document["training_cases"]
    if len({case["case_id"] for case in cases}) < len(cases):
        raise BadDataError("each case_id once", path=("training_cases",))
    kept = correction_keys(document["method"], document.get("margin_percent"), newer=schema == NEWER_SCHEMA)
    return Calibration(
        calibration_id=document["calibration_id"],
        method=document["method"],
        margin_percent=document.get("margin_percent"),
        training_set_id=document["training_set"]["set_id"],
        training_set_sha256=document["training_set"]["sha256"],
        training_usages=frozenset(case["usage_sha256"] for case in cases if case["usage_sha256"] is not None),
        training_estimates_without_usage=frozenset(
            case["estimate_sha256"] for case in cases if case["usage_sha256"] is None
        ),
        groups={
            Identity(*(item[name] for name in Identity._fields)): Group(
                correction=correction_in(item, document.get("margin_percent")), is_lower_bound=item[kept.flag]
            )
            for item in _checked_groups(document, "groups", Identity._fields, kept)
        },
        runtime_groups={
            RuntimeIdentity(*(item[name] for name in RuntimeIdentity._fields)): RuntimeGroup(
                multiplier=item["multiplier"], is_lower_bound=item["multiplier_is_lower_bound"]
            )
            for item in _checked_groups(document, "runtime_groups", RuntimeIdentity._fields, _FACTOR)
        },
    )


class Kept(NamedTuple):
    """The key that a document keeps a correction under, that of its flag, and the one that is always null, if any."""

    value: str
    flag: str
    null: str | None


_FACTOR = Kept("multiplier", "multiplier_is_lower_bound", None)


def correction_keys(method: str, margin_percent: Number | None, *, newer: bool, path: Path = ()) -> Kept:
    """Where a document of either version keeps corrections; raises `BadDataError` for the newer without need."""
    if not newer:
        return _FACTOR
    if method in OFFSETS:
        return Kept("offset_bytes", "is_lower_bound", "multiplier")
    if margin_percent is None:
        raise BadDataError(
            "a margin beside a factor; a factor alone is a document of the first version",
            path=(*path, "margin_percent"),
        )
    return Kept("multiplier", "is_lower_bound", "offset_bytes")


def correction_in(item: Mapping[str, Any], margin_percent: Number | None) -> Correction | None:
    """The correction in a group or a calibrated estimate of either version; None where it is uncalibrated."""
    multiplier, offset_bytes = item["multiplier"], item.get("offset_bytes")
    if multiplier is None and offset_bytes is None:
        return None
    return Correction(multiplier=multiplier, offset_bytes=offset_bytes, margin_percent=margin_percent)


def _checked_groups(document: dict[str, Any], key: str, identity: tuple[str, ...], kept: Kept) -> list[dict[str, Any]]:
    if key not in document:
        return []
    counted, seen = document["unidentified"], set()
    for index, item in enumerate(document[key]):
        _check_group(item, document["min_cases"], kept, (key, index))
        name = tuple(item[field_name] for field_name in identity)
        if name in seen:
            raise BadDataError("each group once", path=(key, index))
        seen.add(name)
        counted += item["decided"] + sum(item["unused"].values())
    if counted != len(document["training_cases"]):
        raise BadDataError(
            f"groups and unidentified that add up to the {len(document['training_cases'])} training cases, "
            f"found {counted}",
            path=(key,),
        )
    return list(document[key])


def _check_group(item: dict[str, Any], min_cases: int, kept: Kept, path: tuple[str | int, ...]) -> None:
    if item["decided"] != item["exact"] + item["lower_bound"]:
        raise BadDataError("exact + lower_bound", path=(*path, "decided"), found=item["decided"])
    status = "calibrated" if item["decided"] >= min_cases else "uncalibrated"
    if item["status"] != status:
        raise BadDataError(
            f'"{status}" with {item["decided"]} decided cases and min_cases {min_cases}',
            path=(*path, "status"),
            found=item["status"],
        )
    for key in (kept.value, kept.flag):
        if (item[key] is None) != (status == "uncalibrated"):
            raise BadDataError(f"null exactly when uncalibrated, here {status}", path=(*path, key), found=item[key])
    if kept.null is not None and item[kept.null] is not None:
        raise BadDataError("null with this method", path=(*path, kept.null), found=item[kept.null])
    flag = item[kept.flag]
    if flag is not None and not item["lower_bound" if flag else "exact"]:
        kind = "lower-bound" if flag else "exact"
        raise BadDataError(f"no such flag without {kind} evidence", path=(*path, kept.flag), found=flag)


def refuse_training_set(calibration: Calibration, evaluation_set: EvaluationSet) -> None:
    """Nothing, or the `BadDataError` that a calibration is not judged on its own training set."""
    if evaluation_set.sha256 == calibration.training_set_sha256:
        raise BadDataError(
            f"a held-out set; this is {calibration.training_set_id}, the set that the calibration was fitted on"
        )


def refuse_overlap(calibration: Calibration, rows: Iterable[Judged]) -> None:
    """Nothing, or one `BadDataError` that lists every case that is also a training case.

    A case overlaps by its usage receipt. Without one (or with one of a failed collection), it overlaps when a
    training case that had none either has the same estimate receipt.
    """
    shared = []
    for row in rows:
        observation = row.observation
        usage = observation.counted_usage
        if usage is not None and usage in calibration.training_usages:
            shared.append(f"{observation.case.case_id} (same usage receipt)")
        elif usage is None and observation.receipt.sha256 in calibration.training_estimates_without_usage:
            shared.append(f"{observation.case.case_id} (same estimate, both without usage)")
    if shared:
        raise BadDataError(
            "no training case among the held-out cases, so that a calibration is judged on what it never saw; "
            f"{len(shared)} stood in its training set: " + ", ".join(shared)
        )
