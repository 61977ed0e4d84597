"""What becomes of a file's lines: each record is a row, is left out for a reason, or cannot be read.

A format is a function from numbered lines, and what is known of the file beforehand, to outcomes in the order of the
lines. It holds one record at a time, so a file of any length takes bounded memory. What is wrong with the file as a
whole, such as a header without the columns that are needed, is a `BadDataError` placed at its line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from sys import intern
from typing import Any, NamedTuple, Protocol, TypeVar

from vq.admission.history import Run
from vq.errors import BadDataError
from vq.formats.quantities import UNKNOWN
from vq.shapes import LARGEST

LONGEST_LINE = 1 << 20
"""A line of more bytes than this is refused; a record that spans lines has no more characters either."""

LONGEST_NAME = 4096
"""A name of more characters than this is refused."""

DEFAULT_PROFILE = "default"

NO_NAME = "no name"
NO_PEAK = "no memory peak"
NO_TIMES = "no times of a run"
NOT_ENDED = "not ended"

UNRECORDED: dict[str, Any] = {"page_cache": False, "hit_cap": None, "own_cap": None, "reserved": None}
"""The fields of a row that no scheduler's records have; their peaks are resident memory, without page cache."""


class Line(NamedTuple):
    """One line of a file, by its number from 1; of a line that is too long at least one byte more than allowed."""

    number: int
    data: bytes


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A record that is none of a run that ended with a peak, and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Unread:
    """A record that cannot be read, and what is wrong with it."""

    line: int
    error: BadDataError


Outcome = Run | LeftOut | Unread


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What is known of all rows of a file beforehand.

    `repository` and `profile`, where given, hold for all rows; `stem` is the repository of rows that name none. No row
    is of a run that ended after `latest_ms`, where given.
    """

    stem: str
    repository: str | None = None
    profile: str | None = None
    latest_ms: int | None = None

    def repository_of(self, own: str | None = None) -> str:
        """The repository of a row whose record says `own`."""
        return self.repository or own or self.stem

    def profile_of(self, own: str | None = None) -> str:
        """The profile of a row whose record says `own`."""
        return self.profile or own or DEFAULT_PROFILE


_FIGURES = attrgetter(
    "memory_cap", "cpu_cap", "memory_peak", "cpu_average", "queued_at", "started_at", "finished_at", "reserved"
)

Importer = Callable[[Iterable[Line], Source], Iterator[Outcome]]
"""A format: the outcomes of a file's lines."""


class Numbered(Protocol):
    """A record that knows the line it begins at."""

    @property
    def number(self) -> int:
        """The number of that line, from 1."""


R = TypeVar("R", bound=Numbered)


def outcomes(records: Iterable[R | Unread], read: Callable[[R], Run | str], source: Source) -> Iterator[Outcome]:
    """The outcome of each record by `read`, which returns a row, or the reason why there is none, or refuses."""
    for record in records:
        if isinstance(record, Unread):
            yield record
            continue
        try:
            found = read(record)
            if not isinstance(found, str):
                _refuse_impossible(found, source.latest_ms)
        except BadDataError as error:
            yield Unread(record.number, error)
        else:
            yield LeftOut(record.number, found) if isinstance(found, str) else found


def _refuse_impossible(run: Run, latest_ms: int | None) -> None:
    """Nothing, or the refusal of a row that ended later, or with a figure that no document could hold: a product."""
    if any(figure is not None and figure > LARGEST for figure in _FIGURES(run)):
        raise BadDataError(f"figures that come to at most {LARGEST}")
    if latest_ms is not None and run.finish > latest_ms:
        raise BadDataError("a run that has ended", found=f"one that ends at {run.finish} ms")


def named(text: str, column: str) -> str | None:
    """The name in a cell of `column` ("" for none), None where unknown; raises `BadDataError` if it is too long."""
    text = text.strip()
    if len(text) > LONGEST_NAME:
        raise BadDataError(f"a name of at most {LONGEST_NAME} characters{column and f' in column {column}'}")
    return None if text in UNKNOWN else intern(text)


def text_of(line: Line) -> str:
    """The text of a line without its end, and of the first without a byte-order mark; raises `BadDataError`."""
    if len(line.data) > LONGEST_LINE:
        raise BadDataError(f"a line of at most {LONGEST_LINE} bytes")
    try:
        text = line.data.decode()
    except UnicodeDecodeError as error:
        raise BadDataError("UTF-8 text", found=f"byte {error.start + 1} of the line") from error
    text = text.removesuffix("\n").removesuffix("\r")
    return text.removeprefix("\ufeff") if line.number == 1 else text
