"""The members of a tar archive, one header after the other: what each is, its name as bytes, its size, and no more.

Single header blocks are parsed by `tarfile`. What stretches over several (pax records, long GNU names) is put
together here, where every length is bounded: the bytes of one extension, the members, and the work for each.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from vq.files.documents import MIB, FileError, text_of
from vq.files.streams import MOST_CONTENT_BYTES, Unpacked
from vq.wording import human_bytes

MOST_MEMBERS = 200_000
MOST_EXTENSION_BYTES = MIB

_BLOCK_BYTES = 512
_NS = 10**9
_MOST_EXTENSIONS = 8
_NUMBER_CHARACTERS = 40
_HOW = "tar, as it is or packed with gzip, bzip2 or xz, is read: tar czf FILE.tar.gz FOLDER"
_ANEW = "copy or pack it anew"
_SPARSE = b"GNU.sparse."
_KEYS = frozenset({b"path", b"linkpath", b"size", b"mtime"})

_FILE_TYPES = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)
_REFUSED = {
    tarfile.LNKTYPE: "a hard link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a FIFO",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
}
_KINDS = "a payload carries folders, regular files and links"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A folder, file or link of an archive, by the name that stands there; only a link has a `target`."""

    name: bytes
    is_folder: bool
    target: bytes | None
    size_bytes: int
    mode: int
    mtime_ns: int


@dataclass(slots=True, kw_only=True)
class _Extensions:
    """What the blocks before a header say in its place; `common` holds for all headers that follow."""

    common: dict[bytes, bytes]
    records: dict[bytes, bytes]
    name: bytes | None = None
    target: bytes | None = None

    def value(self, key: bytes) -> bytes | None:
        # An empty value takes back what was said before.
        return self.records.get(key, self.common.get(key)) or None


def members(stream: Unpacked) -> Iterator[tuple[Member, Iterator[memoryview]]]:
    """Each member and the pieces of its contents, which are skipped if nobody takes them.

    Raises `FileError`, with the member's name once it is known, for an archive that is none, damaged, cut off or
    past its bounds, and for members that no payload carries.
    """
    common: dict[bytes, bytes] = {}
    count = content_bytes = 0
    while (member := _next_member(stream, common, first=count == 0)) is not None:
        count += 1
        content_bytes += member.size_bytes
        if count > MOST_MEMBERS:
            raise FileError(f"has more than {MOST_MEMBERS} members")
        if content_bytes > MOST_CONTENT_BYTES:
            raise FileError(f"unpacks to more than {human_bytes(MOST_CONTENT_BYTES)}", where=text_of(member.name))
        contents = stream.exactly(member.size_bytes)
        yield member, contents
        for _ in contents:
            pass
        _skip_padding(stream, member.size_bytes)
    stream.drain()


def _next_member(stream: Unpacked, common: dict[bytes, bytes], *, first: bool) -> Member | None:
    extensions = _Extensions(common=common, records={})
    for _ in range(_MOST_EXTENSIONS):
        header = _header(stream, first=first)
        if header is None:
            return None
        match header.type:
            case tarfile.XHDTYPE | tarfile.SOLARIS_XHDTYPE:
                extensions.records.update(_records(_extension(stream, header)))
            case tarfile.XGLTYPE:
                common.update(_records(_extension(stream, header)))
            case tarfile.GNUTYPE_LONGNAME:
                extensions.name = _extension(stream, header).split(b"\0", 1)[0]
            case tarfile.GNUTYPE_LONGLINK:
                extensions.target = _extension(stream, header).split(b"\0", 1)[0]
            case _:
                return _member(header, extensions)
    raise FileError(f"is no sound tar archive: more than {_MOST_EXTENSIONS} extensions of one member")


def _header(stream: Unpacked, *, first: bool) -> tarfile.TarInfo | None:
    block = stream.read(_BLOCK_BYTES)
    if first and not block:
        raise FileError("is empty; expected a tar archive", hint=_HOW)
    if len(block) < _BLOCK_BYTES and not first:
        raise FileError("ends before the archive does; it was cut off", hint=_ANEW)
    if not any(block) and len(block) == _BLOCK_BYTES:
        return None
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError as error:
        if first:
            raise FileError("is no tar archive", hint=_HOW) from error
        raise FileError(f"is damaged: {error} where the next member begins", hint=_ANEW) from error


def _extension(stream: Unpacked, header: tarfile.TarInfo) -> bytes:
    if not 0 <= header.size <= MOST_EXTENSION_BYTES:
        raise FileError(f"has names or records of {header.size} bytes; expected at most {MOST_EXTENSION_BYTES}")
    data = b"".join(stream.exactly(header.size))
    _skip_padding(stream, header.size)
    return data


def _skip_padding(stream: Unpacked, size_bytes: int) -> None:
    for _ in stream.exactly(-size_bytes % _BLOCK_BYTES):
        pass


def _records(data: bytes) -> dict[bytes, bytes]:
    r"""The pax records `LENGTH KEY=VALUE\n` that count here, values as bytes; of two with one key the later."""
    records: dict[bytes, bytes] = {}
    start = 0
    while start < len(data):
        digits, space, _ = data[start : start + _NUMBER_CHARACTERS].partition(b" ")
        end = start + int(digits) if space and digits.isdigit() else 0
        key, equals, value = data[start + len(digits) + 1 : end].partition(b"=")
        if not (equals and key and value.endswith(b"\n") and end <= len(data)):
            raise FileError("is no sound tar archive: a record of a pax header is malformed")
        if key.startswith(_SPARSE):
            records[_SPARSE] = b"yes"
        elif key in _KEYS:
            records[key] = value[:-1]
        start = end
    return records


def _member(header: tarfile.TarInfo, extensions: _Extensions) -> Member:
    name = _first(extensions.value(b"path"), extensions.name, header.name)
    where = text_of(name)
    is_link, is_folder = header.type == tarfile.SYMTYPE, header.type == tarfile.DIRTYPE
    if extensions.value(_SPARSE):
        raise FileError(f"is a sparse file; {_KINDS}", where=where, hint="pack it anew without --sparse")
    if not is_link and not is_folder and header.type not in _FILE_TYPES:
        kind = _REFUSED.get(header.type, f"of the unknown kind {header.type!r}")
        raise FileError(f"is {kind}; {_KINDS}", where=where, hint=_hint(header.type))
    size = _whole(extensions.value(b"size"), header.size, where)
    target = _first(extensions.value(b"linkpath"), extensions.target, header.linkname) if is_link else None
    return Member(
        name=name,
        is_folder=is_folder,
        target=target,
        size_bytes=0 if is_link or is_folder else size,
        mode=header.mode,
        mtime_ns=_nanoseconds(extensions.value(b"mtime"), header.mtime),
    )


def _hint(kind: bytes) -> str | None:
    return "pack it anew with --hard-dereference" if kind == tarfile.LNKTYPE else None


def _first(record: bytes | None, long_name: bytes | None, header: str) -> bytes:
    return record or long_name or header.encode("utf-8", "surrogateescape")


def _whole(record: bytes | None, header: int, where: str) -> int:
    size = header
    if record is not None:
        size = int(record) if record.isdigit() and len(record) < _NUMBER_CHARACTERS else -1
    if size < 0:
        raise FileError("has a size that is none", where=where)
    return size


def _nanoseconds(record: bytes | None, header: float) -> int:
    """A time in ns; what is no time is the header's."""
    try:
        seconds = float(record) if record is not None else header
        return round(seconds * _NS) if isfinite(seconds) else 0
    except (ValueError, OverflowError):
        return 0
