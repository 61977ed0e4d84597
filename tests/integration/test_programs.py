"""Which programs hold memory, beside those that are not asked about."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from vq.readings.programs import parse_held, programs

MIB = 1 << 20
NAME = "holds\x1b[31m"
HOLD = "import sys; kept = b'x' * (40 << 20); print('ready', flush=True); sys.stdin.read()"


def test_the_processes_of_a_program_count_together_and_some_not_at_all(tmp_path: Path) -> None:
    program = tmp_path / NAME
    program.symlink_to(sys.executable)
    pipe = subprocess.PIPE
    command = [str(program), "-I", "-S", "-c", HOLD]
    with (
        subprocess.Popen(command, stdin=pipe, stdout=pipe) as one,
        subprocess.Popen(command, stdin=pipe, stdout=pipe) as two,
    ):
        for process in (one, two):
            assert process.stdout is not None
            process.stdout.readline()
        found = {each.name: each for each in programs(())}[NAME]
        assert (found.processes, 80 * MIB <= found.held_bytes < 160 * MIB) == (2, True)
        alone = {each.name: each for each in programs({one.pid})}[NAME]
        assert (alone.processes, 40 * MIB <= alone.held_bytes < 80 * MIB) == (1, True)
        assert NAME not in {each.name for each in programs({one.pid, two.pid})}
        held = [each.held_bytes for each in programs(())]
        assert held == sorted(held, reverse=True)
        for process in (one, two):
            process.kill()


def test_what_a_process_holds_is_anonymous_and_shared_memory() -> None:
    assert parse_held("Name:\tx\nRssAnon:\t 5 kB\nRssFile:\t 9 kB\nRssShmem:\t 2 kB\n") == (5 * 1024, 2 * 1024)
    assert parse_held("Name:\tkthreadd\n") == (0, 0)
