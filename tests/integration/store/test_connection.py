"""Opening the store: the folder, the versions, the two kinds of transaction, and what cannot be."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from made_jobs import NOW, job
from store_processes import go, line, python
from vq.errors import UsageError, VqError
from vq.files.documents import FileError
from vq.store import connection as connections
from vq.store.connection import APPLICATION_ID, Opener, Store, StoreError, migrations, open_store, statements
from vq.store.folder import StateError, file_system_type, state_folder
from vq.store.history import Imported, forget_rows, imports, rows_in_order
from vq.store.jobs import counts, queue, read
from vq.store.submitting import Submission, submit

LATEST = len(migrations())

MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:26 / /home rw - nfs4 server:/home rw,vers=4.2
31 30 0:27 / /home/some\\040body/local rw - tmpfs tmpfs rw
32 22 0:28 / /homes rw - lustre /homes rw
33 30 0:29 / /home rw - xfs /dev/vdb rw
"""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "vq")


def version_of(folder: str) -> int:
    with closing(sqlite3.connect(os.path.join(folder, "vq.db"))) as database, database:
        return int(database.execute("PRAGMA user_version").fetchone()[0])


def old_store(folder: str, version: int) -> None:
    """A store as a vq of that version has made it."""
    os.makedirs(folder, mode=0o700)
    database = sqlite3.connect(os.path.join(folder, "vq.db"), isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    for script in migrations()[:version]:
        for statement in statements(script):
            database.execute(statement)
    database.execute(f"PRAGMA user_version = {version}")
    database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    database.close()


def test_an_empty_store_is_made_by_whoever_comes_first_and_is_ours_alone(folder: str) -> None:
    with open_store(folder) as store:
        submit(store, [Submission(job=job())])
        modes = {name: stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) for name in os.listdir(folder)}
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        assert modes.keys() >= {"vq.db", "vq.db-wal"}
        assert set(modes.values()) == {0o600}
        assert store.connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert store.connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert version_of(folder) == LATEST
    with open_store(folder) as store:
        assert read(store, "a1").id == "a1"


def test_every_table_is_strict(folder: str) -> None:
    with open_store(folder) as store:
        rows = store.connection.execute("SELECT name, strict FROM pragma_table_list WHERE name NOT LIKE 'sqlite%'")
        tables = dict(rows.fetchall())
    assert set(tables) >= {"jobs", "history", "keys", "requests"}
    assert set(tables.values()) == {1}


def test_processes_at_once_make_one_store(folder: str) -> None:
    code = """
say("ready")
sys.stdin.readline()
for number in range(40):
    with open_store(f"{folder}-{number}") as store:
        submit(store, [Submission(job=job())])
say("done")
"""
    with ExitStack() as stack:
        processes = [stack.enter_context(python(folder, code)) for _ in range(2)]
        assert [line(process) for process in processes] == [["ready"]] * 2
        for process in processes:
            go(process)
        assert [line(process) for process in processes] == [["done"]] * 2
    for number in range(40):
        with open_store(f"{folder}-{number}") as store:
            assert sum(counts(store).values()) == 2


def test_rows_imported_before_their_source_was_kept_are_told_by_their_repository(folder: str) -> None:
    old_store(folder, 2)
    with closing(sqlite3.connect(os.path.join(folder, "vq.db"), isolation_level=None)) as database:
        for job_number, repository in ((None, "lab"), (None, "lab"), (7, "lab"), (None, "rows")):
            database.execute(
                "INSERT INTO history (job, attempt, repository, name, profile, memory_peak, page_cache, queued_at,"
                " oom_killed, succeeded, cancelled) VALUES (?, ?, ?, 'n', 'default', 1, 0, 5, 0, 1, 0)",
                (job_number, job_number and 1, repository),
            )
    with open_store(folder, Opener.DAEMON) as store:
        assert imports(store) == [Imported("lab", 2, 5, 5), Imported("rows", 1, 5, 5)]
        assert forget_rows(store, "lab") == 2
        assert len(list(rows_in_order(store))) == 2


