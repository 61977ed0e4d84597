"""`vq` and `python -m vq`: the command, which an interrupt ends quietly from our first line on, while it loads too."""

from __future__ import annotations

# What `signal` itself stands on: that one, and `typing`, take milliseconds, in which an interrupt leaves a traceback.
import _signal  # type: ignore[import-not-found]
import gc
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

_INTERRUPTED = 130
_OBJECTS_A_LOOK = 50_000


def main() -> NoReturn:
    """Run `vq` with this process's arguments and end the process."""
    # One that runs in the background has been told to ignore them.
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _leave)
    # What is loaded stays: to look through it for garbage every 700 objects is a twentieth of a short command's time.
    gc.set_threshold(_OBJECTS_A_LOOK)
    from vq.cli import main as command_line  # noqa: PLC0415 - what takes its time is loaded under our handler

    command_line()


def _leave(number: int, frame: FrameType | None) -> None:
    del number, frame
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
