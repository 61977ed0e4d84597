"""Valid documents of each kind, small and explicit, to be changed by the test that uses them."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vq.canonical import digest

Document = dict[str, Any]

MIB = 2**20
SHA = "0123456789abcdef" * 4


def changed(document: Document, **changes: Any) -> Document:
    """A deep copy of `document` with some of its top-level keys set anew; `...` removes a key."""
    result = copy.deepcopy(document)
    for key, value in changes.items():
        if value is ...:
            result.pop(key, None)
        else:
            result[key] = value
    return result


def at(document: Any, path: Sequence[str | int]) -> Any:
    """What stands in `document` at `path`."""
    for step in path:
        document = document[step]
    return document


def evidence(**changes: Any) -> Document:
    """A features file with every key."""
    document: Document = {
        "schema_version": 1,
        "method": "rks",
        "basis": "6-31G*",
        "task_type": "molecular_scf",
        "nbf": 240,
        "basis_representation": "spherical",
        "algorithm": "direct",
        "mpi_ranks": 1,
        "threads_per_rank": 8,
        "memory_scope": "job",
    }
    return changed(document, **changes)


MANIFEST = """\
[vibeqc]
version = "0.17.4"

[cpu]
omp_threads_used = 8

[memory]
estimate_bytes = 1000000

[plan]
job_kind = "molecular_scf"
method = "RKS"
basis = "6-31g*"
functional = "PBE"
options_digest = "a16886e5fb38"

