"""The uncompressed bytes of a file that is compressed or not, by its content and not by its name.

gzip, bzip2 and xz are unpacked piece by piece: a small file that stands for a very large one costs neither memory nor,
past `MOST_STREAM_BYTES`, time. Streams one behind the other and zeros between and after them are read as the
compressors' own tools read them; anything else behind the last one is refused, as is a stream that ends early.
"""

from __future__ import annotations

import bz2
import lzma
import os
import zlib
from collections.abc import Callable, Generator, Iterator
from typing import Protocol

from vq.files.documents import KIB, MIB, FileError
from vq.wording import human_bytes

GIB = 1024 * MIB
MOST_CONTENT_BYTES = 16 * GIB
# Beside the contents: headers and padding, 200,000 of each.
MOST_STREAM_BYTES = MOST_CONTENT_BYTES + 2 * GIB
MOST_XZ_MEMORY_BYTES = 256 * MIB

_PACKED_BYTES = 64 * KIB
_PIECE_BYTES = 256 * KIB
_GZIP_WINDOW = 31
_OTHER_FORMATS = {b"PK\x03\x04": "zip", b"PK\x05\x06": "zip", b"\x28\xb5\x2f\xfd": "zstd", b"7z\xbc\xaf": "7z"}
_EXPECTED = "expected a tar archive, as it is or packed with gzip, bzip2 or xz"


class _Unpacker(Protocol):
    """One compressed stream: at most so many bytes unpacked at a time, and what it wants or leaves."""

    def unpack(self, packed: bytes, most_bytes: int) -> bytes: ...
    def wants_input(self) -> bool: ...
    def rest(self) -> bytes | None: ...


class _Gzip:
    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=_GZIP_WINDOW)

    def unpack(self, packed: bytes, most_bytes: int) -> bytes:
        return self._stream.decompress(self._stream.unconsumed_tail + packed, most_bytes)

    def wants_input(self) -> bool:
        # What is left inside comes out before the stream's end, which is then not consumed yet.
        return not self._stream.unconsumed_tail

    def rest(self) -> bytes | None:
        return self._stream.unused_data if self._stream.eof else None


class _Block:
    def __init__(self, stream: bz2.BZ2Decompressor | lzma.LZMADecompressor) -> None:
        self._stream = stream

    def unpack(self, packed: bytes, most_bytes: int) -> bytes:
        return self._stream.decompress(packed, most_bytes)

    def wants_input(self) -> bool:
        return self._stream.needs_input

    def rest(self) -> bytes | None:
        return self._stream.unused_data if self._stream.eof else None


def _bzip2() -> _Unpacker:
    return _Block(bz2.BZ2Decompressor())


def _xz() -> _Unpacker:
    return _Block(lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=MOST_XZ_MEMORY_BYTES))


_UNPACKERS: tuple[tuple[bytes, Callable[[], _Unpacker]], ...] = (
    (b"\x1f\x8b", _Gzip),
    (b"BZh", _bzip2),
    (b"\xfd7zXZ\0", _xz),
)


class Unpacked:
    """The uncompressed bytes of an open file, read once from the beginning; every method raises `FileError`."""

    def __init__(self, descriptor: int) -> None:
        self._pieces = _pieces(descriptor)
        self._piece = memoryview(b"")
        self._left_bytes = MOST_STREAM_BYTES

    def read(self, size_bytes: int) -> bytes:
        """That many bytes, or fewer where the stream ends; only for a few, as they are held in memory."""
        return b"".join(self._take(size_bytes))

    def exactly(self, size_bytes: int) -> Iterator[memoryview]:
        """That many bytes in small pieces; refused where the stream ends before."""
        for piece in self._take(size_bytes):
            size_bytes -= len(piece)
            yield piece
        if size_bytes:
            raise FileError("ends in the middle of a member; it was cut off", hint="copy or pack it anew")

    def drain(self) -> None:
        """Read to the end, so that a broken or endless stream is noticed there too."""
        for _ in self._take(MOST_STREAM_BYTES + 1):
            pass

    def _take(self, size_bytes: int) -> Iterator[memoryview]:
        while size_bytes:
            if not self._piece:
                self._piece = memoryview(next(self._pieces, b""))
                self._left_bytes -= len(self._piece)
                if self._left_bytes < 0:
                    raise FileError(f"unpacks to more than {human_bytes(MOST_STREAM_BYTES)}")
            if not self._piece:
                return
            piece = self._piece[:size_bytes]
            self._piece = self._piece[len(piece) :]
            size_bytes -= len(piece)
            yield piece


def _pieces(descriptor: int) -> Iterator[bytes]:
    os.lseek(descriptor, 0, os.SEEK_SET)
    first = os.read(descriptor, _PACKED_BYTES)
    for magic, unpacker in _UNPACKERS:
        if first.startswith(magic):
            yield from _unpacked(descriptor, first, unpacker)
            return
    for magic, name in _OTHER_FORMATS.items():
        if first.startswith(magic):
            raise FileError(f"is a {name} file; {_EXPECTED}", hint="pack it anew: tar czf FILE.tar.gz FOLDER")
    while first:
        yield first
        first = os.read(descriptor, _PIECE_BYTES)


def _unpacked(descriptor: int, packed: bytes, unpacker: Callable[[], _Unpacker]) -> Iterator[bytes]:
    try:
        while packed:
            packed = yield from _one_stream(descriptor, packed, unpacker())
            while packed.startswith(b"\0") or not packed:
                packed = packed.lstrip(b"\0") or os.read(descriptor, _PACKED_BYTES)
                if not packed:
                    return
    except (zlib.error, lzma.LZMAError, OSError, ValueError, EOFError) as error:
        raise FileError(
            f"cannot be unpacked: {str(error).lower()}",
            hint=f"copy or pack it anew; at most {human_bytes(MOST_XZ_MEMORY_BYTES)} of memory are used to unpack",
        ) from error


def _one_stream(descriptor: int, packed: bytes, stream: _Unpacker) -> Generator[bytes, None, bytes]:
    """Yields the unpacked pieces of one stream; what it returns lies behind the stream."""
    while True:
        if piece := stream.unpack(packed, _PIECE_BYTES):
            yield piece
        packed = b""
        rest = stream.rest()
        if rest is not None:
            return rest
        if stream.wants_input():
            packed = os.read(descriptor, _PACKED_BYTES)
            if not packed:
                raise EOFError("it was cut off")
