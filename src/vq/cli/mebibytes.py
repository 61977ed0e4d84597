"""The type of `--mem-mb`: a whole number of MiB."""

from __future__ import annotations

import re
from typing import Any

import click

from vq.actions.orders import MOST_MEM_MB

_SIZE = r"(?P<number>[0-9]{1,18})(?:(?P<unit>[MGT]?)(?:(?<=[MGT])i?B)?)"
_MIB = {"": 1, "M": 1, "G": 1024, "T": 1024**2}


class Mebibytes(click.ParamType[int]):
    """A memory limit as a whole number of MiB; of a size with a unit, the refusal says how many those are."""

    name = "mebibytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of MiB; wrong usage otherwise."""
        found = re.fullmatch(_SIZE, value, re.IGNORECASE) if isinstance(value, str) else None
        if found is None:
            self.fail(f"expected a whole number of MiB, found {value!r}", param, ctx)
        mib = int(found["number"]) * _MIB[found["unit"].upper()]
        if found["unit"]:
            self.fail(f"expected a whole number of MiB, found {value!r}, which is {mib}", param, ctx)
        if not 0 < mib <= MOST_MEM_MB:
            self.fail(f"expected 1 to {MOST_MEM_MB} MiB, found {value!r}", param, ctx)
        return mib


MEM_MB = Mebibytes()
