"""The keys of the configuration: how each is written, what it is resolved to, and its default.

Sizes are numbers with a unit (powers of 1024), spans of time whole numbers with s, m, h or d; both are text, so that a
number without its unit is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from vq.jobs.times import span_ms
from vq.shapes import BOOLEAN, LARGEST, Kind, integer, one_of
from vq.sizes import size_bytes

KIB = 1024

_LARGEST_MARGIN = 1000
_MOST_OVERCOMMIT = 100
_OFF = "off"

SECTIONS = ("host", "daemon", "sizing", "profiles", "hooks")


class Key(NamedTuple):
    """A key: `read` turns its value as written into the resolved one, or raises `ValueError` or `UsageError`.

    `expected` says how it is written, `resolved` is the shape of the resolved value, `meaning` is its line in the
    reference. The defaults of the budgets are the host's and stand not here.
    """

    read: Callable[[Any], Any]
    expected: str
    resolved: Kind
    default: Any
    meaning: str


def _size(written: str) -> int:
    size = size_bytes(written)
    if size is None or not 0 < size <= LARGEST:
        raise ValueError
    return size


def _choice(*words: str, meaning: str) -> Key:
    return Key(_one_of(words), " or ".join(f'"{word}"' for word in words), one_of(words), words[0], meaning)


def _one_of(words: tuple[str, ...]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if type(value) is not str or value not in words:
            raise ValueError
        return value

    return read


def _whole(low: int, high: int = 10**6) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if type(value) is not int or not low <= value <= high:
            raise ValueError
        return value

    return read


def _texted(read: Callable[[str], int]) -> Callable[[Any], int]:
    def read_text(value: Any) -> int:
        if type(value) is not str:
            raise ValueError
        return read(value)

    return read_text


def _or_off(read: Callable[[str], int]) -> Callable[[Any], int | None]:
    return lambda value: None if value == _OFF else _texted(read)(value)


def _overcommit(value: Any) -> int | float:
    if type(value) not in (int, float) or not 0 < value <= _MOST_OVERCOMMIT:
        raise ValueError
    return value  # type: ignore[no-any-return]  # its type stands above


def _boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError
    return value


def _argv(value: Any) -> list[str]:
    words: list[Any] = value if type(value) is list else [None]
    if any(type(word) is not str or "\0" in word for word in words) or words[:1] == [""]:
        raise ValueError
    return words


_SIZE_EXPECTED = 'a size such as "24G" or "1.5GiB"'
_SPAN_EXPECTED = 'a span of time such as "10m" (s, m, h, d)'
_COUNT = integer(1)
_SPAN_OR_NULL = integer(0, null=True)
_NUMBER = Kind("a number", lambda v: type(v) in (int, float) and 0 < v <= _MOST_OVERCOMMIT)
_WORDS = Kind("an array of strings", lambda v: type(v) is list and all(type(word) is str for word in v))

KEYS: Mapping[str, Key] = {
    "host.memory_max": Key(_texted(_size), _SIZE_EXPECTED, _COUNT, None, "The memory that all jobs together may hold."),
    "host.cpus": Key(_whole(1), "a whole number of 1 or more", _COUNT, None, "The CPUs that jobs share."),
    "host.admission": _choice(
        "measured", "caps", meaning="Reserve memory by the measured peaks of earlier runs, or each job's whole limit."
    ),
    "host.cpu_admission": _choice(
        "caps", "measured", "off", meaning="Reserve the CPUs asked for, those measured, or none."
    ),
    "host.cpu_overcommit": Key(
        _overcommit, f"a number above 0, at most {_MOST_OVERCOMMIT}", _NUMBER, 1.0, "So many times `cpus` are reserved."
    ),
    "host.barrier_after": Key(
        _or_off(span_ms),
        f'{_SPAN_EXPECTED} or "off"',
        _SPAN_OR_NULL,
        600_000,
        "A job that has waited so long for room lets no later one pass; off: small jobs may pass for ever.",
    ),
    "host.on_host_oom": _choice(
        "requeue", "fail", meaning="What the job gets that is ended because jobs together outgrew the budget."
    ),
    "host.kill_grace": Key(
        _texted(span_ms), _SPAN_EXPECTED, integer(0), 10_000, "From TERM to KILL when a job is ended."
    ),
    "host.starved_after": Key(
        _or_off(span_ms),
        f'{_SPAN_EXPECTED} or "off"',
        _SPAN_OR_NULL,
        None,
        "End a job that has used almost no CPU for so long; needs control groups.",
    ),
    "host.enforcement": _choice(
        "auto",
        "cgroup2",
        "cgroup1",
        "systemd",
        "sampled",
        meaning="How limits are held and runs measured; `VQ_ENFORCEMENT` says it too.",
    ),
    "daemon.autostart": Key(
        _boolean, "true or false", BOOLEAN, default=True, meaning="Whether a submission starts the daemon."
    ),
    "sizing.margin": Key(
        _whole(0, _LARGEST_MARGIN),
        f"a percentage from 0 to {_LARGEST_MARGIN}",
        integer(0),
        15,
        "What is added to a predicted peak, in percent.",
    ),
    "sizing.min_jobs": Key(
        _whole(1),
        "a whole number of 1 or more",
        _COUNT,
        10,
        "So many runs of a job, or of its profile's jobs, are needed before anything is predicted.",
    ),
    "hooks.on_end": Key(
        _argv,
        "an array of strings: the program and its arguments",
        _WORDS,
        (),
        "Run at the end of every job, without a shell, with the job's record (JSON) on stdin.",
    ),
}
PROFILE_KEYS: Mapping[str, Key] = {
    "memory": Key(
        _texted(_size),
        _SIZE_EXPECTED,
        integer(1, null=True),
        None,
        "The memory limit of a job of the profile that names none; without: its share of the host.",
    ),
    "cpus": Key(_whole(1), "a whole number of 1 or more", _COUNT, 1, "The CPUs of a job that names none."),
    "slots": Key(
        _whole(1), "a whole number of 1 or more", integer(1, null=True), None, "So many jobs of it run at once."
    ),
}
