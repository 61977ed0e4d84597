"""Sizes as people write them, read exactly and in whole numbers: `4G`, `1.5 GiB`, `512MB`, `8940K`.

K, KB and KiB all stand for 1024 bytes, M, G, T, P and E for powers of that; capitals do not matter. What a number
without a unit means is for the place to say where it stands.
"""

from __future__ import annotations

import re

from vq.shapes import LARGEST

NUMBER = r"[0-9]{1,20}(?:\.[0-9]{0,20})?(?:[eE][+-]?[0-9]{1,2})?"
MIB = 2**20
MOST_MIB = LARGEST // MIB

EXPECTED = "a size such as 24G, 1.5GiB or 512M"
EXPECTED_MIB = f"a number of MiB (4000) or a size (4G, 1.5GiB, 512M), from 1 to {MOST_MIB} MiB"

_PREFIXES = "KMGTPE"
_SIZE = rf"(?P<number>{NUMBER})[ \t]*(?P<unit>(?P<prefix>[{_PREFIXES}])i?B?|B)?"


def scaled(number: str, factor: int) -> int:
    """A decimal `NUMBER` times `factor`, rounded down."""
    digits, _, exponent = number.lower().partition("e")
    whole, _, fraction = digits.partition(".")
    shift = int(exponent or 0) - len(fraction)
    value = int(whole + fraction) * factor
    return value * int(10**shift) if shift >= 0 else value // int(10**-shift)


def size_bytes(text: str, plain: int | None = None) -> int | None:
    """The bytes of a size, rounded down; None for what is none.

    A number without a unit is one of `plain` bytes, and no size where that is None.
    """
    found = re.fullmatch(_SIZE, text, re.IGNORECASE | re.ASCII)
    if found is None or (found["unit"] is None and plain is None):
        return None
    if found["unit"] is None:
        return scaled(found["number"], plain or 1)
    return scaled(found["number"], prefix_bytes(found["prefix"]) if found["prefix"] else 1)


def prefix_bytes(prefix: str) -> int:
    """The bytes that K, M, G, T, P or E stands for."""
    return int(1024 ** (_PREFIXES.index(prefix.upper()) + 1))


def mebibytes(text: str) -> int | None:
    """The MiB of a memory limit, `EXPECTED_MIB`, rounded up so that nobody gets less than was asked for; None else."""
    size = int(text) * MIB if re.fullmatch(r"[0-9]{1,20}", text) else size_bytes(text)
    return -(-size // MIB) if size is not None and 0 < size <= MOST_MIB * MIB else None
