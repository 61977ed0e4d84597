"""Random valid documents: receipts, usage receipts, sets, calibrations, features, manifests, JSON values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from support import documents
from support.documents import Document, case, changed, failed_collection, sealed_receipt
from support.observations import Row, fitted
from vq.estimates.calibrated import apply_calibration
from vq.estimates.calibration import read_calibration

LARGEST = 2**53 - 1
MIB = 2**20

# Few values for what groups are made of, so that groups have several cases.
HARDWARE = st.sampled_from(["class-a", "B_2:x+y.z"])
METHODS = st.sampled_from(["RKS", "rks", "UKS", "ÄKS", None])
VERSIONS = st.sampled_from(["0.17.4", "0.17.4", "0.15", None])
SCOPES = st.sampled_from(["job", "node", "rank", "unspecified"])
ALGORITHMS = st.sampled_from([None, "direct", "A-Z/(x)"])
OUTCOMES = ["completed", "completed", "completed", "failed", "oom_killed", "time_exceeded", "killed"]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
digests = st.text("0123456789abcdef", min_size=64, max_size=64)
names = st.text("abcXYZ019._+:-", min_size=1, max_size=20)

sizes = st.one_of(st.integers(1, 5000), st.integers(1, LARGEST), st.integers(900_000, 1_100_000))
"""Bytes: often near each other, sometimes anything."""

seconds: st.SearchStrategy[int | float] = st.one_of(
    st.integers(0, 50),
    st.decimals(0, 50, places=3).map(float),
    st.floats(1e-7, 1e6, allow_nan=False),
    st.sampled_from([0, 0.0, -0.0, 1e-7, 1e21, 0.1, 0.3, 12.5]),
)
"""Times; the special numbers of JSON among them."""


@st.composite
def intervals(draw: st.DrawFn) -> tuple[float, float] | None:
    """A runtime interval, or none."""
    if draw(st.integers(0, 3)) == 0:
        return None
    low, high = sorted((draw(seconds), draw(seconds)))
    return low, high


@st.composite
def recorded_evidence(draw: st.DrawFn, scope: str) -> Document | None:
    """Evidence inside a receipt of this scope; its method, where given, agrees with none reported."""
    algorithm = draw(ALGORITHMS)
    if scope == "unspecified" and algorithm is None and draw(st.booleans()):
        return None
    found: Document = {"sha256": draw(digests), "schema_version": 1}
    if algorithm is not None:
        found["algorithm"] = algorithm
    if scope != "unspecified":
        found["memory_scope"] = scope
    if draw(st.booleans()):
        found["nbf"] = draw(st.integers(1, LARGEST))
    return found


@st.composite
def receipts(draw: st.DrawFn) -> Document:
    """A receipt of either estimator."""
    scope = draw(SCOPES)
    figure = draw(st.one_of(st.none(), sizes, sizes, sizes))
    evidence = draw(recorded_evidence(scope))
    document = documents.receipt(
        figure=figure,
        scope=scope,
        interval=draw(intervals()),
        method=draw(METHODS),
        version=draw(VERSIONS),
        evidence=evidence,
    )
    if evidence is not None and document["features"]["method"] is None and draw(st.booleans()):
        evidence["method"] = draw(st.sampled_from(["rks", "HF"]))
    if draw(st.booleans()):
        memory_mb = draw(st.integers(1, LARGEST // MIB))
        override = {"memory_mb": memory_mb, "bytes": memory_mb * MIB}
        document["memory"] |= {"override": override, "effective_job_memory_bytes": override["bytes"]}
    if draw(st.integers(0, 3)) == 0:
        document |= {"estimator": draw(st.sampled_from(["other/1", "other/2"])), "program": "other"}
        features = {"method": document["features"]["method"], "cutoff": draw(json_scalars())}
        document["features"] = features
        document["memory"]["safety_margin"] = None if figure is None else draw(st.sampled_from(["none", "included"]))
    inputs = st.fixed_dictionaries(
        {
            "path": words.filter(lambda path: not path.startswith("/")),
            "bytes": st.integers(0, LARGEST),
            "sha256": digests,
        }
    )
    document["inputs"] = draw(st.lists(inputs, max_size=3))
    document["warnings"] = draw(st.lists(texts, max_size=2))
    return sealed_receipt(document)


def json_scalars() -> st.SearchStrategy[Any]:
    """Scalars that a feature may have."""
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    return st.one_of(st.none(), st.booleans(), texts, st.integers(-LARGEST, LARGEST), numbers)


counts = st.one_of(st.none(), st.integers(0, 4), st.integers(0, LARGEST))


@st.composite
def usages(draw: st.DrawFn, outcome: str, number: int) -> Document:
    """A usage receipt of a case with this outcome; its `number` makes it differ from others."""
    kilobytes = st.one_of(st.none(), st.integers(0, 5), st.integers(0, LARGEST // 1024), st.integers(850, 1100))
    wall = draw(st.one_of(st.none(), seconds))
    failed = outcome != "completed" and draw(st.booleans())
    changes: Document = {
        "wall_seconds": wall,
        "user_cpu_seconds": number,
        "peak_rss_kb": draw(kilobytes),
        "command_status": "failed" if failed else "succeeded",
        "command_exit_code": draw(st.integers(1, 255) | st.integers(-64, -1)) if failed else 0,
    }
    if draw(st.integers(0, 2)) == 0:
        document = documents.scheduler(**changes)
    else:
        document = documents.plain_direct(**changes, process_count=draw(st.sampled_from([0, 1, 1, 1, 2, None])))
        ours: dict[str, st.SearchStrategy[Any]] = {
            "job_peak_bytes": st.one_of(st.none(), sizes, st.integers(0, 5)),
            "job_peak_source": st.sampled_from([None, "cgroup-v2", "cgroup-v1", "proc-pss"]),
            "cgroup_peak_bytes": st.one_of(st.none(), sizes),
            "limit_bytes": st.one_of(st.none(), sizes),
            "limit_fired": st.sampled_from([None, "job", "host"]),
            "oom_kills": counts,
            "limit_hits": counts,
            "average_cpu_millicores": st.one_of(st.none(), seconds),
            "samples": counts,
        }
        for key in draw(st.sets(st.sampled_from(sorted(ours)))):
            document[key] = draw(ours[key])
        if wall is not None and draw(st.booleans()):
            document["paused_seconds"] = draw(st.one_of(st.none(), seconds.filter(lambda paused: paused <= wall)))
    return draw(lost(document)) if draw(st.integers(0, 6)) == 0 else document


@st.composite
def lost(draw: st.DrawFn, document: Document) -> Document:
    """The error receipt of a failed collection in the format of `document`."""
    kept = document["command_status"], document["command_exit_code"]
    if draw(st.booleans()):
        error = "invalid_gnu_time_output"
        return failed_collection(document, error=error, command_status=kept[0], command_exit_code=kept[1])
    return failed_collection(document, error=draw(texts.filter(lambda text: text != "invalid_gnu_time_output")))


@st.composite
def rows(draw: st.DrawFn, number: int) -> Row:
    """One case with its estimate and its usage receipt, which names files of their own."""
    outcome = draw(st.sampled_from(OUTCOMES))
    usage = draw(st.one_of(st.none(), usages(outcome, number), usages(outcome, number)))
    item = case(f"case-{number}", outcome=outcome, hardware_class=draw(HARDWARE))
    if usage is None:
        item["usage"] = None
    if draw(st.booleans()):
        item["memory_limit_bytes"] = draw(sizes)
    if draw(st.booleans()):
        item["memory_limit_scope"] = draw(SCOPES)
    if draw(st.booleans()):
        item["wall_limit_seconds"] = draw(seconds)
    return item, draw(receipts()), usage


@st.composite
def sets(draw: st.DrawFn, *, most: int = 8, first: int = 0) -> list[Row]:
    """The rows of a set; some of its estimates are calibrated estimates of their receipts."""
    number = draw(st.integers(1, most))
    found = [draw(rows(first + index)) for index in range(number)]
    if draw(st.booleans()):
        calibration = read_calibration(documents.calibration())
        for index, (item, receipt, usage) in enumerate(found):
            small = (receipt["memory"]["predicted_peak_bytes"] or 0) < LARGEST // 2
            if small and draw(st.booleans()):
                found[index] = (item, apply_calibration(receipt, calibration, item["hardware_class"]), usage)
    return found


margins = st.one_of(st.none(), st.integers(1, 1000), st.decimals("0.000001", 1000, places=6).map(float))
"""A margin in percent, or none."""

recipes = st.fixed_dictionaries(
    {"method": st.sampled_from(["factor", "offset"]), "margin_percent": margins, "job_wide": st.booleans()}
)
"""How to fit."""


@st.composite
def calibrations(draw: st.DrawFn) -> Document:
    """A calibration fitted on a random set by any recipe, sometimes an older one without runtime groups."""
    document = fitted(draw(sets()), min_cases=draw(st.integers(1, 3)), **draw(recipes))
    if draw(st.integers(0, 4)) == 0:
        document = documents.sealed_calibration(changed(document, runtime_method=..., runtime_groups=...))
    return document


@st.composite
def features(draw: st.DrawFn) -> Document:
    """A features file: any subset of the optional keys."""
    full = documents.evidence(
        nbf=draw(st.integers(1, LARGEST)), memory_scope=draw(st.sampled_from(["job", "node", "rank"]))
    )
    kept = draw(st.sets(st.sampled_from([key for key in full if key != "schema_version"])))
    return {key: value for key, value in full.items() if key == "schema_version" or key in kept}


toml_words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)


@st.composite
def manifests(draw: st.DrawFn) -> str:
    """The text of a dry-run manifest; tables in any order, unknown keys among them."""
    tables: dict[str, dict[str, Any]] = {"vibeqc": {}, "outputs": {"status": "dry_run"}}
    if draw(st.booleans()):
        tables["vibeqc"]["version"] = draw(toml_words)
    if draw(st.booleans()):
        tables["memory"] = {"total_gb": 1007.53}
        if draw(st.booleans()):
            tables["memory"]["estimate_bytes"] = draw(sizes)
    plan_keys = ["method", "basis", "functional", "job_kind", "options_digest", "stem"]
    values = st.one_of(toml_words, st.sampled_from(["unknown", "", "(none)", "<basis-free>", "RKS"]))
    tables["plan"] = draw(st.dictionaries(st.sampled_from(plan_keys), values))
    if draw(st.booleans()):
        tables["cpu"] = {"omp_threads_used": draw(st.integers(0, LARGEST)), "model": draw(toml_words)}
    tables["host"] = {"hostname": draw(toml_words)}
    ordered = draw(st.permutations(sorted(tables)))
    return "".join(f"[{name}]\n{_toml(tables[name])}" for name in ordered)


def _toml(table: dict[str, Any]) -> str:
    return "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in table.items())


json_values = st.recursive(
    st.one_of(
        json_scalars(),
        st.sampled_from([1e-7, 1e-6, 1e16, 1e20, 1e21, 1e22, -0.0, 5e-324, 5.0, 0.1, LARGEST, -LARGEST, LARGEST - 1]),
        st.floats(allow_nan=False, allow_infinity=False).map(float),
        st.floats(-1e17, 1e17).map(round).filter(lambda value: abs(value) <= LARGEST),
    ),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)
"""JSON values that RFC 8785 has a form for: names beyond ASCII and the BMP, all doubles, integers near 2^53."""


def shuffled(draw: st.DrawFn, value: Any) -> Any:
    """The same JSON value with the keys of every object in another order."""
    if isinstance(value, dict):
        keys: Sequence[str] = draw(st.permutations(list(value)))
        return {key: shuffled(draw, value[key]) for key in keys}
    return [shuffled(draw, item) for item in value] if isinstance(value, list) else value
