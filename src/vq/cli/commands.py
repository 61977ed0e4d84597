"""The table of commands. A command's module is loaded only when that command runs, so that `vq` starts at once."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

import click


class Entry(NamedTuple):
    """Where a command's function is, and its line in `vq --help`."""

    module: str
    function: str
    summary: str


COMMANDS = {
    "estimate": Entry("estimate", "estimate", "Turn a program's dry run into an estimate receipt."),
    "estimate-evaluate": Entry("evaluate", "evaluate", "Say how estimates held up on a frozen set of runs."),
    "estimate-calibrate": Entry("calibrate", "calibrate", "Fit a calibration on a training set."),
    "predict": Entry("predict", "predict", "Say what jobs will need, by the runs they had before."),
    "simulate": Entry("simulate", "simulate", "Replay a history by limits and by measured peaks."),
    "advise": Entry("advise", "advise", "Say what memory would have been enough to ask for."),
    "history": Entry("history", "history", "Bring in what other tools recorded of your jobs."),
    "digest": Entry("digest", "digest", "Print the digest of JSON documents as receipts name it."),
    "completion": Entry("completion", "completion", "Print the tab completion script for your shell."),
}


class Commands(click.Group):
    """The group `vq`: lists its commands from the table, loads one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands, in the order of the table."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, loaded now, or None."""
        del ctx
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = getattr(import_module(f"vq.cli.{entry.module}"), entry.function)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The section of `vq --help` that lists the commands, without loading any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's callback
    if value and not ctx.resilient_parsing:
        from importlib.metadata import version  # noqa: PLC0415 - it loads a mail parser

        click.echo(f"vq {version('vq')}")
        ctx.exit()


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog="""Examples:

\b
  vq estimate calculation.system --input calculation.py
  vq estimate-evaluate held-out/set.json
  vq estimate-calibrate training/set.json -o calibration.json
  vq COMMAND --help""",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and exit.",
)
def vq() -> None:
    """A job queue that knows what its jobs will need.

    Exit status: 0 done; 1 it failed, or the data are bad; 2 wrong usage.
    """
