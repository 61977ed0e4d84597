"""One control group as this queue uses it: what it may use, who is in it, what it used, and how it is ended.

`cgroup1` and `cgroup2` say how each version of the interface does it; `cgroups` finds out which one a machine has.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from vq.readings import processes
from vq.readings.kernel import number_named, read_again, read_text
from vq.shapes import Kind, Record, integer

_LINKS_ALONE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a group may use: memory together with swap, tasks (processes and threads), a share of CPU time.

    None is without limit; `cpus` is a weight against other groups and throttles nobody. When a memory limit kills in
    the group of `one_job`, nothing of it is left, as a half-dead job is of no use; in a group of many, the others are.
    """

    memory_bytes: int | None = None
    pids_max: int | None = None
    cpus: int = 1
    one_job: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """What the kernel counted in a group, None where it does not say.

    `oom_kills`: processes of the group that a memory limit (whosever) killed. `limit_hits`: how often the group ran
    into its own limit, page cache included. `own_ooms` and `outer_ooms`: how often the group's own limit, and a limit
    above it, could not be met; they tell whose limit killed.
    """

    oom_kills: int | None = None
    limit_hits: int | None = None
    own_ooms: int | None = None
    outer_ooms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPaths:
    """Where a group lies: the version of the interface and a folder for each controller (v2: the one, `unified`)."""

    version: int
    folders: dict[str, str]

    def below(self, name: str) -> GroupPaths:
        """The group `name` inside this one."""
        return GroupPaths(version=self.version, folders={key: f"{path}/{name}" for key, path in self.folders.items()})

    def document(self) -> dict[str, Any]:
        """These paths as JSON."""
        return {"version": self.version, "folders": dict(self.folders)}


_FOLDERS = Kind(
    "an object of absolute paths",
    lambda v: type(v) is dict and bool(v) and all(type(p) is str and p.startswith("/") for p in v.values()),
)
PATHS_OR_NULL = Record({"version": integer(1, 2), "folders": _FOLDERS}, nullable=True)
"""The shape of what `GroupPaths.document` writes; null where there is no group."""


def paths_from(document: dict[str, Any]) -> GroupPaths:
    """The paths that `GroupPaths.document` wrote."""
    return GroupPaths(version=document["version"], folders=dict(document["folders"]))