@pytest.mark.parametrize("version", range(1, LATEST))
def test_only_the_daemon_migrates_an_older_store(folder: str, version: int) -> None:
    old_store(folder, version)
    with closing(sqlite3.connect(os.path.join(folder, "vq.db"))) as database, database:
        database.execute("INSERT INTO keys VALUES ('key', 'intent', 1)")
    with pytest.raises(StateError, match=f"is of version {version}, and this vq needs version {LATEST}") as refused:
        open_store(folder)
    assert refused.value.hint is not None
    assert "restart the daemon" in refused.value.hint
    assert version_of(folder) == version
    with open_store(folder, Opener.DAEMON) as store:
        assert store.connection.execute("SELECT key FROM keys").fetchall() == [("key",)]
    assert version_of(folder) == LATEST
    with open_store(folder) as migrated, open_store(f"{folder}-new") as new:
        schema = "SELECT type, name, sql FROM sqlite_schema ORDER BY name"
        assert migrated.connection.execute(schema).fetchall() == new.connection.execute(schema).fetchall()


def test_a_migration_that_fails_leaves_the_older_store(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_store(folder, LATEST)
    broken = tmp_path / "9999_broken.sql"
    broken.write_text("CREATE TABLE one (a INTEGER) STRICT;\nCREATE TABLE two (a NO_TYPE) STRICT;\n")
    paths = [*migrations(), str(broken)]
    monkeypatch.setattr(connections, "migrations", lambda: paths)
    with pytest.raises(StoreError, match="NO_TYPE"):
        open_store(folder, Opener.DAEMON)
    monkeypatch.undo()
    with open_store(folder) as store:
        assert not store.connection.execute("SELECT name FROM sqlite_schema WHERE name = 'one'").fetchall()


@pytest.mark.parametrize("opener", Opener)
def test_a_newer_store_is_refused(folder: str, opener: Opener) -> None:
    open_store(folder).close()
    with closing(sqlite3.connect(os.path.join(folder, "vq.db"))) as database, database:
        database.execute(f"PRAGMA user_version = {LATEST + 1}")
    with pytest.raises(StateError, match="made by a newer vq") as refused:
        open_store(folder, opener)
    assert refused.value.hint is not None
    assert "restart the daemon" in refused.value.hint


def test_what_is_no_store_is_refused_and_left_alone(folder: str) -> None:
    os.makedirs(folder, mode=0o700)
    path = os.path.join(folder, "vq.db")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE other (a)")
    with pytest.raises(StateError, match="not a store of vq"):
        open_store(folder)
    Path(path).write_bytes(b"no database at all, but long enough to be looked at as one" * 20)
    with pytest.raises(StoreError, match="no database"):
        open_store(folder)
    os.unlink(path)
    os.symlink("elsewhere", path)
    with pytest.raises(FileError, match="symbolic link"):
        open_store(folder)


def test_a_folder_that_others_can_look_into_is_refused(folder: str) -> None:
    os.makedirs(folder, mode=0o750)
    with pytest.raises(StateError, match="open to other users") as refused:
        open_store(folder)
    assert refused.value.hint is not None
    assert refused.value.hint.startswith(f"chmod 700 {folder}")
    os.chmod(folder, 0o700)
    open_store(folder).close()


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vq").write_text("")
    with pytest.raises(StateError, match="is not a folder"):
        open_store(str(tmp_path / "vq"))
    with pytest.raises(VqError):
        open_store(str(tmp_path / "vq" / "inner"))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(folder: str) -> None:
    os.makedirs(folder, mode=0o700)
    os.chown(folder, 12_345, -1)
    with pytest.raises(StateError, match="belongs to another user"):
        open_store(folder)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib", "ext4"),
        ("/home", "xfs"),
        ("/home/other", "xfs"),
        ("/home/some body/local/vq", "tmpfs"),
        ("/home/some bodyguard", "xfs"),
        ("/homes/a", "lustre"),
        ("/homestead", "ext4"),
    ],
)
def test_the_deepest_and_last_mount_above_a_path_says_its_file_system(path: str, kind: str) -> None:
    assert file_system_type(MOUNTS, path) == kind


