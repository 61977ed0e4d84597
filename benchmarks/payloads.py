"""Speed of staging payloads and making workspaces, beside `cp -a` and `sha256sum` of the same files in the same run.

    python benchmarks/payloads.py [--runs 3] [--folder DIR] [--large-mib 512] [--small-files 10000]

Each figure is the minimum of several runs, in seconds on the clock and of processor time (ours and the kernel's for
us). Staging is from the folder to the published snapshot, brought to disk. Nothing is removed before the end: ext4
makes new files slowly for a while after many were removed, and whoever comes second would pay for the first.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from vq.files.payloads import Payload, stage_archive, stage_folder
from vq.files.snapshots import make_workspace, publish
from vq.files.staging import open_staging

MIB = 1024 * 1024
SMALL_BYTES = 4096
FILES_A_FOLDER = 100


def main() -> None:
    """Print one line a figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--large-mib", type=int, default=512)
    parser.add_argument("--small-files", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        for label, count, size_bytes in (
            (f"one file of {options.large_mib} MiB", 1, options.large_mib * MIB),
            (f"{options.small_files} files of 4 KiB", options.small_files, SMALL_BYTES),
        ):
            top = Path(name) / str(count)
            make_files(top / "source", count, size_bytes)
            print(label)
            measure_all(top, options.runs)


def make_files(folder: Path, count: int, size_bytes: int) -> None:
    """Files of random bytes, a hundred in each folder."""
    for index in range(count):
        inner = folder / str(index // FILES_A_FOLDER)
        inner.mkdir(parents=True, exist_ok=True)
        (inner / str(index)).write_bytes(os.urandom(size_bytes))


def measure_all(top: Path, runs: int) -> None:
    """The figures of the payload in `top/source`."""
    source, archive, state, snapshots = (top / name for name in ("source", "archive.tar", "staging", "snapshots"))
    command(f"tar -cf {archive} -C {source} .")

    def staged(stage: Callable[..., Payload], path: Path, into: Path) -> str:
        with open_staging(str(state)) as staging:
            payload = stage(staging, str(path))
            publish(staging, payload, str(into))
        return payload.digest

    digest = staged(stage_folder, source, snapshots)

    def worked(into: Path) -> None:
        with open_staging(str(state)) as staging:
            make_workspace(staging, digest, str(snapshots), str(into))

    acts: dict[str, Callable[[Path], object]] = {
        "sha256sum": lambda _: command(f"find {source} -type f -exec sha256sum {{}} + >/dev/null"),
        "cp -a": lambda into: command(f"cp -a {source} {into}"),
        "tar -xf": lambda into: command(f"mkdir {into} && tar -xf {archive} -C {into}"),
        "stage a folder": lambda into: staged(stage_folder, source, into),
        "stage a tar of it": lambda into: staged(stage_archive, archive, into),
        "make a workspace": worked,
    }
    figures: dict[str, list[tuple[float, float]]] = {label: [] for label in acts}
    for run in range(runs):
        for label, act in acts.items():
            figures[label].append(measured(act, top / f"{label.replace(' ', '-')}-{run}"))
    for label, seconds in figures.items():
        clock, processor = min(pair[0] for pair in seconds), min(pair[1] for pair in seconds)
        print(f"  {label:<20}{clock:>8.2f} s on the clock{processor:>8.2f} s of processor", flush=True)


def command(line: str) -> None:
    """Run a line of shell to its end."""
    subprocess.run(["/bin/sh", "-c", line], check=True)


def measured(act: Callable[[Path], object], place: Path) -> tuple[float, float]:
    """The seconds on the clock and of processor time of one run into a place of its own."""
    os.sync()
    before, started = spent(), time.perf_counter()
    act(place)
    return time.perf_counter() - started, spent() - before


def spent() -> float:
    """The processor seconds of this process and its ended children, the kernel's part included."""
    usages = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


if __name__ == "__main__":
    main()
