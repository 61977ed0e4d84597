"""What a payload consists of, and the one digest of it.

The digest is SHA-256 over the entries in the byte order of their paths: kind, path, and of a file the size and the
SHA-256 of its bytes, of a link its target. Whether the owner may run a file belongs to its kind. Times, owners and
the other permissions do not count, so it is the same whether a payload came as a folder or as an archive of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

DIGEST_VERSION = b"vq-payload/1\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """A folder, by its path from the payload's root."""

    path: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A regular file: its path, the size and SHA-256 of its bytes, and whether its owner may run it."""

    path: bytes
    size_bytes: int
    sha256: bytes
    executable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A symbolic link and what it says, which is never followed."""

    path: bytes
    target: bytes


Entry = Directory | File | Link


def digest_of(entries: Iterable[Entry]) -> str:
    """The payload's digest (SHA-256 in lowercase hexadecimal), whatever the order of its entries."""
    hasher = hashlib.sha256(DIGEST_VERSION)
    for entry in sorted(entries, key=_path):
        hasher.update(_encoded(entry))
    return hasher.hexdigest()


def _path(entry: Entry) -> bytes:
    return entry.path


def _encoded(entry: Entry) -> bytes:
    match entry:
        case Directory():
            return b"d" + _counted(entry.path)
        case File():
            kind = b"x" if entry.executable else b"f"
            return kind + _counted(entry.path) + entry.size_bytes.to_bytes(8, "big") + entry.sha256
        case Link():
            return b"l" + _counted(entry.path) + _counted(entry.target)


def _counted(text: bytes) -> bytes:
    """`text` behind its length, so that no two payloads are written alike."""
    return len(text).to_bytes(4, "big") + text
