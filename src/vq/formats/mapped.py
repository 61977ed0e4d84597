"""Any table as a history: `--map FIELD=COLUMN[:UNIT]` says what a field is read from, `FIELD==VALUE` what it always is.

| fields | UNIT |
|---|---|
| memory | B (default), KB, MB, GB, TB, PB (KiB, K and so on): of plain numbers; sizes with a unit need none |
| times | ms (default), s: since the epoch; dates with times need none |
| `cpu_cap` | cores (default), millicores |
| `cpu_average` | cores (default), millicores, percent; cpu-s, cpu-ms: CPU time, divided by the run time |
| true or false | the text that means true, all other means false; without it true, yes, 1 and false, no, 0 |

Units are in upper or lower case. A name, a peak, when it was queued and whether it succeeded must be mapped. A record
without a peak, or with one of 0, or without the time when it was queued, is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vq.admission.history import Run
from vq.errors import BadDataError, UsageError
from vq.formats.jsonl import FIELDS
from vq.formats.outcomes import NO_NAME, NO_PEAK, NO_TIMES, Importer, Line, Outcome, Source, named, outcomes
from vq.formats.quantities import UNKNOWN, Quantity, moment_in, plain, size_in
from vq.formats.tables import Record, Table, read_table
from vq.sizes import prefix_bytes

_NAMES = ("repository", "workflow", "name", "profile")
_SIZES = ("memory_cap", "memory_peak", "reserved")
_TIMES = ("queued_at", "started_at", "finished_at")
_BOOLEANS = ("page_cache", "oom_killed", "hit_cap", "own_cap", "succeeded", "cancelled")
_NULLABLE = ("hit_cap", "own_cap")
_NEEDED = ("name", "memory_peak", "queued_at", "succeeded")

_TRUE, _FALSE = frozenset({"true", "yes", "1"}), frozenset({"false", "no", "0"})
_SIZE_UNITS = {"b": size_in(1)} | {f"{p}{b}": size_in(prefix_bytes(p)) for p in "kmgtp" for b in ("b", "ib", "")}
_TIME_UNITS = {"ms": moment_in(1), "s": moment_in(1000)}
_CORES = {"cores": plain("a number of CPUs", 1000), "millicores": plain("a number of millicores", 1)}
_CPU_TIMES = {"cpu-s": plain("CPU seconds", 1000), "cpu-ms": plain("CPU milliseconds", 1)}
_UNITS: dict[str, Mapping[str, Quantity]] = {
    **dict.fromkeys(_SIZES, _SIZE_UNITS),
    **dict.fromkeys(_TIMES, _TIME_UNITS),
    "cpu_cap": _CORES,
    "cpu_average": _CORES | _CPU_TIMES | {"percent": plain("a percentage", 10)},
}
_UNRECORDED: dict[str, Any] = dict.fromkeys(FIELDS) | {"page_cache": False, "oom_killed": False, "cancelled": False}

_Reader = Callable[[str], Any]
"""The value of a field from the text of a cell; raises `BadDataError`."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One `--map`: a field, and the column (with its unit) that it is read from, or the value that it always has."""

    field: str
    text: str
    constant: bool

    @classmethod
    def of(cls, text: str) -> Rule:
        """The rule that `FIELD=COLUMN[:UNIT]` or `FIELD==VALUE` is; raises `UsageError`."""
        name, sign, rest = text.partition("=")
        if not sign or name not in FIELDS:
            raise UsageError(
                f"--map {text}: expected FIELD=COLUMN[:UNIT] or FIELD==VALUE", hint=f"fields are {', '.join(FIELDS)}"
            )
        return cls(name, rest.removeprefix("="), rest.startswith("="))


@dataclass(frozen=True, slots=True)
class _Column:
    """A field read from a column, in a unit."""

    name: str
    unit: str | None
    read: _Reader


