from __future__ import annotations

from pathlib import Path

import pytest

from vq.actions.naming import name_of, repository_of


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/bin/true", "true"),
        ("python calc.py", "calc.py"),
        ("python3.11 -u -O dir/calc.py --x", "calc.py"),
        ("python -m module x", "python"),
        ("python -c code x", "python"),
        ("bash -e job.sh", "job.sh"),
        ("bash -lc code", "bash"),
        ("perl -e code x", "perl"),
        ("env A=1 -u B python calc.py", "calc.py"),
        ("env", "env"),
        ("sh -", "sh"),
        ("mpirun -n 4 vasp", "mpirun"),
    ],
)
def test_the_name_is_the_files_or_the_programs(command: str, name: str) -> None:
    assert name_of(command.split()) == name


@pytest.mark.parametrize(
    ("url", "repository"),
    [
        ("git@host.example:owner/name.git", "owner/name"),
        ("https://host.example/group/owner/name/", "owner/name"),
        ("ssh://git@host.example:22/owner/name.git", "owner/name"),
    ],
)
def test_the_repository_is_the_one_of_the_remote(tmp_path: Path, url: str, repository: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(f'[remote "other"]\n\turl = no/no\n[remote "origin"]\n\turl = {url}\n')
    (tmp_path / "inside").mkdir()
    assert repository_of(str(tmp_path / "inside")) == repository


def test_a_work_tree_beside_its_repository_has_the_same_remote(tmp_path: Path) -> None:
    git = tmp_path / "main" / ".git"
    (git / "worktrees" / "side").mkdir(parents=True)
    (git / "config").write_text('[remote "origin"]\nurl = a:owner/name\n')
    (git / "worktrees" / "side" / "commondir").write_text("../..\n")
    side = tmp_path / "side"
    side.mkdir()
    (side / ".git").write_text(f"gitdir: {git}/worktrees/side\n")
    assert repository_of(str(side)) == "owner/name"


def test_without_a_remote_it_is_the_folder(tmp_path: Path) -> None:
    assert repository_of(str(tmp_path)) == tmp_path.name
    (tmp_path / "top" / ".git").mkdir(parents=True)
    (tmp_path / "top" / "below").mkdir()
    assert repository_of(str(tmp_path / "top" / "below")) == "top"
