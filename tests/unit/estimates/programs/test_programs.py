"""The table of estimators: each file is of one program, and each receipt is read by the shape of its own estimator."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.documents import MANIFEST
from support.outputs import outcar, pwscf, pwscf_finished
from vq.errors import BadDataError
from vq.estimates.programs import BY_ESTIMATOR, PROGRAMS, recognised
from vq.estimates.receipt import make_receipt, read_receipt

FILES = {"vibe-qc": MANIFEST.encode(), "quantum-espresso": pwscf(), "vasp": outcar()}
DOCS = Path(__file__).parents[4] / "docs" / "reference" / "estimators.md"


def test_each_file_is_of_one_program() -> None:
    assert list(FILES) == list(PROGRAMS)
    for name, data in {**FILES, "quantum-espresso": pwscf_finished()}.items():
        assert [program.name for program, _ in recognised(data)] == [name]
    assert recognised(b"") == []


@pytest.mark.parametrize("name", FILES)
def test_a_receipt_is_of_its_own_estimator(name: str) -> None:
    program = PROGRAMS[name]
    document = make_receipt(program.read(FILES[name]))
    assert (document["program"], document["estimator"]) == (name, program.estimator)
    assert BY_ESTIMATOR[program.estimator] is program
    assert read_receipt(document).estimator == program.estimator
    del document["features"]["method"]
    with pytest.raises(BadDataError, match=r"^\$\.features\.method: expected this key"):
        read_receipt(document)


@pytest.mark.parametrize("name", FILES)
def test_a_receipt_has_the_scope_and_margin_of_its_estimator(name: str) -> None:
    document = make_receipt(PROGRAMS[name].read(FILES[name]))
    for scope in ("node", "job"):
        document["memory"]["scope"] = scope
        with pytest.raises(BadDataError, match=r"^\$\.memory\.scope: expected .*since the evidence declares none"):
            read_receipt(document)
    document = make_receipt(PROGRAMS[name].read(FILES[name]))
    document["memory"]["safety_margin"] = {"included": "none", "none": "included"}[PROGRAMS[name].margin]
    with pytest.raises(BadDataError, match=r"^\$\.memory\.safety_margin"):
        read_receipt(document)


@pytest.mark.parametrize("name", FILES)
def test_the_page_has_each_estimator_with_its_features(name: str) -> None:
    program = PROGRAMS[name]
    document = make_receipt(program.read(FILES[name]))
    rows = [line for line in DOCS.read_text(encoding="utf-8").splitlines() if f"| `{program.estimator}`" in line]
    assert len(rows) == 2
    assert f"`{name}`" in rows[0]
    assert f"{program.most_bytes // 2**20} MiB" in rows[0]
    assert all(f"`{feature}`" in rows[1] for feature in document["features"])