def importer(rules: Sequence[Rule]) -> Importer:
    """The format that `rules` make; raises `UsageError` for rules that cannot be."""
    fields = [rule.field for rule in rules]
    twice = next((field for field in fields if fields.count(field) > 1), None)
    if twice is not None:
        raise UsageError(f"--map {twice}: this field is mapped twice")
    missing = [field for field in _NEEDED if field not in fields]
    if missing:
        raise UsageError(
            f"--map: nothing is said of {', '.join(missing)}",
            hint="map each to a column, or to a value for all rows: --map succeeded==true",
        )
    constants = {rule.field: _constant(rule) for rule in rules if rule.constant}

    def read(lines: Iterable[Line], source: Source) -> Iterator[Outcome]:
        table = read_table(lines, separators="\t,;|")
        columns = {rule.field: _column(rule, table) for rule in rules if not rule.constant}
        return outcomes(table.records, lambda record: _row(record, columns, constants, source), source)

    return read


def _row(record: Record, columns: Mapping[str, _Column], constants: Mapping[str, Any], source: Source) -> Run | str:
    values = {**_UNRECORDED, **constants}
    for field, column in columns.items():
        try:
            values[field] = column.read(record.cells[column.name])
        except BadDataError as error:
            raise BadDataError(f"{error.expected} in column {column.name}", found=record.cells[column.name]) from error
    if not values["name"]:
        return NO_NAME
    if not values["memory_peak"]:
        return NO_PEAK
    if values["queued_at"] is None:
        return NO_TIMES
    average = columns.get("cpu_average")
    if average is not None and average.unit in _CPU_TIMES:
        values["cpu_average"] = _share(values["cpu_average"], values["started_at"], values["finished_at"])
    values["repository"] = source.repository_of(values["repository"])
    values["profile"] = source.profile_of(values["profile"])
    return Run(**values)


def _share(cpu_ms: int | None, started: int | None, finished: int | None) -> int | None:
    """CPU time over run time in millicores, None unless both are known."""
    if cpu_ms is None or started is None or finished is None or finished <= started:
        return None
    return cpu_ms * 1000 // (finished - started)


def _constant(rule: Rule) -> Any:
    try:
        return _reader(rule.field, None)(rule.text)
    except BadDataError as error:
        raise UsageError(f"--map {rule.field}=={rule.text}: {error}") from error


def _column(rule: Rule, table: Table) -> _Column:
    """What a rule reads from, now that the columns are known; raises `BadDataError` where there is no such column."""
    name, unit = rule.text, None
    if name not in table.header:
        name, colon, tail = rule.text.rpartition(":")
        if not colon:
            name, tail = rule.text, ""
        unit = tail or None
    if name not in table.header:
        columns = ", ".join(table.header)
        raise BadDataError(f"a column {name} for --map {rule.field}", found=columns).at(f"line {table.line}")
    return _Column(name, unit, _reader(rule.field, unit))


def _reader(field: str, unit: str | None) -> _Reader:
    if field in _BOOLEANS:
        return _boolean(field, unit)
    if field in _NAMES:
        if unit is not None:
            raise UsageError(f"--map {field}: a name has no unit, found {unit}")
        return lambda text: named(text, "")
    units = _UNITS[field]
    quantity = units.get(unit.lower() if unit else next(iter(units)))
    if quantity is None:
        raise UsageError(f"--map {field}: no unit {unit}", hint=f"units are {', '.join(units)}")

    def read(text: str) -> int | None:
        return quantity.read(text, "")

    return read


def _boolean(field: str, true: str | None) -> _Reader:
    nullable = field in _NULLABLE

    def read(text: str) -> bool | None:
        text = text.strip()
        if true is not None:
            return text == true
        if text.lower() in _TRUE or text.lower() in _FALSE:
            return text.lower() in _TRUE
        if nullable and text in UNKNOWN:
            return None
        raise BadDataError("true or false")

    return read
