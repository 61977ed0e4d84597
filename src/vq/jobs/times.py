"""Times as people write them: limits as Slurm reads them, spans with a unit, moments beside a clock that is given.

Nothing here reads a clock or a time zone: the moment that is now, with its zone, is an argument.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from vq.errors import UsageError

MINUTE_SECONDS = 60
HOUR_SECONDS = 3600
DAY_SECONDS = 86_400
SECOND_MS = 1000

LONGEST_SECONDS = 100 * 365 * DAY_SECONDS
"""No limit, span or wait is longer than a hundred years; what is longer is a slip of the keyboard."""

_DIGITS = r"[0-9]{1,10}"
_LIMIT = (
    rf"(?:(?P<days>{_DIGITS})-(?P<day_hours>[0-9]{{1,2}}):(?P<day_minutes>[0-9]{{2}}):(?P<day_seconds>[0-9]{{2}})"
    rf"|(?P<hours>{_DIGITS}):(?P<hour_minutes>[0-9]{{2}}):(?P<hour_seconds>[0-9]{{2}})"
    rf"|(?P<minutes>{_DIGITS}):(?P<minute_seconds>[0-9]{{2}})"
    rf"|(?P<alone>{_DIGITS}))"
)
_SPAN = rf"(?P<number>{_DIGITS})(?P<unit>[smhd])"
_SPAN_SECONDS = {"s": 1, "m": MINUTE_SECONDS, "h": HOUR_SECONDS, "d": DAY_SECONDS}
_TIME_OF_DAY = r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})"
_MOMENT_HINT = "write 2026-11-30T18:00, 18:00 or +2h"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST_MS = (datetime(9999, 12, 30, tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)
"""The last moment that can be shown in any time zone; a later one is shown as this."""


def limit_seconds(text: str) -> int:
    """A time limit in seconds: `90` is 90 minutes, as in Slurm; also `MM:SS`, `HH:MM:SS`, `D-HH:MM:SS` and `2h`.

    The first number may be of any size, those behind it are below 24 hours or 60. Raises `UsageError`, also for a
    limit of nothing or of more than a hundred years.
    """
    found, seconds = re.fullmatch(_LIMIT, text), _span_seconds(text) or 0
    if found is not None:
        seconds = _seconds({name: int(digits) for name, digits in found.groupdict("0").items()})
    if not 0 < seconds <= LONGEST_SECONDS:
        raise UsageError(
            f"{text!r} is no time limit",
            hint="write minutes (90), MM:SS, HH:MM:SS, D-HH:MM:SS or 2h, more than nothing",
        )
    return seconds


def _seconds(part: dict[str, int]) -> int:
    """The seconds of the parts of a limit; 0 for one whose minutes, seconds or hours are past their end."""
    seconds = part["day_seconds"] + part["hour_seconds"] + part["minute_seconds"]
    minutes = part["day_minutes"] + part["hour_minutes"]
    if seconds >= MINUTE_SECONDS or minutes >= MINUTE_SECONDS or part["day_hours"] * HOUR_SECONDS >= DAY_SECONDS:
        return 0
    minutes += part["minutes"] + part["alone"]
    hours = part["day_hours"] + part["hours"]
    return seconds + MINUTE_SECONDS * minutes + HOUR_SECONDS * hours + DAY_SECONDS * part["days"]


def span_ms(text: str) -> int:
    """A span in milliseconds: a whole number and a unit, `10s`, `10m`, `2h`, `30d`; raises `UsageError`."""
    seconds = _span_seconds(text)
    if seconds is None or seconds > LONGEST_SECONDS:
        raise UsageError(f"{text!r} is no span of time", hint="write a whole number and a unit: 10s, 10m, 2h or 30d")
    return seconds * SECOND_MS


def _span_seconds(text: str) -> int | None:
    found = re.fullmatch(_SPAN, text)
    return None if found is None else int(found["number"]) * _SPAN_SECONDS[found["unit"]]


def span_text(span_ms: int) -> str:
    """A span as it is written, in the largest unit that it is a whole number of: `10m` for 600,000 ms."""
    seconds = span_ms // SECOND_MS
    unit = next(unit for unit, size in reversed(_SPAN_SECONDS.items()) if seconds % size == 0) if seconds else "s"
    return f"{seconds // _SPAN_SECONDS[unit]}{unit}"


def moment_ms(text: str, now: datetime) -> int:
    """The moment, in milliseconds since the epoch, that `text` names to somebody whose clock says `now`.

    `+2h` is a span from now, `18:00` the next time it is that late in the zone of `now`, anything else ISO 8601; in
    the zone of `now` unless it names its own. Raises `UsageError`. `now` has a zone, and is from 1970 on.
    """
    if text.startswith("+"):
        return epoch_ms(now) + span_ms(text[1:])
    try:
        moment = _next(found, now) if (found := re.fullmatch(_TIME_OF_DAY, text)) else _iso(text, now)
        at_ms = epoch_ms(moment)
    except (ValueError, OverflowError):
        raise UsageError(f"{text!r} is no time", hint=_MOMENT_HINT) from None
    if at_ms < 0:
        raise UsageError(f"{text!r} is before 1970", hint=_MOMENT_HINT)
    return at_ms


def _next(found: re.Match[str], now: datetime) -> datetime:
    today = now.replace(hour=int(found["hour"]), minute=int(found["minute"]), second=0, microsecond=0)
    return today if today >= now else today + timedelta(days=1)


def _iso(text: str, now: datetime) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=now.tzinfo)


def epoch_ms(moment: datetime) -> int:
    """Whole milliseconds since the epoch, rounded down."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def shown_moment(at_ms: int) -> str:
    """A moment as a message names it, to the second and in UTC: `2026-11-30 18:00:00 UTC`."""
    return f"{_EPOCH + timedelta(milliseconds=min(at_ms, LAST_MS)):%Y-%m-%d %H:%M:%S} UTC"


def shown_seconds(seconds: int) -> str:
    """A span as a message names it: `1:35:00`, and `2-03:00:00` from a day on."""
    days, rest = divmod(seconds, DAY_SECONDS)
    hours, rest = divmod(rest, HOUR_SECONDS)
    minutes, rest = divmod(rest, MINUTE_SECONDS)
    return f"{days}-{hours:02}:{minutes:02}:{rest:02}" if days else f"{hours}:{minutes:02}:{rest:02}"
