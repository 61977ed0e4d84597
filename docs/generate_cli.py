"""Write the command reference, `docs/reference/cli.md`, from the commands themselves.

    python docs/generate_cli.py

A test compares the page with what this makes, so a command that is not in the docs makes the build red.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import click

from vq.cli.commands import COMMANDS, vq
from vq.cli.options import summary

PAGE = Path(__file__).parent / "reference" / "cli.md"


def page() -> str:
    """The text of the page."""
    context = click.Context(vq, info_name="vq", **vq.context_settings)
    parts = [
        "# Commands\n",
        "This page is generated from the commands: it is what `vq COMMAND --help` says.\n",
        "Exit status of all: 0 done; 1 it failed, or the data are bad; 2 wrong usage; 130 interrupted.\n",
    ]
    for name in COMMANDS:
        command = vq.get_command(context, name)
        if command is None:
            raise LookupError(name)
        parts += sections(command, click.Context(command, info_name=name, parent=context))
    return "\n".join(parts)


def sections(command: click.Command, context: click.Context) -> Iterator[str]:
    """A command and, if it is a group, the commands in it."""
    yield section(command, context)
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from sections(inner, click.Context(inner, info_name=name, parent=context))


def section(command: click.Command, context: click.Context) -> str:
    """One command: usage, what it does, its options as a table, its examples."""
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [
        f"{'#' * (1 + len(context.command_path.split()[1:]))} {context.command_path}\n",
        f"```text\n{context.command_path} {usage}\n```\n",
    ]
    lines.append(inspect.cleandoc(command.help or "") + "\n")
    if isinstance(command, click.Group):
        lines += ["| command | meaning |", "|---|---|"]
        lines += [f"| `{name}` | {summary(inner)} |" for name, inner in command.commands.items()]
        lines.append("")
    options = [param for param in command.get_params(context) if isinstance(param, click.Option)]
    rows = [record for option in options if (record := option.get_help_record(context))]
    if rows:
        lines += ["| option | meaning |", "|---|---|"]
        lines += [f"| `{_in_table(option)}` | {_in_table(meaning)} |" for option, meaning in rows]
        lines.append("")
    if command.epilog:
        examples = inspect.cleandoc(command.epilog).replace("\b", "").removeprefix("Examples:").strip("\n")
        lines.append(f"```console\n{_prompted(examples)}\n```\n")
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            lines.append(section(inner, click.Context(inner, info_name=name, parent=context)))
    return "\n".join(lines)


def _in_table(text: str) -> str:
    return text.replace("|", "\\|")


def _prompted(examples: str) -> str:
    lines = inspect.cleandoc(examples).split("\n")
    return "\n".join(f"$ {line}" if line.startswith("vq") else line for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
