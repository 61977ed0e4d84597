"""`python -m vq.supervisor SPEC` runs one attempt; `python -m vq.supervisor --serve` forks one for each line it reads.

Best with `-I -S`: nothing of it needs site packages, and it starts twice as fast.
"""

from __future__ import annotations

import os
import sys

from vq.supervisor.process import detach, run
from vq.supervisor.warm import serve


def main(arguments: list[str]) -> int:
    """Run the command line; the exit status."""
    if arguments == ["--serve"]:
        return serve()
    if len(arguments) != 1 or arguments[0].startswith("-"):
        os.write(2, b"usage: python -m vq.supervisor SPEC | --serve\n")
        return 2
    spec_path = os.path.abspath(arguments[0])
    detach()
    return run(spec_path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
