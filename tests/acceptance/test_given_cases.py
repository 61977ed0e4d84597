"""The sets with right answers and the documents to refuse, each to the last digit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.command import ROOT, Run
from vq.canonical import digest

DATA = ROOT / "tests" / "data" / "estimates"
SETS = sorted(path.name for path in DATA.glob("set-*"))
CALLS = ("evaluate", "calibrate", "judge", "estimate", "apply")
REFUSALS = [json.loads(line) for line in (DATA / "invalid.jsonl").read_text(encoding="utf-8").splitlines()]


def test_all_of_them_are_here() -> None:
    assert len(SETS) == 12
    assert len(REFUSALS) == 43


def without_wording(value: Any) -> Any:
    """The document without the sentences that each program words its own way, which must be lists of strings."""
    if isinstance(value, dict):
        for key in ("limitations", "warnings"):
            assert all(isinstance(item, str) for item in value.get(key, []))
        return {key: without_wording(item) for key, item in value.items() if key not in ("limitations", "warnings")}
    return [without_wording(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", SETS)
def test_the_right_answer(
    given: Path, vq: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, call: str
) -> None:
    monkeypatch.chdir(given)
    expected = json.loads((given / name / "expected.json").read_text(encoding="utf-8"))[call]
    out = tmp_path / "out.json"
    result = vq(*(str(out) if word == "OUT" else word for word in expected["argv"]))
    assert result.status == expected["exit"], result.err
    if expected["exit"]:
        assert result.out == ""
        assert not out.exists()
        assert result.err.startswith("vq: error: ")
        return
    text = out.read_text(encoding="utf-8") if "OUT" in expected["argv"] else result.out
    answer, right = json.loads(text), expected["answer"]
    if call == "apply":
        right["estimate_sha256"] = digest(answer["estimate"])
    assert without_wording(answer) == without_wording(right)


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal["why"])
def test_the_refusal(
    given: Path, vq: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: dict[str, Any]
) -> None:
    monkeypatch.chdir(given)
    before = sorted(str(path) for path in (given / refusal["folder"]).rglob("*"))
    out = tmp_path / "out.json"
    result = vq(*(str(out) if word == "OUT" else word for word in refusal["argv"]))
    assert result.status == 1, result.out
    assert result.out == ""
    assert list(tmp_path.iterdir()) == []
    assert sorted(str(path) for path in (given / refusal["folder"]).rglob("*")) == before
    assert any(text in result.err for text in refusal["message_names_one_of"]), result.err
    assert "bug in vq" not in result.err
