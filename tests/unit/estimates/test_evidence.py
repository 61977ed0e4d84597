from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest

from support.documents import evidence
from vq.errors import BadDataError
from vq.estimates.evidence import read_evidence


def read(**changes: Any) -> Any:
    return read_evidence(json.dumps(evidence(**changes)).encode())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("schema_version", 2),
        ("schema_version", 0),
        ("method", ""),
        ("method", "unknown"),
        ("basis", "unknown"),
        ("task_type", ""),
        ("nbf", 0),
        ("nbf", 2**53),
        ("mpi_ranks", 0),
        ("threads_per_rank", 0),
        ("basis_representation", "Spherical"),
        ("algorithm", ""),
        ("algorithm", "x" * 65),
        ("algorithm", "a b"),
        ("algorithm", "a:b"),
        ("algorithm", "direct\n"),
        ("algorithm", "é"),
        ("memory_scope", "unspecified"),
    ],
)
def test_out_of_range(key: str, value: Any) -> None:
    with pytest.raises(BadDataError, match=rf"^\$\.{key}: expected"):
        read(**{key: value})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("method", "Unknown"),
        ("method", " "),
        ("nbf", 2**53 - 1),
        ("algorithm", "A-Za-z0-9._+/()-"),
        ("algorithm", "x" * 64),
        ("memory_scope", "node"),
        ("basis_representation", "cartesian"),
    ],
)
def test_in_range(key: str, value: Any) -> None:
    assert read(**{key: value}).given[key] == value


def test_the_digest_is_of_the_raw_bytes() -> None:
    data = b' {"schema_version" : 1}\n'
    found = read_evidence(data)
    assert found.sha256 == sha256(data).hexdigest()
    assert found.document() == {"sha256": found.sha256, "schema_version": 1}
    assert found.memory_scope is None
    assert read().memory_scope == "job"


def test_it_is_recorded_in_one_order() -> None:
    backwards = read_evidence(json.dumps(dict(reversed(evidence().items()))).encode())
    assert list(backwards.document()) == ["sha256", *evidence()]
