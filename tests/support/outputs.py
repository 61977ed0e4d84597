"""Outputs of programs, written small after the shapes that versions of them print."""

from __future__ import annotations

from collections.abc import Sequence

PWSCF_DRY = """
     Program PWSCF v.6.7MaX starts on  1Jan2026 at 10: 0: 0

     Parallel version (MPI), running on     1 processors

     MPI processes distributed on     1 nodes
     Reading input from si.in

     Program stopped by user request

     bravais-lattice index     =            2
     number of atoms/cell      =            8
     number of atomic types    =            1
     number of electrons       =        32.00
     number of Kohn-Sham states=           16
     kinetic-energy cutoff     =      20.5000  Ry
     charge density cutoff     =      82.0000  Ry
     Exchange-correlation= SLA  PZ   NOGX NOGC
                           (   1   1   0   0   0   0   0)

     number of k points=     4  Fermi-Dirac smearing, width (Ry)=  0.0100

     Dense  grid:     3143 G-vectors     FFT dimensions: (  24,  25,  27)

     Estimated max dynamical RAM per process >      10.20 MB

     Writing output data file ./o/si.save/

     PWSCF        :      0.02s CPU      0.02s WALL

=------------------------------------------------------------------------------=
   JOB DONE.
=------------------------------------------------------------------------------=
"""
"""A dry run on one process."""

_CALCULATION = """
     Self-consistent Calculation

     iteration #  1     ecut=    20.50 Ry     beta= 0.70
     convergence has been achieved in   9 iterations

     Writing output data file"""


def pwscf(*changes: tuple[str, str], text: str = PWSCF_DRY) -> bytes:
    """The dry run with texts replaced, each of which must be there once."""
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text.encode()


def pwscf_finished(*changes: tuple[str, str]) -> bytes:
    """The same calculation, run to its end."""
    begun = pwscf(
        ("     Program stopped by user request\n", ""), ("     Writing output data file", _CALCULATION)
    ).decode()
    return pwscf(*changes, text=begun)


ESTIMATE = "Estimated max dynamical RAM per process >      10.20 MB"
PROCESSES = "Parallel version (MPI), running on     1 processors"


def pwscf_of(processes: int, lines: Sequence[str]) -> bytes:
    """The dry run on so many processes, with these lines in place of the estimate."""
    return pwscf(
        (PROCESSES, f"Parallel version (MPI), running on {processes:5} processors"),
        (ESTIMATE, "\n\n     ".join(lines)),
    )
