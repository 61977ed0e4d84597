"""What a job brings along: a folder, an archive, its script, nothing, or the folder it is submitted from.

The payload lies in a private staging folder while everything is decided on it; nothing of it stays after a refusal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from vq.actions.place import Place
from vq.errors import UsageError, VqError
from vq.files.documents import KIB, OPEN_FILE, reasons

if TYPE_CHECKING:
    from vq.files.payloads import Payload
    from vq.files.staging import Staging

Progress = Callable[[int, int], None]

_SHEBANG_BYTES = 512
_HEAD_BYTES = 64 * KIB
_BY_ENDING = {".py": ("python3",), ".sh": ("sh",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bringing:
    """What was asked: a folder, an archive, a script (by its path), or to run here; at most one, or none.

    `named` is the path of the script that the job runs, also where a folder brings it along.
    """

    folder: str | None = None
    archive: str | None = None
    script: str | None = None
    here: bool = False
    named: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """What there is: the staged payload, or None where the job starts in an empty folder, or `here`.

    `paths` are those of the payload's entries, `links` those of its links. `publish` makes a snapshot of the payload,
    and is to be called in the transaction that records the job.
    """

    payload: Payload | None = None
    here: str | None = None
    paths: frozenset[bytes] = frozenset()
    links: frozenset[bytes] = frozenset()
    publish: Callable[[], object] | None = field(default=None, repr=False)


@contextmanager
def brought(place: Place, bringing: Bringing, progress: Progress | None = None) -> Iterator[Brought]:
    """What a job brings along, staged until the end of the block; raises `VqError`."""
    if bringing.here:
        yield Brought(here=_current_folder())
        return
    if bringing.folder is None and bringing.archive is None and bringing.script is None:
        yield Brought()
        return
    from vq.files import snapshots  # noqa: PLC0415 - a job without a payload needs none of it
    from vq.files.contents import Link  # noqa: PLC0415
    from vq.files.staging import open_staging  # noqa: PLC0415

    with open_staging(place.staging) as staging:
        payload = _stage(bringing, staging, place, progress)
        snapshots.make_durable(staging, payload)
        yield Brought(
            payload=payload,
            paths=frozenset(entry.path for entry in payload.entries),
            links=frozenset(entry.path for entry in payload.entries if isinstance(entry, Link)),
            publish=lambda: snapshots.publish(staging, payload, place.snapshots),
        )


def _stage(bringing: Bringing, staging: Staging, place: Place, progress: Progress | None) -> Payload:
    from vq.files import payloads  # noqa: PLC0415 - as above

    if bringing.folder is not None:
        return payloads.stage_folder(staging, bringing.folder, state_folder=place.folder, progress=progress)
    if bringing.archive is not None:
        return payloads.stage_archive(staging, bringing.archive, progress=progress)
    return payloads.stage_file(staging, bringing.script or "", progress=progress)


def _current_folder() -> str:
    with reasons("the current folder"):
        folder = os.getcwd()
    try:
        folder.encode()
    except UnicodeEncodeError:
        raise UsageError("--here: the name of the current folder is no UTF-8", hint="submit it with -d .") from None
    return folder


def script_command(bringing: Bringing, words: Sequence[str]) -> tuple[Bringing, tuple[str, ...]]:
    """What a script brings along and the command that runs it; `words` are its path and its arguments.

    Raises `UsageError` for a first word that is no script.
    """
    path = words[0]
    if bringing.archive is not None:
        raise UsageError(
            "what is in the archive is not known yet, so its command has to be given",
            hint=f"vq submit --compressed {bringing.archive} -- COMMAND…",
        )
    if bringing.folder is not None:
        path, inside = _within(bringing.folder, path)
    elif bringing.here:
        inside = path
    else:
        bringing, inside = Bringing(script=path), os.path.basename(path)
    if not os.path.isfile(path):
        raise _no_script(words)
    runner = _runner(path)
    inside = f"./{inside}" if inside.startswith("-") else inside
    return replace(bringing, named=path), (*runner, inside, *words[1:])


def _within(folder: str, path: str) -> tuple[str, str]:
    """The path to read a script of a folder by, and the one that it has in the folder."""
    root = os.path.realpath(folder)
    real = os.path.realpath(path)
    if os.path.isfile(path) and real.startswith(root.rstrip("/") + "/"):
        return path, os.path.relpath(real, root)
    beside = os.path.join(folder, path)
    if not os.path.isabs(path) and os.path.isfile(beside):
        return beside, path
    if os.path.isfile(path):
        raise UsageError(f"{path} does not lie in {folder}, which is all that the job gets", hint="move it there")
    raise _no_script([path], folder)


def _runner(path: str) -> tuple[str, ...]:
    """The words that run a script: those of its `#!` line, else what its ending says."""
    first = _head(path, _SHEBANG_BYTES).split(b"\n", 1)[0]
    if first.startswith(b"#!"):
        # As the kernel does: the interpreter, and all the rest as one argument.
        words = tuple(os.fsdecode(word) for word in first[2:].split(maxsplit=1))
        return tuple(word.strip() for word in words)
    ending = os.path.splitext(path)[1]
    if ending not in _BY_ENDING:
        raise UsageError(
            "is a file, but nothing says how to run it: no #! line, no .py or .sh at its end",
            where=path,
            hint=f"put what runs it in front: vq submit -d . -- PROGRAM {_quoted(path)}",
        )
    return _BY_ENDING[ending]


def _head(path: str, most: int) -> bytes:
    """The first bytes of a script, at most so many."""
    with reasons(path):
        descriptor = os.open(path, OPEN_FILE & ~os.O_NOFOLLOW)
        try:
            return os.read(descriptor, most)
        finally:
            os.close(descriptor)


def unread_directives(bringing: Bringing) -> tuple[str, list[str]] | None:
    """What to know of the options that a script gives to another queue at its head; None where it gives none.

    With it come the options of vq that mean the same, as a command line takes them.
    """
    if bringing.named is None:
        return None
    try:
        head = _head(bringing.named, _HEAD_BYTES)
    except VqError:
        return None
    if b"\n#" not in head:
        return None
    from vq.formats.directives import directives, note, options  # noqa: PLC0415 - few scripts say anything to other queues

    found = directives(head)
    return None if found is None else (f"{bringing.named}: {note(found)}", options(found))


def _quoted(*words: str) -> str:
    """Words as a shell reads them."""
    import shlex  # noqa: PLC0415 - only a refusal quotes

    return shlex.join(words)


def _as_command(words: Sequence[str]) -> str:
    """Words as a shell reads them, as a command: a command line that was quoted as one word is for a shell."""
    return _quoted("sh", "-c", *words) if len(words) == 1 and " " in words[0] else _quoted(*words)


def _no_script(words: Sequence[str], folder: str | None = None) -> UsageError:
    """The refusal of a first word that is no file: a script that is not there, a folder, or a command."""
    word = words[0]
    if os.path.isdir(word):
        return UsageError(
            f"{word} is a folder", hint=f"to run a command in a copy of it: vq submit -d {word} -- COMMAND…"
        )
    if "/" not in word and os.path.splitext(word)[1] not in _BY_ENDING:
        return UsageError(
            f"{word!r} is no file here, so it is neither a script nor an option",
            hint=f"to run a command, put -- before it: vq submit -- {_as_command(words)}",
        )
    beside = _like(os.path.basename(word), folder or os.path.dirname(word) or ".")
    places = f"{os.getcwd()} or {folder}" if folder is not None else os.getcwd()
    return UsageError(
        f"there is no script {word}: no such file, looked for from {places}",
        hint=f"did you mean {beside}?"
        if beside is not None
        else "give its path from here, or as it is in the folder of -d",
    )


def _like(name: str, folder: str) -> str | None:
    """The file of a folder whose name is most like that one, if any is."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a refusal needs it

    try:
        names = [entry.name for entry in os.scandir(folder) if entry.is_file()]
    except OSError:
        return None
    return next(iter(get_close_matches(name, names, 1)), None)


