"""`python -m vq.daemon STATE-FOLDER DESCRIPTOR`: a daemon that tells whoever started it, by a pipe, how that went."""

from __future__ import annotations

import logging
import os
import sys

from vq.daemon.serving import serve
from vq.daemon.starting import BUSY, READY
from vq.errors import VqError


def main(arguments: list[str]) -> int:
    """Serve; the exit status, 0 after a signal asked to end."""
    state_folder, descriptor = arguments[0], int(arguments[1])
    os.set_inheritable(descriptor, False)  # noqa: FBT003 - its only way
    os.chdir("/")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        if serve(state_folder, lambda: _say(descriptor, READY)):
            return 0
        _say(descriptor, BUSY)
    except (VqError, OSError) as error:
        _say_if_open(descriptor, f"{error}\n".encode())
        logging.getLogger(__name__).critical("%s", error)
    return 1


def _say(descriptor: int, word: bytes) -> None:
    os.write(descriptor, word)
    os.close(descriptor)


def _say_if_open(descriptor: int, text: bytes) -> None:
    """The last word; nobody may be listening any more."""
    try:
        _say(descriptor, text)
    except OSError:
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
