"""How to start a supervisor, or the warm process that forks them: as an argument list, small and quick to start."""

from __future__ import annotations

import os
import sys

SERVE = "--serve"

# `dataclasses` imports `inspect`, which is a tenth of a supervisor and is used for classes without a docstring.
_PROGRAM = (
    "import sys; sys.path.insert(0, {root!r}); from vq.supervisor.lazily import put_off; put_off('inspect'); "
    "from vq.supervisor.__main__ import main; sys.exit(main(sys.argv[1:]))"
)


def supervisor_command(argument: str) -> list[str]:
    """The command that supervises the attempt of a spec (`argument` is its path), or with `SERVE` forks supervisors.

    Without site packages (`-I -S`), which the supervisor does not need.
    """
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return [sys.executable, "-I", "-S", "-c", _PROGRAM.format(root=root), argument]
