"""What a daemon learns: rows that are imported while it runs, rows that come late, and all again after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemons import Queue, config
from vq.admission import Copies, Key, Prediction
from vq.daemon.experience import Experience
from vq.jobs.history_row import HistoryRow
from vq.store.connection import Store, open_store
from vq.store.history import append_row, forget_rows, import_rows

MIB = 1 << 20
KEY = Key("owner/name", None, "true")


def row(at_ms: int, peak_mb: int = 20, *, succeeded: bool = True, page_cache: bool = False) -> HistoryRow:
    return HistoryRow(
        repository=KEY.repository,
        workflow=KEY.workflow,
        name=KEY.name,
        profile="default",
        memory_cap=1024 * MIB,
        cpu_cap=1000,
        memory_peak=peak_mb * MIB,
        page_cache=page_cache,
        cpu_average=100,
        queued_at=at_ms,
        started_at=at_ms,
        finished_at=at_ms,
        oom_killed=False,
        hit_cap=False,
        own_cap=False,
        succeeded=succeeded,
        cancelled=False,
        reserved=None,
    )


def test_rows_imported_while_the_daemon_runs_are_learned(plain: Queue) -> None:
    (before,) = plain.submit(["true"], mem_mb=1000)
    assert plain.end(before).life.basis == {"kind": "cap"}
    import_rows(plain.store, [row(number, 300) for number in range(12)], "rows")
    (after,) = plain.submit(["true"], mem_mb=1000)
    job = plain.end(after)
    assert (job.life.basis, job.life.reserved_bytes) == ({"kind": "job", "runs": 13}, 512 * MIB)
    plain.stop()
    (again,) = plain.submit(["true"], mem_mb=1000)
    assert plain.end(again).life.basis == {"kind": "job", "runs": 14}


def test_rows_forgotten_while_the_daemon_runs_are_not_gone_by(plain: Queue) -> None:
    import_rows(plain.store, [row(number, 300) for number in range(12)], "rows")
    (before,) = plain.submit(["true"], mem_mb=1000)
    assert plain.end(before).life.basis == {"kind": "job", "runs": 12}
    forget_rows(plain.store, "rows")
    (after,) = plain.submit(["true"], mem_mb=1000)
    assert plain.end(after).life.basis == {"kind": "cap"}


def heard(store: Store, experience: Experience, *rows: HistoryRow) -> None:
    """As runs become known: rows in the store, and learned."""
    with store.writing() as connection:
        for each in rows:
            append_row(connection, each, None, None)
    experience.learn(rows)


def predicted(experience: Experience) -> Prediction:
    return experience.predictor.predict(KEY, "default", 1024 * MIB, now=0, copies=Copies.ALONE)


def test_a_restart_changes_nothing_about_runs_that_became_known_late(tmp_path: Path) -> None:
    settings = config("sampled")
    with open_store(str(tmp_path / "vq")) as store:
        experience = Experience(settings, store)
        heard(store, experience, *(row(number) for number in range(2, 23)))
        # By the order in which they became known, these would be two of the last twenty.
        heard(store, experience, row(0, 300), row(1, 300))
        assert predicted(experience).memory == 256 * MIB
        assert predicted(experience) == predicted(Experience(settings, store))
        assert not experience.catch_up()


def test_a_run_that_says_nothing_is_as_nothing_to_one_that_became_known_late(tmp_path: Path) -> None:
    settings = config("sampled")
    with open_store(str(tmp_path / "vq")) as store:
        experience = Experience(settings, store)
        heard(store, experience, *(row(number, page_cache=True) for number in range(5)))
        heard(store, experience, *(row(number, succeeded=False) for number in range(10, 100) if number != 90))
        heard(store, experience, row(90, 300, succeeded=False))
        assert predicted(experience) == predicted(Experience(settings, store))


def test_a_run_too_late_for_its_place_has_everything_read_anew_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = config("sampled")
    with open_store(str(tmp_path / "vq")) as store:
        experience = Experience(settings, store)
        heard(store, experience, *(row(number) for number in range(2, 102)))
        heard(store, experience, row(0, 300), row(1, 300))
        assert predicted(experience).memory == 512 * MIB
        assert experience.catch_up()
        assert predicted(experience).memory == 256 * MIB
        heard(store, experience, row(0, 300), row(1, 300))
        monkeypatch.setattr("time.monotonic", lambda: 0.0)
        assert not experience.catch_up()
        monkeypatch.setattr("time.monotonic", lambda: 1e12)
        assert experience.catch_up()
        assert predicted(experience) == predicted(Experience(settings, store))