class Group:
    """A control group; the methods that read answer None where the kernel does not say."""

    source: str
    """The name of this measurement in a receipt: `cgroup-v1` or `cgroup-v2`."""
    join_file: str
    """The file that a process of one thread writes `0` to, to join."""
    without_cache: tuple[str, str]
    """The lines of `memory.stat` that say what is anonymous and what is shared memory, of the group and those in it."""
    joined_by_thread = False
    """Whether a thread that writes to it joins alone, without the other threads of its process."""

    def __init__(self, paths: GroupPaths) -> None:
        self.paths = paths
        self._held: int | None = None

    def create(self, limits: Limits, *, may_exist: bool = False) -> None:
        """Make the group and set its limits, all or nothing; raises `OSError` when the kernel refuses.

        One that `may_exist` is limited as `relimit` does it.
        """
        made = []
        try:
            for path in self._distinct():
                try:
                    os.mkdir(path)
                except FileExistsError:
                    if not may_exist:
                        raise
                else:
                    made.append(path)
            if may_exist:
                self.relimit(limits)
            else:
                self.limit(limits)
        except OSError:
            for path in made:
                with suppress(OSError):
                    os.rmdir(path)
            raise

    def limit(self, limits: Limits) -> None:
        """Set the limits; raises `OSError` when the kernel refuses."""
        raise NotImplementedError

    def relimit(self, limits: Limits) -> bool:
        """Set the limits of a group that may be in use. False: it holds more memory, and that limit stays as it was.

        Raises `OSError` when the kernel refuses for another reason.
        """
        raise NotImplementedError

    def limit_bytes(self) -> int | None:
        """The memory limit in force; None, or a number beyond all memory, where there is none."""
        raise NotImplementedError

    def watch(self) -> tuple[int, ...]:
        """Descriptors that become readable when memory ran out, to be kept until `close`; none where not needed."""
        return ()

    def hold(self) -> None:
        """Keep open what `memory_bytes` reads, until `close`: to open and close it is half of a reading."""
        with suppress(OSError):
            self._held = os.open(self.stat_path, os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        """Let go of what `watch` and `hold` keep open."""
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def join_files(self) -> tuple[int, ...]:
        """Open descriptors; a process of one thread that writes `0` to each has joined. The caller closes them."""
        opened: list[int] = []
        try:
            opened.extend(os.open(f"{path}/{self.join_file}", os.O_WRONLY | os.O_CLOEXEC) for path in self._distinct())
        except OSError:
            for descriptor in opened:
                os.close(descriptor)
            raise
        return tuple(opened)

    def exists(self) -> bool:
        """Whether any folder of the group is there."""
        return any(os.path.isdir(path) for path in self._distinct())

    def members(self) -> tuple[int, ...]:
        """The processes in the group and in groups that the job made inside it."""
        found: set[int] = set()
        for path in self._member_folders():
            for folder in _with_inner(path):
                found.update(int(word) for word in (read_text(f"{folder}/cgroup.procs") or "").split())
        found.discard(0)
        return tuple(sorted(found))

    def inner(self) -> frozenset[str]:
        """The names of the groups directly in the group."""
        found: set[str] = set()
        for path in self._distinct():
            with suppress(FileNotFoundError):
                found.update(_folders_in(path))
        return frozenset(found)

    def freeze(self) -> None:
        """Begin to stop every process of the group, without their knowing."""
        raise NotImplementedError

    def thaw(self) -> None:
        """Let them go on."""
        raise NotImplementedError

    def kill(self) -> None:
        """SIGKILL to every process of the group, also to those that fork meanwhile."""
        raise NotImplementedError

    @property
    def stat_path(self) -> str:
        """The group's `memory.stat`."""
        raise NotImplementedError

    def memory_bytes(self) -> int | None:
        """What the group holds now without page cache: anonymous and shared memory, as `memory.stat` names them."""
        text = (read_text(self.stat_path) if self._held is None else read_again(self._held)) or ""
        anonymous, shared = (number_named(name, text) for name in self.without_cache)
        return None if anonymous is None else anonymous + (shared or 0)

    def peak_bytes(self) -> int | None:
        """The kernel's own high-water mark, page cache included."""
        raise NotImplementedError

    def cpu_seconds(self) -> float | None:
        """CPU time of everything that ever ran in the group."""
        raise NotImplementedError

    def counters(self) -> Counters:
        """What the kernel counted so far."""
        raise NotImplementedError

    def remove(self) -> bool:
        """Whether the group is gone, with any the job made inside it; False while something still runs in it."""
        left = [path for path in self._distinct() if not _is_removed(path)]
        inner = [folder for path in left for folder in reversed(list(_with_inner(path)))]
        return not [folder for folder in inner if not _is_removed(folder)]

    def _distinct(self) -> tuple[str, ...]:
        # Controllers may be mounted together (cpu,cpuacct): one folder, once.
        return tuple(dict.fromkeys(self.paths.folders.values()))

    def _member_folders(self) -> tuple[str, ...]:
        return self._distinct()

    def _signal_all(self, number: signal.Signals) -> None:
        for pid in self.members():
            process = processes.identify(pid)
            if process is not None:
                processes.send(process, number)


def _with_inner(path: str) -> Iterator[str]:
    """A group's folder and all below it, outer ones first."""
    with suppress(FileNotFoundError):
        links = os.stat(path).st_nlink
        yield path
        # Most have none: a folder is linked to by its name, by itself, and by each folder in it.
        if links != _LINKS_ALONE:
            for name in _folders_in(path):
                yield from _with_inner(f"{path}/{name}")


def _folders_in(path: str) -> list[str]:
    """The names of the groups directly in a group's folder."""
    with os.scandir(path) as entries:
        return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]


def _is_removed(folder: str) -> bool:
    """Whether a group's folder is there no more; it is removed if nothing is in it."""
    try:
        os.rmdir(folder)
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno not in (errno.EBUSY, errno.ENOTEMPTY):
            raise
        return False
    return True
