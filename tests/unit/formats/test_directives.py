"""What a batch script says to another queue: found at its head, told in options of vq where these mean the same."""

from __future__ import annotations

import pytest

from vq.formats.directives import counted_array, directives, note, options


def told(*lines: str) -> str:
    """The note of a script with these directives of Slurm, without its beginning."""
    found = directives("\n".join(["#!/bin/bash", *(f"#SBATCH {line}" for line in lines), "run"]).encode())
    assert found is not None
    return note(found).partition("); ")[2]


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("--mem=4G", "--mem 4G"),
        ("--mem 4000", "--mem 4000"),
        ("--mem=8gb  # enough", "--mem 8gb"),
        ("--time=1-00:00:00", "--time 1-00:00:00"),
        ("-t 90", "--time 90"),
        ("-t1-12", "--time 1-12:00:00"),
        ("--time=1-12:30", "--time 1-12:30:00"),
        ("--cpus-per-task=8", "--cpus 8"),
        ("-c 8", "--cpus 8"),
        ("--array=0-9%2", "--array 10%2"),
        ("-a 1-10", "--array 10 (its indexes are from 0)"),
        ("--job-name=fit", "--name fit"),
        ("-J 'a b'", "--name 'a b'"),
        ("--dependency=afterok:17", "--depends-on JOB"),
        ("-d afterany:17:18", "--depends-on-any JOB --depends-on-any JOB"),
        ("--begin=18:00", "--not-before 18:00"),
        ("--export=NONE", "--clean-env"),
    ],
)
def test_what_means_the_same_is_told_as_an_option(line: str, option: str) -> None:
    assert told(line) == f"the same in options: {option}"


@pytest.mark.parametrize(
    "line",
    [
        "--mem=0",
        "--mem=4X",
        "--mem=4\N{KELVIN SIGN}",
        "--mem-per-cpu=2G",
        "--time=UNLIMITED",
        "--time=soon",
        "-c all",
        "--array=1,3",
        "--array=0-9:2",
        "--array=9-0",
        "--dependency=singleton",
        "--dependency=afterok:1,afterany:2",
        "--begin=now+1hour",
        "--partition=long",
        "-p long",
        "--ntasks=4",
        "--exclusive",
        "--export=A,B",
        "--job-name=" + "x" * 90,
        "--comment='open",
        "-",
        "stray",
    ],
)
def test_what_no_option_means_is_told_as_it_stands(line: str) -> None:
    written = line if len(line) <= 80 else f"{line[:80]}…"
    assert told(line) == f"no option is the same for {written}"


def test_of_what_is_so_anyway_nothing_is_told() -> None:
    assert told("--nodes=1", "-n 1", "-o out-%j.txt", "-e err", "--export=ALL") == ""


def test_the_last_of_each_counts_and_long_lists_are_counted() -> None:
    assert told("--mem=1G", "-c 2 -p long", "--mem=2G") == (
        "the same in options: --mem 2G --cpus 2; no option is the same for -p long"
    )
    assert told(*(f"--x{number}" for number in range(10))).endswith("--x6 --x7 and 2 more")


def test_only_the_head_of_a_script_counts_and_its_lines_are_numbered() -> None:
    head = b"#!/bin/sh\n\n# by hand\n#SBATCH -c 2\r\n##SBATCH -c 3\n#SBATCHING\n#SBATCH\t-p q\nrun\n#SBATCH -c 4\n"
    found = directives(head)
    assert found is not None
    assert tuple(found) == ("#SBATCH", 4, 7, ("-c 2", "-p q"))
    assert note(found).startswith("vq does not read its #SBATCH lines (lines 4 to 7); the same in options: --cpus 2;")
    for none in (b"", b"#!/bin/sh\nrun\n#SBATCH -c 2\n", b"#!/bin/sh\n#$Id: 1$\n#$ text\n"):
        assert directives(none) is None


@pytest.mark.parametrize(("line", "mark"), [("#PBS -l mem=4gb", "#PBS"), ("#$ -cwd", "#$"), ("#BSUB -n 4", "#BSUB")])
def test_of_other_queues_it_is_only_said_that_they_are_not_read(line: str, mark: str) -> None:
    found = directives(f"#!/bin/sh\n{line}\n".encode())
    assert found is not None
    assert note(found) == f"vq does not read its {mark} lines (line 2); give what they say as options: vq submit --help"


def test_slurms_lines_go_first_and_bytes_may_be_no_text() -> None:
    found = directives(b"#PBS -x\n#SBATCH --job-name=\xff\n")
    assert found is not None
    assert found.mark == "#SBATCH"
    assert "--name '\ufffd'" in note(found)


def test_the_options_are_those_of_a_command_line() -> None:
    found = directives(b"#SBATCH -a 1-10%2 -J 'a (b)'\n#SBATCH -p long\n")
    assert found is not None
    assert options(found) == ["--array 10%2", "--name 'a (b)'"]
    other = directives(b"#PBS -N x\n")
    assert other is not None
    assert options(other) == []


@pytest.mark.parametrize(
    ("text", "counted"),
    [("0-9%2", ("10%2", 0)), ("5-5", ("1", 5)), ("3-1", None), ("1-3:2", None), ("1,2", None), ("7", None)],
)
def test_a_range_is_told_as_how_many(text: str, counted: tuple[str, int] | None) -> None:
    assert counted_array(text) == counted
