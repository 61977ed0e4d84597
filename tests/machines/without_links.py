"""`-o FILE` on a file system that has no hard links: FAT, as on a memory stick.

For a virtual machine alone (`make test-v2` runs it): it loads the kernel's modules for it.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.command import Run
from support.documents import MANIFEST
from vq.files.documents import FileError, write_new

MODULES = ("loop", "nls_cp437", "nls_ascii", "nls_utf8", "nls_iso8859-1", "fat", "vfat")


def load(folder: Path) -> None:
    found = {path.name.partition(".")[0]: path for path in folder.rglob("*.ko*")}
    for name in MODULES:
        if name in found:
            subprocess.run(["insmod", str(found[name])], check=False, capture_output=True)


@pytest.fixture
def stick(tmp_path: Path) -> Iterator[Path]:
    """An empty FAT file system."""
    if "VQ_TEST_MACHINE" not in os.environ:
        pytest.skip("loads modules into the kernel: only in a virtual machine")
    load(Path(os.environ["VQ_TEST_MACHINE"]))
    image, place = tmp_path / "image", tmp_path / "stick"
    image.write_bytes(bytes(8 << 20))
    place.mkdir()
    subprocess.run(["busybox", "mkdosfs", str(image)], check=True, capture_output=True)
    mounted = subprocess.run(
        ["mount", "-t", "vfat", "-o", "loop", str(image), str(place)], capture_output=True, check=False
    )
    assert mounted.returncode == 0, mounted.stderr
    try:
        (place / "probe").touch()
        with pytest.raises(PermissionError):
            os.link(place / "probe", place / "name")
        (place / "probe").unlink()
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_file_is_written_whole_and_nothing_is_ever_overwritten(stick: Path, vq: Run, tmp_path: Path) -> None:
    manifest = tmp_path / "m.system"
    manifest.write_text(MANIFEST)
    out = stick / "out.json"
    result = vq("estimate", manifest, "-o", out)
    assert result.status == 0, result.err
    text = out.read_text()
    assert os.listdir(stick) == ["out.json"]
    assert vq("estimate", manifest, "-o", out).status == 1
    with pytest.raises(FileError, match="exists already"):
        write_new(str(out), ["mine"])
    assert (out.read_text(), os.listdir(stick)) == (text, ["out.json"])
