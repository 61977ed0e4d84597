"""The installed command against a queue of its own, for the tests of the verbs; no daemon is started by itself."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vq.canonical import digest

VQ = str(Path(sys.executable).parent / "vq")
CONFIG = (
    '[daemon]\nautostart = false\n[host]\nmemory_max = "4G"\ncpus = 2\n[profiles.small]\nmemory = "100M"\ncpus = 2\n'
)


@dataclass(frozen=True, slots=True)
class Queue:
    """A state folder and a configuration below one folder, and a current folder for commands."""

    root: Path
    cwd: Path

    @property
    def state(self) -> Path:
        return self.root / "state"

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("VQ_")}
        return {
            **kept,
            "VQ_STATE_DIR": str(self.state),
            "XDG_CONFIG_HOME": str(self.root / "config"),
            "LC_ALL": "C.UTF-8",
        }

    def run(self, *words: str, stdin: str = "", **changes: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [VQ, *words],
            input=stdin,
            cwd=self.cwd,
            env={**self.environment, **changes},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def ok(self, *words: str) -> str:
        ended = self.run(*words)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def json(self, *words: str) -> Any:
        return json.loads(self.ok(*words, "--json"))

    def refused(self, *words: str, status: int = 2) -> str:
        """What stderr says of a refusal, of which nothing is left."""
        before = self.everything()
        ended = self.run(*words)
        assert ended.returncode == status, ended.stdout + ended.stderr
        assert "Traceback" not in ended.stderr
        assert ended.stdout == ""
        assert self.everything() == before
        return ended.stderr

    def everything(self) -> dict[str, bytes]:
        """Every file and folder of the state, and what is in it."""
        return {
            str(path.relative_to(self.state)): path.read_bytes() if path.is_file() else b""
            for path in sorted(self.state.rglob("*"))
        }

    def status(self, job: str) -> dict[str, Any]:
        found: dict[str, Any] = self.json("status", job)
        return found


def make_queue(root: Path) -> Queue:
    queue = Queue(root, root / "here")
    (root / "config" / "vq").mkdir(parents=True)
    (root / "config" / "vq" / "config.toml").write_text(CONFIG)
    queue.cwd.mkdir()
    return queue


def receipt(
    figure: int | None = 200_000_000,
    *,
    scope: str = "job",
    inputs: tuple[tuple[str, bytes], ...] = (),
    seconds: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """A sound receipt of some program, for inputs of these contents."""
    manifest = hashlib.sha256(b"manifest").hexdigest()
    listed = [{"path": path, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for path, data in inputs]
    rows = [[file["path"], file["bytes"], file["sha256"]] for file in listed]
    lower, upper = seconds or (None, None)
    return {
        "schema_name": "vq.resource-estimate/1",
        "estimator": "some-program/1",
        "program": "some-program",
        "program_version": "1.0",
        "features": {"method": "RKS"},
        "evidence": None,
        "manifest": {"sha256": manifest, "bytes": 8},
        "inputs": listed,
        "input_digest": digest({"evidence": None, "inputs": rows, "manifest": manifest}),
        "memory": {
            "predicted_peak_bytes": figure,
            "scope": scope,
            "safety_margin": None if figure is None else "none",
            "raw_bytes": None,
            "margin_factor": None,
            "override": None,
            "effective_job_memory_bytes": figure if scope == "job" else None,
        },
        "runtime": {"lower_seconds": lower, "upper_seconds": upper},
        "scratch_bytes": None,
        "cpu_layouts": None,
        "calibration": {"status": "uncalibrated"},
        "unknown": [],
        "limitations": ["none"],
        "warnings": [],
    }


def calibrated(
    document: dict[str, Any], multiplier: float | None = 1.5, runtime: float | None = None
) -> dict[str, Any]:
    """A calibrated estimate of a receipt; without a multiplier its group had too few cases."""
    from vq.estimates.evaluation import calibrated_upper  # noqa: PLC0415
    from vq.estimates.exact import ceiling_product  # noqa: PLC0415 - the tests of other verbs need none of it

    figure, upper = document["memory"]["predicted_peak_bytes"], document["runtime"]["upper_seconds"]
    runtime_reason = "no_interval" if upper is None else None if runtime is not None else "too_few_cases"
    return {
        "schema_name": "vq.calibrated-estimate/1",
        "estimate": document,
        "estimate_sha256": digest(document),
        "calibration": {
            "calibration_id": "c" * 64,
            "method": "worst-observed-over-predicted-peak/1",
            "training_set": {"set_id": "training", "sha256": "d" * 64},
        },
        "hardware_class": "class-a",
        "status": "uncalibrated" if multiplier is None else "calibrated",
        "reason": "too_few_cases" if multiplier is None else None,
        "multiplier": multiplier,
        "multiplier_is_lower_bound": None if multiplier is None else False,
        "calibrated_peak_bytes": None if multiplier is None else ceiling_product(figure, multiplier),
        "runtime_status": "calibrated" if runtime_reason is None else "uncalibrated",
        "runtime_reason": runtime_reason,
        "runtime_multiplier": None if runtime_reason else runtime,
        "runtime_multiplier_is_lower_bound": None if runtime_reason else False,
        "calibrated_runtime_upper_seconds": None
        if runtime_reason or runtime is None
        else calibrated_upper(upper, runtime),
    }
