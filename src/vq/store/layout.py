"""What lies where in the state folder: one place says it for commands and the daemon. Names only; nothing is made."""

from __future__ import annotations

SNAPSHOTS = "snapshots"
"""One folder a payload digest."""
STAGING = "staging"
"""Where payloads and workspaces are made, to be moved in place whole."""
WORKSPACES = "workspaces"
"""One folder a job."""
LOGS = "logs"
"""One pair an attempt."""
ATTEMPTS = "attempts"
"""One folder an attempt that runs: what its supervisor is told, and what it leaves."""
SPEC = "spec.json"
"""In the folder of an attempt: what its supervisor is told."""
RESULT = "result.json"
"""In the folder of an attempt: what its supervisor leaves."""
WAKE = "wake"
"""The FIFO that wakes the daemon."""
NEWS = "news"
"""What is written to it when there is something new in the store."""


def snapshots_folder(state_folder: str) -> str:
    """Where the snapshots of payloads lie."""
    return f"{state_folder}/{SNAPSHOTS}"


def staging_folder(state_folder: str) -> str:
    """Where private staging folders are opened; on the file system of snapshots and workspaces."""
    return f"{state_folder}/{STAGING}"


def workspace_folder(state_folder: str, job: str) -> str:
    """The workspace of a job that is given one."""
    return f"{state_folder}/{WORKSPACES}/{job}"


def log_paths(state_folder: str, job: str, attempt: int) -> tuple[str, str]:
    """Where an attempt's stdout and stderr go."""
    path = f"{state_folder}/{LOGS}/{job}.{attempt}"
    return f"{path}.out", f"{path}.err"


def attempt_folder(state_folder: str, job: str, attempt: int) -> str:
    """The folder of an attempt that runs."""
    return f"{state_folder}/{ATTEMPTS}/{job}.{attempt}"


def wake_path(state_folder: str) -> str:
    """The FIFO that wakes the daemon."""
    return f"{state_folder}/{WAKE}"
