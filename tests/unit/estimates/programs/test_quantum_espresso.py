"""Outputs of pw.x as estimates: the shapes of its versions, and what is refused, by its line."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest

from support.outputs import ESTIMATE, PROCESSES, PWSCF_DRY, pwscf, pwscf_finished, pwscf_of
from vq.errors import BadDataError
from vq.estimates.evidence import read_evidence
from vq.estimates.programs.quantum_espresso import PROGRAM, read_output
from vq.estimates.receipt import make_receipt, read_receipt

MB, GB = 2**20, 2**30


def refusal(data: bytes) -> str:
    with pytest.raises(BadDataError) as caught:
        read_output(data)
    return str(caught.value)


def line_of(data: bytes, words: str) -> str:
    """`line N`: where these words stand last."""
    lines = data.decode().split("\n")
    return f"line {max(number for number, line in enumerate(lines, start=1) if words in line)}"


def receipt(data: bytes, **given: Any) -> dict[str, Any]:
    evidence = read_evidence(json.dumps({"schema_version": 1, **given}).encode()) if given else None
    document = make_receipt(read_output(data), evidence=evidence)
    read_receipt(document)
    return document


def test_a_dry_run() -> None:
    data = pwscf()
    document = receipt(data)
    assert document["estimator"] == "quantum-espresso-pw/1"
    assert (document["program"], document["program_version"]) == ("quantum-espresso", "6.7MaX")
    assert document["features"] == {
        "method": "DFT",
        "functional": "SLA PZ NOGX NOGC",
        "ecutwfc_ry": 20.5,
        "ecutrho_ry": 82.0,
        "kpoints": 4,
        "bands": 16,
        "atoms": 8,
        "fft_grid": "24x25x27",
        "mpi_ranks": 1,
        "threads_per_rank": None,
        "kpoint_pools": 1,
        "run": "dry-run",
    }
    assert document["unknown"][:2] == ["features.threads_per_rank", "nbf"]
    assert document["manifest"] == {"sha256": sha256(data).hexdigest(), "bytes": len(data)}
    memory = document["memory"]
    # 10.20 × 2^20 = 10695475.2: rounded up.
    assert (memory["predicted_peak_bytes"], memory["scope"]) == (10_695_476, "rank")
    assert memory["safety_margin"] == "none"
    assert memory["effective_job_memory_bytes"] is None
    said = " ".join(document["limitations"])
    assert "lower bound" in said
    assert "does not bind" in said
    assert "not of a dry run" not in said


def test_a_finished_run_is_marked() -> None:
    document = receipt(pwscf_finished())
    assert document["features"]["run"] == "finished"
    assert "not of a dry run" in " ".join(document["limitations"])
    assert document["memory"] == receipt(pwscf())["memory"]


@pytest.mark.parametrize(
    ("line", "size"),
    [
        ("Estimated max dynamical RAM per process >     624.21 MB", -(-62421 * MB // 100)),
        ("Estimated max dynamical RAM per process >       1.00 GB", GB),
        ("Estimated max dynamical RAM per process >      10.55 GB", -(-1055 * GB // 100)),
        ("Estimated max dynamical RAM per process >~     10.20 MB", 10_695_476),
        ("Estimated max dynamical RAM per process >       0.73Mb", -(-73 * MB // 100)),
        ("Estimated max dynamical RAM per process >    2048.00Mb", 2048 * MB),
        ("Estimated max dynamical RAM per process >       0.01 MB", 10486),
        ("Estimated max dynamical RAM per process >       0.01 MB  \r", 10486),
    ],
)
def test_the_figure_in_the_shapes_of_all_versions(line: str, size: int) -> None:
    assert read_output(pwscf((ESTIMATE, line))).predicted_peak_bytes == size


@pytest.mark.parametrize(
    "rest",
    [
        "> ********** MB",
        ">      10.20",
        ">      10.20 kB",
        ">      10.20 TB",
        ">      10.2 MB",
        ">      10 MB",
        ">       1.02E1 MB",
        ">      -1.00 MB",
        ">       0.00 MB",
        "<      10.20 MB",
        ">      10.20 MB and more",
        "> 999999999.99 GB",
        ">      10.2",
        "",
    ],
)
def test_a_figure_that_is_none_is_refused_by_its_line(rest: str) -> None:
    data = pwscf((ESTIMATE, f"Estimated max dynamical RAM per process {rest}"))
    assert refusal(data).startswith(f"{line_of(data, 'Estimated max')}: expected an estimate in whole")


def test_a_garbled_label_is_refused_by_its_line() -> None:
    data = pwscf((ESTIMATE, "Estimated max dyna?ical RAM per process > 1.00 MB"))
    assert refusal(data).startswith(f"{line_of(data, 'dyna?ical')}: expected an estimate in whole")
    assert refusal(pwscf((ESTIMATE, ""))).startswith('expected a line "Estimated max dynamical RAM per process > …"')


TWO = ("Estimated max dynamical RAM per process >       2.54 MB", "Estimated total dynamical RAM >       5.08 MB")


def test_the_total_is_the_figure_of_the_job() -> None:
    data = pwscf_of(2, TWO)
    assert receipt(data)["memory"]["predicted_peak_bytes"] == -(-254 * MB // 100)
    assert receipt(data, memory_scope="rank", mpi_ranks=2)["memory"]["scope"] == "rank"
    memory = receipt(data, memory_scope="job")["memory"]
    assert (memory["predicted_peak_bytes"], memory["scope"]) == (-(-508 * MB // 100), "job")
    assert memory["effective_job_memory_bytes"] == memory["predicted_peak_bytes"]


def test_the_older_total() -> None:
    lines = (
        "Estimated max dynamical RAM per process >       0.73Mb",
        "Estimated total allocated dynamical RAM > 7.28Mb",
    )
    assert receipt(pwscf_of(10, lines), memory_scope="job")["memory"]["predicted_peak_bytes"] == -(-728 * MB // 100)


def test_the_process_of_one_is_the_job_when_the_evidence_says_so() -> None:
    memory = receipt(pwscf(), mpi_ranks=1, memory_scope="job")["memory"]
    assert (memory["predicted_peak_bytes"], memory["scope"]) == (10_695_476, "job")
    assert memory["effective_job_memory_bytes"] == 10_695_476


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"memory_scope": "node"}, "memory_scope"),
        ({"mpi_ranks": 2}, "mpi_ranks"),
        ({"mpi_ranks": 2, "memory_scope": "job"}, "mpi_ranks"),
        ({"method": "hybrid-DFT"}, "method"),
    ],
)
def test_evidence_may_not_contradict_the_output(given: dict[str, Any], key: str) -> None:
    with pytest.raises(BadDataError, match=rf"^\$\.{key}: expected no contradiction"):
        receipt(pwscf(), **given)


def test_several_processes_without_a_total_have_no_figure_for_the_job() -> None:
    data = pwscf_of(2, TWO[:1])
    assert read_output(data).job_peak_bytes is None
    with pytest.raises(BadDataError, match="scope"):
        receipt(data, memory_scope="job")


@pytest.mark.parametrize("total", ["5.10 MB", "2.52 MB", "1.00 GB", "0.00 MB", "5.08"])
def test_a_total_that_does_not_follow_is_refused(total: str) -> None:
    data = pwscf_of(2, (TWO[0], f"Estimated total dynamical RAM > {total}"))
    assert refusal(data).startswith(f"{line_of(data, 'Estimated total')}: expected ")


@pytest.mark.parametrize("total", ["5.08 MB", "5.09 MB", "2.54 MB", "2.53 MB"])
def test_a_total_may_be_anything_that_the_rounding_allows(total: str) -> None:
    assert read_output(pwscf_of(2, (TWO[0], f"Estimated total dynamical RAM > {total}"))).job_peak_bytes


HYBRID = """Parallel version (MPI & OpenMP), running on      80 processor cores
     Number of MPI processes:                 4
     Threads/MPI process:                    20"""
PROCESS_LINES = [
    ("Parallel version (MPI), running on    16 processors", 16, None),
    (HYBRID, 4, 20),
    ("Parallel version (MPI & OpenMP), running on      80 processor cores", None, None),
    ("Serial version", 1, None),
    ("Serial multi-threaded version, running on    4 processor cores", 1, 4),
    ("", None, None),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "ranks", "threads"), PROCESS_LINES)
def test_processes_and_threads(lines: str, ranks: int | None, threads: int | None) -> None:
    features = read_output(pwscf((PROCESSES, lines))).features
    assert (features["mpi_ranks"], features["threads_per_rank"]) == (ranks, threads)


def test_threads_must_fit_the_cores() -> None:
    lines = HYBRID.replace("20", "21")
    assert refusal(pwscf((PROCESSES, lines))).startswith("line 6: expected processes times threads to be the 80 cores")


@pytest.mark.parametrize(
    ("changes", "name", "value"),
    [
        (("Exchange-correlation= SLA  PZ   NOGX NOGC", "Exchange-correlation      = PBE ( 1  4  3  4 0 0)"),
         "functional", "PBE"),
        (("Exchange-correlation= SLA  PZ   NOGX NOGC\n",
          "Exchange-correlation= PBE0\n     EXX-fraction              =        0.25\n"), "method", "hybrid-DFT"),
        (("     Reading input from si.in", "     K-points division:     npool     =       4"), "kpoint_pools", 4),
        (("number of k points=     4  Fermi-Dirac smearing, width (Ry)=  0.0100", "number of k points=   112"),
         "kpoints", 112),
        (("     number of atoms/cell      =            8\n", ""), "atoms", None),
        (("number of atoms/cell      =            8", "number of atoms/cell      =     ******"), "atoms", None),
        ((PROCESSES, "Parallel version (MPI), running on ***** processors"), "mpi_ranks", None),
        (("     Dense  grid:     3143 G-vectors     FFT dimensions: (  24,  25,  27)\n", ""), "fft_grid", None),
        (("     kinetic-energy cutoff     =      20.5000  Ry\n", ""), "ecutwfc_ry", None),
        (("     charge density cutoff     =      82.0000  Ry\n", ""), "ecutrho_ry", None),
        (("     Exchange-correlation= SLA  PZ   NOGX NOGC\n", ""), "functional", None),
    ],
)  # fmt: skip
def test_features_of_versions(changes: tuple[str, str], name: str, value: Any) -> None:
    document = receipt(pwscf(changes))
    assert document["features"][name] == value
    assert (f"features.{name}" in document["unknown"]) == (value is None)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("number of atoms/cell      =            8", "number of atoms/cell      ="),
        ("number of Kohn-Sham states=           16", "number of Kohn-Sham states=           1.6"),
        ("charge density cutoff     =      82.0000  Ry", "charge density cutoff     =      82.0000  eV"),
        ("(  24,  25,  27)", "(  24,  25,"),
        (PROCESSES, "Parallel version (MPI), running on several processors"),
        ("Exchange-correlation= SLA  PZ   NOGX NOGC", "Exchange-correlation= " + "x" * 300),
        ("number of electrons       =        32.00", "number of atoms/cell      =            9"),
    ],
)
def test_a_garbled_or_contradictory_value_is_refused_by_its_line(old: str, new: str) -> None:
    data = pwscf((old, new))
    assert refusal(data).startswith(f"{line_of(data, new)}: expected ")


def test_a_file_that_is_cut_off_is_refused_by_its_last_line() -> None:
    for end in range(PWSCF_DRY.index("Reading"), PWSCF_DRY.index("JOB DONE.") + len("JOB DONE")):
        kept = PWSCF_DRY[:end]
        last = kept.rstrip().count("\n") + 1
        assert (
            refusal(kept.encode())
            == f'line {last}: expected "JOB DONE." at the end; the file is cut off, or its run was'
        )


def test_what_is_no_output_of_pw_is_refused() -> None:
    assert refusal(b"").startswith('expected a line "Program PWSCF v.…"')
    assert refusal(pwscf(("Program PWSCF v.6.7MaX", "Program PHONON v.6.7MaX"))).startswith("expected a line")
    assert refusal(pwscf(("Program PWSCF v.6.7MaX", "Program PWSCF of 2026"))).startswith("line 2: expected ")
    assert refusal(pwscf() + pwscf()).startswith("line 35: expected one run a file")
    assert refusal(b"\x1f\x8b\x08").startswith("expected the text itself; this file is compressed")


def test_garbled_bytes_are_refused_by_their_line() -> None:
    for byte in ("\0", "\x1b", "\x7f"):
        assert refusal(pwscf(("Fermi-Dirac", byte))).startswith("line 21: expected text")
    title = pwscf(("Reading input from si.in", "Title: µ")).replace("µ".encode(), b"\xb5")
    assert read_output(title).predicted_peak_bytes == 10_695_476


def test_figures_of_a_later_set_up_are_named_and_not_taken() -> None:
    again = "Writing output data file", "Estimated max dynamical RAM per process > {} MB\n     Writing output data file"
    later = receipt(pwscf_finished((again[0], again[1].format("12.00"))))
    assert later["memory"]["predicted_peak_bytes"] == 10_695_476
    assert later["limitations"][-1] == f"The run printed other figures later, of up to {12 * MB} bytes."
    same = receipt(pwscf_finished((again[0], again[1].format("10.20"))))
    assert "other figures" not in " ".join(same["limitations"])
    assert refusal(pwscf_finished((again[0], again[1].format("1")))).startswith("line 32: expected an estimate")


def test_a_total_behind_a_later_figure_is_not_the_firsts() -> None:
    lines = (TWO[0], TWO[0].replace("2.54", "3.00"), "Estimated total dynamical RAM >       6.00 MB")
    assert read_output(pwscf_of(2, lines)).job_peak_bytes is None


def test_a_version_with_its_revision() -> None:
    for version in ("6.0 (svn rev. 13188M)", "6.2 (svn rev. 14022:14024M)", "7.6", " 5.4.0"):
        data = pwscf((" v.6.7MaX", f" v.{version}"))
        assert read_output(data).program_version == version.strip()
        assert PROGRAM.recognise(data) == f"Program PWSCF v.{version}"


def test_it_is_recognised_by_its_first_line() -> None:
    assert PROGRAM.recognise(pwscf()) == "Program PWSCF v.6.7MaX"
    assert PROGRAM.recognise(b"[vibeqc]\n") is None
