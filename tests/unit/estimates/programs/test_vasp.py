"""OUTCARs as estimates: the shapes of their versions, and what is refused, by its line."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import Any

import pytest

from support.outputs import OUTCAR, outcar
from vq.errors import BadDataError
from vq.estimates.evidence import read_evidence
from vq.estimates.programs.vasp import PROGRAM, peak_is_in_bytes, read_outcar
from vq.estimates.receipt import make_receipt, read_receipt

KIB = 1024
TOTAL = " total amount of memory used by VASP MPI-rank0    41513. kBytes"
RANKS = " running   16 mpi-ranks, with    2 threads/rank"


def refusal(data: bytes) -> str:
    with pytest.raises(BadDataError) as caught:
        read_outcar(data)
    return str(caught.value)


def line_of(data: bytes, words: str) -> str:
    """`line N: expected `, for the line where these words stand first."""
    return f"line {data.decode()[: data.decode().index(words)].count(chr(10)) + 1}: expected "


def receipt(data: bytes, **given: Any) -> dict[str, Any]:
    evidence = read_evidence(json.dumps({"schema_version": 1, **given}).encode()) if given else None
    document = make_receipt(read_outcar(data), evidence=evidence)
    read_receipt(document)
    return document


def test_a_run_that_has_begun() -> None:
    data = outcar()
    document = receipt(data)
    assert document["estimator"] == "vasp-outcar/1"
    assert (document["program"], document["program_version"]) == ("vasp", "6.3.0")
    assert document["features"] == {
        "method": "DFT",
        "nions": 8,
        "nkpts": 84,
        "nbands": 24,
        "ispin": 1,
        "encut_ev": 520.0,
        "nsw": 0,
        "ialgo": 68,
        "lhfcalc": False,
        "mpi_ranks": 16,
        "threads_per_rank": 2,
        "run": "unfinished",
    }
    assert document["manifest"] == {"sha256": sha256(data).hexdigest(), "bytes": len(data)}
    memory = document["memory"]
    assert (memory["predicted_peak_bytes"], memory["scope"]) == (41513 * KIB, "rank")
    assert memory["safety_margin"] == "none"
    said = " ".join(document["limitations"])
    for part in ("MPI rank 0 only", "read as 1024", "does not bind"):
        assert part in said
    assert "finished run" not in said


def test_a_finished_run_keeps_the_figure_of_its_start() -> None:
    document = receipt(outcar(finished=True))
    assert document["features"]["run"] == "finished"
    assert document["memory"] == receipt(outcar())["memory"]
    said = " ".join(document["limitations"])
    assert "is of a finished run" in said
    assert "in bytes" not in said
    assert "470384" not in json.dumps(document)


@pytest.mark.parametrize(
    ("header", "version"),
    [
        (" vasp.5.2.2 15Apr09 complex", "5.2.2"),
        (" vasp.5.4.1 24Jun15 (build Jan 02 2020 16:21:29) gamma-only", "5.4.1"),
        (" vasp.5.4.4.18Apr17-6-g9f103f2a35 (build Feb 12 2018 00:57:43) complex", "5.4.4.18Apr17-6-g9f103f2a35"),
        (" vasp.6.5.0", "6.5.0"),
    ],
)
def test_versions_as_printed(header: str, version: str) -> None:
    first = OUTCAR.splitlines()[0]
    assert read_outcar(outcar((first, header))).program_version == version
    assert read_outcar(outcar((first, f"\n{header}\r"))).program_version == version


@pytest.mark.parametrize(
    ("line", "ranks", "threads"),
    [
        (" running on   32 total cores", 32, None),
        (" running   16 mpi-ranks, with    4 threads/rank, on    2 nodes", 16, 4),
        (" running on   16 nodes", None, None),
        (" serial version", 1, None),
        ("", None, None),
    ],
)
def test_ranks_and_threads(line: str, ranks: int | None, threads: int | None) -> None:
    features = read_outcar(outcar((RANKS, line))).features
    assert (features["mpi_ranks"], features["threads_per_rank"]) == (ranks, threads)


def test_an_older_wording_leaves_the_scope_to_the_operator() -> None:
    data = outcar((TOTAL, TOTAL.replace("MPI-rank0", "on root node")))
    assert receipt(data)["memory"]["scope"] == "unspecified"
    assert receipt(data, memory_scope="rank")["memory"]["scope"] == "rank"


def test_the_only_rank_may_be_declared_the_job() -> None:
    one = outcar((RANKS, " running on    1 total cores"))
    assert receipt(one)["memory"]["scope"] == "rank"
    memory = receipt(one, memory_scope="job", mpi_ranks=1, algorithm="IALGO-68")["memory"]
    assert memory["scope"] == "job"
    assert memory["effective_job_memory_bytes"] == 41513 * KIB
    for given in ({"memory_scope": "job"}, {"memory_scope": "node"}, {"mpi_ranks": 2}, {"threads_per_rank": 1}):
        with pytest.raises(BadDataError, match="expected no contradiction"):
            receipt(outcar(), **given)


@pytest.mark.parametrize(
    ("old", "new", "name", "value"),
    [
        ("LHFCALC =     F    H", "LHFCALC =     T    H", "method", "hybrid-DFT"),
        ("LHFCALC =     F    H", "LHFCALC =     T    H", "lhfcalc", True),
        ("   LHFCALC =     F    Hartree Fock is set to\n", "", "method", None),
        ("   LHFCALC =     F    Hartree Fock is set to\n", "", "lhfcalc", None),
        ("IALGO  =     68", "IALGO  =     38", "ialgo", 38),
        ("ISPIN  =      1", "ISPIN  =      2", "ispin", 2),
        ("NSW    =      0", "NSW    = ******", "nsw", None),
        ("NIONS =      8", "NIONS = *****", "nions", None),
        (" Dimension of arrays:\n", "", "nbands", None),
        ("   ENCUT  =  520.0 eV  38.22 Ry    6.18 a.u.  18.59 18.59 18.59*2*pi/ulx,y,z\n", "", "encut_ev", None),
    ],
)
def test_features(old: str, new: str, name: str, value: Any) -> None:
    document = receipt(outcar((old, new)))
    assert document["features"][name] == value
    assert (f"features.{name}" in document["unknown"]) == (value is None)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("IALGO  =     68", "IALGO  =     6x"),
        ("ISPIN  =      1", "ISPIN  =      3"),
        ("ENCUT  =  520.0 eV", "ENCUT  =  520.0 Ry"),
        ("LHFCALC =     F    H", "LHFCALC =     X    H"),
        ("NBANDS=     24", "NBANDS=     2.4"),
        ("NKPTS =     84", "NKPTS =     -4"),
        ("NIONS =      8", "NIONS ="),
    ],
)
def test_a_garbled_setting_is_refused_by_its_line(old: str, new: str) -> None:
    data = outcar((old, new))
    assert refusal(data).startswith(line_of(data, new))


def test_two_settings_that_differ_are_refused_by_the_second() -> None:
    data = outcar(("   ISPIN  =      1", "   IALGO  =     38    algorithm\n   ISPIN  =      1"))
    assert refusal(data).startswith(line_of(data, "IALGO  =     68"))
    assert "to say the same as before, 38" in refusal(data)


@pytest.mark.parametrize(
    "figure",
    [
        "MPI-rank0 *********. kBytes",
        "MPI-rank0    41513 kBytes",
        "MPI-rank0    41513.5 kBytes",
        "MPI-rank0    41513. MBytes",
        "MPI-rank0    41513. kByte",
        "MPI-rank0    -1513. kBytes",
        "MPI-rank0        0. kBytes",
        "MPI-rank0 9999999999999. kBytes",
        "MPI-rank1    41513. kBytes",
        "   41513. kBytes",
        "MPI-rank0    41513. kBytes and more",
        "",
    ],
)
def test_a_figure_that_is_none_is_refused_by_its_line(figure: str) -> None:
    data = outcar((TOTAL, f" total amount of memory used by VASP {figure}"))
    assert refusal(data).startswith(line_of(data, "total amount"))


def test_a_figure_of_nine_digits_touches_its_label() -> None:
    data = outcar((TOTAL, " total amount of memory used by VASP MPI-rank0123456789. kBytes"), ("30000.", "123445276."))
    assert read_outcar(data).predicted_peak_bytes == 123_456_789 * KIB


@pytest.mark.parametrize(
    ("old", "new", "where", "above"),
    [
        ("   grid      :       6748. kBytes\n", "", "INWAV", 1),
        ("   grid      :       6748. kBytes", "   grid      :       6?48. kBytes", "6?48", 0),
        ("   grid      :       6748. kBytes", "   grid      :       6748. MBytes", "6748. MB", 0),
        ("   grid      :       6748. kBytes", "   grid      :       6753. kBytes", "INWAV", 1),
        ("=" * 71 + "\n", "", "base", 1),
        ("=" * 71, "", "base", 2),
    ],
)
def test_parts_that_do_not_add_up_are_refused_where_they_end(old: str, new: str, where: str, above: int) -> None:
    data = outcar((old, new))
    number = int(re.findall(r"\d+", line_of(data, where))[0])
    assert refusal(data).startswith(f"line {number - above}: expected ")


@pytest.mark.parametrize(
    ("old", "new"), [("41513. kB", "41514. kB"), ("6748. kB", "6751. kB"), ("6748. kB", "6745. kB")]
)
def test_the_figure_is_the_sum_of_its_parts_as_rounded(old: str, new: str) -> None:
    assert read_outcar(outcar((old, new))).predicted_peak_bytes


def test_a_file_that_is_cut_off_inside_the_block_is_refused_by_its_last_line() -> None:
    start, end = OUTCAR.index("total amount"), OUTCAR.index("107. kBytes") + len("107. kByte")
    for kept in range(100, end):
        text = OUTCAR[:kept]
        found = refusal(text.encode())
        number = int(re.findall(r"^line (\d+): expected ", found)[0])
        assert text.rstrip().count("\n") + 1 <= number <= text.count("\n") + 1, (kept, found)
        if kept < start:
            assert found.endswith("the file is cut off, or its run was")
    assert read_outcar(OUTCAR[: end + 1].encode()).features["run"] == "unfinished"


def test_a_file_that_is_cut_off_in_its_accounting_is_refused() -> None:
    data = outcar(finished=True)
    kept = data[: data.index(b"Elapsed")]
    assert '"Maximum memory used (kb):" in the accounting of a finished run; the file is cut off' in refusal(kept)
    kept = data[: data.index(b"470384") + 3]
    assert refusal(kept).startswith(line_of(kept, "Maximum"))


@pytest.mark.parametrize(
    ("peak", "said", "message"),
    [
        ("470384.", "", None),
        ("1000.", "", None),
        ("0.", "", None),
        ("N/A", "", None),
        ("*********", "", None),
        ("78200832.", "OUTCAR's own peak is in bytes", None),
        ("78200833.", "", "less than 512 times the estimate (kB), or whole pages of 4096 (bytes)"),
        ("81.", "", "more than 1/512 of the figure (41513 kB)"),
        ("many", "", "a number"),
        ("4703", "", "a number"),
    ],
)
def test_the_measured_peak_checks_the_units_and_nothing_else(peak: str, said: str, message: str | None) -> None:
    data = outcar(("470384.", peak), finished=True)
    if message is not None:
        assert refusal(data).startswith(line_of(data, "Maximum memory") + message)
        return
    document = receipt(data)
    assert document["memory"]["predicted_peak_bytes"] == 41513 * KIB
    assert said in document["limitations"][-1]
    assert ("in bytes" in " ".join(document["limitations"])) == bool(said)


def test_the_rule_of_units_at_its_bounds() -> None:
    figure = 4096
    assert peak_is_in_bytes(512 * figure - 1, figure) is False
    assert peak_is_in_bytes(512 * figure, figure) is True
    assert peak_is_in_bytes(9, figure) is False
    with pytest.raises(BadDataError, match="whole pages of 4096"):
        peak_is_in_bytes(512 * figure + 4, figure)
    with pytest.raises(BadDataError, match="more than 1/512"):
        peak_is_in_bytes(8, figure)


def test_a_figure_of_the_end_only_is_no_estimate() -> None:
    text = outcar(finished=True).decode()
    start = text.index(TOTAL)
    data = (text[:start] + text[text.index("     INWAV") :]).encode()
    assert "expected the figure of the start before the first iteration" in refusal(data)


def test_what_is_no_outcar_is_refused() -> None:
    assert refusal(b"").startswith('expected "vasp.VERSION" in the first line')
    assert refusal(b"words\n" + outcar()).startswith('expected "vasp.VERSION" in the first line')
    assert refusal(outcar(("vasp.6.3.0 20Jan22", "vasp.six"))).startswith('line 1: expected "vasp.VERSION"')
    assert "expected one run a file" in refusal(outcar() + outcar())
    assert refusal(outcar(("a name", "\0"))).startswith("line 8: expected text")
    assert read_outcar(outcar(("a name", "für"))).predicted_peak_bytes


def test_older_receipts_are_read_still() -> None:
    document = receipt(outcar())
    for name in ("ialgo", "lhfcalc", "mpi_ranks", "threads_per_rank", "run"):
        del document["features"][name]
    assert read_receipt(document).method == "DFT"


def test_it_is_recognised_by_its_first_line() -> None:
    assert PROGRAM.recognise(outcar()) == "vasp.6.3.0"
    assert PROGRAM.recognise(b"words\n" + outcar()) is None
