"""What the daemon has resolved, so that submissions are checked against it, and whether the queue drains."""

from __future__ import annotations

import json
import sqlite3

from vq.config.values import Config, config_document, read_config
from vq.errors import placed
from vq.store.connection import Store

_CONFIG = "config"
_DRAINING = "draining"
_IMPORTS = "imported_rows"


def store_config(store: Store, config: Config) -> None:
    """Keep the configuration that the daemon goes by."""
    with store.writing() as connection:
        _put(connection, _CONFIG, json.dumps(config_document(config)))


def forget_config(store: Store) -> None:
    """Keep it no longer: the next daemon goes by the file."""
    with store.writing() as connection:
        connection.execute("DELETE FROM settings WHERE name = ?", (_CONFIG,))


def stored_config(store: Store) -> Config | None:
    """The configuration that the daemon goes by, or went by until it was killed; None where none runs."""
    with store.reading() as connection:
        text = _get(connection, _CONFIG)
    if text is None:
        return None
    with placed(f"{store.path}: settings"):
        return read_config(json.loads(text))


def set_draining(store: Store, *, draining: bool) -> None:
    """Let the queue start nothing new, or go on."""
    with store.writing() as connection:
        _put(connection, _DRAINING, json.dumps(draining))


def is_draining(store: Store) -> bool:
    """Whether the queue is to start nothing new."""
    with store.reading() as connection:
        return _get(connection, _DRAINING) == "true"


def imports_changed(store: Store) -> int:
    """A number that is another one, and larger, each time that rows were imported into the history, or forgotten."""
    with store.reading() as connection:
        return int(_get(connection, _IMPORTS) or 0)


def change_imports(connection: sqlite3.Connection) -> None:
    """Make it another number, in the transaction that imports or forgets rows."""
    _put(connection, _IMPORTS, str(int(_get(connection, _IMPORTS) or 0) + 1))


def _put(connection: sqlite3.Connection, name: str, value: str) -> None:
    connection.execute(
        "INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, value),
    )


def _get(connection: sqlite3.Connection, name: str) -> str | None:
    row = connection.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
    return None if row is None else str(row[0])
