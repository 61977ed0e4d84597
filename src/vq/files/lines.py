"""Read a file of any length line by line, in bounded memory."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from vq.files.documents import OPEN_FILE, FileError, reasons


def read_lines(path: str, longest: int) -> Iterator[tuple[int, bytes]]:
    """The lines of the regular file at `path` with their ends, numbered from 1; raises `FileError`.

    Of a line of more than `longest` bytes only the first `longest` + 1 are returned.
    """
    with reasons(path), open(os.open(path, OPEN_FILE), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise FileError("is not a regular file; expected one with a line a record")
        number = 0
        while data := file.readline(longest + 1):
            number += 1
            yield number, data
            while len(data) > longest and not data.endswith(b"\n"):
                data = file.readline(longest + 1)
