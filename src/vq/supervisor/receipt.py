"""The copy of a run's receipt in its workspace, where a job may have put links in the way: none is followed.

The supervisor leaves it, and not the daemon, which nothing of a job's may hold up: a workspace can be anywhere.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from vq.files.documents import OPEN_FOLDER, reasons

FOLDER = "_vq"
NAME = "resource-usage.json"

_FOLDER_MODE = 0o755
_FILE_MODE = 0o644


def leave_receipt(workspace: str, usage: Mapping[str, Any]) -> None:
    """Write `_vq/resource-usage.json` in the workspace, in place of one before it.

    Raises `FileError` where `_vq` is no folder, or nothing can be written.
    """
    with reasons(f"{workspace}/{FOLDER}/{NAME}"):
        folder = _open_folder(workspace, make=True)
        try:
            _replace(folder, json.dumps(usage, indent=2, allow_nan=False) + "\n")
        finally:
            os.close(folder)


def remove_receipt(workspace: str) -> None:
    """Remove the receipt of an earlier run, if there is one; raises `FileError` where that cannot be."""
    with reasons(f"{workspace}/{FOLDER}/{NAME}"), suppress(FileNotFoundError):
        folder = _open_folder(workspace, make=False)
        try:
            os.unlink(NAME, dir_fd=folder)
        finally:
            os.close(folder)


def _open_folder(workspace: str, *, make: bool) -> int:
    root = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if make:
            with suppress(FileExistsError):
                os.mkdir(FOLDER, _FOLDER_MODE, dir_fd=root)
        return os.open(FOLDER, OPEN_FOLDER, dir_fd=root)
    finally:
        os.close(root)


def _replace(folder: int, text: str) -> None:
    staged = f".{NAME}.{os.urandom(6).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(staged, flags, _FILE_MODE, dir_fd=folder)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        # A rename takes the place of a link, and does not follow it.
        os.rename(staged, NAME, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(staged, dir_fd=folder)
        raise
