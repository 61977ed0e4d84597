"""The environment of an attempt: the submitter's, and what a job may want to know of itself."""

from __future__ import annotations

import os
from collections.abc import Mapping

from vq.jobs.record import Job

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
"""How many threads numerical libraries start, which is all CPUs of the host where nothing is said."""


def job_environment(job: Job, captured: Mapping[str, str] | None, cwd: str) -> dict[str, str]:
    """What the command of `job` finds in its environment; `captured` is the submitter's, `cwd` where it starts."""
    cpus, array = str(job.work.cpus), job.work.array
    base = {"PATH": os.defpath} if captured is None else captured
    own = {"VQ_JOB_ID": job.id, "VQ_CPUS": cpus, "VQ_MEM_MB": str(job.work.mem_mb), "VQ_WORKDIR": cwd}
    if array is not None:
        own |= {"VQ_ARRAY_INDEX": str(array.index), "VQ_ARRAY_TOTAL": str(array.total)}
    return {**dict.fromkeys(THREADS, cpus), **base, **own}
