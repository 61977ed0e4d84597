"""Ctrl-C while a command still loads: it ends with 130, and says nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from queue_commands import Queue

# It says when the command begins to load; what comes before is the interpreter's own.
PROGRAM = """
import os, sys
from vq.__main__ import main
class Beginning:
    def find_spec(self, name, *_):
        if name == "vq.cli":
            os.write(descriptor, b".")
descriptor = int(sys.argv.pop(1))
sys.meta_path.insert(0, Beginning())
main()
"""


@pytest.mark.parametrize("moment", range(20))
def test_an_interrupt_in_the_first_moments_is_no_traceback(queue: Queue, moment: int) -> None:
    queue.ok("submit", "--", "true")
    reader, writer = os.pipe()
    command = [sys.executable, "-P", "-c", PROGRAM, str(writer), "wait", "a1", "--timeout", "50"]
    with subprocess.Popen(
        command, env=queue.environment, pass_fds=(writer,), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        os.close(writer)
        assert os.read(reader, 1) == b"."
        os.close(reader)
        time.sleep(0.01 * moment)  # not a wait for a fact: the moment itself is what is tested
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert err.strip() in (b"", b"no daemon runs to do it: vq daemon start")


def test_a_command_that_was_told_to_ignore_interrupts_goes_on(queue: Queue) -> None:
    queue.ok("submit", "--", "true")
    words = [sys.executable, "-P", "-c", PROGRAM, "1", "status", "a1", "-q"]
    # A shell hands down what it ignores.
    command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *words]
    with subprocess.Popen(command, env=queue.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read(1) == b"."
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, b"PENDING\n", b"")
