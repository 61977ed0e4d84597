"""Admission by measured peaks: what a job will need, what may start, and what a policy would have done before.

A job's memory peak and average CPU are predicted from the job history (`Predictor`), and the history is replayed
through admission by caps and by predictions, with or without a CPU budget (`simulate`), to show what each would have
done with the same jobs; `host` is what the host's memory leaves runners, `recent` how a job's last runs are read. Pure:
no file, clock or randomness; readings and times are arguments.
"""

from vq.admission import host, recent
from vq.admission.history import Key, Run
from vq.admission.predictor import (
    CPU_GRANULE,
    OWN_RUNS,
    UNPREDICTABLE_FOR,
    Copies,
    CpuPrediction,
    Prediction,
    Predictor,
)
from vq.admission.replay import Caps, Profile, Replay, Setup, simulate
from vq.admission.rules import HIGH_WATER, CpuAdmission, Dispatch, Policy

__all__ = [
    "CPU_GRANULE",
    "HIGH_WATER",
    "OWN_RUNS",
    "UNPREDICTABLE_FOR",
    "Caps",
    "Copies",
    "CpuAdmission",
    "CpuPrediction",
    "Dispatch",
    "Key",
    "Policy",
    "Prediction",
    "Predictor",
    "Profile",
    "Replay",
    "Run",
    "Setup",
    "host",
    "recent",
    "simulate",
]
