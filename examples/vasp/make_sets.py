"""VASP runs as receipts: `python examples/vasp/make_sets.py OUT_DIR` writes a training set and a held-out set.

From each row of `runs.csv` (figures that VASP printed into one OUTCAR) come an estimate receipt, the operator evidence
that it was made with, and a usage receipt. Nothing is inferred, and nothing but the row goes in: no clock, no path of
this machine, so the same rows give the same bytes.

The split was fixed before anyone looked. A *project folder* is the repository and the first three parts of the path,
joined by `/`; it is in the training set when the first byte of the SHA-256 of that text is below 0x80. Rows are never
split one by one: repeats of one structure would stand on both sides.

Units. OUTCAR says "kb" of the measured peak, and some systems put bytes there. Which of the two a figure is in says the
estimator's own rule (`vq.estimates.programs.vasp`): at least 512 times what VASP said of the very same process, and
whole pages of 4096. The two readings differ by 1024, so such a figure read as bytes is still at least half of that
estimate, while as kB no run is that far off. Among figures in kB, which come in steps of 4, one in 1024 is whole
pages, so the second test catches a misreading of the first; a figure that passes only the first is refused.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from vq.canonical import pretty
from vq.errors import BadDataError, VqError
from vq.estimates.cases import SET_SCHEMA, read_set
from vq.estimates.evidence import Evidence, read_evidence
from vq.estimates.program import Feature, ProgramEstimate, Source
from vq.estimates.programs.vasp import KIB, LIMITATIONS, METHODS, PROGRAM, peak_is_in_bytes
from vq.estimates.receipt import make_receipt, read_receipt
from vq.estimates.usage import DIRECT, read_usage

HARDWARE_CLASS = "unrecorded"
SETS = ("training", "held-out")

TRAINING_BELOW = 0x80
FOLDER_PARTS = 3

COLUMNS = (
    *("repo", "path", "vasp", "ranks", "nions", "nkpts", "nbands", "encut", "ispin", "ialgo", "lhf", "nsw"),
    *("estimate_rank0_kb", "max_memory_kb", "elapsed_s", "cpu_s"),
)

_LIMITATIONS = (
    *LIMITATIONS,
    "The manifest digest is that of this run's row in runs.csv, without its line end; OUTCAR itself is not shipped.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One row of the table: what VASP printed, and where; memory in kB as printed, times in seconds."""

    line: int
    source: Source
    repository: str
    path: str
    version: str
    method: str
    algorithm: str
    ranks: int | None
    features: dict[str, Feature]
    estimate_kb: int
    peak_printed: int
    wall_seconds: float
    cpu_seconds: float

    @property
    def case_id(self) -> str:
        """Its name in a set: the number of its line in the table."""
        return f"row-{self.line:03d}"

    @property
    def folder(self) -> str:
        """The project folder that decides the split."""
        return "/".join((self.repository, *self.path.split("/")[:FOLDER_PARTS]))

    @property
    def set_name(self) -> str:
        """The set that its project folder belongs to."""
        return SETS[sha256(self.folder.encode()).digest()[0] >= TRAINING_BELOW]

    @property
    def printed_bytes(self) -> bool:
        """Whether the measured peak is a number of bytes, by the estimator's rule; raises `BadDataError`."""
        try:
            return peak_is_in_bytes(self.peak_printed, self.estimate_kb)
        except BadDataError as error:
            raise error.at(f"row {self.line}, max_memory_kb")  # noqa: B904 - the same error, placed

    @property
    def peak_kib(self) -> int:
        """The measured peak in KiB."""
        return self.peak_printed // KIB if self.printed_bytes else self.peak_printed


def read_runs(data: bytes) -> list[Run]:
    """The runs in the bytes of the table; raises `BadDataError` that names row and field."""
    lines = data.decode().removesuffix("\n").split("\n")
    if tuple(lines[0].split(",")) != COLUMNS:
        raise BadDataError(f"the columns {', '.join(COLUMNS)}").at("row 1")
    runs, seen = [], set()
    for number, text in enumerate(lines[1:], start=2):
        run = _run(number, text)
        if (run.repository, run.path) in seen:
            raise BadDataError("each file once", found=run.path).at(f"row {number}, path")
        seen.add((run.repository, run.path))
        runs.append(run)
    if not runs:
        raise BadDataError("at least one run").at("row 2")
    return runs