def refuse_absent_program(command: Sequence[str], brought: Brought, environment: Mapping[str, str]) -> None:
    """Nothing, or the `UsageError` that the program lies here and not where the job will start."""
    program = command[0]
    if brought.here is not None or os.path.isabs(program) or not os.path.isfile(program):
        return
    if "/" not in program and _is_on_path(program, environment.get("PATH", os.defpath)):
        return
    if "/" in program and _has(brought, program):
        return
    rest = _quoted(program if "/" in program else f"./{program}", *command[1:])
    raise UsageError(
        f"{program} is here, but not in the folder that the job starts in",
        hint=f"bring this folder along with -d ., or run in it with --here: vq submit -d . -- {rest}",
    )


def _is_on_path(program: str, path: str) -> bool:
    return any(os.access(os.path.join(folder, program), os.X_OK) for folder in path.split(os.pathsep) if folder)


def absent_arguments(command: Sequence[str], brought: Brought) -> list[str]:
    """The words of a command that are files here and will not be where the job starts: most likely a slip."""
    if brought.here is not None:
        return []
    return [
        word
        for word in command[1:]
        if not os.path.isabs(word) and not word.startswith("-") and os.path.isfile(word) and not _has(brought, word)
    ]


def _has(brought: Brought, path: str) -> bool:
    """Whether a payload has an entry of this path, or may have one behind a link."""
    name = os.fsencode(os.path.normpath(path))
    if name in brought.paths:
        return True
    while name and name not in brought.links:
        name = name.rpartition(b"/")[0]
    return bool(name)
