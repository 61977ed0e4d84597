from __future__ import annotations

import os
import subprocess
import sys

import vq
from vq.supervisor.command import SERVE, supervisor_command

ROOT = os.path.dirname(next(iter(vq.__path__)))


def test_a_module_put_off_is_loaded_when_it_is_used() -> None:
    program = """
import sys
from vq.supervisor.lazily import put_off
put_off("inspect")
put_off("sys")
import inspect
assert "ast" not in sys.modules
assert inspect.isfunction(put_off)
assert "ast" in sys.modules
import inspect as again
assert again.signature(put_off).parameters.keys() == {"name"}
assert inspect.signature is again.signature
"""
    subprocess.run([sys.executable, "-S", "-c", program], check=True, env={"PYTHONPATH": ROOT})


def test_a_supervisor_needs_no_site_packages() -> None:
    done = subprocess.run(supervisor_command(SERVE), check=True, stdin=subprocess.DEVNULL, capture_output=True)
    assert done.stdout == done.stderr == b""
