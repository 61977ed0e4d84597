"""What helps after a word too few or too many on the command line."""

from __future__ import annotations

import click

_TOO_MANY = {
    "queue": "vq status JOB shows one job",
    "usage": "vq status JOB shows one job",
    "advise": "the rows to learn from: --history ROWS.jsonl",
    "predict": "the rows to learn from: --history ROWS.jsonl",
}
"""What a word may have been meant as where a command takes none."""


def hint_for(error: click.UsageError) -> str | None:
    """What helps after wrong usage that click found, and where the help is; None where no command was called."""
    context = error.ctx
    if context is None:
        return None
    helps = _what_helps(error, context.command)
    see = f"see {context.command_path} --help"
    return see if helps is None else f"{helps}; {see}"


def _what_helps(error: click.UsageError, command: click.Command) -> str | None:
    if isinstance(error, click.MissingParameter):
        if error.param is not None and error.param.name in ("job", "jobs"):
            return "vq queue shows the jobs and their ids"
        example = _first_example(command)
        return None if example is None else f"such as {example}"
    takes_words = any(isinstance(parameter, click.Argument) for parameter in command.params)
    is_option = isinstance(error, click.NoSuchOption | click.BadOptionUsage | click.BadParameter)
    return None if takes_words or is_option else _TOO_MANY.get(command.name or "")


def _first_example(command: click.Command) -> str | None:
    """The first of the examples at the end of a command's help, where it is one line."""
    lines = [line.strip() for line in (command.epilog or "").splitlines()]
    example = next((line for line in lines if line.startswith("vq ")), None)
    return None if example is None or example.endswith("\\") else example