def _run(number: int, text: str) -> Run:
    cells = next(csv.reader([text], strict=True), [])
    if len(cells) != len(COLUMNS):
        raise BadDataError(f"{len(COLUMNS)} fields, found {len(cells)}").at(f"row {number}")
    row = dict(zip(COLUMNS, cells, strict=True))

    def take(field: str, kind: Callable[[str], Any]) -> Any:
        try:
            return kind(row[field])
        except BadDataError as error:
            raise error.at(f"row {number}, {field}")  # noqa: B904 - the same error, placed

    method, ialgo, ranks = take("lhf", _method), take("ialgo", _whole), take("ranks", _whole_or_none)
    return Run(
        line=number,
        source=Source(sha256=sha256(text.encode()).hexdigest(), bytes=len(text.encode())),
        repository=take("repo", _word),
        path=take("path", _word),
        version=take("vasp", _version),
        method=method,
        algorithm=f"IALGO-{ialgo}",
        ranks=ranks,
        features={
            "method": method,
            **{name: take(name, _whole) for name in ("nions", "nkpts", "nbands", "ispin")},
            "encut_ev": take("encut", _number),
            "nsw": take("nsw", _count_or_none),
            "ialgo": ialgo,
            "lhfcalc": row["lhf"] == "T",
            "mpi_ranks": ranks,
            "threads_per_rank": None,
            "run": "finished",
        },
        estimate_kb=take("estimate_rank0_kb", _whole),
        peak_printed=take("max_memory_kb", _whole),
        wall_seconds=take("elapsed_s", _number),
        cpu_seconds=take("cpu_s", _number),
    )


def _word(text: str) -> str:
    if not text:
        raise BadDataError("a text", found=text)
    return text


def _version(text: str) -> str:
    if not re.fullmatch(r"vasp\.[0-9.]+", text):
        raise BadDataError("a version such as vasp.6.2.0", found=text)
    return text.removeprefix("vasp.")


def _method(text: str) -> str:
    if text not in METHODS:
        raise BadDataError("T or F", found=text)
    return METHODS[text]


def _count(text: str, least: int = 0) -> int:
    if not re.fullmatch(r"[0-9]{1,12}(\.0)?", text) or int(text.removesuffix(".0")) < least:
        raise BadDataError(f"a whole number of at least {least}", found=text)
    return int(text.removesuffix(".0"))


def _whole(text: str) -> int:
    return _count(text, 1)


def _whole_or_none(text: str) -> int | None:
    return _whole(text) if text else None


def _count_or_none(text: str) -> int | None:
    return _count(text) if text else None


