"""A Hartree-Fock calculation with PySCF, or a dry run of it that says how much memory it will take.

    python scf.py MOLECULE.xyz                      calculates, and prints the energy
    python scf.py --dry-run OUT_DIR MOLECULE.xyz…   writes a manifest for each, and calculates nothing

A molecule's file is XYZ; its second line begins with `basis=NAME`. So this one file says all that is calculated.

The dry run writes, for each molecule, `OUT_DIR/NAME.system`, in the form in which vibe-qc writes its manifests, and
`OUT_DIR/NAME.features.json`, which is what `vq estimate --features` takes: it says that the figure is for the whole
job. What is already there is not written over.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from hashlib import sha256
from typing import Any, NamedTuple

from formula import FORMULA, peak_bytes

ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYSCF_TMPDIR": os.curdir}
"""One thread, as the manifest says; and what a killed run leaves lies in its own folder."""
SETTINGS = "RHF, integrals in memory, initial guess minao, energy to 1e-9 hartree, 1 thread"


class Molecule(NamedTuple):
    """What a file says: `atoms` are symbols with places in angstrom."""

    name: str
    basis: str
    atoms: list[tuple[str, tuple[float, ...]]]


def read_molecule(path: str) -> Molecule:
    """The molecule in a file; raises `ValueError` that names the file and what was expected."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    words = lines[1].split() if len(lines) > 1 else []
    if not words or not words[0].startswith("basis="):
        raise ValueError(f"{path}: line 2: expected basis=NAME at its beginning")
    atoms: list[tuple[str, tuple[float, ...]]] = []
    for number, line in enumerate(lines[2:], start=3):
        symbol, *places = line.split() or [""]
        try:
            place = tuple(map(float, places))
        except ValueError:
            place = ()
        if not symbol.isalpha() or len(place) != 3:  # noqa: PLR2004 - x, y and z
            raise ValueError(f"{path}: line {number}: expected a symbol and three numbers")
        atoms.append((symbol, place))
    if not atoms or lines[0].strip() != str(len(atoms)):
        raise ValueError(f"{path}: line 1: expected the number of atoms, which is {len(atoms)}")
    name = os.path.basename(path).removesuffix(".xyz")
    return Molecule(name=name, basis=words[0].removeprefix("basis="), atoms=atoms)


def in_pyscf(molecule: Molecule) -> Any:
    """PySCF's own object for a molecule. PySCF is loaded here, since that takes a second."""
    os.environ.update(ENVIRONMENT)
    # h5py, which PySCF loads, asks for the name of the processor, and Python runs `uname -p` to find it. Of a job with
    # a second process, however small, nobody can say that its largest was all of it. So the answer is put there first.
    vars(platform.uname())["processor"] = ""
    from pyscf import gto  # noqa: PLC0415

    return gto.M(atom=molecule.atoms, basis=molecule.basis, verbose=0)


def version() -> str:
    """PySCF's version with the formula's: a figure of another formula is another program's figure."""
    import pyscf  # noqa: PLC0415

    return f"pyscf-{pyscf.__version__}+formula-{FORMULA}"


def manifest(molecule: Molecule, functions: int) -> str:
    """The manifest of a dry run, as text."""
    return f"""# A dry run of scf.py, in the form of a vibe-qc system manifest. Nothing has been calculated.

[vibeqc]
version        = "{version()}"

[cpu]
omp_threads_used = 1

[memory]
# The arrays of {functions} basis functions and a margin of a tenth; the interpreter and its libraries are not counted.
estimate_bytes = {peak_bytes(functions)}

[plan]
stem           = "{molecule.name}"
job_kind       = "molecular_scf"
method         = "RHF"
basis          = "{molecule.basis}"
functional     = ""
options_digest = "{sha256(SETTINGS.encode()).hexdigest()[:12]}"

[outputs]
status         = "dry_run"
"""


def features(functions: int) -> str:
    """What the one who runs the job knows of it, as JSON: one process, one thread, and what the figure is for."""
    known = {
        "schema_version": 1,
        "nbf": functions,
        "basis_representation": "spherical",
        "mpi_ranks": 1,
        "threads_per_rank": 1,
        "algorithm": "in-core",
        "memory_scope": "job",
    }
    return json.dumps(known, indent=2) + "\n"


def dry_run(out: str, paths: list[str]) -> None:
    """Write manifest and features of each molecule into the folder `out`, which is made if it is missing."""
    os.makedirs(out, exist_ok=True)
    print(f"{'MOLECULE':18}{'BASIS':10}{'FUNCTIONS':>9}{'ESTIMATE':>14}")
    for path in paths:
        molecule = read_molecule(path)
        functions = in_pyscf(molecule).nao
        for suffix, text in ((".system", manifest(molecule, functions)), (".features.json", features(functions))):
            with open(os.path.join(out, molecule.name + suffix), "x", encoding="utf-8") as file:
                file.write(text)
        print(f"{molecule.name:18}{molecule.basis:10}{functions:9}{peak_bytes(functions) / 2**20:10.1f} MiB")


def calculate(path: str) -> bool:
    """Run the calculation and print its result; whether it converged."""
    molecule = read_molecule(path)
    mol = in_pyscf(molecule)
    mol.incore_anyway = True  # whatever the machine has free: else the estimate would depend on it
    from pyscf import scf  # noqa: PLC0415

    calculation = scf.RHF(mol)
    calculation.chkfile = None
    calculation.conv_tol = 1e-9
    calculation.kernel()
    print(f"{molecule.name} {molecule.basis}: {mol.nao} functions, RHF energy {calculation.e_tot:.8f} hartree")
    return bool(calculation.converged)


def main() -> int:
    """The exit status: 1 where a calculation did not converge or a file cannot be used."""
    parser = argparse.ArgumentParser(description="A Hartree-Fock calculation with PySCF, or a dry run of it.")
    parser.add_argument("--dry-run", metavar="OUT_DIR", help="write manifests there; calculate nothing")
    parser.add_argument("molecules", metavar="MOLECULE.xyz", nargs="+", help="one, or several for a dry run")
    chosen = parser.parse_args()
    if chosen.dry_run is None and len(chosen.molecules) > 1:
        parser.error("one molecule at a time, except for a dry run")
    try:
        if chosen.dry_run is None:
            return 0 if calculate(chosen.molecules[0]) else 1
        dry_run(chosen.dry_run, chosen.molecules)
    except (OSError, ValueError) as error:
        print(f"scf.py: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
