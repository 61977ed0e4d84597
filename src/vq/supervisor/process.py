"""The supervisor's own process: away from whoever started it, and with a place for what it has to say of itself."""

from __future__ import annotations

import os
from contextlib import suppress

from vq.errors import VqError
from vq.supervisor.attempt import FAILED, supervise

_LOG = "supervisor.log"


def run(spec_path: str) -> int:
    """The exit status of one attempt's supervisor; what it has to say of itself goes to `supervisor.log`."""
    try:
        return supervise(spec_path)
    except (VqError, OSError) as error:
        _note(spec_path, f"{error}\n")
    except Exception:  # noqa: BLE001 - the last place where it can be said
        import traceback  # noqa: PLC0415 - half a megabyte that hardly any supervisor needs

        _note(spec_path, traceback.format_exc())
    return FAILED


def detach() -> None:
    """Leave the session and the standard streams of whoever started this."""
    if os.getpid() != os.getsid(0):
        with suppress(PermissionError):
            os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)
    os.close(null)
    os.chdir("/")


def _note(spec_path: str, text: str) -> None:
    path = os.path.join(os.path.dirname(os.path.abspath(spec_path)), _LOG)
    with suppress(OSError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        os.write(descriptor, text.encode(errors="replace"))
        os.close(descriptor)