[outputs]
status = "dry_run"
"""


def receipt(
    *,
    figure: int | None = 1_000_000,
    scope: str = "job",
    interval: tuple[float, float] | None = (1.5, 12.5),
    method: str | None = "RKS",
    version: str | None = "0.17.4",
    **changes: Any,
) -> Document:
    """A receipt of `vibe-qc-dry-run/1`; `scope` stands in its evidence. Sealed after the changes."""
    recorded: Document | None = {"sha256": SHA, "schema_version": 1, "algorithm": "direct"}
    if scope != "unspecified" and recorded is not None:
        recorded["memory_scope"] = scope
    lower, upper = interval or (None, None)
    document: Document = {
        "schema_name": "vq.resource-estimate/1",
        "estimator": "vibe-qc-dry-run/1",
        "program": "vibe-qc",
        "program_version": version,
        "features": {
            "method": method,
            "basis": "6-31g*",
            "functional": "PBE",
            "task_type": "molecular_scf",
            "options_digest": "a16886e5fb38",
            "threads": 8,
        },
        "evidence": recorded,
        "manifest": {"sha256": SHA, "bytes": 3821},
        "inputs": [{"path": "calc/a.py", "bytes": 0, "sha256": SHA}],
        "input_digest": SHA,
        "memory": {
            "predicted_peak_bytes": figure,
            "scope": scope,
            "safety_margin": None if figure is None else "included",
            "raw_bytes": None,
            "margin_factor": None,
            "override": None,
            "effective_job_memory_bytes": figure if scope == "job" else None,
        },
        "runtime": {"lower_seconds": lower, "upper_seconds": upper},
        "scratch_bytes": None,
        "cpu_layouts": None,
        "calibration": {"status": "uncalibrated"},
        "unknown": ["nbf"],
        "limitations": ["One sentence."],
        "warnings": [],
    }
    return sealed_receipt(changed(document, **changes))


def sealed_receipt(document: Document) -> Document:
    """The same receipt with the `input_digest` that follows from its other keys."""
    document["input_digest"] = digest(
        {
            "evidence": document["evidence"] and document["evidence"]["sha256"],
            "inputs": [[item["path"], item["bytes"], item["sha256"]] for item in document["inputs"]],
            "manifest": document["manifest"]["sha256"],
        }
    )
    return document


def other_receipt(**changes: Any) -> Document:
    """A receipt of an estimator that vq does not know, with features of its own and a margin of none."""
    features = {"method": "GGA", "cutoff_ev": 400.5, "bands": 96, "hybrid": False, "label": "x", "grid": None}
    document = receipt(scope="rank", estimator="other-program/12", program="other", features=features)
    document["memory"]["safety_margin"] = "none"
    return sealed_receipt(changed(document, **changes))


def direct(**changes: Any) -> Document:
    """A direct usage receipt of a single-process run, with each of our own keys."""
    document: Document = {
        "schema": "vq.direct-resource-usage.v1",
        "status": "ok",
        "collector": "posix-wait4",
        "scope": "effective-command",
        "command_status": "succeeded",
        "command_exit_code": 0,
        "wall_seconds": 10.5,
        "user_cpu_seconds": 9.25,
        "system_cpu_seconds": 1.0,
        "active_cpu_seconds": 10.25,
        "peak_rss_kb": 500,
        "peak_rss_mb": 0.48828125,
        "process_count": 1,
        "metric_sources": {"peak_rss_kb": "ru_maxrss", "wall_seconds": None},
        "aggregation_semantics": {"peak_rss_kb": "largest process"},
        "job_peak_bytes": 600_000,
        "job_peak_source": "cgroup-v2",
        "cgroup_peak_bytes": 700_000,
        "limit_bytes": 2_000_000,
        "limit_fired": "job",
        "oom_kills": 0,
        "limit_hits": 3,
        "average_cpu_millicores": 976.2,
        "paused_seconds": 0.5,
        "samples": 12,
    }
    return changed(document, **changes)


OURS = (
    "job_peak_bytes",
    "job_peak_source",
    "cgroup_peak_bytes",
    "limit_bytes",
    "limit_fired",
    "oom_kills",
    "limit_hits",
    "average_cpu_millicores",
    "paused_seconds",
    "samples",
)
"""Our own keys of a direct receipt: any subset may be there."""

MEASUREMENTS = (
    "wall_seconds",
    "user_cpu_seconds",
    "system_cpu_seconds",
    "active_cpu_seconds",
    "peak_rss_kb",
    "peak_rss_mb",
)


def plain_direct(**changes: Any) -> Document:
    """A direct usage receipt as others in the field write it, without our keys."""
    return changed(changed(direct(), **dict.fromkeys(OURS, ...)), **changes)


def scheduler(**changes: Any) -> Document:
    """A scheduler usage receipt."""
    document = plain_direct(process_count=..., metric_sources=..., aggregation_semantics=...)
    document |= {"schema": "vq.scheduler-resource-usage.v1", "collector": "gnu-time"}
    return changed(document, **changes)


def failed_collection(document: Document, error: Any = "no_receipt", **changes: Any) -> Document:
    """The `error` receipt in the format of `document`."""
    nulls = dict.fromkeys(MEASUREMENTS)
    lost = {"status": "error", "command_status": "not_run", "command_exit_code": None, "error": error, **nulls}
    return changed(changed(document, **lost), **changes)


def case(case_id: str = "c0", **changes: Any) -> Document:
    """A case of a set."""
    document: Document = {
        "case_id": case_id,
        "estimate": f"{case_id}.estimate.json",
        "usage": f"{case_id}.usage.json",
        "outcome": "completed",
        "hardware_class": "class-a",
    }
    return changed(document, **changes)


def limited_case(case_id: str = "c0") -> Document:
    """A case with every key."""
    return case(case_id, memory_limit_bytes=2_000_000, memory_limit_scope="node", wall_limit_seconds=99.5)


def evaluation_set(cases: Sequence[Document], set_id: str = "held-out") -> Document:
    """A set document."""
    return {"schema_name": "vq.estimate-evaluation-set/1", "set_id": set_id, "cases": list(cases)}


def group(**changes: Any) -> Document:
    """A calibrated memory group of a calibration of one exact case."""
    document: Document = {
        "estimator": "vibe-qc-dry-run/1",
        "program": "vibe-qc",
        "program_version": "0.17.4",
        "method": "RKS",
        "algorithm": "direct",
        "memory_scope": "job",
        "hardware_class": "class-a",
        "status": "calibrated",
        "multiplier": 1.25,
        "multiplier_is_lower_bound": False,
        "decided": 1,
        "exact": 1,
        "lower_bound": 0,
        "unused": {
            "underpredicted": 0,
            "not_refuted": 0,
            "censored": 0,
            "unobserved": 0,
            "excluded": 0,
            "no_prediction": 0,
        },
    }
    return changed(document, **changes)


def runtime_group(**changes: Any) -> Document:
    """A calibrated runtime group of a calibration of one case, a lower bound."""
    unused = {"censored": 0, "unobserved": 0, "excluded": 0, "no_prediction": 0, "zero_upper": 0}
    document = group(memory_scope=..., multiplier=1.5, multiplier_is_lower_bound=True, exact=0, lower_bound=1)
    document["unused"] = unused
    return changed(document, **changes)


def calibration(**changes: Any) -> Document:
    """A calibration of one case and one group in each list; its id is computed after the changes."""
    document: Document = {
        "schema_name": "vq.estimate-calibration/1",
        "calibration_id": SHA,
        "method": "worst-observed-over-predicted-peak/1",
        "min_cases": 1,
        "training_set": {"set_id": "training", "sha256": SHA},
        "training_cases": [{"case_id": "t0", "estimate_sha256": SHA, "usage_sha256": SHA}],
        "groups": [group()],
        "runtime_method": "worst-observed-over-predicted-runtime-upper/1",
        "runtime_groups": [runtime_group()],
        "unidentified": 0,
    }
    return sealed_calibration(changed(document, **changes))


def sealed_calibration(document: Document) -> Document:
    """The same calibration with the id that follows from its other keys."""
    content = {key: value for key, value in document.items() if key != "calibration_id"}
    document["calibration_id"] = digest(content)
    return document


def calibrated(**changes: Any) -> Document:
    """A calibrated estimate, both parts calibrated."""
    inner = receipt()
    document: Document = {
        "schema_name": "vq.calibrated-estimate/1",
        "estimate": inner,
        "estimate_sha256": digest(inner),
        "calibration": {
            "calibration_id": SHA,
            "method": "worst-observed-over-predicted-peak/1",
            "training_set": {"set_id": "training", "sha256": SHA},
        },
        "hardware_class": "class-a",
        "status": "calibrated",
        "reason": None,
        "multiplier": 1.25,
        "multiplier_is_lower_bound": False,
        "calibrated_peak_bytes": 1_250_000,
        "runtime_status": "calibrated",
        "runtime_reason": None,
        "runtime_multiplier": 1.5,
        "runtime_multiplier_is_lower_bound": True,
        "calibrated_runtime_upper_seconds": 18.75,
    }
    return changed(document, **changes)


def write_json(path: Path, document: Any) -> Path:
    """`document` written to `path`, whose folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def write_set(
    folder: Path, rows: Sequence[tuple[Document, Document, Document | None]], set_id: str = "held-out"
) -> Path:
    """The set file of `rows` (case, estimate, usage), written to `folder` with its receipts."""
    for item, estimate, usage in rows:
        write_json(folder / item["estimate"], estimate)
        if item["usage"] is not None:
            write_json(folder / item["usage"], usage)
    return write_json(folder / "set.json", evaluation_set([item for item, _, _ in rows], set_id))
