from __future__ import annotations

import sys
from subprocess import run

from vq import admission


def test_the_package_exports_the_names_of_its_requirements() -> None:
    assert {
        *(
            "host",
            "recent",
            "CpuPrediction",
            "Key",
            "Prediction",
            "Predictor",
            "Replay",
            "Copies",
            "Policy",
            "simulate",
        ),
        *("CPU_GRANULE", "HIGH_WATER", "OWN_RUNS", "UNPREDICTABLE_FOR"),
    } <= set(admission.__all__)
    assert all(hasattr(admission, name) for name in admission.__all__)


def test_its_constants_are_those_of_the_rules() -> None:
    assert (admission.CPU_GRANULE, admission.HIGH_WATER, admission.OWN_RUNS) == (100, 90, 2)
    assert admission.UNPREDICTABLE_FOR == 604_800_000
    assert (admission.recent.RECENT_RUNS, admission.recent.CLEAN_RUNS) == (20, 3)


def test_it_loads_neither_the_command_line_nor_the_estimates() -> None:
    code = "import sys, vq.admission; print(*sys.modules)"
    loaded = set(run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split())
    assert "vq.admission.replay" in loaded
    assert not loaded & {"click", "rfc8785", "vq.estimates", "vq.cli", "numpy"}
