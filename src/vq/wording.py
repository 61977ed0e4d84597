"""Text as people read it: what could steer a reader escaped, measured in columns, wrapped; sizes in human units."""

from __future__ import annotations

MIB = 2**20

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
_STEP = 1024
_FOUR_DIGITS = 1000
_WIDE = "WF"
_TIMES = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_PARTS_SHOWN = 2
_ONE_CPU = 1000


def escape(text: str) -> str:
    r"""`text` with everything that could steer a terminal (control, bidi, invisible) written as `\xNN` or `\uNNNN`."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in text
    )


def display_width(text: str) -> int:
    """The columns that escaped text takes in a terminal."""
    if text.isascii():
        return len(text)
    import unicodedata  # noqa: PLC0415 - only names beyond ASCII need it

    return sum(
        2 if unicodedata.east_asian_width(char) in _WIDE else 0 if unicodedata.combining(char) else 1 for char in text
    )


def wrap(text: str, width: int) -> list[str]:
    """`text` in lines of at most `width` columns, broken between words; at least one line."""
    lines, line = [], ""
    for word in text.split(" "):
        if line and display_width(line) + 1 + display_width(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


def broken_up(text: str, width: int) -> list[str]:
    """`text` in pieces of at most `width` columns, broken anywhere; at least one piece."""
    pieces, piece, taken = [], "", 0
    for char in text if display_width(text) > width else "":
        wide = display_width(char)
        if taken + wide > width:
            pieces.append(piece)
            piece, taken = "", 0
        piece += char
        taken += wide
    return [*pieces, piece or text]


def human_bytes(size: int) -> str:
    """A size as people read it: `196.5 MiB`, at most four significant digits, powers of 1024."""
    if size == 1:
        return "1 byte"
    value, unit = float(size), 0
    # From 1023.5 on it would be written as 1024, which is one of the next unit.
    while round(value) >= _STEP and unit < len(_UNITS) - 1:
        value /= _STEP
        unit += 1
    return f"{value:.0f} {_UNITS[unit]}" if unit == 0 or value >= _FOUR_DIGITS else f"{value:.4g} {_UNITS[unit]}"


def human_seconds(seconds: int) -> str:
    """A duration as people read it: `3 min 12 s`, its two largest units, rounded down."""
    parts: list[str] = []
    for name, size in _TIMES:
        count, seconds = divmod(seconds, size)
        if count or parts:
            parts.append(f"{count} {name}" if count else "")
        if len(parts) == _PARTS_SHOWN:
            break
    return " ".join(part for part in parts if part) or "0 s"


def human_cpus(millicores: int) -> str:
    """CPUs as people count them: `1.5 CPUs`."""
    return f"{millicores / 1000:.4g} {'CPU' if millicores == _ONE_CPU else 'CPUs'}"


def share(count: int, of: int) -> str:
    """A share with two decimals; what is not none or not all is never written so: `<0.01`, `>0.99`."""
    text = f"{count / of:.2f}"
    if text == "0.00" and count:
        return "<0.01"
    return ">0.99" if text == "1.00" and count < of else text


def human_ratio(ratio: float) -> str:
    """A ratio with three significant digits; one beside 1 keeps its side: `<1`, `>1`."""
    text = f"{ratio:.3g}"
    return text if text != "1" or ratio == 1 else "<1" if ratio < 1 else ">1"


def counted(number: int, noun: str) -> str:
    """`1 job`, `2,000 jobs`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