def _number(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?", text):
        raise BadDataError("a number of 0 or more", found=text)
    return float(text)


def evidence_of(run: Run) -> tuple[bytes, Evidence]:
    """What the operator of a run knew: its algorithm, and the ranks where OUTCAR gives them; as a file and read."""
    given: dict[str, Any] = {"schema_version": 1, "algorithm": run.algorithm}
    if run.ranks is not None:
        given["mpi_ranks"] = run.ranks
    data = pretty(given).encode()
    return data, read_evidence(data)


def receipt_of(run: Run, evidence: Evidence) -> dict[str, Any]:
    """The estimate receipt of a run. The scope is the program's own word ("by VASP MPI-rank0"); it claims no margin."""
    estimate = ProgramEstimate(
        estimator=PROGRAM.estimator,
        program=PROGRAM.name,
        program_version=run.version,
        features=run.features,
        unknown_features=frozenset(name for name, value in run.features.items() if value is None),
        predicted_peak_bytes=run.estimate_kb * KIB,
        safety_margin=PROGRAM.margin,
        scope="rank",
        runtime_seconds=None,
        source=run.source,
        limitations=(*_LIMITATIONS, f"Source: {run.repository}, {run.path}."),
    )
    document = make_receipt(estimate, evidence=evidence)
    read_receipt(document)
    return document


def usage_of(run: Run) -> dict[str, Any]:
    """The usage receipt of a run.

    It does not name the run, so that one measurement copied into two runs would give one digest, which vq refuses.
    """
    peak = 'OUTCAR, "Maximum memory used (kb)"'
    if run.printed_bytes:
        peak += f": {run.peak_printed} as printed, a number of bytes and not of kB; divided by {KIB} here"
    one_rank = run.ranks == 1
    cpu = "of its only rank" if one_rank else "is of one rank and not of the command, so it is left out"
    document = {
        "schema": DIRECT,
        "status": "ok",
        "collector": "posix-wait4",
        "scope": "effective-command",
        "command_status": "succeeded",
        "command_exit_code": 0,
        "wall_seconds": run.wall_seconds,
        "user_cpu_seconds": None,
        "system_cpu_seconds": None,
        "active_cpu_seconds": run.cpu_seconds if one_rank else None,
        "peak_rss_kb": run.peak_kib,
        "peak_rss_mb": run.peak_kib / KIB,
        "process_count": None,
        "metric_sources": {
            "collector": "not vq: the figures were printed by VASP itself, which reads its own resource usage",
            "command_exit_code": "not recorded: OUTCAR has the accounting that VASP prints at its normal end",
            "wall_seconds": 'OUTCAR, "Elapsed time (sec)"',
            "active_cpu_seconds": f'OUTCAR, "Total CPU time used (sec)" {cpu}',
            "peak_rss_kb": peak,
            "process_count": "not recorded",
        },
        "aggregation_semantics": {"peak_rss_kb": "the process that wrote OUTCAR; other ranks may have held more"},
    }
    read_usage(document)
    return document


def write_sets(runs: Sequence[Run], folder: str) -> None:
    """Write both sets below an existing folder: one folder a set, with its `set.json` and the receipts it names."""
    for name in SETS:
        kinds = ("estimates", "evidence", "usage")
        for kind in kinds:
            os.makedirs(os.path.join(folder, name, kind))
        cases = []
        for run in (run for run in runs if run.set_name == name):
            evidence_bytes, evidence = evidence_of(run)
            texts = (pretty(receipt_of(run, evidence)), evidence_bytes.decode(), pretty(usage_of(run)))
            for kind, text in zip(kinds, texts, strict=True):
                _write(os.path.join(folder, name, kind, f"{run.case_id}.json"), text)
            cases.append(
                {
                    "case_id": run.case_id,
                    "estimate": f"estimates/{run.case_id}.json",
                    "usage": f"usage/{run.case_id}.json",
                    "outcome": "completed",
                    "hardware_class": HARDWARE_CLASS,
                }
            )
        text = pretty({"schema_name": SET_SCHEMA, "set_id": f"vasp-{name}", "cases": cases})
        read_set(json.loads(text))
        _write(os.path.join(folder, name, "set.json"), text)


def _write(path: str, text: str) -> None:
    with open(path, "x", encoding="utf-8", newline="\n") as file:
        file.write(text)


def make_sets(table: str, out: str) -> list[Run]:
    """Write the sets of the runs in a table to a folder that is absent or empty, whole or not at all; the runs."""
    if os.path.islink(out) or (os.path.exists(out) and (not os.path.isdir(out) or os.listdir(out))):
        raise VqError("expected an absent or empty folder", where=out)
    beside = os.path.dirname(os.path.abspath(out))
    if not os.path.isdir(beside):
        raise VqError("no such folder; make it first", where=beside)
    try:
        with open(table, "rb") as file:
            runs = read_runs(file.read())
        with tempfile.TemporaryDirectory(prefix=".vasp-sets-", dir=beside) as temporary:
            partial = os.path.join(temporary, "sets")  # inside, so that it gets the usual permissions
            os.mkdir(partial)
            write_sets(runs, partial)
            os.rename(partial, out)  # takes the place of an empty folder, and of nothing else
    except BadDataError as error:
        raise error.at(table)  # noqa: B904 - the same error, placed
    except UnicodeDecodeError as error:
        raise VqError(f"expected UTF-8 text; byte {error.start} is none", where=table) from error
    except csv.Error as error:
        raise VqError(f"expected CSV; {error}", where=table) from error
    except OSError as error:
        raise VqError((error.strerror or str(error)).lower(), where=error.filename) from error
    return runs


def _report(runs: Sequence[Run]) -> None:
    for name in SETS:
        of_set = [run for run in runs if run.set_name == name]
        print(f"{name}: {len(of_set)} runs of {len({run.folder for run in of_set})} project folders")
    in_bytes = [run for run in runs if run.printed_bytes]
    print(f"{len(in_bytes)} rows print bytes as kB; their usage receipts say so:")
    for run in in_bytes:
        as_kb, as_bytes = (peak / run.estimate_kb for peak in (run.peak_printed, run.peak_kib))
        print(
            f"  row {run.line:3}: {run.peak_printed:9} is {run.peak_kib:6} KiB: x{as_bytes:.2f} the estimate"
            f" (read as kB: x{as_kb:.0f})"
        )


def main(arguments: Sequence[str]) -> int:
    """The exit status of the script."""
    parser = argparse.ArgumentParser(prog="make_sets.py", description="Write a training and a held-out set.")
    parser.add_argument("out", metavar="OUT_DIR", help="an absent or empty folder")
    table = os.path.join(os.path.dirname(__file__), "runs.csv")
    parser.add_argument(
        "--runs", metavar="CSV", default=table, help="the table of runs (default: runs.csv beside this)"
    )
    chosen = parser.parse_args(arguments)
    try:
        runs = make_sets(chosen.runs, chosen.out)
    except VqError as error:
        print(f"make_sets.py: error: {error}", file=sys.stderr)
        return error.exit_code
    _report(runs)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
