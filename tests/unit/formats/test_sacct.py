"""Each test names the section of the manual of sacct whose output it is about."""

from __future__ import annotations

from typing import Any

import pytest

from imported import outcomes, reason, refusal, row
from vq.admission.history import Run
from vq.errors import BadDataError
from vq.formats.outcomes import Unread
from vq.formats.sacct import read

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
MIDNIGHT = 1_796_083_200_000

JOB = {
    "JobID": "123",
    "JobName": "relax",
    "Partition": "short",
    "ReqMem": "4G",
    "MaxRSS": "",
    "AveCPU": "",
    "TotalCPU": "02:00.500",
    "AllocCPUS": "2",
    "NNodes": "1",
    "NTasks": "",
    "Elapsed": "00:01:40",
    "Submit": "2026-12-01T00:00:00",
    "Start": "2026-12-01T00:00:10",
    "End": "2026-12-01T00:01:50",
    "State": "COMPLETED",
    "ExitCode": "0:0",
}
STEP = JOB | {"JobID": "123.batch", "JobName": "batch", "Partition": "", "ReqMem": "", "MaxRSS": "8940K"}


def accounting(*records: dict[str, str], without: tuple[str, ...] = ()) -> str:
    columns = [column for column in JOB if column not in without]
    return "\n".join("|".join(cells) for cells in ([columns, *([r[c] for c in columns] for r in records)])) + "\n"


def job(**changes: str) -> str:
    """A job with one step that has a peak."""
    return accounting(JOB | changes, STEP | {"JobID": f"{(JOB | changes)['JobID']}.batch"})


def test_options_parsable2_a_job_and_its_steps() -> None:
    records = (
        JOB,
        STEP,
        STEP | {"JobID": "123.extern", "MaxRSS": "0"},
        STEP | {"JobID": "123.0", "MaxRSS": "3372868K"},
    )
    assert row(read, accounting(*records)) == Run(
        repository="file",
        workflow=None,
        name="relax",
        profile="short",
        memory_cap=4 * GIB,
        cpu_cap=2000,
        memory_peak=3372868 * KIB,
        page_cache=False,
        cpu_average=1205,
        queued_at=MIDNIGHT,
        started_at=MIDNIGHT + 10_000,
        finished_at=MIDNIGHT + 110_000,
        oom_killed=False,
        hit_cap=None,
        own_cap=None,
        succeeded=True,
        cancelled=False,
        reserved=None,
    )


def test_options_parsable_ends_each_line_with_a_bar() -> None:
    text = "".join(f"{line}|\n" for line in job().splitlines())
    assert row(read, text).memory_peak == 8940 * KIB


def test_options_delimiter() -> None:
    assert row(read, job().replace("|", "\t")).memory_peak == 8940 * KIB


def test_options_noheader_is_refused_and_says_what_to_do() -> None:
    with pytest.raises(BadDataError, match="line 1: expected each column once in the header") as refused:
        outcomes(read, job().split("\n", 1)[1])
    assert refused.value.hint is not None


def test_options_allocations_has_no_peak() -> None:
    assert reason(read, accounting(JOB)) == "no memory peak"


def test_options_brief_is_refused() -> None:
    with pytest.raises(BadDataError, match="expected a column jobname in the header"):
        outcomes(read, "JobID|State|ExitCode\n2|COMPLETED|0:0\n")


def test_examples_the_default_invocation_of_fixed_width_is_refused() -> None:
    text = "JobID      JobName    Partition    Account AllocCPUS State     ExitCode\n---------- ----------\n"
    with pytest.raises(BadDataError, match="line 1: expected a column jobid in the header") as refused:
        outcomes(read, text)
    assert refused.value.hint is not None


def test_options_duplicates_are_runs_of_their_own() -> None:
    found = outcomes(read, accounting(JOB | {"State": "REQUEUED"}, STEP, JOB, STEP | {"MaxRSS": "2G"}))
    assert [run.memory_peak for run in found if isinstance(run, Run)] == [8940 * KIB, 2 * GIB]
    assert [run.cancelled for run in found if isinstance(run, Run)] == [True, False]


@pytest.mark.parametrize("identity", ["123", "123_4", "123+0", "123_[5-10%2]"])
def test_job_accounting_fields_jobid_arrays_and_heterogeneous_jobs(identity: str) -> None:
    found = row(read, job(JobID=identity))
    assert (found.name, found.memory_peak) == ("relax", 8940 * KIB)


def test_job_accounting_fields_jobid_a_step_belongs_to_the_job_before_it() -> None:
    other = JOB | {"JobID": "124", "JobName": "other"}
    found = outcomes(read, accounting(JOB, STEP, other, STEP | {"JobID": "124.0", "MaxRSS": "1M"}))
    assert [(run.name, run.memory_peak) for run in found if isinstance(run, Run)] == [
        ("relax", 8940 * KIB),
        ("other", MIB),
    ]


