"""Documents by digest: an estimate, a calibration or an environment is kept once, however many jobs have it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from vq.canonical import digest


class Keeper:
    """Keeps documents in one transaction; one that is the same object as before is digested only once."""

    __slots__ = ("_connection", "_known")

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: dict[int, tuple[Mapping[str, Any], str]] = {}

    def keep(self, document: Mapping[str, Any] | None) -> str | None:
        """The digest of a document, which is kept from now on; None of none."""
        if document is None:
            return None
        known = self._known.get(id(document))
        if known is None:
            known = (document, digest(dict(document)))
            self._known[id(document)] = known
            self._connection.execute(
                "INSERT OR IGNORE INTO documents (sha256, document) VALUES (?, ?)",
                (known[1], json.dumps(document, allow_nan=False)),
            )
        return known[1]


def fetch_document(connection: sqlite3.Connection, sha256: str | None) -> dict[str, Any] | None:
    """The document of a digest; None of none."""
    if sha256 is None:
        return None
    (document,) = connection.execute("SELECT document FROM documents WHERE sha256 = ?", (sha256,)).fetchone()
    return json.loads(document)  # type: ignore[no-any-return]  # only objects are kept
