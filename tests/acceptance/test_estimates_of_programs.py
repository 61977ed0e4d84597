"""`vq estimate --program`: the outputs of other programs, recognised, read and applied like a manifest."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command import Run
from support.documents import MANIFEST, write_json
from support.outputs import outcar, pwscf
from vq.estimates.programs import PROGRAMS

QE = ("--program", "quantum-espresso")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a manifest, an output of pw.x and evidence."""
    (tmp_path / "m.system").write_text(MANIFEST)
    (tmp_path / "pw.out").write_bytes(pwscf())
    (tmp_path / "OUTCAR").write_bytes(outcar())
    write_json(tmp_path / "job.json", {"schema_version": 1, "mpi_ranks": 1, "memory_scope": "job"})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_program_may_be_named_or_recognised(here: Path, vq: Run) -> None:
    for name, option, words in (
        ("pw.out", "quantum-espresso", "Program PWSCF v.6.7MaX"),
        ("OUTCAR", "vasp", "vasp.6.3.0"),
        ("m.system", "vibe-qc", "[vibeqc]"),
    ):
        named = vq("estimate", name, "--program", option, "--json")
        assert (named.status, named.err) == (0, "")
        recognised = vq("estimate", name, "--program", "auto", "--json")
        assert recognised.out == named.out
        assert recognised.err == f'{name}: {option}, by "{words}"\n'
    assert vq("estimate", "m.system", "--json").out == vq("estimate", "m.system", *QE[:1], "vibe-qc", "--json").out


def test_a_receipt_of_the_whole_job(here: Path, vq: Run) -> None:
    document = vq("estimate", "pw.out", *QE, "--features", "job.json", "--input", "job.json", "--json").document
    assert document["memory"]["effective_job_memory_bytes"] == 10_695_476
    text = vq("estimate", "pw.out", *QE, "--features", "job.json")
    assert "10.2 MiB (10695476 bytes), scope job, without a safety margin" in text.out


def test_a_figure_of_one_process_says_what_makes_it_one_of_the_job(here: Path, vq: Run) -> None:
    text = " ".join(vq("estimate", "pw.out", *QE).out.split())
    before, _, document = text.partition("if the program prints one of the whole job, too, say ")
    assert "For the job: unknown, as the figure is of one rank; " in before
    (here / "said.json").write_text(document[: document.index("}") + 1])
    assert vq("estimate", "pw.out", *QE, "--features", "said.json", "-q").out == "10695476\n"


def test_what_is_recognised_as_none_or_several_is_refused(here: Path, vq: Run) -> None:
    (here / "both").write_bytes(MANIFEST.encode() + pwscf())
    for name, found in (("job.json", "none"), ("both", "vibe-qc, quantum-espresso")):
        result = vq("estimate", name, "--program", "auto")
        assert (result.status, result.out) == (1, "")
        assert result.err.startswith(f"vq: error: {name}: expected a file of one of {', '.join(PROGRAMS)}; ")
        assert f"by its words it is of {found}\n" in result.err
        assert "--program" in result.err


def test_a_refusal_names_file_and_line(here: Path, vq: Run) -> None:
    (here / "cut.out").write_bytes(pwscf()[:500])
    result = vq("estimate", "cut.out", *QE)
    assert result.status == 1
    assert result.err.startswith('vq: error: cut.out: line 16: expected "JOB DONE." at the end')
    assert vq("estimate", "pw.out", "--program", "abinit").status == 2


def test_each_program_has_its_own_bound(here: Path, vq: Run) -> None:
    (here / "large.system").write_text(MANIFEST + "#" * 2**20)
    for options in ((), ("--program", "auto")):
        result = vq("estimate", "large.system", *options)
        assert result.status == 1
        assert "1048576" in result.err
