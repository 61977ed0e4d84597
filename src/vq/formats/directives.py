"""The lines of a batch script that other queues take options from, and what the same is in options of vq.

Nothing here is acted upon: vq reads its own command line only, and says so once. An option is named where it means the
same; what has no equal, or none that is certain, is told as it stands. Only the head of a script counts, up to the
first line that is a command, as the queues themselves have it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from typing import NamedTuple

from vq.errors import UsageError
from vq.jobs.times import limit_seconds
from vq.sizes import mebibytes

_MARKS = (b"#SBATCH", b"#PBS", b"#BSUB", b"#$")
_LONGEST = 80
_REMARK = " (its indexes are from 0)"
"""What follows an option in the note, and belongs to no command line."""
_MOST_SHOWN = 8
_SHORT = {
    "A": "account",
    "D": "chdir",
    "J": "job-name",
    "N": "nodes",
    "a": "array",
    "b": "begin",
    "c": "cpus-per-task",
    "d": "dependency",
    "e": "error",
    "n": "ntasks",
    "o": "output",
    "p": "partition",
    "q": "qos",
    "t": "time",
}
_RANGE = r"(?P<first>[0-9]{1,6})-(?P<last>[0-9]{1,6})(?P<rest>%[0-9]{1,6})?"
_SLURM_SIZE = r"[0-9]{1,12}(?:[KMGT]B?)?"
_MOMENT = r"[0-9]{2}:[0-9]{2}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{5,8}"
_SHORTENED_TIME = r"(?P<days>[0-9]{1,6})-(?P<hours>[0-9]{1,2})(?P<minutes>:[0-9]{2})?"


class Directives(NamedTuple):
    """The lines that begin with `mark`: the numbers of the first and the last, and the text of each behind it."""

    mark: str
    first: int
    last: int
    lines: tuple[str, ...]


def directives(head: bytes) -> Directives | None:
    """The directives at the head of a script; None for a script without any."""
    found: dict[bytes, dict[int, str]] = {}
    for number, line in enumerate(head.split(b"\n"), start=1):
        if line.strip() and not line.startswith(b"#"):
            break
        mark, *rest = line.split(maxsplit=1) or [b""]
        if mark in _MARKS and (mark != b"#$" or b"".join(rest).startswith(b"-")):
            found.setdefault(mark, {})[number] = b"".join(rest).decode("utf-8", "replace").strip()
    for mark in _MARKS:
        if mark in found:
            lines = found[mark]
            return Directives(mark.decode(), min(lines), max(lines), tuple(lines.values()))
    return None


def note(found: Directives) -> str:
    """That the directives are not read, in a sentence, and what to write on the command line instead."""
    where = f"line {found.first}" if found.first == found.last else f"lines {found.first} to {found.last}"
    said = f"vq does not read its {found.mark} lines ({where})"
    if found.mark != "#SBATCH":
        return f"{said}; give what they say as options: vq submit --help"
    same, rest = _translated(found.lines)
    if same:
        said += f"; the same in options: {' '.join(same)}"
    if rest:
        more = f" and {len(rest) - _MOST_SHOWN} more" if len(rest) > _MOST_SHOWN else ""
        said += f"; no option is the same for {' '.join(rest[:_MOST_SHOWN])}{more}"
    return said


def options(found: Directives) -> list[str]:
    """The options of vq that mean what the directives of Slurm say, as a command line takes them."""
    return [option.removesuffix(_REMARK) for option in _translated(found.lines)[0]] if found.mark == "#SBATCH" else []


def _translated(lines: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The options of vq that mean what the lines say (the last of each), and the words of those that none means."""
    same: dict[str, str] = {}
    rest: dict[str, None] = {}
    for name, value, written in _given(lines):
        means = _MEANINGS.get(name)
        option = means(value) if means is not None and len(value) <= _LONGEST else None
        if option is None:
            rest[written if len(written) <= _LONGEST else f"{written[:_LONGEST]}…"] = None
        elif option:
            same[name] = option
    return list(same.values()), list(rest)


def _given(lines: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """Each option of Slurm by its long name, its value ("" where it has none), and as it was written."""
    for line in lines:
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            yield "", "", line
            continue
        while words:
            word = words.pop(0)
            if word.startswith("--"):
                name, sign, value = word[2:].partition("=")
            else:
                name, sign, value = _SHORT.get(word[1:2], ""), word[2:3], word[2:].removeprefix("=")
            if not sign and words and not words[0].startswith("-"):
                value = words.pop(0)
                word = f"{word} {value}"
            yield name, value, word


def counted_array(text: str) -> tuple[str, int] | None:
    """Of a range of indexes with a first and a last, as Slurm has them (`1-10%2`): `10%2`, and its first index."""
    found = re.fullmatch(_RANGE, text)
    if found is None or int(found["last"]) < int(found["first"]):
        return None
    first = int(found["first"])
    return f"{int(found['last']) - first + 1}{found['rest'] or ''}", first


def _array(value: str) -> str | None:
    counted = counted_array(value)
    if counted is None:
        return None
    array, first = counted
    return f"--array {array}" if first == 0 else f"--array {array}{_REMARK}"


def _memory(value: str) -> str | None:
    known = re.fullmatch(_SLURM_SIZE, value, re.IGNORECASE | re.ASCII) is not None and mebibytes(value) is not None
    return f"--mem {value}" if known else None


def _time(value: str) -> str | None:
    found = re.fullmatch(_SHORTENED_TIME, value)
    if found is not None:
        value = f"{found['days']}-{found['hours']}{found['minutes'] or ':00'}:00"
    try:
        limit_seconds(value)
    except UsageError:
        return None
    return f"--time {value}"


def _dependency(value: str) -> str | None:
    kind, _, jobs = value.partition(":")
    option = {"afterok": "--depends-on", "afterany": "--depends-on-any"}.get(kind)
    if option is None or not jobs or "," in jobs or "?" in jobs:
        return None
    return " ".join([f"{option} JOB"] * len(jobs.split(":")))


def _count(value: str) -> str | None:
    return f"--cpus {value}" if value.isascii() and value.isdigit() else None


def _one(value: str) -> str | None:
    """Of what is one anyway, nothing is to be said."""
    return "" if value in ("1", "1-1") else None


_MEANINGS: dict[str, Callable[[str], str | None]] = {
    "array": _array,
    "begin": lambda value: f"--not-before {value}" if re.fullmatch(_MOMENT, value) else None,
    "cpus-per-task": _count,
    "dependency": _dependency,
    "error": lambda _: "",
    "export": {"ALL": "", "NONE": "--clean-env"}.get,
    "job-name": lambda value: f"--name {shlex.quote(value)}" if value else None,
    "mem": _memory,
    "nodes": _one,
    "ntasks": _one,
    "ntasks-per-node": _one,
    "output": lambda _: "",
    "time": _time,
}
"""What an option of Slurm with its value is in vq: "" where nothing is to be said, None where no option is the same.

The output of a job lies where `vq logs` finds it, whatever it is called.
"""
