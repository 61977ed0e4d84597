from __future__ import annotations

from histories import DAY, GIB, KEY, MIB, met, run
from vq.admission import Run
from vq.admission.recent import JobRuns, Overrun, Recent, window


def read(*rows: Run, most: int = 3) -> tuple[Recent, JobRuns]:
    recent = Recent(most)
    for row in rows:
        recent.read(row, row.memory_cap)
    job = recent.of(KEY, "small")
    assert job is not None
    return recent, job


def peaks(job: JobRuns) -> tuple[int, int]:
    return len(job.peaks), job.peaks.largest()


def test_a_window_holds_20_successes_or_min_jobs() -> None:
    assert (window(3), window(20), window(21)) == (20, 20, 21)


def test_a_peak_with_page_cache_says_nothing_and_does_not_make_the_job_known() -> None:
    recent = Recent(3)
    recent.read(run(page_cache=True), GIB)
    assert recent.of(KEY, "small") is None
    assert not list(recent.jobs())


def test_a_kill_with_page_cache_starts_the_hold_and_is_all_it_says() -> None:
    recent, job = read(run(page_cache=True, oom_killed=True, finished_at=9, reserved=1))
    assert job.held(9, 1) == 9
    assert job.held(10, 1) is None
    assert peaks(job) == (0, 0)
    assert job.overruns(9, DAY) == ()
    assert len(recent.peers("small")) == 0


def test_a_run_that_met_its_cap_enters_with_at_least_its_cap() -> None:
    _, job = read(met(memory_peak=GIB - 1))
    assert peaks(job) == (1, GIB)
    _, job = read(met(memory_peak=GIB + 1))
    assert peaks(job) == (1, GIB + 1)


def test_a_hold_starts_at_the_last_run_that_holds_and_ends_by_clean_runs() -> None:
    rows = [met(finished_at=5), run(), run(), met(finished_at=8), run(), run()]
    assert read(*rows)[1].held() == 8
    assert read(*rows, run(succeeded=False))[1].held() == 8
    assert read(*rows, run(cancelled=True))[1].held() == 8
    assert read(*rows, run())[1].held() is None


def test_a_run_past_its_reservation_starts_the_count_of_clean_runs_again() -> None:
    rows = [met(finished_at=5), run(), run(), run()]
    overran = run(reserved=1)
    assert read(*rows)[1].held() is None
    assert read(*rows, overran)[1].held() == 5
    assert read(*rows, overran, run(), run(), run())[1].held() is None
    assert read(run(), overran)[1].held() is None


def test_a_cancelled_run_enters_only_if_it_met_its_cap() -> None:
    _, job = read(run(cancelled=True))
    assert peaks(job) == (0, 0)
    _, job = read(met(cancelled=True, succeeded=True))
    assert (peaks(job), job.successes) == ((1, GIB), 0)


def test_the_oldest_leave_a_window_of_enough_successes() -> None:
    failed = run(succeeded=False, memory_peak=9 * MIB)
    recent, job = read(failed, run(memory_peak=8 * MIB), failed, run(), run())
    assert peaks(job) == (4, 100 * MIB)
    assert len(recent.peers("small")) == 4
    recent, job = read(failed, run(memory_peak=800 * MIB), failed, run(), run(), run())
    assert peaks(job) == (3, 100 * MIB)
    assert recent.peers("small").largest() == 100 * MIB


def test_failed_runs_alone_never_fill_a_window() -> None:
    _, job = read(*[run(succeeded=False)] * 50)
    assert (len(job.peaks), job.successes) == (50, 0)


def test_of_runs_past_their_reservation_the_largest_and_the_latest_count() -> None:
    rows = [run(finished_at=at, memory_peak=peak, reserved=1) for at, peak in [(1, 5), (2, 9), (3, 9), (4, 7), (5, 2)]]
    _, job = read(*rows, most=20)
    assert job.overruns(5, 100) == (Overrun(3, 9), Overrun(4, 7), Overrun(5, 2))
    assert job.overruns(103, 100) == (Overrun(4, 7), Overrun(5, 2))
    assert job.overruns(105, 100) == ()


def test_a_cancelled_run_past_its_reservation_counts() -> None:
    _, job = read(run(cancelled=True, memory_peak=7, reserved=6, finished_at=1))
    assert job.overruns(1, 100) == (Overrun(1, 7),)


def test_runs_past_their_reservation_are_forgotten_once_the_window_starts_after_them() -> None:
    overran = run(finished_at=1, memory_peak=9, reserved=1)
    rest = [run(finished_at=at) for at in (2, 3)]
    assert read(overran, *rest)[1].overruns(4, 100) == (Overrun(1, 9),)
    assert read(overran, *rest, run(finished_at=4))[1].overruns(4, 100) == ()
    same = run(finished_at=1)
    assert read(overran, same, *rest)[1].overruns(4, 100) == (Overrun(1, 9),)


def test_a_window_starts_at_its_oldest_run_once_it_is_full() -> None:
    rows = [run(finished_at=at) for at in (1, 2, 3, 4)]
    assert [read(*rows[:count])[1].start for count in (2, 3, 4)] == [0, 1, 2]


def test_peers_are_the_windows_of_all_jobs_of_a_profile() -> None:
    recent, _ = read(run(), run(name="other", memory_peak=GIB // 2), run(profile="big", memory_peak=GIB))
    assert (len(recent.peers("small")), recent.peers("small").largest()) == (2, GIB // 2)
    assert len(recent.peers("big")) == 1
    assert [job for job, _ in recent.jobs()] == [(KEY, "small"), (KEY._replace(name="other"), "small"), (KEY, "big")]


def test_a_job_is_put_back_to_what_was_known_of_it_also_where_that_is_nothing() -> None:
    recent = Recent(3)
    recent.put_back(KEY, "small", None)
    assert recent.of(KEY, "small") is None
    assert len(recent.peers("small")) == 0
    before, job = read(run(memory_peak=5 * MIB))
    recent.put_back(KEY, "small", job)
    put_back = recent.of(KEY, "small")
    assert put_back is not None
    assert peaks(put_back) == peaks(job) == (1, 5 * MIB)
    assert len(recent.peers("small")) == len(before.peers("small")) == 1
    recent.put_back(KEY, "small", None)
    assert recent.of(KEY, "small") is None
    assert len(recent.peers("small")) == 0
