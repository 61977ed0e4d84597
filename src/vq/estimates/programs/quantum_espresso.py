"""The output of Quantum ESPRESSO's `pw.x` (5.x to 7.x) as a program's estimate.

pw.x prints one figure while it starts, `Estimated max dynamical RAM per process >`, and with several processes also
their total. It calls them lower bounds. MB is 2^20 bytes and GB 2^30 (its own source divides so); two decimals are
printed, and the bytes are those of the printed decimal, rounded up. A run that found `<outdir>/<prefix>.EXIT` stops
behind the estimate: a dry run. The output of a finished run carries the same figure and is marked as such.

The first figure counts: the one that a dry run prints too. A run that sets itself up anew (variable cells) prints more.
"""

from __future__ import annotations

import re
from fractions import Fraction
from hashlib import sha256
from typing import NamedTuple

from vq.errors import BadDataError
from vq.estimates.printed import Line, Printed, rounded_up, whole
from vq.estimates.program import Feature, Program, ProgramEstimate, Source
from vq.shapes import LARGEST, Record, integer, number, one_of, text

_NAME = "quantum-espresso"
_ESTIMATOR = "quantum-espresso-pw/1"
_MOST_BYTES = 64 * 1024 * 1024

_HEADER = "Program PWSCF"
_VERSION = rf"{_HEADER} +v\. ?([!-~]{{1,64}}(?: \(svn rev\. [!-~]{{1,64}}\))?)"
_PER_PROCESS, _OF_ONE = "Estimated max", " dynamical RAM per process"
_TOTAL, _OF_ALL = "Estimated total", "(?: allocated)? dynamical RAM"
_END = "JOB DONE."
_BEGUN = ("Self-consistent Calculation", "Band Structure Calculation", "iteration #")

_UNITS = {"MB": 2**20, "GB": 2**30}
_SIZE = r"\s*>\s*~?\s*(\d{1,9}\.\d\d)\s*([MG][Bb])"
_LAST_DIGIT = Fraction(1, 200)

_COUNT, _DECIMAL = r"\s*=\s*(\d{1,9})(?:\s.*)?", r"\s*=\s*(\d{1,9}\.\d{1,9})\s*Ry"
_FUNCTIONAL = r"\s*=\s*([!-'*-~][ !-'*-~]{0,255}?)\s*(?:\(.*\))?"
_GRID = r".*FFT dimensions:\s*\(\s*(\d{1,6},\s*\d{1,6},\s*\d{1,6})\s*\)"

_LOWER_BOUND = (
    "pw.x calls the figure a lower bound: it counts its large arrays, and neither the program with its libraries nor "
    "what those allocate."
)
_BINDING = (
    "The output does not bind its estimate to the calculation's inputs: that they belong together is the word of "
    "whoever made this receipt."
)
_FINISHED = "The output is of a run that began its calculation, not of a dry run; the figure is what it printed before."


class _Size(NamedTuple):
    """A printed size: its bytes rounded up, and the least and most bytes that print so."""

    bytes: int
    least: Fraction
    most: Fraction


def read_output(data: bytes) -> ProgramEstimate:
    """The estimate in the bytes of an output of pw.x; raises `BadDataError` with the line of what is wrong."""
    printed = Printed(data)
    version = _version(printed)
    if not any(printed.lines(_END)):
        raise printed.cut_off(f'"{_END}" at the end')
    first, *later = _estimates(printed)
    figure = _size(printed, first)
    features, unknown = _features(printed, first)
    total = _total(printed, first, figure, features["mpi_ranks"])
    others = {_size(printed, line).bytes for line in later} - {figure.bytes}
    return ProgramEstimate(
        estimator=_ESTIMATOR,
        program=_NAME,
        program_version=version,
        features=features,
        unknown_features=frozenset(unknown),
        predicted_peak_bytes=figure.bytes,
        safety_margin="none",
        scope="rank",
        runtime_seconds=None,
        source=Source(sha256=sha256(data).hexdigest(), bytes=len(data)),
        limitations=(
            *(_LOWER_BOUND, _BINDING),
            *((_FINISHED,) if features["run"] == "finished" else ()),
            *((f"The run printed other figures later, of up to {max(others)} bytes.",) if others else ()),
        ),
        job_peak_bytes=figure.bytes if features["mpi_ranks"] == 1 else total,
    )


def _version(printed: Printed) -> str:
    headers = list(printed.lines(_HEADER))
    if not headers:
        raise BadDataError(f'a line "{_HEADER} v.…": the output of pw.x, from its beginning')
    match = re.match(_VERSION + r"\s+starts\s", headers[0].words)
    if match is None:
        raise printed.refusal(headers[0], f'"{_HEADER} v.VERSION starts on DATE"')
    if len(headers) > 1:
        raise printed.refusal(headers[1], "one run a file; a second one begins here")
    return match[1]


def _estimates(printed: Printed) -> list[Line]:
    lines = list(printed.lines(_PER_PROCESS))
    if not lines:
        raise BadDataError(f'a line "{_PER_PROCESS}{_OF_ONE} > …"; older versions of pw.x print none')
    return lines


