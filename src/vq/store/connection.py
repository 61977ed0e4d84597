"""Open the store, and its two kinds of transaction: `writing` (BEGIN IMMEDIATE) and `reading`, nothing between.

What is committed survives a power cut: WAL with `synchronous=FULL` forces the log to disk at each commit. An empty
store is made by whoever opens it first; one of an older version is migrated by the daemon only, because a daemon of
that version may be running on it.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, Self

from vq.errors import VqError
from vq.files.documents import reasons
from vq.store.folder import StateError, prepare_folder

FILE = "vq.db"
APPLICATION_ID = 0x76715F31
"""Marks the file as ours: `vq_1`."""

BUSY_SECONDS = 30.0
_MIGRATIONS = os.path.join(os.path.dirname(__file__), "migrations")
_LOG_BYTES = 64 * 1024 * 1024
_CACHE_KIB = 16 * 1024
_FILE_MODE = 0o600

_MORE_THAN_THE_DISK = frozenset({sqlite3.SQLITE_IOERR_SHMSIZE})
"""What says more than that the disk failed."""
_RESTART = "restart the daemon: vq daemon stop, then vq daemon start"


class StoreError(VqError):
    """The store could not do it; nothing of the transaction was recorded, unless it says otherwise."""


class Opener(Enum):
    """Who opens the store: only the daemon migrates it."""

    COMMAND = "command"
    DAEMON = "daemon"


def open_store(folder: str, opener: Opener = Opener.COMMAND, *, busy_seconds: float = BUSY_SECONDS) -> Store:
    """The store in `folder`, which is made where it is absent.

    Raises `StateError` for a folder that is not ours alone or on a network, or a store of another version.
    """
    prepare_folder(folder)
    path = os.path.join(folder, FILE)
    with reasons(path):
        # SQLite gives its log and index the mode of the file.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, _FILE_MODE))
    store = Store(path, busy_seconds)
    try:
        if _version(store) != len(migrations()):
            with _alone(folder):
                _prepare(store, opener)
    except BaseException:
        store.close()
        raise
    return store


class Store:
    """An open store: one connection, used by one thread."""

    __slots__ = ("connection", "path")

    def __init__(self, path: str, busy_seconds: float) -> None:
        self.path = path
        with _explained(path):
            self.connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, cached_statements=256)
            try:
                self.connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
                self.connection.execute("PRAGMA synchronous = FULL")
                self.connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
                self.connection.execute("PRAGMA trusted_schema = OFF")
            except BaseException:
                self.connection.close()
                raise

    def close(self) -> None:
        """Close the connection; a transaction that is open is rolled back."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that holds the only right to write from its begin on; committed, and on disk, at its end."""
        with _explained(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                # Some errors, such as a full disk, have rolled it back already.
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A transaction that sees one state of the store and cannot write."""
        with _explained(self.path):
            self.connection.execute("BEGIN")
            try:
                self.connection.execute("PRAGMA query_only = ON")
                yield self.connection
            finally:
                self.connection.execute("PRAGMA query_only = OFF")
                self.connection.execute("ROLLBACK")

    def first(self, query: str, *values: object) -> tuple[Any, ...] | None:
        """The first row of one query, which sees one state of the store without a transaction; None without a row."""
        with _explained(self.path):
            row: tuple[Any, ...] | None = self.connection.execute(query, values).fetchone()
            return row

    def changed_by_others(self) -> int:
        """A number that is another one after any other connection has committed; costs no look at the data."""
        with _explained(self.path):
            return int(self.connection.execute("PRAGMA data_version").fetchone()[0])


def migrations() -> list[str]:
    """The path of every migration, in order: the n-th leads from version n − 1 to version n."""
    # Not by importlib.resources, which takes longer to load than all the rest of the store.
    return sorted(os.path.join(_MIGRATIONS, name) for name in os.listdir(_MIGRATIONS) if name.endswith(".sql"))


def statements(migration: str) -> Iterator[str]:
    """The statements of a migration, one by one: `executescript` would commit the transaction it runs in."""
    with open(migration, encoding="utf-8") as file:
        lines = file.readlines()
    statement = ""
    for line in lines:
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _prepare(store: Store, opener: Opener) -> None:
    paths = migrations()
    version = _version(store)
    if version == len(paths):
        return  # another process was first
    if version == 0:
        with _explained(store.path):
            store.connection.execute("PRAGMA journal_mode = WAL")
    elif version > len(paths):
        message = f"is of version {version}, made by a newer vq; this one knows version {len(paths)}"
        raise StateError(message, where=store.path, hint=f"upgrade vq, or {_RESTART}")
    elif opener is not Opener.DAEMON:
        message = f"is of version {version}, and this vq needs version {len(paths)}"
        raise StateError(message, where=store.path, hint=_RESTART)
    with store.writing() as connection:
        for number, path in enumerate(paths[version:], start=version + 1):
            for statement in statements(path):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


@contextmanager
def _alone(folder: str) -> Iterator[None]:
    """Held by one process at a time: SQLite itself does not wait for another one that changes the journal's mode."""
    with reasons(folder):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _version(store: Store) -> int:
    with _explained(store.path):
        version, application, tables = store.connection.execute(
            "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)"
            " FROM pragma_user_version, pragma_application_id"
        ).fetchone()
    if application != APPLICATION_ID and (application or version or tables):
        raise StateError("is a database, but not a store of vq", where=store.path, hint="move it away")
    return int(version)


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Turn what SQLite says into a `StoreError` that a person can act on."""
    try:
        yield
    except sqlite3.Error as error:
        message, hint = _explanation(getattr(error, "sqlite_errorcode", 0), str(error))
        raise StoreError(message, where=path, hint=hint) from error


def _explanation(code: int, said: str) -> tuple[str, str | None]:
    match code if code in _MORE_THAN_THE_DISK else code & 0xFF:
        # The index of the log is made anew when nobody else has the store open, and finds no room.
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR_SHMSIZE:
            return "the disk is full; nothing was recorded", "make room, then try again"
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return (
                "another process holds the store; nothing was recorded",
                "try again in a moment",
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return f"cannot be written ({said})", "the state folder and its files must be writable"
        case sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT:
            return f"is damaged, or no database ({said})", "move it away and keep it: it may be repaired"
        case sqlite3.SQLITE_IOERR:
            return f"the disk failed ({said})", "look at the disk; whether the last step was recorded is not known"
        case _:
            return said, None
