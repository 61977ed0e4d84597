"""The environment that is kept for a job: the submitter's, or a clean one, and what `--env` sets in it."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping

from vq.actions.orders import Order
from vq.errors import UsageError
from vq.wording import escape

CLEAN_PATH = "/usr/local/bin:/usr/bin:/bin"

OF_ANOTHER_JOB = frozenset(
    ("VQ_ATTEMPT", "VQ_JOB_ID", "VQ_CPUS", "VQ_MEM_MB", "VQ_WORKDIR", "VQ_ARRAY_INDEX", "VQ_ARRAY_TOTAL")
)
"""What a job has of its own: one that is submitted by a job does not inherit it."""


def captured(order: Order, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for an order; raises `UsageError` for a variable that is not UTF-8."""
    if order.clean_env:
        return {**_clean(), **order.env}
    for name, value in environment.items():
        try:
            f"{name}{value}".encode()
        except UnicodeEncodeError:
            raise UsageError(
                f"the variable {escape(name)} of the environment is no UTF-8",
                hint="unset it, or submit with --clean-env and the variables that the job needs as --env NAME=VALUE",
            ) from None
    kept = {name: value for name, value in environment.items() if name not in OF_ANOTHER_JOB}
    return {**kept, **order.env}


def _clean() -> dict[str, str]:
    """What a login has at least."""
    try:
        user = pwd.getpwuid(os.getuid())
    except KeyError:
        return {"PATH": CLEAN_PATH}
    return {
        "PATH": CLEAN_PATH,
        "HOME": user.pw_dir,
        "USER": user.pw_name,
        "LOGNAME": user.pw_name,
        "SHELL": user.pw_shell,
    }
