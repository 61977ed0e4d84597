"""The names in an archive: each stays inside, and none lands on, or goes through, what another one made.

Two names are one where a file system may take them for one: after Unicode composition (NFC) and case folding. The
check needs no file system, so that it is done before anything is written.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import Literal

from vq.files.documents import MIB, FileError, text_of
from vq.files.members import MOST_MEMBERS, Member
from vq.files.walking import MOST_DEPTH, MOST_PATH_BYTES, refuse_long_path
from vq.wording import human_bytes

MOST_NAME_BYTES = 128 * MIB
MOST_FOLDERS = 2 * MOST_MEMBERS

_MOST_COMPONENT_BYTES = 255

Kind = Literal["a folder", "a file", "a link"]


@dataclass(slots=True, kw_only=True)
class Names:
    """The names met so far, by what they are equal to; `folders` are those that are known to be sound."""

    folders: set[bytes] = field(default_factory=lambda: {b""})
    _known: dict[bytes, tuple[bytes, Kind]] = field(default_factory=dict)
    _bytes: int = 0

    def add(self, member: Member) -> bytes:
        """The member's path, `./` and doubled slashes taken out; empty for the root itself.

        Raises `FileError` for a name that leads out, is too long, or contradicts one before it.
        """
        path = _normal(member)
        if not path:
            return path
        self._count(len(path) + len(member.target or b""))
        self._enter(path.rpartition(b"/")[0])
        if member.is_folder:
            self._enter(path)
        else:
            self._add_leaf(path, "a file" if member.target is None else "a link")
        return path

    def _enter(self, folder: bytes) -> None:
        """Make sure that `folder`, and each that it lies in, is a folder and nothing else."""
        missing = []
        while folder not in self.folders:
            missing.append(folder)
            folder = folder.rpartition(b"/")[0]
        for path in reversed(missing):
            known = self._known.setdefault(_folded(path), (path, "a folder"))
            _refuse_twin(path, known[0])
            if known[1] != "a folder":
                raise FileError(f"is {known[1]} of this archive, and another member takes it for a folder")
            self.folders.add(path)
            self._count(len(path))
            if len(self.folders) > MOST_FOLDERS:
                raise FileError(f"one folder too many; expected at most {MOST_FOLDERS}")

    def _add_leaf(self, path: bytes, kind: Kind) -> None:
        folded = _folded(path)
        known = self._known.get(folded)
        if known is None:
            self._known[folded] = (path, kind)
            return
        _refuse_twin(path, known[0])
        if known[1] == "a folder":
            raise FileError(f"is {kind}, and another member takes it for a folder")
        raise FileError("comes twice in this archive; expected each name once")

    def _count(self, size_bytes: int) -> None:
        self._bytes += size_bytes
        if self._bytes > MOST_NAME_BYTES:
            raise FileError(f"its names have more than {human_bytes(MOST_NAME_BYTES)} together")


def _refuse_twin(path: bytes, known: bytes) -> None:
    if path != known:
        raise FileError(
            f"is, apart from case and Unicode composition, named like {text_of(known)}; where the job runs they may "
            "be one file",
            hint="rename one of them",
        )


def _normal(member: Member) -> bytes:
    _refuse_target(member.target)
    if member.name.startswith(b"/") or not member.name:
        raise FileError(
            "has an absolute path or none; expected one inside the archive", hint="pack it anew with tar -C"
        )
    if b"\0" in member.name:
        raise FileError("has a NUL in its name")
    steps = member.name.split(b"/")
    if b".." in steps:
        raise FileError("has `..` in its path; expected one inside the archive")
    if not member.is_folder and steps[-1] in (b"", b"."):
        raise FileError("is no folder; expected a name without a slash or a dot at its end")
    steps = [step for step in steps if step not in (b"", b".")]
    if len(steps) > MOST_DEPTH:
        raise FileError(f"lies more than {MOST_DEPTH} folders deep")
    if any(len(step) > _MOST_COMPONENT_BYTES for step in steps):
        raise FileError(f"has a name of more than {_MOST_COMPONENT_BYTES} bytes")
    path = b"/".join(steps)
    refuse_long_path(path)
    return path


def _refuse_target(target: bytes | None) -> None:
    if target is not None and (not target or b"\0" in target or len(target) > MOST_PATH_BYTES):
        raise FileError(f"is a link to nowhere; expected a target of 1 to {MOST_PATH_BYTES} bytes without NUL")


def _folded(path: bytes) -> bytes:
    if path.isascii():
        folded = path.lower()
    else:
        text = unicodedata.normalize("NFC", path.decode("utf-8", "surrogateescape")).casefold()
        folded = unicodedata.normalize("NFC", text).encode("utf-8", "surrogateescape")
    # One object for both saves half the memory of most archives.
    return path if folded == path else folded
