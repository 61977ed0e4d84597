"""The two calls of the C library that Python has no name for."""

from __future__ import annotations

import ctypes
import os

_SET_CHILD_SUBREAPER = 36

_library = ctypes.CDLL(None, use_errno=True)


def become_subreaper() -> None:
    """Have orphans below this process handed to it; raises `OSError` when the kernel does not."""
    if _library.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def give_back_memory() -> None:
    """Return what the C library holds unused to the kernel, where it can."""
    if hasattr(_library, "malloc_trim"):
        _library.malloc_trim(0)
