"""What one submission asks for a job, as its options say it: read from a command line or from a line of a list.

Options go by their long names with `_` for `-`; what is absent or None was not said. Everything that can be refused
without looking at the queue, the host or a file is refused here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from vq.errors import UsageError, VqError, json_path, shown
from vq.jobs.ids import sequence_of
from vq.jobs.record import Dependency, Need, Reserve
from vq.jobs.times import LONGEST_SECONDS, limit_seconds
from vq.shapes import LARGEST
from vq.sizes import EXPECTED_MIB, MOST_MIB, mebibytes
from vq.wording import escape

MEM_OPTIONS = ("mem-mb", "mem")
MOST_RETRIES = 1000
MOST_ARRAY = 100_000

TIME_OPTIONS = ("time", "time_limit", "wall_time_seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Where an order stands: on the command line, or at the line `where` of a list that says `keys` itself."""

    where: str | None = None
    keys: frozenset[str] = frozenset()

    def named(self, *options: str) -> str:
        """The one of the options, given by long names, that its author wrote, as it stands there."""
        for option in options:
            if option in self.keys:
                return json_path((option,))
        return f"--{options[0]}"

    @contextmanager
    def placed(self, *options: str) -> Iterator[None]:
        """Whatever is refused inside is refused of one of `options`, or where there are none of the whole order."""
        try:
            yield
        except VqError as error:
            where = self.named(*options) if options else self.where
            raise error if where is None else error.at(where)  # noqa: B904 - the same error, placed


