"""Fingerprints of a calculation's input files: each `--input` a regular file, or a folder walked in byte order.

A folder stands for every regular file under it, ordered by relative path, compared as bytes, component by component.
The walk goes by folder descriptors, so a folder that is swapped for a link meanwhile cannot lead outside. Links and
special files are left out and counted, because a submission carries a link as a link.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from vq.estimates.receipt import InputFile
from vq.files.documents import MIB, OPEN_FILE, OPEN_FOLDER, FileError, hash_file, is_same_file, reasons, text_of

MOST_FILES = 64
MOST_BYTES = 64 * MIB
MOST_ENTRIES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprints:
    """The files in order, and one warning for each folder or file where something was left out."""

    files: tuple[InputFile, ...]
    warnings: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class _Collection:
    own_output: tuple[os.stat_result, ...]
    files: list[InputFile] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, shown: bytes, descriptor: int) -> bool:
        """Whether the open file was taken: this command's own output is not."""
        status = os.fstat(descriptor)
        if any(is_same_file(status, own) for own in self.own_output):
            self.warnings.append(f"{text_of(shown)}: left out, it is this command's own output")
            return False
        if len(self.files) >= MOST_FILES:
            raise FileError(f"one file too many; at most {MOST_FILES} input files are fingerprinted")
        hasher = hashlib.sha256()
        size = hash_file(descriptor, hasher, MOST_BYTES)
        self.files.append(InputFile(path=text_of(shown), bytes=size, sha256=hasher.hexdigest()))
        return True


def fingerprint(paths: Sequence[str], own_output: tuple[os.stat_result, ...] = ()) -> Fingerprints:
    """The fingerprints of all `paths`, in the order given.

    `own_output` are readings of this command's own output files, which are left out with a warning. Raises
    `FileError` for a path given twice, a link, an empty folder, anything that cannot be read to its
    end, or a bound: 64 files in all, 64 MiB each, 10,000 entries a folder walk.
    """
    collection = _Collection(own_output=own_output)
    seen: set[str] = set()
    for path in paths:
        real = os.path.realpath(path)
        if real in seen:
            raise FileError("this input is given twice; name each path once", where=path)
        seen.add(real)
        with reasons(path):
            _take(path, collection)
    return Fingerprints(files=tuple(collection.files), warnings=tuple(collection.warnings))


def _take(path: str, collection: _Collection) -> None:
    name = os.fsencode(os.path.basename(os.path.abspath(path)))
    plain = path
    # With a slash or a dot behind it, a link would be followed.
    while plain.endswith(("/", "/.")) and plain.strip("/"):
        plain = plain[:-1]
    descriptor = os.open(plain, OPEN_FILE)
    try:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            _take_folder(name, descriptor, collection)
        else:
            collection.add(name, descriptor)
    finally:
        os.close(descriptor)


def _take_folder(name: bytes, folder: int, collection: _Collection) -> None:
    counts = {"entries": 0, "links": 0, "special files": 0, "taken": 0}
    for shown, descriptor in _walk(name, folder, counts):
        with reasons(text_of(shown)):
            counts["taken"] += collection.add(shown, descriptor)
    if not counts["taken"]:
        raise FileError("no regular file in this folder; an empty fingerprint would bind nothing")
    if counts["links"] or counts["special files"]:
        left_out = f"{_count(counts['links'], 'link')} and {_count(counts['special files'], 'special file')}"
        collection.warnings.append(f"{text_of(name)}: {left_out} left out")


def _walk(shown: bytes, folder: int, counts: dict[str, int]) -> Iterator[tuple[bytes, int]]:
    """Every regular file below an open folder as (path to show, open descriptor), closed again after each step."""
    open_folders: list[tuple[bytes, int, Iterator[bytes]]] = [(shown, folder, _names(shown, folder, counts))]
    try:
        while open_folders:
            shown, folder, names = open_folders[-1]
            name = next(names, None)
            if name is None:
                open_folders.pop()
                if open_folders:
                    os.close(folder)
                continue
            path = shown + b"/" + name
            with reasons(text_of(path)):
                mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
                if stat.S_ISDIR(mode):
                    inner = os.open(name, OPEN_FOLDER, dir_fd=folder)
                    open_folders.append((path, inner, _names(path, inner, counts)))
                elif stat.S_ISREG(mode):
                    descriptor = os.open(name, OPEN_FILE, dir_fd=folder)
                else:
                    counts["links" if stat.S_ISLNK(mode) else "special files"] += 1
            if stat.S_ISREG(mode):
                try:
                    yield path, descriptor
                finally:
                    os.close(descriptor)
    finally:
        for _, inner, _ in open_folders[1:]:
            os.close(inner)


def _names(shown: bytes, folder: int, counts: dict[str, int]) -> Iterator[bytes]:
    names = []
    with reasons(text_of(shown)), os.scandir(folder) as entries:
        for entry in entries:
            counts["entries"] += 1
            if counts["entries"] > MOST_ENTRIES:
                raise FileError(f"a walk from here meets more than {MOST_ENTRIES} entries; name fewer inputs")
            names.append(os.fsencode(entry.name))
    return iter(sorted(names))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
