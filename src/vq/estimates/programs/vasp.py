"""VASP's OUTCAR as a program's estimate.

While it starts, VASP prints `total amount of memory used by VASP MPI-rank0 … kBytes`, and below it what that is made
of; at its end it prints the same again, then the time and memory that the process used. The first figure counts, which
stands before any iteration. It is of rank 0. Older versions (5.4.1) say "on root node" of the same figure; what that
covers is for the operator to say.

`Maximum memory used (kb)` of a finished OUTCAR is never taken as an estimate. It only checks the units: read as kB it
must be within a factor of 512 of the figure either way, or else a number of bytes, as some systems put there.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import NamedTuple

from vq.errors import BadDataError
from vq.estimates.printed import Line, Printed, whole
from vq.estimates.program import UNSPECIFIED, Feature, Program, ProgramEstimate, Scope, Source
from vq.shapes import BOOLEAN_OR_NULL, LARGEST, Record, integer, number, one_of

_NAME = "vasp"
_ESTIMATOR = "vasp-outcar/1"
_MOST_BYTES = 128 * 1024 * 1024

_HEADER = "vasp."
_TOTAL = "total amount of memory used by VASP"
_ITERATION = "- Iteration "
_SETTINGS = "Dimension of arrays:"
_END = "General timing and accounting informations for this job:"
_PEAK = "Maximum memory used (kb):"

_SIZE = r"(\d{1,13})\. kBytes"
_PART = re.compile(r"([A-Za-z][A-Za-z0-9 -]*?)\s*:\s*" + _SIZE)
_SCOPES: dict[str, Scope | None] = {"MPI-rank0": "rank", "on root node": None}

KIB = 1024
_PAGE_BYTES = 4096
TOO_FAR_OFF = 512

METHODS = {"F": "DFT", "T": "hybrid-DFT"}
"""The method by what LHFCALC is; no more is known of the functional."""

LIMITATIONS = (
    "The figure is of MPI rank 0 only: the arrays that VASP had counted when it printed it, during its start.",
    "OUTCAR says kBytes, and not whether of 1000 or of 1024 bytes; read as 1024, the larger.",
)
_BINDING = (
    "OUTCAR does not bind its estimate to the calculation's inputs: that they belong together is the word of whoever "
    "made this receipt."
)
_FINISHED = "OUTCAR is of a finished run; the figure is what VASP printed before its first iteration."
_PRINTED_BYTES = "OUTCAR's own peak is in bytes, although it says kb; it only checked the units here."


class _Figure(NamedTuple):
    """A printed figure: its line, the kB of rank 0, and what VASP says that it covers."""

    line: Line
    kib: int
    scope: Scope | None


def peak_is_in_bytes(peak_printed: int, figure_kib: int) -> bool:
    """Whether a peak that is called kb is one in bytes, by the figure of the same process in kB.

    Read as kB it would be at least 512 times the figure, and it is a whole number of pages of 4096: read as bytes it
    is then at least half of it. Raises `BadDataError` where neither reading makes sense.
    """
    if figure_kib >= TOO_FAR_OFF * peak_printed:
        raise BadDataError(f"more than 1/{TOO_FAR_OFF} of the figure ({figure_kib} kB)", found=peak_printed)
    if peak_printed < TOO_FAR_OFF * figure_kib:
        return False
    if peak_printed % _PAGE_BYTES:
        raise BadDataError(
            f"less than {TOO_FAR_OFF} times the estimate (kB), or whole pages of {_PAGE_BYTES} (bytes)",
            found=peak_printed,
        )
    return True


def read_outcar(data: bytes) -> ProgramEstimate:
    """The estimate in the bytes of an OUTCAR; raises `BadDataError` with the line of what is wrong."""
    printed = Printed(data)
    version = _version(printed)
    figure = _figure(printed)
    finished = next(printed.lines(_END, figure.line.start), None)
    in_bytes = finished is not None and _peak_in_bytes(printed, finished, figure)
    features = _features(printed, figure.line.start, finished=finished is not None)
    return ProgramEstimate(
        estimator=_ESTIMATOR,
        program=_NAME,
        program_version=version,
        features=features,
        unknown_features=frozenset(name for name, value in features.items() if value is None),
        predicted_peak_bytes=figure.kib * KIB,
        safety_margin="none",
        scope=figure.scope,
        runtime_seconds=None,
        source=Source(sha256=sha256(data).hexdigest(), bytes=len(data)),
        limitations=(
            *(*LIMITATIONS, _BINDING),
            *((_FINISHED,) if finished else ()),
            *((_PRINTED_BYTES,) if in_bytes else ()),
        ),
        job_peak_bytes=figure.kib * KIB if features["mpi_ranks"] == 1 else None,
    )


def _version(printed: Printed) -> str:
    headers = list(printed.lines(_HEADER))
    if not headers or printed.text[: headers[0].start].strip():
        raise BadDataError(f'"{_HEADER}VERSION" in the first line: an OUTCAR, from its beginning')
    match = re.match(r"vasp\.([0-9][!-~]{0,63})(?:\s|$)", headers[0].words)
    if match is None:
        raise printed.refusal(headers[0], f'"{_HEADER}VERSION"')
    if len(headers) > 1:
        raise printed.refusal(headers[1], "one run a file; a second one begins here")
    return match[1]


def _figure(printed: Printed) -> _Figure:
    line = next(printed.lines(_TOTAL), None)
    if line is None:
        raise printed.cut_off(f'a line "{_TOTAL} MPI-rank0 … kBytes"')
    match = re.fullmatch(rf"{_TOTAL} (MPI-rank0|on root node)\s*{_SIZE}", line.words)
    kib = int(match[2]) if match else 0
    if match is None or not 1 <= kib <= LARGEST // KIB:
        raise printed.refusal(line, f'"{_TOTAL} MPI-rank0 SIZE. kBytes" with a size above 0')
    if printed.text.find(_ITERATION, 0, line.start) >= 0:
        raise printed.refusal(line, "the figure of the start before the first iteration; this is the one of the end")
    _check_parts(printed, line, kib)
    return _Figure(line, kib, _SCOPES[match[1]])


def _check_parts(printed: Printed, line: Line, kib: int) -> None:
    """Nothing, or the refusal of a figure that is not the sum of its parts, each of them rounded."""
    below = printed.below(line)
    if not below.words or set(below.words) != {"="}:
        raise printed.refusal(below, "a rule of = below the figure, and its parts")
    below = printed.below(below)
    while not below.words and below.start < len(printed.text):
        below = printed.below(below)
    parts: list[int] = []
    while match := _PART.fullmatch(below.words):
        parts.append(int(match[2]))
        below = printed.below(below)
    if 2 * abs(sum(parts) - kib) > len(parts) + 1:
        raise printed.refusal(below, f"parts that add up to {kib} kBytes; those above add up to {sum(parts)}")


def _peak_in_bytes(printed: Printed, finished: Line, figure: _Figure) -> bool:
    """Whether the measured peak agrees as a number of bytes; False where it does in kB, or is not measured."""
    line = next(printed.lines(_PEAK, finished.start), None)
    if line is None:
        raise printed.cut_off(f'"{_PEAK}" in the accounting of a finished run')
    match = re.fullmatch(r"\s*(\d{1,15})\.|\s*(?:N/A|\*+)", line.words[len(_PEAK) :])
    if match is None:
        raise printed.refusal(line, f'a number or "N/A" behind "{_PEAK}"')
    peak = int(match[1] or 0)
    try:
        return peak > 0 and peak_is_in_bytes(peak, figure.kib)
    except BadDataError as error:
        raise printed.refusal(line, error.expected) from None


def _features(printed: Printed, end: int, *, finished: bool) -> dict[str, Feature]:
    start = next((line.start for line in printed.lines(_SETTINGS, 0, end)), end)

    def value(label: str, pattern: str) -> str | None:
        return printed.value(label, pattern, "a value", start=start, end=end)

    hybrid = value("LHFCALC", r"\s*=\s*([TF])(?:\s.*)?")
    nkpts, nbands = (value("k-points           NKPTS", rf"\s*=\s*{caught}") for caught in _NKPTS_NBANDS)
    encut = value("ENCUT", r"\s*=\s*(\d{1,9}\.\d{1,6}) eV(?:\s.*)?")
    ranks, threads = _ranks(printed, end)
    return {
        "method": None if hybrid is None else METHODS[hybrid],
        "nions": whole(value("number of dos", r"\s*NEDOS\s*=\s*\d+\s+number of ions\s+NIONS\s*=\s*(\d{1,9})")),
        "nkpts": whole(nkpts),
        "nbands": whole(nbands),
        "ispin": whole(value("ISPIN", r"\s*=\s*([12])(?:\s.*)?")),
        "encut_ev": None if encut is None else float(encut),
        "nsw": whole(value("NSW", r"\s*=\s*(\d{1,9})(?:\s.*)?")),
        "ialgo": whole(value("IALGO", r"\s*=\s*(\d{1,9})(?:\s.*)?")),
        "lhfcalc": None if hybrid is None else hybrid == "T",
        "mpi_ranks": ranks,
        "threads_per_rank": threads,
        "run": "finished" if finished else "unfinished",
    }


_NKPTS_NBANDS = (
    r"(\d{1,9})\s.*",
    r"\d{1,9}\s+k-points in BZ\s+NKDIM\s*=\s*\d+\s+number of bands\s+NBANDS\s*=\s*(\d{1,9})",
)


def _ranks(printed: Printed, end: int) -> tuple[int | None, int | None]:
    """The MPI ranks and the threads of each, where OUTCAR says so ("nodes" of the oldest versions is neither)."""
    if any(printed.lines("serial version", 0, end)):
        return 1, None
    line = next(printed.lines("running", 0, end), None)
    if line is None:
        return None, None
    match = re.match(
        r"running on\s+(\d{1,9}) total cores|running\s+(\d{1,9}) mpi-ranks, with\s+(\d{1,9}) threads", line.words
    )
    if match is None:
        return None, None
    return whole(match[1] or match[2]), whole(match[3])


def _recognise(data: bytes) -> str | None:
    match = re.match(rb"\s*(vasp\.[0-9][!-~]{0,63})(?:\s|$)", data)
    return None if match is None else match[1].decode()


_WHOLE = integer(1, null=True)

PROGRAM = Program(
    name=_NAME,
    estimator=_ESTIMATOR,
    most_bytes=_MOST_BYTES,
    features=Record(
        {
            "method": one_of(METHODS.values(), null=True),
            "nions": _WHOLE,
            "nkpts": _WHOLE,
            "nbands": _WHOLE,
            "ispin": _WHOLE,
            "encut_ev": number(null=True),
            "nsw": integer(0, null=True),
        },
        # Receipts made of a table of figures, before OUTCAR itself was read, are without these.
        {
            "ialgo": _WHOLE,
            "lhfcalc": BOOLEAN_OR_NULL,
            "mpi_ranks": _WHOLE,
            "threads_per_rank": _WHOLE,
            "run": one_of(("finished", "unfinished")),
        },
    ),
    scopes=("rank", UNSPECIFIED),
    margin="none",
    recognise=_recognise,
    read=read_outcar,
)
