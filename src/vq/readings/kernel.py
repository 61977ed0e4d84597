"""The kernel's small text files: read whole in one go, written in one go, and taken apart.

A file of `/proc` or of a control group may vanish while it is looked at: that is an answer (None), not an error.
"""

from __future__ import annotations

import errno
import os

_PIECE = 64 * 1024
_GONE = frozenset({errno.ENOENT, errno.ENODEV, errno.ESRCH, errno.ENOTDIR, errno.EOPNOTSUPP, errno.EINVAL})


def read_text(path: str) -> str | None:
    """The text of a kernel file, None when it is not there (any more); raises `OSError` for anything else."""
    data = read_bytes(path)
    return None if data is None else data.decode("utf-8", "surrogateescape")


def read_bytes(path: str) -> bytes | None:
    """As `read_text`, undecoded."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in _GONE:
            return None
        raise
    try:
        data = piece = os.read(descriptor, _PIECE)
        # Kernel files hand out what they have in pieces of their own size; only an empty one is the end.
        while piece:
            piece = os.read(descriptor, _PIECE)
            data += piece
    except OSError as error:
        if error.errno in _GONE:
            return None
        raise
    else:
        return data
    finally:
        os.close(descriptor)


def read_again(descriptor: int) -> str | None:
    """The text, as it is now, of an open kernel file that is handed out in one piece; None when it is gone."""
    try:
        return os.pread(descriptor, _PIECE, 0).decode("utf-8", "surrogateescape")
    except OSError as error:
        if error.errno in _GONE:
            return None
        raise


def read_number(path: str) -> int | None:
    """The integer in a kernel file; None when it is not there or says `max`."""
    text = read_text(path)
    if text is None:
        return None
    word = text.strip()
    return int(word) if word.lstrip("-").isdigit() else None


def write_text(path: str, text: str) -> None:
    """Write `text` in one call; raises `OSError` when the kernel refuses it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def number_named(name: str, text: str) -> int | None:
    """The number on the line `name number` of a flat keyed file; None without that line. Reads no other."""
    _, found, rest = f"\n{text}".partition(f"\n{name} ")
    number = rest.partition("\n")[0]
    return int(number) if found and number.isdigit() else None


def numbers_by_name(text: str | None) -> dict[str, int]:
    """The lines `name number` of a flat keyed file, such as `memory.stat`; empty without a text."""
    found = {}
    for line in (text or "").splitlines():
        name, _, number = line.partition(" ")
        if number.isdigit():
            found[name] = int(number)
    return found
