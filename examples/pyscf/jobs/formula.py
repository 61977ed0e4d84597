"""How much memory a Hartree-Fock calculation will hold, from its number of basis functions n alone.

It counts the arrays of a closed-shell calculation that keeps the two-electron integrals in memory, each number 8 bytes:

- integrals: P(P+1)/2 with P = n(n+1)/2 pairs of functions, since (ij|kl) has eight equal orders;
- 16 matrices of n x n for the iterations: overlap and its orthogonaliser, core Hamiltonian, density and potential of
  this and of the last iteration, Coulomb and exchange, Fock (extrapolated, plain, of the last iteration), orbital
  coefficients, gradient, and three products on the way;
- 16 for DIIS, which keeps the Fock matrix and the error of eight iterations;
- 4 for the eigenvalue solver: its copy, its eigenvectors and its work space.

A margin of a tenth stands for what is no such array: tables of shells, buffers of integrals, what an allocator rounds
up. Not counted is what is there before the calculation begins: the interpreter, NumPy, SciPy and PySCF itself. So the
figure is too low by about that much, and means little where n is small.

The formula was committed before the first run was measured, and is not fitted to any.
"""

from __future__ import annotations

FORMULA = 1
"""Goes up with every change of the formula, so that figures of two formulas are never taken for one program's."""

_NUMBER_BYTES = 8
_ITERATION, _DIIS, _EIGENSOLVER = 16, 16, 4


def integral_bytes(functions: int) -> int:
    """The bytes of the two-electron integrals of `functions` basis functions, each kept once."""
    pairs = functions * (functions + 1) // 2
    return _NUMBER_BYTES * (pairs * (pairs + 1) // 2)


def matrix_bytes(functions: int) -> int:
    """The bytes of all matrices over `functions` basis functions."""
    return _NUMBER_BYTES * (_ITERATION + _DIIS + _EIGENSOLVER) * functions**2


def peak_bytes(functions: int) -> int:
    """The estimate in bytes, its margin of a tenth included, rounded up."""
    return -(-(integral_bytes(functions) + matrix_bytes(functions)) * 11 // 10)
