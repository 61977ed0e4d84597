"""Trees of any shape: drawn, made on disk, and packed as archives, names as bytes throughout."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hypothesis import strategies as st

from vq.files.payloads import Payload, stage_archive, stage_folder
from vq.files.staging import open_staging

Compression = Literal["", "gz", "bz2", "xz"]
PACKERS: dict[Compression, Callable[[bytes], bytes]] = {
    "": bytes,
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A file (contents, whether it runs), a link (target), or a folder (neither)."""

    contents: bytes | None = None
    runs: bool = False
    target: bytes | None = None


Tree = Mapping[bytes, Made]
FOLDER = Made()

names = st.one_of(
    st.binary(min_size=1, max_size=12).map(lambda name: name.replace(b"/", b"_").replace(b"\0", b"_")),
    st.sampled_from([b"a", b"b", b"-", b"a b", b"a\nb", b"\xe9", "é".encode(), b"x.tar", b".hidden", b"z" * 255]),
).filter(lambda name: name not in (b".", b"..", b"_vq"))

leaves = st.one_of(
    st.builds(Made, contents=st.binary(max_size=2000), runs=st.booleans()),
    st.builds(Made, target=st.binary(min_size=1, max_size=120).filter(lambda target: b"\0" not in target)),
    st.just(FOLDER),
)


def _fold(name: bytes) -> bytes:
    text = unicodedata.normalize("NFC", name.decode("utf-8", "surrogateescape")).casefold()
    return unicodedata.normalize("NFC", text).encode("utf-8", "surrogateescape")


@st.composite
def trees(draw: st.DrawFn) -> dict[bytes, Made]:
    """A tree without names that an archive could not carry beside each other."""
    made: dict[bytes, Made] = {}
    folders = [b""]
    known = set()
    for name, leaf, where in draw(st.lists(st.tuples(names, leaves, st.integers(0, 50)), max_size=12)):
        parent = folders[where % len(folders)]
        path = parent + b"/" + name if parent else name
        if _fold(path) in known:
            continue
        known.add(_fold(path))
        made[path] = leaf
        if leaf == FOLDER:
            folders.append(path)
    return made


def make_tree(root: Path, tree: Tree) -> Path:
    """The tree made on disk, in the order in which it is given."""
    root.mkdir()
    for path, made in tree.items():
        full = os.fsencode(root) + b"/" + path
        if made.target is not None:
            os.symlink(made.target, full)
        elif made.contents is None:
            os.mkdir(full)
        else:
            with open(full, "wb") as file:
                file.write(made.contents)
            os.chmod(full, 0o755 if made.runs else 0o644)
    return root


def member(name: bytes | str, **fields: object) -> tarfile.TarInfo:
    """A header of the name, whatever it says, and other fields as given."""
    info = tarfile.TarInfo(name.decode("utf-8", "surrogateescape") if isinstance(name, bytes) else name)
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def folder_member(name: bytes | str) -> tarfile.TarInfo:
    return member(name, type=tarfile.DIRTYPE, mode=0o755)


def link_member(name: bytes | str, target: bytes | str) -> tarfile.TarInfo:
    text = target.decode("utf-8", "surrogateescape") if isinstance(target, bytes) else target
    return member(name, type=tarfile.SYMTYPE, linkname=text)


def tree_members(tree: Tree) -> list[tuple[tarfile.TarInfo, bytes]]:
    """The headers and contents of a tree, in the order in which it is given."""
    packed = []
    for path, made in tree.items():
        if made.target is not None:
            packed.append((link_member(path, made.target), b""))
        elif made.contents is None:
            packed.append((folder_member(path), b""))
        else:
            packed.append((member(path, mode=0o755 if made.runs else 0o644), made.contents))
    return packed


def packed(
    members: Iterable[tarfile.TarInfo | tuple[tarfile.TarInfo, bytes]],
    compression: Compression = "",
    tar_format: int = tarfile.PAX_FORMAT,
) -> bytes:
    """The bytes of an archive of these members, each with its contents."""
    buffer = io.BytesIO()
    with tarfile.open(
        fileobj=buffer, mode="w", format=tar_format, encoding="utf-8", errors="surrogateescape"
    ) as archive:
        for one in members:
            info, contents = one if isinstance(one, tuple) else (one, b"")
            if contents:
                info.size = len(contents)
            archive.addfile(info, io.BytesIO(contents) if contents else None)
    return PACKERS[compression](buffer.getvalue())


def staged_folder(state: Path, folder: Path) -> Payload:
    """The payload of a folder, its staging folder removed again."""
    with open_staging(str(state)) as staging:
        return stage_folder(staging, str(folder))


def staged_archive(state: Path, archive: Path) -> Payload:
    """The payload of an archive, its staging folder removed again."""
    with open_staging(str(state)) as staging:
        return stage_archive(staging, str(archive))


def listing(root: bytes | Path) -> dict[bytes, tuple[str, bytes, int]]:
    """Everything below a folder, read without any code of ours: kind, contents or target, permissions."""
    found = {}
    top = os.fsencode(root)
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            full = folder + b"/" + name
            path = os.path.relpath(full, top)
            if os.path.islink(full):
                found[path] = ("link", os.readlink(full), 0)
            elif os.path.isdir(full):
                found[path] = ("folder", b"", os.stat(full).st_mode & 0o7777)
            else:
                with open(full, "rb") as file:
                    found[path] = ("file", file.read(), os.stat(full).st_mode & 0o7777)
    return found
