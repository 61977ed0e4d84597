"""Which control groups this process is in, and where it may make new ones.

Enforcement is `auto` (the best that there is), `cgroup2`, `cgroup1`, `systemd` (version 2, in a scope that this process
has been moved into), or `sampled` (none: the queue measures the processes itself and kills itself). A group of version
2 that holds processes cannot hand its controllers down, so the search goes upwards from this process's own group to the
first place where a group can be made and joined.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from dataclasses import dataclass

from vq.errors import VqError
from vq.readings import cgroup1, cgroup2
from vq.readings.group import Group, GroupPaths, Limits
from vq.readings.kernel import read_text, write_text

ENFORCEMENTS = ("auto", "cgroup2", "cgroup1", "systemd", "sampled")
LEAF = "vq-daemon"

_UNIFIED = "unified"
_USES = {"cgroup2": ("auto", "cgroup2", "systemd"), "cgroup1": ("auto", "cgroup1")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hierarchy:
    """One mounted tree of groups: whether of version 2, its controllers (v1), its mount, and our own folder in it."""

    unified: bool
    controllers: frozenset[str]
    mount: str
    own: str


class NoGroupsError(VqError):
    """Control groups were asked for and cannot be used here; the message says why."""


def parse_hierarchies(mountinfo: str, membership: str) -> tuple[Hierarchy, ...]:
    """The trees of `/proc/self/mountinfo` that `/proc/self/cgroup` says we are in."""
    paths: dict[str, str] = {}
    for line in membership.splitlines():
        number, controllers, path = line.split(":", 2)
        for name in controllers.split(",") if controllers else [_UNIFIED if number == "0" else ""]:
            paths[name] = path
    found = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        kind, *_, options = after.split(" ")
        if kind not in ("cgroup", "cgroup2"):
            continue
        root, mount = (_plain(word) for word in before.split(" ")[3:5])
        names = {_UNIFIED} if kind == "cgroup2" else set(options.split(",")) & paths.keys()
        inside = next((paths[name] for name in names if name in paths), None)
        if inside is not None:
            found.append(
                Hierarchy(
                    unified=kind == "cgroup2",
                    controllers=frozenset(names - {_UNIFIED}),
                    mount=mount,
                    own=_below(mount, root, inside),
                )
            )
    return tuple(found)


def hierarchies() -> tuple[Hierarchy, ...]:
    """The trees of groups that this process is in."""
    return parse_hierarchies(read_text("/proc/self/mountinfo") or "", read_text("/proc/self/cgroup") or "")


def open_group(paths: GroupPaths) -> Group:
    """The group at `paths`, which need not exist yet."""
    return cgroup1.Group1(paths) if paths.version == 1 else cgroup2.Group2(paths)


def make_parent(name: str, enforcement: str = "auto", limits: Limits | None = None) -> Group | None:
    """The group `name` under which jobs get theirs, made where this process may; None means by sampling.

    Raises `NoGroupsError` when `enforcement` names a version that cannot be used here.
    """
    if enforcement == "sampled":
        return None
    trees = hierarchies()
    reasons = []
    for version, make in (("cgroup2", _make_parent_2), ("cgroup1", _make_parent_1)):
        if enforcement in _USES[version]:
            try:
                return make(name, trees, limits or Limits())
            except OSError as error:
                reasons.append(f"{version}: {error}")
    if enforcement == "auto":
        return None
    raise NoGroupsError(
        f"cannot make a control group here ({'; '.join(reasons)})",
        hint="VQ_ENFORCEMENT=sampled measures and kills without control groups",
    )


def move_into_leaf() -> bool:
    """Whether this process, alone in its group of version 2, now sits in a leaf of it; then groups can lie beside."""
    for tree in hierarchies():
        if tree.unified and os.path.basename(tree.own) == LEAF:
            return True  # a leaf in the leaf would make it a place for groups, beside the one where they are
        if tree.unified and (read_text(f"{tree.own}/cgroup.procs") or "").split() == [str(os.getpid())]:
            with suppress(OSError):
                os.makedirs(f"{tree.own}/{LEAF}", exist_ok=True)
                write_text(f"{tree.own}/{LEAF}/cgroup.procs", "0")
                return True
    return False


def _make_parent_1(name: str, trees: tuple[Hierarchy, ...], limits: Limits) -> Group:
    places = {
        controller: tree.own
        for tree in trees
        if not tree.unified
        for controller in cgroup1.CONTROLLERS
        if controller in tree.controllers and os.access(tree.own, os.W_OK)
    }
    for needed in cgroup1.NEEDED:
        if needed not in places:
            raise FileNotFoundError(errno.ENOENT, f"no writable {needed} controller")
    group = cgroup1.Group1(GroupPaths(version=1, folders=places).below(name))
    group.create(limits, may_exist=True)
    return group


def _make_parent_2(name: str, trees: tuple[Hierarchy, ...], limits: Limits) -> Group:
    refusal: OSError = FileNotFoundError(errno.ENOENT, "no tree with a memory controller")
    for tree in trees:
        if not tree.unified or "memory" not in (read_text(f"{tree.mount}/cgroup.controllers") or "").split():
            continue
        place = tree.own
        while place == tree.mount or place.startswith(f"{tree.mount}/"):
            try:
                return _make_in(place, name, limits)
            except OSError as error:
                refusal = error
            place = os.path.dirname(place)
    raise refusal


def _make_in(place: str, name: str, limits: Limits) -> Group:
    # Moving a process needs write access to the common ancestor's list, which is this one.
    if not os.access(f"{place}/cgroup.procs", os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), place)
    cgroup2.hand_down(place)
    group = cgroup2.Group2(GroupPaths(version=2, folders={_UNIFIED: f"{place}/{name}"}))
    group.create(limits, may_exist=True)
    group.hand_down()
    return group


def _below(mount: str, root: str, path: str) -> str:
    """Where `path` of a tree lies when its `root` is mounted at `mount`."""
    if root not in ("/", path) and path.startswith(f"{root}/"):
        path = path.removeprefix(root)
    elif root == path:
        path = "/"
    return mount if path == "/" else f"{mount}{path}"


def _plain(word: str) -> str:
    r"""A path of `mountinfo` without its escapes (`\040` is a space)."""
    if "\\" not in word:
        return word
    head, *rest = word.split("\\")
    return head + "".join(chr(int(part[:3], 8)) + part[3:] for part in rest)
