"""A scope of the user's own systemd, its control group handed to us whole, where we may make no group ourselves.

The group of a login session belongs to root, so no group can be made in it. The user's manager (`systemd --user`) makes
a scope whose group is ours (`Delegate=yes`), and moves this process into it; below it lie the groups of all jobs. One
scope a state folder: a daemon that starts while jobs of an earlier one run joins the scope that they are in, which
lives as long as any process in it. Asked by `busctl`, which comes with systemd.

systemd ends the user's manager with the last session of the user, and with it all jobs, unless the user *lingers*.
"""

from __future__ import annotations

import os
import pwd
import subprocess
import time
from collections.abc import Mapping

from vq.readings import cgroups
from vq.readings.cgroups import LEAF, NoGroupsError

LINGERING = "/var/lib/systemd/linger"
"""One file for each user whose manager outlives the sessions."""

_MANAGER = ("org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager")
_LONGEST_CALL_SECONDS = 20.0
_PATIENCE_SECONDS = 10.0
_LOOK_SECONDS = 0.01
_ENV = {"LC_ALL": "C.UTF-8"}


def lingers() -> bool:
    """Whether the manager of this user outlives the user's sessions."""
    return os.path.exists(f"{LINGERING}/{pwd.getpwuid(os.getuid()).pw_name}")


def linger_command() -> str:
    """What a person types to have jobs outlive the session."""
    return f"loginctl enable-linger {pwd.getpwuid(os.getuid()).pw_name}"


def enter_scope(name: str) -> None:
    """Be in the scope `name` of the user's manager, in which groups can be made; made unless it is there.

    Raises `NoGroupsError` where no user manager answers, or it does not do it.
    """
    unit = f"{name}.scope"
    if _is_in(unit):
        return
    refused = _call("StartTransientUnit", "ssa(sv)a(sa(sv))", unit, "fail", *_properties(), "0")
    if refused is not None and "already exists" in refused:
        refused = _call("AttachProcessesToUnit", "ssau", unit, f"/{LEAF}", "1", str(os.getpid()))
    if refused is not None:
        raise NoGroupsError(f"the user's systemd gives no scope ({refused})", hint=_hint(refused))
    until = time.monotonic() + _PATIENCE_SECONDS
    while not _is_in(unit):
        if time.monotonic() > until:
            raise NoGroupsError(f"the user's systemd did not move process {os.getpid()} into {unit}")
        time.sleep(_LOOK_SECONDS)


def _properties() -> tuple[str, ...]:
    pids = ("PIDs", "au", "1", str(os.getpid()))
    return ("3", *pids, "Delegate", "b", "true", "Description", "s", "jobs of vq and what looks after them")


def _is_in(unit: str) -> bool:
    return any(unit in tree.own.split("/") for tree in cgroups.hierarchies() if tree.unified)


def _call(method: str, *arguments: str) -> str | None:
    """None when the user's manager did it; else what was said."""
    command = ["busctl", "--user", "--quiet", "call", *_MANAGER, method, *arguments]
    try:
        ended = subprocess.run(  # noqa: S603 - the user's own program
            command,
            env=_environment(os.environ),
            capture_output=True,
            text=True,
            timeout=_LONGEST_CALL_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        return "there is no busctl, which comes with systemd"
    except subprocess.TimeoutExpired:
        return f"no answer in {_LONGEST_CALL_SECONDS:.0f} s"
    return None if ended.returncode == 0 else ended.stderr.strip() or f"busctl ended with status {ended.returncode}"


def _environment(own: Mapping[str, str]) -> dict[str, str]:
    """Where the user's bus is, also in a session (`su`, cron) that was not told."""
    folder = f"/run/user/{os.getuid()}"
    told = {} if own.get("XDG_RUNTIME_DIR") or not os.path.isdir(folder) else {"XDG_RUNTIME_DIR": folder}
    return {**own, **told, **_ENV}


def _hint(said: str) -> str:
    if "busctl" in said:
        return 'host.enforcement = "sampled" measures and kills without control groups'
    return f"see: systemctl --user status; a manager that runs without a session: {linger_command()}"
