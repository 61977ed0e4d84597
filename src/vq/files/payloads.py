"""Payloads staged: what a job brings along, copied to a private folder where everything is then decided.

A payload comes as a folder, an archive, a single file, or not at all. What is staged is what was read, byte for
byte: the digest and the fingerprints of files are taken while they are copied. The folder `_vq` at the top is read,
so that estimates may name its files, and not staged.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from vq.files.archives import Unpacking, checked, hash_pieces
from vq.files.contents import Entry, File, digest_of
from vq.files.copying import Meter, Progress, copy_and_hash, hash_only, refuse_changed, refuse_full_disk
from vq.files.documents import OPEN_FILE, OPEN_FOLDER, FileError, is_same_file, reasons, text_of
from vq.files.staging import Staging
from vq.files.trees import OWNER_RUNS, Copier, closing_descriptor, open_regular, refuse_special
from vq.files.walking import Entered, Met, Step, walk

RESERVED = b"_vq"


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """What was staged and its digest; `beside` are the files of `_vq`, which were read and not staged."""

    digest: str
    entries: tuple[Entry, ...]
    beside: tuple[File, ...]

    @property
    def size_bytes(self) -> int:
        """The bytes of all staged files."""
        return sum(entry.size_bytes for entry in self.entries if isinstance(entry, File))


def stage_folder(
    staging: Staging, path: str, *, state_folder: str | None = None, progress: Progress | None = None
) -> Payload:
    """The payload of everything in the folder `path`, links as links.

    Raises `FileError` for a link in place of the folder, special files, the queue's `state_folder` in it, files that
    change while they are copied, anything that cannot be read, and a disk without room for it.
    """
    with _inside(path), closing_descriptor(os.open(_bare(path), OPEN_FOLDER)) as source:
        forbidden = [os.fstat(staging.folder)]
        if state_folder is not None:
            with reasons(state_folder):
                forbidden.append(os.stat(state_folder))
        _refuse_state(os.fstat(source), forbidden)
        meter = Meter(total_bytes=_measure(source, forbidden, staging), progress=progress)
        return _copy(source, staging, forbidden, meter)


def stage_archive(staging: Staging, path: str, *, progress: Progress | None = None) -> Payload:
    """The payload of everything in the tar archive `path`, of which nothing is written before all is checked.

    Raises `FileError` for what is no such archive, every member that a payload does not carry, names that lead out
    or contradict each other, bounds exceeded, and a disk without room for it.
    """
    with _inside(path), closing_descriptor(os.open(path, OPEN_FILE)) as source:
        before = os.fstat(source)
        if not stat.S_ISREG(before.st_mode):
            raise FileError("is no regular file; expected a tar archive", hint="a folder is submitted with -d")
        staged_bytes = total_bytes = 0
        for name, member, _ in checked(source):
            total_bytes += member.size_bytes
            staged_bytes += 0 if _is_reserved(name) else member.size_bytes
        refuse_full_disk(staging.folder, staged_bytes)
        payload = _unpack(staging, source, Meter(total_bytes=total_bytes, progress=progress))
        refuse_changed(before, os.fstat(source), before.st_size)
        return payload


def stage_file(staging: Staging, path: str, *, progress: Progress | None = None) -> Payload:
    """The payload of the one regular file `path`, under its own name; raises `FileError`."""
    folder, name = os.path.split(path)
    with reasons(path):
        if name in ("", ".", ".."):
            raise FileError("expected a file; a folder is submitted with -d")
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        with closing_descriptor(os.open(folder or ".", flags)) as within:
            raw = os.fsencode(name)
            status = os.stat(raw, dir_fd=within, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode) or stat.S_ISLNK(status.st_mode):
                kind = "a folder; submit it with -d" if stat.S_ISDIR(status.st_mode) else "a link; name the file itself"
                raise FileError(f"is {kind}")
            refuse_special(status.st_mode)
            refuse_full_disk(staging.folder, status.st_size)
            meter = Meter(total_bytes=status.st_size, progress=progress)
            copier = Copier(target=staging.tree, fill=copy_and_hash, meter=meter)
            entry = copier.copy_file(Met(path=raw, name=raw, status=status, within=within), staging.tree)
            meter.finish()
            return _payload([entry], [])


def stage_nothing() -> Payload:
    """The payload of a job that brings nothing along: an empty folder."""
    return _payload([], [])


def _copy(source: int, staging: Staging, forbidden: list[os.stat_result], meter: Meter) -> Payload:
    entries: list[Entry] = []
    beside: list[File] = []
    with closing(walk(source)) as steps, Copier(target=staging.tree, fill=copy_and_hash, meter=meter) as copier:
        for step in steps:
            _refuse_forbidden(step, forbidden)
            if _is_reserved(step.path):
                beside.extend(_hashed(step, meter))
            elif (entry := copier.take(step)) is not None:
                entries.append(entry)
    meter.finish()
    return _payload(entries, beside)


def _unpack(staging: Staging, source: int, meter: Meter) -> Payload:
    entries: list[Entry] = []
    beside: list[File] = []
    with Unpacking(target=staging.tree, meter=meter) as unpacking:
        for path, member, contents in checked(source):
            if not _is_reserved(path):
                entry = unpacking.take(path, member, contents)
                entries.extend([entry] if entry else [])
            elif member.target is None and not member.is_folder:
                sha256 = hash_pieces(contents, meter, None)
                executable = bool(member.mode & OWNER_RUNS)
                beside.append(File(path=path, size_bytes=member.size_bytes, sha256=sha256, executable=executable))
        entries.extend(unpacking.finish())
    meter.finish()
    return _payload(entries, beside)


def _payload(entries: list[Entry], beside: list[File]) -> Payload:
    return Payload(digest=digest_of(entries), entries=tuple(entries), beside=tuple(beside))


def _measure(source: int, forbidden: list[os.stat_result], staging: Staging) -> int:
    """The bytes of all files below an open folder; refuses early what copying would refuse late."""
    staged_bytes = total_bytes = 0
    with closing(walk(source)) as steps:
        for step in steps:
            _refuse_forbidden(step, forbidden)
            if isinstance(step, Met) and stat.S_ISREG(step.status.st_mode):
                total_bytes += step.status.st_size
                staged_bytes += 0 if _is_reserved(step.path) else step.status.st_size
    refuse_full_disk(staging.folder, staged_bytes)
    return total_bytes


def _refuse_forbidden(step: Step, forbidden: list[os.stat_result]) -> None:
    with reasons(text_of(step.path)):
        match step:
            case Entered():
                _refuse_state(step.status, forbidden)
            case Met() if not stat.S_ISLNK(step.status.st_mode):
                refuse_special(step.status.st_mode)
            case _:
                pass


def _refuse_state(status: os.stat_result, forbidden: list[os.stat_result]) -> None:
    if any(is_same_file(status, state) for state in forbidden):
        raise FileError(
            "is the state folder of the queue, which would be copied into itself",
            hint="submit a folder that does not contain it, or set VQ_STATE_DIR to another place",
        )


def _hashed(step: Step, meter: Meter) -> Iterator[File]:
    """The file of a step, read only for its fingerprint; nothing for anything else."""
    if isinstance(step, Met) and stat.S_ISREG(step.status.st_mode):
        with reasons(text_of(step.path)), closing_descriptor(open_regular(step.name, step.within)) as source:
            size, sha256 = hash_only(source, meter)
            executable = bool(step.status.st_mode & OWNER_RUNS)
            yield File(path=step.path, size_bytes=size, sha256=sha256, executable=executable)


def _is_reserved(path: bytes) -> bool:
    return path == RESERVED or path.startswith(RESERVED + b"/")


def _bare(path: str) -> str:
    """The path without slashes and dots behind it, with which a link would be followed."""
    while path.endswith(("/", "/.")) and path.strip("/"):
        path = path[:-1]
    return path


@contextmanager
def _inside(path: str) -> Iterator[None]:
    """Errors of what lies in `path` name `path` first."""
    with reasons(path):
        try:
            yield
        except FileError as error:
            if error.where is not None:
                error.at(path)
            raise