def _size(printed: Printed, line: Line, label: str = _PER_PROCESS + _OF_ONE) -> _Size:
    match = re.fullmatch(label + _SIZE, line.words)
    unit = _UNITS[match[2].upper()] if match else 0
    size = rounded_up(match[1], unit) if match else 0
    if match is None or not 1 <= size <= LARGEST:
        raise printed.refusal(line, 'an estimate in whole, "> SIZE MB" or GB, above 0 and with two decimals')
    decimal = Fraction(match[1])
    return _Size(size, (decimal - _LAST_DIGIT) * unit, (decimal + _LAST_DIGIT) * unit)


def _total(printed: Printed, first: Line, figure: _Size, ranks: Feature) -> int | None:
    """What the processes of the run hold together, by the line that goes with the first figure; None without one."""
    start = printed.after(first)
    line = next(printed.lines(_TOTAL, start), None)
    if line is None or any(printed.lines(_PER_PROCESS, start, line.start)):
        return None
    total = _size(printed, line, _TOTAL + _OF_ALL)
    if total.most < figure.least or (isinstance(ranks, int) and total.least > ranks * figure.most):
        raise printed.refusal(line, "a total from one to all processes times the figure of one")
    return total.bytes


def _features(printed: Printed, first: Line) -> tuple[dict[str, Feature], list[str]]:
    end = first.start

    def value(label: str, pattern: str, expected: str) -> str | None:
        return printed.value(label, pattern, expected, end=end)

    ranks, threads = _processes(printed, end)
    functional = value("Exchange-correlation", _FUNCTIONAL, '"= NAME"')
    cutoffs = [value(f"{name} cutoff", _DECIMAL, '"= NUMBER Ry"') for name in ("kinetic-energy", "charge density")]
    grid = value("Dense  grid:", _GRID, '"FFT dimensions: (N, N, N)"')
    pools = value("K-points division:", r"\s*npool\s*=\s*(\d{1,9})", '"npool = N"')
    exact_exchange = value("EXX-fraction", r"\s*=\s*(\d{1,3}\.\d{1,9})", '"= NUMBER"')
    begun = any(line for label in _BEGUN for line in printed.lines(label, printed.after(first)))
    found: dict[str, Feature] = {
        "method": "DFT" if exact_exchange is None else "hybrid-DFT",
        "functional": None if functional is None else " ".join(functional.split()),
        "ecutwfc_ry": None if cutoffs[0] is None else float(cutoffs[0]),
        "ecutrho_ry": None if cutoffs[1] is None else float(cutoffs[1]),
        "kpoints": whole(value("number of k points", _COUNT, '"= N"')),
        "bands": whole(value("number of Kohn-Sham states", _COUNT, '"= N"')),
        "atoms": whole(value("number of atoms/cell", _COUNT, '"= N"')),
        "fft_grid": None if grid is None else "x".join(grid.replace(",", " ").split()),
        "mpi_ranks": ranks,
        "threads_per_rank": threads,
        "kpoint_pools": 1 if pools is None else int(pools),
        "run": "finished" if begun else "dry-run",
    }
    return found, [name for name, feature in found.items() if feature is None]


def _processes(printed: Printed, end: int) -> tuple[int | None, int | None]:
    """The processes and the threads of each, where the output says so."""
    expected = '"running on N processors"'
    cores = whole(printed.value("Parallel version (MPI & OpenMP), running on", r"\s*(\d{1,9}) .*", expected, end=end))
    serial = whole(printed.value("Serial multi-threaded version, running on", r"\s*(\d{1,9}) .*", expected, end=end))
    if cores is not None:
        ranks = whole(printed.value("Number of MPI processes:", r"\s*(\d{1,9})", "a number", end=end))
        threads = whole(printed.value("Threads/MPI process:", r"\s*(\d{1,9})", "a number", end=end))
        if ranks is not None and threads is not None and ranks * threads != cores:
            line = next(printed.lines("Threads/MPI process:"))
            raise printed.refusal(line, f"processes times threads to be the {cores} cores that it runs on")
        return ranks, threads
    if serial is not None or any(printed.lines("Serial version", end=end)):
        return 1, serial
    return whole(printed.value("Parallel version (MPI), running on", r"\s*(\d{1,9}) .*", expected, end=end)), None


def _recognise(data: bytes) -> str | None:
    match = re.search(rf"^[ \t]*(?P<words>{_VERSION})".encode(), data, re.MULTILINE)
    return None if match is None else match["words"].decode()


_WHOLE = integer(1, null=True)

PROGRAM = Program(
    name=_NAME,
    estimator=_ESTIMATOR,
    most_bytes=_MOST_BYTES,
    features=Record(
        {
            "method": one_of(("DFT", "hybrid-DFT")),
            "functional": text(null=True, least=1, most=256),
            "ecutwfc_ry": number(null=True),
            "ecutrho_ry": number(null=True),
            "kpoints": _WHOLE,
            "bands": _WHOLE,
            "atoms": _WHOLE,
            "fft_grid": text(null=True, least=5, most=32),
            "mpi_ranks": _WHOLE,
            "threads_per_rank": _WHOLE,
            "kpoint_pools": _WHOLE,
            "run": one_of(("dry-run", "finished")),
        }
    ),
    scopes=("rank",),
    margin="none",
    recognise=_recognise,
    read=read_output,
)
