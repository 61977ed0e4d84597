"""`estimate-calibrate --method` and `--margin`, from the fit to the limit of a job, as the command shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from queue_commands import Queue
from support.command import Run
from support.documents import case, plain_direct, receipt, write_json, write_set

MIB = 2**20
FIGURE = 100 * MIB
RECIPES: dict[str, tuple[tuple[str, ...], int, str, str]] = {
    # options, the calibrated figure of 100 MiB where the worst of two needed 130 MiB, its words: long and short
    "factor": ((), 130 * MIB, "the figure x 1.3, the worst ratio in held-out", "x1.3"),
    "factor and margin": (
        ("--margin", "10"),
        143 * MIB,
        "the figure x 1.3, the worst ratio in held-out, and a margin of 10 %",
        "x1.3 +10 %",
    ),
    "offset": (
        ("--method", "offset"),
        130 * MIB,
        f"the figure + 30 MiB ({30 * MIB} bytes), the worst difference in held-out",
        "+30 MiB",
    ),
    "offset and margin": (
        ("--method", "offset", "--margin", "2.50"),
        -(-133_250 * MIB // 1000),
        f"the figure + 30 MiB ({30 * MIB} bytes), the worst difference in held-out, and a margin of 2.5 %",
        "+30 MiB +2.5 %",
    ),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a training set of two cases and one held-out case."""
    training, other = tmp_path / "training", tmp_path / "other"
    rows = [
        (case(f"c{mib}"), receipt(figure=FIGURE), plain_direct(peak_rss_kb=mib * 1024, peak_rss_mb=float(mib)))
        for mib in (90, 130)
    ]
    for folder, listed in ((training, rows), (other, [(case("h"), receipt(figure=FIGURE), plain_direct())])):
        folder.mkdir()
        write_set(folder, listed)
    (tmp_path / "m.system").write_text(MANIFEST)
    write_json(tmp_path / "f.json", {"schema_version": 1, "algorithm": "direct", "memory_scope": "job"})
    monkeypatch.chdir(tmp_path)
    return tmp_path


MANIFEST = f"""\
[vibeqc]
version = "0.17.4"
[memory]
estimate_bytes = {FIGURE}
[plan]
method = "RKS"
[outputs]
status = "dry_run"
"""


def apply(vq: Run, *more: str) -> Any:
    options = ("--features", "f.json", "--calibration", "c.json", "--hardware-class", "class-a")
    result = vq("estimate", "m.system", *options, *more)
    assert (result.status, result.err) == (0, "")
    return result


@pytest.mark.parametrize("name", RECIPES)
def test_each_method_from_fit_to_figure(here: Path, vq: Run, name: str) -> None:
    options, figure, long, _ = RECIPES[name]
    fitted = vq("estimate-calibrate", "training/set.json", "-o", "c.json", "--min-cases", "2", *options)
    assert fitted.status == 0, fitted.err
    newer = name != "factor"
    assert ("margin" in fitted.out) == newer
    assert ("+30" in fitted.out or "30 MiB" in fitted.out) == ("offset" in name)
    document = json.loads(Path("c.json").read_text())
    assert document["schema_name"] == f"vq.estimate-calibration/{1 + newer}"
    estimate = apply(vq, "--json").document
    assert estimate["schema_name"] == f"vq.calibrated-estimate/{1 + newer}"
    assert estimate["calibrated_peak_bytes"] == figure
    assert apply(vq, "-q").out == f"{figure}\n"
    assert f"bytes), {long} Calibrated runtime:" in " ".join(apply(vq).out.split())


@pytest.mark.parametrize("name", RECIPES)
def test_a_report_and_its_picture_name_method_and_margin(here: Path, vq: Run, name: str) -> None:
    options = RECIPES[name][0]
    assert vq("estimate-calibrate", "training/set.json", "-o", "c.json", "--min-cases", "2", *options).status == 0
    judge = ("estimate-evaluate", "other/set.json", "--calibration", "c.json")
    report = vq(*judge, "--json").document
    assert report["schema_name"] == f"vq.estimate-evaluation-report/{2 if options else 1}"
    assert vq(*judge, "--plot", "p.svg").status == 0
    words = vq(*judge).out
    picture = " ".join(Path("p.svg").read_text(encoding="utf-8").split())
    assert report["calibration"]["method"] in words
    if "--margin" in options:
        percent = report["calibration"]["margin_percent"]
        assert f"margin {percent} %" in words
        assert f"margin {percent} %" in picture
    assert ("no margin" in words) == (name == "offset")


@pytest.mark.parametrize("name", RECIPES)
def test_a_limit_follows_from_either(here: Path, vq: Run, queue: Queue, name: str) -> None:
    options, figure, _, short = RECIPES[name]
    assert vq("estimate-calibrate", "training/set.json", "-o", "c.json", "--min-cases", "2", *options).status == 0
    estimate = queue.cwd / "estimate.json"
    estimate.write_text(apply(vq, "--json").out)
    job = queue.ok("submit", "--estimate", str(estimate), "--mem-from-estimate", "--", "true").strip()
    for one in (job, queue.ok("resubmit", job).strip()):
        record = queue.status(one)
        assert (record["mem_mb"], record["mem_mb_source"]) == (-(-figure // MIB), "calibrated-estimate")
        assert f"calibrated {-(-figure // MIB)} MiB ({short}, class-a)" in queue.ok("status", one)


@pytest.mark.parametrize("margin", ["-1", "1000.5", "1e3", "10%", "1.0000001", "nan", ""])
def test_a_margin_that_is_none_is_wrong_usage(here: Path, vq: Run, margin: str) -> None:
    result = vq("estimate-calibrate", "training/set.json", "-o", "c.json", "--margin", margin)
    assert (result.status, result.out) == (2, "")
    assert "expected a percentage from 0 to 1000" in result.err
    assert not Path("c.json").exists()


def test_a_margin_of_zero_is_none(here: Path, vq: Run) -> None:
    for name, options in (("a", ()), ("b", ("--margin", "0")), ("c", ("--margin", "0.00", "--method", "factor"))):
        assert vq("estimate-calibrate", "training/set.json", "-o", f"{name}.json", *options).status == 0
    assert Path("a.json").read_bytes() == Path("b.json").read_bytes() == Path("c.json").read_bytes()
    for name, percent in (("d", "10"), ("e", "10.0")):
        assert vq("estimate-calibrate", "training/set.json", "-o", f"{name}.json", "--margin", percent).status == 0
    assert Path("d.json").read_bytes() == Path("e.json").read_bytes()


def test_a_calibration_of_the_second_version_is_kept_off_its_training_set(here: Path, vq: Run) -> None:
    assert vq("estimate-calibrate", "training/set.json", "-o", "c.json", "--method", "offset").status == 0
    result = vq("estimate-evaluate", "training/set.json", "--calibration", "c.json")
    assert (result.status, result.out) == (1, "")
    assert "held-out set" in result.err