def test_a_network_file_system_is_refused_with_a_hint(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vq.store.folder.file_system_type", lambda *_: "nfs4")
    with pytest.raises(StateError, match=r"network file system \(nfs4\)") as refused:
        open_store(folder)
    assert refused.value.hint is not None
    assert "VQ_STATE_DIR" in refused.value.hint


def test_a_host_without_a_list_of_mounts_is_not_refused(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vq.store.folder._MOUNTS", "/nowhere/mountinfo")
    open_store(folder).close()


def test_the_state_lies_where_the_variables_say() -> None:
    home = os.path.join(os.path.expanduser("~"), ".local", "state", "vq")
    assert state_folder({}) == state_folder({"XDG_STATE_HOME": "relative", "VQ_STATE_DIR": ""}) == home
    assert state_folder({"XDG_STATE_HOME": "/s"}) == "/s/vq"
    assert state_folder({"XDG_STATE_HOME": "/s", "VQ_STATE_DIR": "/t/"}) == "/t"
    with pytest.raises(UsageError, match="absolute path"):
        state_folder({"VQ_STATE_DIR": "t"})


def test_a_reader_cannot_write(folder: str) -> None:
    with open_store(folder) as store:
        with pytest.raises(StoreError, match="readonly"), store.reading() as connection:
            connection.execute("DELETE FROM counts")
        submit(store, [Submission(job=job())])


def test_a_transaction_that_fails_leaves_nothing_and_the_store_goes_on(folder: str) -> None:
    with open_store(folder) as store:
        with pytest.raises(IndexError), store.writing() as connection:
            connection.execute("INSERT INTO keys VALUES ('k', 'i', 1)").fetchall()[3]
        with store.writing() as connection:
            assert connection.execute("SELECT * FROM keys").fetchall() == []


def test_who_writes_holds_up_writers_for_a_while_and_readers_never(folder: str) -> None:
    with open_store(folder) as first, open_store(folder, busy_seconds=0.05) as second:
        with first.writing() as connection:
            connection.execute("INSERT INTO keys VALUES ('k', 'i', 1)")
            assert queue(second, NOW).jobs == ()
            with pytest.raises(StoreError, match="another process holds the store"):
                submit(second, [Submission(job=job())])
        assert len(submit(second, [Submission(job=job())]).jobs) == 1


def test_a_look_costs_nothing_while_nobody_else_has_written(folder: str) -> None:
    with open_store(folder) as looking, open_store(folder) as other:
        before = looking.changed_by_others()
        submit(looking, [Submission(job=job())])
        assert looking.changed_by_others() == before
        submit(other, [Submission(job=job())])
        assert looking.changed_by_others() != before


def test_an_end_is_guarded_by_the_database_too(folder: str) -> None:
    with open_store(folder) as store:
        submit(store, [Submission(job=job())])
        with store.writing() as connection:
            connection.execute("UPDATE jobs SET state = 'KILLED', settled_at = 5 WHERE sequence = 1")
        with pytest.raises(StoreError, match="an end never changes"), store.writing() as connection:
            connection.execute("UPDATE jobs SET state = 'COMPLETED' WHERE sequence = 1")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[str]:
    """A file system of one MiB."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", str(place)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting takes root")
    try:
        yield str(place / "vq")
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(store: Store) -> tuple[int, StoreError]:
    """Submit until the store refuses: how many it acknowledged, and its refusal."""
    for acknowledged in range(10_000):
        try:
            submit(store, [Submission(job=job(command=("x" * 5000,)))])
        except StoreError as refused:
            return acknowledged, refused
    pytest.fail("the disk does not fill")


def test_a_full_disk_is_our_error_and_loses_nothing_acknowledged(small_disk: str) -> None:
    with open_store(small_disk) as store:
        acknowledged, refused = fill(store)
        assert "the disk is full" in refused.message
        assert sum(counts(store).values()) == acknowledged > 10
        again, _ = fill(store)
        acknowledged += again
    with open_store(small_disk) as store:
        assert sum(counts(store).values()) == acknowledged
        assert store.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_file_that_may_not_grow_is_our_error_and_loses_nothing_acknowledged(folder: str) -> None:
    open_store(folder).close()
    code = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
store, acknowledged = open_store(folder), 0
try:
    while True:
        submit(store, [Submission(job=job(command=("x" * 5000,)))])
        acknowledged += 1
except Exception as error:
    say(acknowledged, type(error).__name__)
"""
    with python(folder, code) as process:
        acknowledged, error = line(process)
    assert error == "StoreError"
    with open_store(folder) as store:
        assert sum(counts(store).values()) == int(acknowledged) > 10
        assert store.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_look_inside_a_step_is_refused_and_changes_nothing(folder: str) -> None:
    with open_store(folder) as store:
        with pytest.raises(StoreError, match="within a transaction"), store.writing():
            queue(store, NOW)
        submit(store, [Submission(job=job())])


def test_a_read_only_disk_is_our_error(small_disk: str) -> None:
    with open_store(small_disk) as store:
        submit(store, [Submission(job=job())])
        place = os.path.dirname(small_disk)
        assert subprocess.run(["mount", "-o", "remount,ro", place], check=False, capture_output=True).returncode
    subprocess.run(["mount", "-o", "remount,ro", place], check=True)
    with pytest.raises(FileError, match="read-only file system"):
        open_store(small_disk)
