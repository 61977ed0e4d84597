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


OUTCAR = """ vasp.6.3.0 20Jan22 (build Jan 01 2026 10:00:00) complex

 executed on             LinuxIFC date 2026.01.01  10:00:00
 running   16 mpi-ranks, with    2 threads/rank
 distrk:  each k-point on   16 cores,    1 groups

 INCAR:
   SYSTEM = a name
   ENCUT = 520
   NSW = many
   LHFCALC = .FALSE.

   LCOMPAT=      F    compatible to vasp.4.4

 Dimension of arrays:
   k-points           NKPTS =     84   k-points in BZ     NKDIM =     84   number of bands    NBANDS=     24
   number of dos      NEDOS =    301   number of ions     NIONS =      8

 Startparameter for this run:
   ISPIN  =      1    spin polarized calculation?
   ENCUT  =  520.0 eV  38.22 Ry    6.18 a.u.  18.59 18.59 18.59*2*pi/ulx,y,z
   NSW    =      0    number of steps for IOM
   IALGO  =     68    algorithm
   LHFCALC =     F    Hartree Fock is set to

 k-points in units of 2pi/SCALE and weight: a mesh

 total amount of memory used by VASP MPI-rank0    41513. kBytes
=======================================================================

   base      :      30000. kBytes
   nonl-proj :        699. kBytes
   fftplans  :       3956. kBytes
   grid      :       6748. kBytes
   one-center:          3. kBytes
   wavefun   :        107. kBytes

     INWAV:  cpu time      0.0000: real time      0.0001

--------------------------------------- Iteration      1(   1)  ---------------------------------------
"""
"""A run that has begun."""

ACCOUNTING = """
 total amount of memory used by VASP MPI-rank0    50000. kBytes
=======================================================================

   base      :      50000. kBytes

 General timing and accounting informations for this job:
 ========================================================

                         Elapsed time (sec):        4.234

                   Maximum memory used (kb):      470384.
                   Average memory used (kb):          N/A

                 Voluntary context switches:         4416
"""


def outcar(*changes: tuple[str, str], finished: bool = False) -> bytes:
    """The run that has begun, or its end too, with texts replaced, each of which must be there once."""
    return pwscf(*changes, text=OUTCAR + (ACCOUNTING if finished else ""))
