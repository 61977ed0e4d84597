"""Law: whatever a reader is given, it returns a result or one of our errors, in bounded time.

Valid documents with one or several of their keys mutated, real files with bytes changed, and manifests likewise.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from support import documents, mutations
from support.documents import MANIFEST
from support.outputs import outcar, pwscf_finished, pwscf_of
from support.strategies import calibrations, features, json_values, manifests, receipts, sets, usages
from vq.canonical import digest, parse
from vq.errors import VqError
from vq.estimates.calibrated import apply_calibration, read_estimate
from vq.estimates.calibration import read_calibration
from vq.estimates.cases import read_set
from vq.estimates.evidence import read_evidence
from vq.estimates.programs import PROGRAMS, recognised
from vq.estimates.receipt import make_receipt, read_receipt
from vq.estimates.usage import read_usage

DATA = Path(__file__).parents[1] / "data"
MOST_SECONDS = 5


def apply(data: bytes) -> Any:
    return apply_calibration(documents.receipt(), read_calibration(parse(data)), "class-a")


READERS: dict[str, Callable[[bytes], Any]] = {
    "estimate": lambda data: read_estimate(parse(data)),
    "usage": lambda data: read_usage(parse(data)),
    "set": lambda data: read_set(parse(data)),
    "calibration": apply,
    "evidence": read_evidence,
    **{
        program.name: lambda data, read=program.read: read_receipt(make_receipt(read(data)))  # type: ignore[misc]
        for program in PROGRAMS.values()
    },
    "recognised": recognised,
    "digest": lambda data: digest(parse(data)),
}


def feed(data: bytes) -> None:
    """Give `data` to every reader."""
    for name, reader in READERS.items():
        start = time.monotonic()
        with suppress(VqError):
            reader(data)
        assert time.monotonic() - start < MOST_SECONDS, name


valid: st.SearchStrategy[dict[str, Any]] = st.one_of(
    receipts(),
    usages("completed", 0),
    usages("killed", 0),
    calibrations(),
    features(),
    sets(most=2).map(lambda rows: documents.evaluation_set([item for item, _, _ in rows])),
    receipts().map(lambda receipt: documents.calibrated(estimate=receipt, estimate_sha256=digest(receipt))),
    st.just(documents.calibrated()),
    st.just(documents.direct()),
)


@given(st.data(), valid)
def test_documents_with_mutated_keys(data: st.DataObject, document: dict[str, Any]) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        paths = list(mutations.paths(document))
        if not paths:
            break
        path = data.draw(st.sampled_from(paths))
        own = st.sampled_from(list(mutations.mutations(documents.at(document, path))))
        other = st.tuples(st.just("any"), json_values | st.sampled_from([float("inf"), float("nan"), 2**53, 10**400]))
        document = mutations.mutated(document, path, data.draw(own | other))
    feed(mutations.text(document).encode())


@given(st.data(), calibrations())
def test_sealed_calibrations_with_mutated_keys(data: st.DataObject, document: dict[str, Any]) -> None:
    path = data.draw(st.sampled_from(list(mutations.paths(document))))
    mutation = data.draw(st.sampled_from(list(mutations.mutations(documents.at(document, path)))))
    changed = mutations.mutated(document, path, mutation)
    with suppress(VqError):  # what has no canonical form has no id either
        feed(mutations.text(documents.sealed_calibration(changed)).encode())


PATTERNS = [
    "estimates/set-*/*.json",
    "estimates/set-*/train/*.json",
    "estimates/set-*/train/e/0.json",
    "estimates/set-*/train/u.0/*.json",
    "estimates/set-*/estimate/m.system",
    "manifests/*",
]
REAL = sorted(path for pattern in PATTERNS for path in DATA.glob(pattern))

PIECES = [b"", b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\u", b"\xff", b"\x00", b"9" * 400, b"1e999", b"-0", b"NaN"]
TOML_PIECES = [b"'''", b'"""', b"[[", b".a" * 30, b"=", b"\n", b"\r", b"#", b"0x" + b"f" * 4000, b"1979-05-27", b"inf"]


@given(st.data(), st.sampled_from(REAL))
def test_real_files_with_bytes_changed(data: st.DataObject, path: Path) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(start, min(len(content), start + 40)))
        piece = data.draw(st.sampled_from(PIECES + TOML_PIECES) | st.binary(max_size=6))
        content[start:end] = piece
    feed(bytes(content))


@given(st.data(), manifests() | st.just(MANIFEST))
def test_manifests_with_lines_changed(data: st.DataObject, manifest: str) -> None:
    lines = manifest.encode().split(b"\n")
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(lines) - 1))
        key, equals, _ = lines[place].partition(b"=")
        value = data.draw(st.sampled_from(PIECES + TOML_PIECES + [b"true", b"1.0", b"[1]", b"{a = 1}", b"9" * 5000]))
        lines[place] = key + equals + value if equals else value
    feed(b"\n".join(lines))


OUTPUTS = [
    outcar(),
    outcar(finished=True),
    pwscf_finished(),
    pwscf_of(2, ["Estimated max dynamical RAM per process > 2.54 MB"] * 2),
]
PRINTED = [b"*" * 12, b"1e9", b" MB", b"GB", b"kBytes", b"\xe9", b"\n", b"\r\n", b"9" * 40, b"0.00", b"-", b"=", b">"]


@given(st.data(), st.sampled_from(OUTPUTS))
def test_outputs_with_bytes_changed(data: st.DataObject, output: bytes) -> None:
    content = bytearray(output)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(start, min(len(content), start + 30)))
        content[start:end] = data.draw(st.sampled_from(PRINTED + PIECES) | st.binary(max_size=6))
    feed(bytes(content))


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    feed(data)
