"""The real pw.x, where it is installed: its dry run and its run to the end give the same figure."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from vq.errors import BadDataError
from vq.estimates.program import ProgramEstimate
from vq.estimates.programs.quantum_espresso import read_output

PSEUDO = Path("/usr/share/espresso/pseudo")
INPUT = f"""\
&control
  calculation = 'scf', prefix = 'si', outdir = './o', pseudo_dir = '{PSEUDO}'
/
&system
  ibrav = 2, celldm(1) = 10.2, nat = 2, ntyp = 1, ecutwfc = 12
/
&electrons
/
ATOMIC_SPECIES
Si 28.086 Si.pz-vbc.UPF
ATOMIC_POSITIONS alat
Si 0.00 0.00 0.00
Si 0.25 0.25 0.25
K_POINTS automatic
2 2 2 0 0 0
"""

pytestmark = pytest.mark.skipif(
    shutil.which("pw.x") is None or not (PSEUDO / "Si.pz-vbc.UPF").exists(),
    reason="pw.x is not installed (apt-get install quantum-espresso quantum-espresso-data)",
)


def output(folder: Path, *, dry: bool) -> tuple[int, ProgramEstimate]:
    """How pw.x ended in a folder, and the estimate in what it printed."""
    (folder / "o").mkdir(parents=True)
    (folder / "si.in").write_text(INPUT)
    if dry:
        (folder / "o" / "si.EXIT").touch()
    ended = subprocess.run(["pw.x", "-in", "si.in"], cwd=folder, capture_output=True, check=False)
    assert not (folder / "o" / "si.EXIT").exists()
    return ended.returncode, read_output(ended.stdout)


def test_a_dry_run_and_a_finished_run_say_the_same(tmp_path: Path) -> None:
    status, dry = output(tmp_path / "dry", dry=True)
    assert status == 255
    finished_status, finished = output(tmp_path / "finished", dry=False)
    assert finished_status == 0
    assert (dry.features["run"], finished.features["run"]) == ("dry-run", "finished")
    assert {**dry.features, "run": None} == {**finished.features, "run": None}
    assert dry.predicted_peak_bytes == finished.predicted_peak_bytes == dry.job_peak_bytes
    known = ("atoms", "bands", "ecutwfc_ry", "ecutrho_ry", "kpoints", "mpi_ranks", "functional")
    assert [dry.features[name] for name in known] == [2, 4, 12.0, 48.0, 3, 1, "SLA PZ NOGX NOGC"]


EXAMPLES = Path("/usr/share/doc/quantum-espresso/examples")


def reference_outputs() -> Iterator[bytes]:
    """What pw.x of versions 4 to 6.6 printed, as the distribution's examples show it."""
    for path in sorted(EXAMPLES.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            data = gzip.decompress(data) if path.suffix == ".gz" else data
            if b"Program PWSCF v" in data:
                yield data


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the examples of quantum-espresso are not installed")
def test_every_reference_output_with_an_estimate_is_read() -> None:
    versions = Counter[str]()
    for data in reference_outputs():
        if b"JOB DONE." in data and b"Estimated max dynamical RAM" in data:
            estimate = read_output(data)
            versions[str(estimate.program_version).split()[0]] += 1
            assert estimate.unknown_features <= {"threads_per_rank"}
            assert estimate.job_peak_bytes is not None
        else:
            with pytest.raises(BadDataError, match=r"cut off|print none"):
                read_output(data)
    assert versions["6.0"] > 100
    assert len(versions) > 5
