"""The programs whose files are read as estimates: one module and one line of this table each."""

from __future__ import annotations

from collections.abc import Mapping

from vq.estimates.program import Program
from vq.estimates.programs import quantum_espresso, vasp, vibe_qc

PROGRAMS: Mapping[str, Program] = {
    program.name: program for program in (vibe_qc.PROGRAM, quantum_espresso.PROGRAM, vasp.PROGRAM)
}
"""By the name that `--program` takes and that receipts give; the first is the default."""

BY_ESTIMATOR: Mapping[str, Program] = {program.estimator: program for program in PROGRAMS.values()}


def recognised(data: bytes) -> list[tuple[Program, str]]:
    """The programs that a file's bytes may be of, each with the words that it was recognised by."""
    found = ((program, program.recognise(data)) for program in PROGRAMS.values())
    return [(program, words) for program, words in found if words is not None]
