"""Tab completion: the scripts are produced, and what they ask for is answered."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.command import INSTALLED, Run, run_installed

SHELLS = ["bash", "zsh", "fish"]


def words(shell: str, line: str) -> list[str]:
    """What `vq` answers to a shell that completes the last word of `line`."""
    parts = line.split(" ")
    last = parts[-1] if shell == "fish" else str(len(parts) - 1)
    env = {"_VQ_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": last}
    result = run_installed(env=env)
    assert result.status == 0, result.err
    lines = result.out.splitlines()
    if shell == "zsh":
        return lines[1::3]
    return [text.partition(",")[2].partition("\t")[0] for text in lines]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_produced(vq: Run, shell: str) -> None:
    result = vq("completion", shell)
    assert (result.status, result.err) == (0, "")
    assert f"_VQ_COMPLETE={shell}_complete" in result.out


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_and_options_are_completed(shell: str) -> None:
    assert words(shell, "vq estimate-") == ["estimate-evaluate", "estimate-calibrate", "estimate-collect"]
    assert words(shell, "vq dig") == ["digest"]
    assert "--version" in words(shell, "vq --v")
    assert words(shell, "vq estimate --memo") == ["--memory-mb"]
    assert set(words(shell, "vq completion ")) == set(SHELLS)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_takes_the_script(vq: Run, tmp_path: Path, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(vq("completion", shell).out)
    done = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes(vq: Run, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(vq("completion", "bash").out)
    asked = 'source "$0"; COMP_WORDS=(vq estimate-); COMP_CWORD=1; _vq_completion vq; echo "${COMPREPLY[@]}"'
    path = f"{Path(INSTALLED).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["/bin/bash", "-c", asked, str(script)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": path},
    )
    assert done.stdout.split() == ["estimate-evaluate", "estimate-calibrate", "estimate-collect"], done.stderr