def test_job_accounting_fields_jobid_a_step_without_its_job_is_refused() -> None:
    found = outcomes(read, accounting(JOB, STEP, STEP | {"JobID": "9.0"}))
    assert isinstance(found[0], Unread)
    assert str(found[0].error) == "expected the line of job 9 before that of its step"
    assert isinstance(found[1], Run)


@pytest.mark.parametrize(
    ("text", "cap"),
    [
        ("4G", 4 * GIB),
        ("4000M", 4000 * MIB),
        ("2.50G", 5 * GIB // 2),
        ("1T", 1024 * GIB),
        ("512000K", 512000 * KIB),
        ("16Gn", 32 * GIB),
        ("2Gc", 6 * GIB),
        ("4000Mc", 12000 * MIB),
        ("0", None),
        ("0n", None),
        ("", None),
        ("100", 100 * MIB),
    ],
)
def test_job_accounting_fields_reqmem_per_node_and_per_cpu(text: str, cap: int | None) -> None:
    assert row(read, job(ReqMem=text, NNodes="2", AllocCPUS="3")).memory_cap == cap


def test_job_accounting_fields_reqmem_without_counts() -> None:
    one_node = accounting(JOB | {"ReqMem": "16Gn"}, STEP, without=("NNodes",))
    assert row(read, one_node).memory_cap == 16 * GIB
    unknown_cpus = accounting(JOB | {"ReqMem": "2Gc"}, STEP, without=("AllocCPUS",))
    assert (row(read, unknown_cpus).memory_cap, row(read, unknown_cpus).cpu_cap) == (None, None)


@pytest.mark.parametrize(
    ("text", "peak"), [("8940K", 8940 * KIB), ("1.50M", 3 * MIB // 2), ("2G", 2 * GIB), ("1T", 1 << 40), ("17", 17)]
)
def test_job_accounting_fields_maxrss(text: str, peak: int) -> None:
    assert row(read, accounting(JOB, STEP | {"MaxRSS": text})).memory_peak == peak


@pytest.mark.parametrize("order", [1, -1])
def test_job_accounting_fields_maxrss_is_of_the_largest_step(order: int) -> None:
    steps = [STEP | {"MaxRSS": "3G"}, STEP | {"JobID": "123.0", "MaxRSS": "80K"}][::order]
    assert row(read, accounting(JOB, *steps)).memory_peak == 3 * GIB


@pytest.mark.parametrize(
    ("total", "elapsed", "average"),
    [
        ("02:00.500", "00:01:40", 1205),
        ("1-00:00:00", "1-00:00:00", 1000),
        ("00:00:00", "00:01:40", None),
        ("", "00:01:40", None),
    ],
)
def test_job_accounting_fields_totalcpu_over_elapsed(total: str, elapsed: str, average: int | None) -> None:
    records = (JOB | {"TotalCPU": total, "Elapsed": elapsed}, STEP | {"TotalCPU": "", "AveCPU": ""})
    assert row(read, accounting(*records)).cpu_average == average


def test_job_accounting_fields_totalcpu_of_the_steps() -> None:
    steps = [STEP | {"TotalCPU": "00:30"}, STEP | {"JobID": "123.0", "TotalCPU": "01:00"}]
    assert row(read, accounting(JOB | {"TotalCPU": ""}, *steps)).cpu_average == 900


def test_job_accounting_fields_avecpu_is_of_one_task() -> None:
    steps = [STEP | {"AveCPU": "00:00:10"}, STEP | {"JobID": "123.0", "AveCPU": "00:00:20", "NTasks": "4"}]
    assert row(read, accounting(JOB, *steps, without=("TotalCPU",))).cpu_average == 900


def test_job_accounting_fields_ncpus_is_alloccpus() -> None:
    assert row(read, job().replace("AllocCPUS", "NCPUS")).cpu_cap == 2000


@pytest.mark.parametrize("column", ["Elapsed", "ElapsedRaw"])
def test_job_accounting_fields_end_from_elapsed(column: str) -> None:
    elapsed = "00:01:40" if column == "Elapsed" else "100"
    records = (JOB | {"Elapsed": elapsed}, STEP | {"Elapsed": elapsed})
    text = accounting(*records, without=("End",)).replace("Elapsed", column)
    assert row(read, text).finished_at == MIDNIGHT + 110_000


@pytest.mark.parametrize("cell", ["9" * 5000, "\N{ARABIC-INDIC DIGIT ONE}"])
def test_job_accounting_fields_elapsedraw_is_in_seconds(cell: str) -> None:
    changes = {"Elapsed": cell}
    text = accounting(JOB | changes, STEP | changes, without=("End",)).replace("Elapsed", "ElapsedRaw")
    assert "expected a number of seconds in column elapsedraw" in refusal(read, text)


@pytest.mark.parametrize("column", ["Submit", "Start", "End"])
@pytest.mark.parametrize("text", ["Unknown", "None assigned", "None", ""])
def test_job_accounting_fields_times_that_are_not_known(column: str, text: str) -> None:
    changes = {column: text, "Elapsed": ""}
    assert reason(read, job(**changes)) == "no times of a run"


def test_environment_variables_slurm_time_format_as_seconds_since_the_epoch() -> None:
    assert row(read, job(Submit=str(MIDNIGHT // 1000))).queued_at == MIDNIGHT


def test_environment_variables_slurm_time_format_relative_is_refused() -> None:
    assert refusal(read, job(Submit="Ystday 11:15")).startswith("expected a moment such as")


@pytest.mark.parametrize(
    ("state", "succeeded", "cancelled"),
    [
        ("COMPLETED", True, False),
        ("CD", True, False),
        ("FAILED", False, False),
        ("NODE_FAIL", False, False),
        ("BOOT_FAIL", False, False),
        ("CANCELLED", False, True),
        ("CANCELLED by 1000", False, True),
        ("CANCELLED+", False, True),
        ("TIMEOUT", False, True),
        ("DEADLINE", False, True),
        ("PREEMPTED", False, True),
    ],
)
def test_job_state_codes(state: str, succeeded: bool, cancelled: bool) -> None:  # noqa: FBT001 - a case
    found = row(read, job(State=state))
    assert (found.succeeded, found.cancelled, found.oom_killed) == (succeeded, cancelled, False)


@pytest.mark.parametrize("state", ["OUT_OF_MEMORY", "OUT_OF_ME+", "OOM"])
def test_job_state_codes_out_of_memory(state: str) -> None:
    found = row(read, job(State=state))
    assert (found.oom_killed, found.own_cap, found.succeeded, found.cancelled) == (True, None, False, False)


def test_job_state_codes_out_of_memory_of_a_step() -> None:
    found = row(read, accounting(JOB, STEP, STEP | {"JobID": "123.0", "State": "OUT_OF_MEMORY"}))
    assert (found.oom_killed, found.succeeded) == (True, True)


@pytest.mark.parametrize("state", ["PENDING", "RUNNING", "SUSPENDED", "RESIZING", "REVOKED", "R"])
def test_job_state_codes_of_jobs_that_have_not_ended(state: str) -> None:
    assert reason(read, job(State=state, End="Unknown")) == "not ended"


@pytest.mark.parametrize("state", ["LOST", "R+", ""])
def test_job_state_codes_others_are_refused(state: str) -> None:
    assert refusal(read, job(State=state)).startswith("expected a state of Slurm in column State")


@pytest.mark.parametrize(("code", "succeeded"), [("0:0", True), ("1:0", False), ("0:9", False)])
def test_job_accounting_fields_exitcode_where_there_is_no_state(code: str, succeeded: bool) -> None:  # noqa: FBT001
    text = accounting(JOB | {"ExitCode": code}, STEP, without=("State",))
    assert row(read, text).succeeded is succeeded


def test_job_accounting_fields_partition_may_be_missing() -> None:
    assert row(read, accounting(JOB, STEP, without=("Partition",))).profile == "default"
    assert row(read, job(), profile="mine").profile == "mine"


def test_job_accounting_fields_jobname_may_be_empty() -> None:
    assert reason(read, job(JobName="")) == "no name"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"ReqMem": "much"}, "expected memory such as 4G, 4000Mc or 16Gn in column ReqMem"),
        ({"ReqMem": "4\N{KELVIN SIGN}n"}, "expected memory such as 4G, 4000Mc or 16Gn in column ReqMem"),
        ({"MaxRSS": "much"}, "expected a size such as 24G, 1.5GiB or 512M in column maxrss"),
        ({"TotalCPU": "1:2:3:4"}, "expected a time such as 1-02:03:04 or 02:03.500 in column totalcpu"),
        ({"ReqMem": "999999999999999T"}, "expected figures that come to at most 9007199254740991"),
        ({"AllocCPUS": "two"}, "expected a number of CPUs in column alloccpus"),
    ],
)
def test_cells_that_cannot_be_read_are_refused(changes: dict[str, Any], why: str) -> None:
    assert refusal(read, job(**changes)).startswith(why)


def test_a_step_that_cannot_be_read_takes_its_job_with_it() -> None:
    assert refusal(read, accounting(JOB, STEP | {"MaxRSS": "much"}, STEP)).startswith("expected a size")


def test_a_job_beside_a_line_that_cannot_be_read_is_not_read() -> None:
    text = accounting(JOB, JOB | {"JobID": "124"}, STEP | {"JobID": "124.0"})
    found = outcomes(read, text.replace("\n124|", "\n123.batch|cut off\n124|"))
    assert [type(outcome) for outcome in found] == [Unread, Unread, Run]
    assert isinstance(found[1], Unread)
    assert str(found[1].error) == "expected lines of its steps that can be read"


def test_a_first_line_that_cannot_be_read_leaves_the_next_job_alone() -> None:
    header, rest = job().split("\n", 1)
    assert [type(outcome) for outcome in outcomes(read, f"{header}\ncut off\n{rest}")] == [Unread, Run]
