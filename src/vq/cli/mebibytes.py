"""The type of options that give a memory limit in MiB: `--mem-mb`, `--mem`, `--memory-mb`."""

from __future__ import annotations

from typing import Any

import click

from vq.errors import shown
from vq.sizes import EXPECTED_MIB, mebibytes


class Mebibytes(click.ParamType[int]):
    """A memory limit as a whole number of MiB: a number is one of MiB, and a size says its own unit."""

    name = "mebibytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of MiB; wrong usage otherwise."""
        mib = mebibytes(str(value))
        if mib is None:
            self.fail(f"expected {EXPECTED_MIB}, found {shown(value)}", param, ctx)
        return mib


MEM_MB = Mebibytes()
