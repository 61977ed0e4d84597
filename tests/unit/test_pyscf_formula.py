"""The estimate of the PySCF example: what it counts, and how it grows. It needs no PySCF."""

from __future__ import annotations

import runpy
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
FORMULA = runpy.run_path(str(ROOT / "examples" / "pyscf" / "jobs" / "formula.py"))
functions = st.integers(min_value=1, max_value=10_000)


@given(st.integers(min_value=1, max_value=6))
def test_each_integral_is_counted_once_whatever_the_order_of_its_functions(n: int) -> None:
    of = range(n)
    different = {
        tuple(sorted((tuple(sorted((i, j))), tuple(sorted((k, m)))))) for i in of for j in of for k in of for m in of
    }
    assert FORMULA["integral_bytes"](n) == 8 * len(different)


@given(functions)
def test_the_margin_is_a_tenth_and_the_figure_a_whole_number_of_bytes(n: int) -> None:
    arrays = FORMULA["integral_bytes"](n) + FORMULA["matrix_bytes"](n)
    figure = FORMULA["peak_bytes"](n)
    assert type(figure) is int
    assert 0 <= 10 * figure - 11 * arrays < 10


@given(functions)
def test_a_function_more_is_never_less_memory(n: int) -> None:
    assert FORMULA["peak_bytes"](n) < FORMULA["peak_bytes"](n + 1)


def test_the_figures_of_the_readme_are_the_formulas() -> None:
    text = (ROOT / "examples" / "pyscf" / "README.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| 1")]
    rows += [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| 8")]
    assert len(rows) > 10
    for row in rows:
        assert row[-1] == f"{FORMULA['peak_bytes'](int(row[0])) / 2**20:.1f} MiB", row[1]
