"""A list of jobs in a file or on standard input: JSON Lines of commands with their options, or one command a line.

A line that begins with `{` is an object; any other is a command, its words told apart and quoted as a shell has them,
but run without one: what only a shell would do (`|`, `>`, `&&`) is refused. Empty lines and lines that begin with `#`
are passed over. What a line says goes before what the command line says for all of them.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from typing import Any

from vq.actions.orders import MEM_OPTIONS, TIME_OPTIONS, Order, Written, read_order
from vq.canonical import parse
from vq.errors import BadDataError, UsageError, VqError
from vq.files.documents import MIB, read_file
from vq.shapes import BOOLEAN, Kind, Listing, Record, Shape, integer, text
from vq.wording import human_bytes

MOST_BYTES = 256 * MIB

_STDIN = "standard input"
_WORD = text(least=1)
_INTEGER = integer(-(2**53) + 1)
_TIME = Kind("minutes, or a time as text", lambda v: type(v) in (str, int))
_SIZE = Kind('a number of MiB, or a size as text, such as "4G"', lambda v: type(v) in (str, int))

_OPTIONS: Mapping[str, Shape] = {
    "name": _WORD,
    "workflow": _WORD,
    "repository": _WORD,
    "tag": Listing(_WORD),
    "profile": _WORD,
    "cpus": _INTEGER,
    "mem-mb": _SIZE,
    "mem": _SIZE,
    "time": _TIME,
    "time-limit": _TIME,
    "wall-time-seconds": _INTEGER,
    "reserve": _WORD,
    "priority": _INTEGER,
    "depends-on": Listing(_WORD),
    "depends-on-any": Listing(_WORD),
    "not-before": _WORD,
    "retry": _INTEGER,
    "oom-retry": _SIZE,
    "auto-resume": BOOLEAN,
    "env": Listing(_WORD),
    "clean-env": BOOLEAN,
    "estimate": _WORD,
    "mem-from-estimate": BOOLEAN,
    "time-from-estimate": BOOLEAN,
}
_LINE = Record({"command": Listing(text(), least=1)}, _OPTIONS)
_OPERATORS = "();<>|&"


def read_orders(path: str, options: Mapping[str, Any]) -> list[Order]:
    """The orders of a list (`-` is standard input), `options` standing for what a line leaves out.

    Raises `VqError` with the line that is wrong, or `BadDataError` for a list without a job.
    """
    where, data = (_STDIN, _standard_input()) if path == "-" else (path, read_file(path, MOST_BYTES))
    orders = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith(b"#"):
            continue
        try:
            orders.append(_read_line(stripped, options, f"{where}:{number}"))
        except VqError as error:
            raise error.at(f"{where}:{number}")  # noqa: B904 - the same error, placed
    if not orders:
        raise BadDataError("a job; the list has none").at(where)
    return orders


def _standard_input() -> bytes:
    data = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise BadDataError(f"at most {human_bytes(MOST_BYTES)}").at(_STDIN)
    return data


def _read_line(line: bytes, options: Mapping[str, Any], where: str) -> Order:
    if not line.startswith(b"{"):
        return read_order(options, _words(os.fsdecode(line)), Written(where=where))
    document = parse(line)
    _LINE.check(document)
    command = document.pop("command")
    written = Written(where=where, keys=frozenset(document))
    if written.keys.issuperset(MEM_OPTIONS):
        raise UsageError(f"{' and '.join(map(written.named, MEM_OPTIONS))} both say what the limit is")
    given = {name.replace("-", "_"): value for name, value in document.items()}
    if "mem" in given:
        given["mem_mb"] = given.pop("mem")
    inherited = dict(options)
    if any(name in given for name in (*TIME_OPTIONS, "time_from_estimate")):
        inherited.update(dict.fromkeys((*TIME_OPTIONS, "time_from_estimate")))
    if "mem_mb" in given or "mem_from_estimate" in given:
        inherited.update(dict.fromkeys(("mem_mb", "mem_from_estimate")))
    return read_order({**inherited, **given}, command, written)


def _words(line: str) -> list[str]:
    if _is_for_a_shell(line):
        raise UsageError(
            "this needs a shell, and a line runs without one",
            hint=f"quote what is meant literally, or write: sh -c {shlex.quote(line)}",
        )
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"no command: {str(error).lower()}", hint="quote its words as in a shell") from None


def _is_for_a_shell(line: str) -> bool:
    """Whether an operator stands in a line outside of quotes."""
    quote, escaped = "", False
    for sign in line:
        if escaped:
            escaped = False
        elif sign == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in _OPERATORS:
            return True
    return False
