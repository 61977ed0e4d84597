"""Whether a payload holds every input that an estimate was made for, by size and SHA-256, whatever the names.

A link never counts. The fingerprints were taken while the payload was staged; the bounds hold all the same, since a
receiver of this payload that has none of them reads every file whose size is that of an input.
"""

from __future__ import annotations

from collections.abc import Sequence

from vq.estimates.receipt import InputFile
from vq.files.contents import File
from vq.files.documents import FileError, text_of
from vq.files.payloads import Payload
from vq.files.streams import GIB
from vq.wording import human_bytes

MOST_FILES = 20_000
MOST_BYTES = 16 * GIB


def refuse_unmatched(inputs: Sequence[InputFile], payload: Payload) -> None:
    """Nothing, or the `FileError` that names the first input without a match, or the bound exceeded."""
    sizes = {file.bytes for file in inputs}
    files = [entry for entry in (*payload.entries, *payload.beside) if isinstance(entry, File)]
    alike = [file for file in files if file.size_bytes in sizes]
    read_bytes = sum(file.size_bytes for file in alike)
    if len(alike) > MOST_FILES or read_bytes > MOST_BYTES:
        raise FileError(
            f"{len(alike)} files of {human_bytes(read_bytes)} have the size of an input of the estimate; at most "
            f"{MOST_FILES} files of {human_bytes(MOST_BYTES)} together are compared",
            hint="submit the inputs from a folder with fewer files",
        )
    found = {(file.size_bytes, file.sha256.hex()) for file in alike}
    for expected in inputs:
        if (expected.bytes, expected.sha256) not in found:
            raise _unmatched(expected, files)


def _unmatched(expected: InputFile, files: Sequence[File]) -> FileError:
    near = _nearest(expected, files)
    return FileError(
        f"is an input of the estimate and not in the payload: expected a regular file of {expected.bytes} bytes with "
        f"SHA-256 {expected.sha256}{near}",
        where=expected.path,
        hint="submit the very files that were estimated, or estimate those that are submitted",
    )


def _nearest(expected: InputFile, files: Sequence[File]) -> str:
    """What the payload has instead: nothing, a file of that name, or one of that size."""
    if not files:
        return "; the payload has no files"
    base = expected.path.rpartition("/")[2]
    for file in files:
        name = text_of(file.path)
        if name.rpartition("/")[2] == base:
            return f"; {name} has {file.size_bytes} bytes with SHA-256 {file.sha256.hex()}"
    for file in files:
        if file.size_bytes == expected.bytes:
            return f"; {text_of(file.path)} has that size and other contents"
    return ""
