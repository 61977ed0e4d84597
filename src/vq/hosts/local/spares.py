"""Folders of attempts that are over, kept for the next ones: a short job would else have five files made and removed.

What a spare folder holds is written over. That is cheap on any file system, and much cheaper on one that has just
removed many files: ext4 without a journal passes over every inode that was freed in the last half minute, whenever it
makes a file.
"""

from __future__ import annotations

import os
import shutil
from collections import deque
from contextlib import suppress

from vq.files.documents import PART
from vq.store.layout import RESULT, SPEC
from vq.supervisor.folder import ATTEMPT, take_lock
from vq.supervisor.requests import REQUESTS

MOST = 32

_WRITTEN = (RESULT, ATTEMPT, SPEC)
_CLEAN = {*_WRITTEN, REQUESTS}


class Spares:
    """The spare folders in the folder of attempts; one that is left when a daemon ends is no attempt of any job."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._free: deque[str] = deque()
        self._kept = 0

    def keep(self, folder: str) -> bool:
        """Whether the folder of an attempt is kept: if it left a result and nothing unusual. Else it is as it was."""
        with suppress(OSError):
            if len(self._free) < MOST and set(os.listdir(folder)) == _CLEAN:
                # It holds an environment.
                os.truncate(f"{folder}/{SPEC}", 0)
                for name in _WRITTEN:
                    os.rename(f"{folder}/{name}", f"{folder}/{name}{PART}")
                self._kept += 1
                spare = f"{self._root}/spare.{self._kept}"
                os.rename(folder, spare)
                self._free.append(spare)
                return True
        return False

    def take(self, folder: str) -> bool:
        """Whether a spare one is `folder` now."""
        try:
            spare = self._free.popleft()
        except IndexError:
            return False
        with suppress(OSError):
            lock = take_lock(spare)
            if lock is not None:
                os.close(lock)
                os.rename(spare, folder)
                return True
            # The supervisor whose result was read has not let go of it yet.
            self._free.append(spare)
        return False

    def close(self) -> None:
        """Remove them."""
        while self._free:
            shutil.rmtree(self._free.popleft(), ignore_errors=True)
