"""The documentation under test: what the tutorial shows is what happens, and what the pages name exists."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from support.real_program import needs_pyscf, own_queue
from vq.cli.commands import COMMANDS, vq
from vq.config.file import read_values

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^(<!-- figures vary -->\n)?```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FIGURE = re.compile(r"[0-9a-f]{64}|-?[0-9]+(?:[.:][0-9]+)*")
ANYTHING = "..."
CONTINUED = " " * 12
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("how-to/*.md")), DOCS / "reference" / "cli.md"]


class Step(NamedTuple):
    """A command of a page, the lines shown below it, and whether the figures in them are of one machine."""

    command: str
    shown: list[str]
    figures_vary: bool


def sessions(page: Path) -> list[Step]:
    """Every command of a page's console blocks, with continuation lines (after a backslash, or at `> `) joined."""
    found: list[Step] = []
    for vary, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in block.replace("\\\n> ", " ").replace("\\\n", " ").splitlines():
            if line.startswith("$ "):
                found.append(Step(line[2:], [], bool(vary)))
            elif line.startswith("> ") and not found[-1].shown:
                found[-1] = found[-1]._replace(command=f"{found[-1].command}\n{line[2:]}")
            else:
                found[-1].shown.append(line)
    return found


def alike(lines: list[str]) -> list[str]:
    """Lines with every figure, the space that makes room for it, and where a long one is broken, made the same."""
    whole: list[str] = []
    for line in lines:
        if whole and line.startswith(CONTINUED):
            whole[-1] += line
        else:
            whole.append(line)
    return [" ".join(FIGURE.sub("0", line).split()) for line in whole]


def matches(shown: list[str], printed: list[str]) -> bool:
    """Whether `printed` is what is shown, where a line of `...` stands for any number of lines."""
    if not shown:
        return not printed
    if shown[0] == ANYTHING:
        return any(matches(shown[1:], printed[start:]) for start in range(len(printed) + 1))
    return bool(printed) and printed[0] == shown[0] and matches(shown[1:], printed[1:])


def follow(page: Path, folder: Path) -> None:
    """Run every command of a page in a copy of the examples, in a queue of its own, and compare what it prints."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    steps = sessions(page)
    assert len(steps) > 5
    for command, shown, figures_vary in steps:
        ended = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=own_queue(folder), capture_output=True, text=True, check=False
        )
        printed = (ended.stdout + ended.stderr).splitlines()
        same = matches(alike(shown), alike(printed)) if figures_vary else matches(shown, printed)
        assert same, f"$ {command}\n" + "\n".join(printed)


def test_the_tutorial_prints_what_it_shows(tmp_path: Path) -> None:
    follow(DOCS / "tutorial" / "first-evaluation.md", tmp_path)


@needs_pyscf
@pytest.mark.timeout(900)
def test_the_tutorials_second_half_runs_jobs_and_prints_what_it_shows(tmp_path: Path) -> None:
    try:
        follow(DOCS / "tutorial" / "from-jobs-to-a-limit.md", tmp_path)
    finally:
        for words in (("kill", "--all", "--now"), ("daemon", "stop")):
            subprocess.run(["vq", *words], env=own_queue(tmp_path), capture_output=True, check=False)


def parse(group: click.Group, context: click.Context, words: list[str]) -> None:
    """Parse a command line: an unknown command or option is refused; a file that is missing is no matter of parsing."""
    command = group.get_command(context, words[0])
    assert command is not None, words
    inner = command.make_context(words[0], words[1:], parent=context)
    if isinstance(command, click.Group):
        parse(command, inner, words[1:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_only_commands_and_options_that_exist(page: Path) -> None:
    context = click.Context(vq, info_name="vq", **vq.context_settings)
    checked = 0
    for line, *_ in sessions(page):
        words = shlex.split(re.split(r" [|>]", line)[0])
        if words[0] != "vq":
            continue
        parse(vq, context, words[1:])
        checked += 1
    assert checked


@pytest.mark.parametrize(("page", "maker"), [("cli", "generate_cli"), ("configuration", "generate_configuration")])
def test_a_reference_is_the_generated_one(page: str, maker: str) -> None:
    made = subprocess.run(
        [sys.executable, "-c", f"import {maker}; print({maker}.page(), end='')"],
        cwd=DOCS,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (DOCS / "reference" / f"{page}.md").read_text(encoding="utf-8") == made.stdout, f"python docs/{maker}.py"


def test_the_example_of_a_configuration_is_one() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", (DOCS / "reference" / "configuration.md").read_text(), re.DOTALL)
    assert read_values(example, "the example").profiles == ("default", "big")


def test_every_command_has_an_example_and_its_summary() -> None:
    context = click.Context(vq, info_name="vq", **vq.context_settings)
    for name in COMMANDS:
        command = vq.get_command(context, name)
        assert command is not None
        assert command.help, name
        assert command.epilog is not None, name
        assert f"vq {name}" in command.epilog, name