COMMAND_LINE = Written()


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is asked for one job; None where nothing was said. `estimate` is the path of a document."""

    command: tuple[str, ...]
    name: str | None = None
    workflow: str | None = None
    repository: str | None = None
    tags: tuple[str, ...] = ()
    profile: str | None = None
    cpus: int | None = None
    mem_mb: int | None = None
    wall_time_seconds: int | None = None
    reserve: Reserve | None = None
    priority: int | None = None
    depends_on: tuple[Dependency, ...] = ()
    not_before: str | None = None
    retry: int | None = None
    oom_retry: int | str | None = None
    auto_resume: bool = False
    env: Mapping[str, str]
    clean_env: bool = False
    estimate: str | None = None
    mem_from_estimate: bool = False
    time_from_estimate: bool = False
    written: Written = COMMAND_LINE


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayOrder:
    """An array of `total` jobs, of which at most `at_once` run at a time (None: any number)."""

    total: int
    at_once: int | None


def read_order(options: Mapping[str, Any], command: Sequence[str], written: Written = COMMAND_LINE) -> Order:
    """The order that options and a command make; raises `UsageError` for what contradicts itself or cannot be.

    A refusal names an option as it was `written`.
    """
    get, named = options.get, written.named
    for word in command:
        _refuse_unwritable(word, "the command")
    if not command:
        raise UsageError("there is no command", hint="vq submit -- COMMAND…, or the name of a script")
    if not command[0]:
        raise UsageError("the command has an empty name", hint="vq submit -- COMMAND…")
    order = Order(
        command=tuple(command),
        name=read_name(get("name"), named("name")),
        workflow=read_name(get("workflow"), named("workflow")),
        repository=read_name(get("repository"), named("repository")),
        tags=tuple(dict.fromkeys(str(read_name(tag, named("tag"))) for tag in get("tag") or ())),
        profile=get("profile"),
        cpus=_whole(get("cpus"), named("cpus"), 1, 1_000_000),
        mem_mb=_mem_mb(get("mem_mb"), named(*MEM_OPTIONS)),
        wall_time_seconds=read_wall_time(options, written),
        reserve=_reserve(get("reserve"), named("reserve")),
        priority=_whole(get("priority"), named("priority"), -LARGEST, LARGEST),
        depends_on=_dependencies(options, written),
        not_before=get("not_before"),
        retry=_whole(get("retry"), named("retry"), 0, MOST_RETRIES),
        oom_retry=_oom_retry(get("oom_retry"), named("oom-retry")),
        auto_resume=bool(get("auto_resume")),
        env=_variables(get("env") or (), named("env")),
        clean_env=bool(get("clean_env")),
        estimate=get("estimate"),
        mem_from_estimate=bool(get("mem_from_estimate")),
        time_from_estimate=bool(get("time_from_estimate")),
        written=written,
    )
    _refuse_two_limits(order)
    return order


def _refuse_two_limits(order: Order) -> None:
    named = order.written.named
    for wanted, flag, given, other in (
        (order.mem_from_estimate, named("mem-from-estimate"), order.mem_mb, named(*MEM_OPTIONS)),
        (order.time_from_estimate, named("time-from-estimate"), order.wall_time_seconds, "a time limit"),
    ):
        if wanted and order.estimate is None:
            raise UsageError(f"{flag} needs --estimate", hint="give the calibrated estimate: --estimate FILE")
        if wanted and given is not None:
            raise UsageError(f"{flag} and {other} both say what the limit is", hint="give one of them")


def read_wall_time(options: Mapping[str, Any], written: Written = COMMAND_LINE) -> int | None:
    """The time limit in seconds that `--time`, `--time-limit` or `--wall-time-seconds` gives, at most one of them."""
    given = [name for name in TIME_OPTIONS if options.get(name) is not None]
    if len(given) > 1:
        flags = " and ".join(written.named(name.replace("_", "-")) for name in given)
        raise UsageError(f"{flags} both say what the time limit is", hint="give one of them")
    if not given:
        return None
    value = options[given[0]]
    if given[0] == "wall_time_seconds":
        return _whole(value, written.named("wall-time-seconds"), 1, LONGEST_SECONDS)
    with written.placed("time", "time-limit"):
        return limit_seconds(str(value))


def read_array(text: str) -> ArrayOrder:
    """The array that `N` or `N%K` asks for; raises `UsageError`."""
    total, _, at_once = text.partition("%")
    numbers = [total, at_once] if "%" in text else [total]
    if all(number.isascii() and number.isdigit() and len(number) <= len(str(MOST_ARRAY)) for number in numbers):
        values = [int(number) for number in numbers]
        if all(1 <= value <= MOST_ARRAY for value in values):
            return ArrayOrder(total=values[0], at_once=values[1] if len(values) > 1 else None)
    raise UsageError(f"--array: {text!r} is no array", hint=_instead(text))


def _instead(text: str) -> str:
    """What to write for an array that is none."""
    from vq.formats.directives import counted_array  # noqa: PLC0415 - most arrays are ones

    counted = counted_array(text)
    if counted is None:
        return f"write how many jobs (N), or how many and how many at once (N%K), each 1 to {MOST_ARRAY}"
    array, first = counted
    indexes = f"VQ_ARRAY_INDEX + {first} is then what the index was" if first else "with the same indexes"
    return f"an array is how many jobs, and its indexes are from 0: write --array {array}, {indexes}"


def read_name(value: str | None, flag: str) -> str | None:
    """A name, workflow, repository or tag as given; raises `UsageError` for an empty one or control characters."""
    if value is None:
        return None
    _refuse_unwritable(value, flag)
    if not value or escape(value) != value:
        raise UsageError(f"{flag}: {escape(value)!r} is no name", hint="give text without control characters")
    return value


def _refuse_unwritable(text: str, what: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{what} has bytes that are no UTF-8: {escape(text)}", hint="write it in UTF-8") from None
    if "\0" in text:
        raise UsageError(f"{what} has a NUL in it: {escape(text)}")


def _whole(value: Any, flag: str, low: int, high: int) -> int | None:
    if value is None:
        return None
    if type(value) is not int or not low <= value <= high:
        raise UsageError(f"{flag}: expected a whole number from {low} to {high}, found {shown(value)}")
    return value


def _mem_mb(value: Any, flag: str, *, also: str = "") -> int | None:
    if value is None:
        return None
    mib = mebibytes(value) if type(value) is str else value
    if type(mib) is not int or not 1 <= mib <= MOST_MIB:
        raise UsageError(f"{flag}: expected {EXPECTED_MIB}{also}, found {shown(value)}")
    return mib


def _reserve(value: str | None, flag: str) -> Reserve | None:
    if value is None:
        return None
    if value not in tuple(Reserve):
        raise UsageError(f"{flag}: expected measured or cap, found {shown(value)}")
    return Reserve(value)


def _oom_retry(value: Any, flag: str) -> int | str | None:
    return "max" if value == "max" else _mem_mb(value, flag, also=", or max")


def _dependencies(options: Mapping[str, Any], written: Written) -> tuple[Dependency, ...]:
    """One entry a job; of a job that has both, that it completed says more."""
    found: dict[str, Need] = {}
    for option, kind in (("depends-on-any", Need.ENDED), ("depends-on", Need.COMPLETED)):
        for job in options.get(option.replace("-", "_")) or ():
            with written.placed(option):
                sequence_of(job)
            found[job] = kind
    return tuple(Dependency(job=job, kind=kind) for job, kind in found.items())


def _variables(given: Sequence[str], flag: str) -> dict[str, str]:
    variables = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not name or not sign:
            raise UsageError(f"{flag}: expected NAME=VALUE, found {shown(text)}")
        _refuse_unwritable(text, flag)
        variables[name] = value
    return variables
