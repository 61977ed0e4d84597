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
    "submit": Entry("submit", "submit", "Put a job into the queue."),
    "run": Entry("run", "run", "Submit a job and wait for it as if it ran here."),
    "queue": Entry("queue", "queue", "Show the jobs."),
    "status": Entry("status", "status", "Show all that is known of a job."),
    "explain": Entry("explain", "explain", "Say why a job waits, or what became of it."),
    "logs": Entry("logs", "logs", "Print what a job wrote."),
    "wait": Entry("wait", "wait", "Wait until jobs have ended."),
    "kill": Entry("requests", "kill", "End jobs."),
    "pause": Entry("requests", "pause", "Stop jobs in the middle, or hold them."),
    "resume": Entry("requests", "resume", "Let paused or held jobs go on."),
    "edit": Entry("requests", "edit", "Change a job that waits."),
    "resubmit": Entry("resubmit", "resubmit", "Submit jobs anew."),
    "daemon": Entry("daemon", "daemon", "Start, stop and look at the process that runs the queue."),
    "fetch": Entry("fetch", "fetch", "Copy what a job left."),
    "purge": Entry("purge", "purge", "Remove what ended jobs left."),
    "usage": Entry("usage", "usage", "Show what jobs asked for, used and wasted, by name."),
    "history": Entry("history", "history", "Bring in or give out the history of runs."),
    "host": Entry("host", "host", "Show what the host has for jobs."),
    "doctor": Entry("host", "doctor", "Say what this machine lacks, and what would help."),
    "config": Entry("config", "config", "Show the configuration."),
    "estimate": Entry("estimate", "estimate", "Turn a program's dry run into an estimate receipt."),
    "estimate-evaluate": Entry("evaluate", "evaluate", "Say how estimates held up on a frozen set of runs."),
    "estimate-calibrate": Entry("calibrate", "calibrate", "Fit a calibration on a training set."),
    "estimate-collect": Entry("collect", "estimate_collect", "Make a set of what the queue has measured."),
    "predict": Entry("predict", "predict", "Say what jobs will need, by the runs they had before."),
    "simulate": Entry("simulate", "simulate", "Replay a history by limits and by measured peaks."),
    "advise": Entry("advise", "advise", "Say what memory would have been enough to ask for."),
    "digest": Entry("digest", "digest", "Print the digest of JSON documents as receipts name it."),
    "completion": Entry("completion", "completion", "Print the tab completion script for your shell."),
}


SECTIONS = {
    "Jobs": ("submit", "run", "wait", "kill", "pause", "resume", "edit", "resubmit", "fetch", "purge"),
    "What jobs do": ("queue", "status", "explain", "logs", "usage"),
    "The queue and its host": ("daemon", "host", "doctor", "config"),
    "Estimates": ("estimate", "estimate-collect", "estimate-evaluate", "estimate-calibrate", "digest"),
    "What earlier runs tell": ("history", "predict", "simulate", "advise"),
    "Shell": ("completion",),
}
"""The commands as `vq --help` lists them; each stands in one section."""


ELSEWHERE = {
    name: ours
    for ours, names in {
        "submit -- COMMAND": "add sbatch enqueue",
        "queue": "list ls ps squeue jobs top",
        "queue --all": "sacct",
        "queue --watch": "watch",
        "kill JOB": "cancel scancel rm remove delete",
        "pause JOB": "hold stash suspend",
        "resume JOB": "release continue unpause",
        "resubmit JOB": "requeue rerun retry again",
        "edit JOB": "scontrol update change modify",
        "status JOB": "show info seff",
        "logs JOB -f": "follow tail log output cat",
        "fetch JOB -o DIR": "get download results",
        "purge --older-than 7d": "clean cleanup clear prune",
        "host": "sinfo nodes",
        "run -- COMMAND": "srun",
        "daemon restart": "restart",
        "daemon stop": "stop shutdown",
        "daemon start": "start",
        "--help": "help",
        "--version": "version",
    }.items()
    for name in names.split()
}
"""What other queues call a command, and what it is here."""


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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first word names; of a word that names none, the error says what it may have meant."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from vq.errors import UsageError  # noqa: PLC0415 - only a slip needs it

            raise UsageError(f"there is no command {args[0]!r}", hint=_meant(args))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The section of `vq --help` that lists the commands, without loading any."""
        del ctx
        for title, names in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, COMMANDS[name].summary) for name in names])


def _meant(words: list[str]) -> str:
    """What the words of a command line that begins with no command may have meant."""
    import shlex  # noqa: PLC0415 - only a slip needs them
    import shutil  # noqa: PLC0415
    from difflib import get_close_matches  # noqa: PLC0415

    # `scontrol hold 17`: what Slurm does to a job is its second word.
    there = words[1] if words[0] == "scontrol" and words[1:] and words[1] in ELSEWHERE else words[0]
    meant = ELSEWHERE.get(there) or next(iter(get_close_matches(there, COMMANDS, n=1, cutoff=0.75)), None)
    if meant is not None:
        return f"did you mean vq {meant}?"
    if shutil.which(words[0]) is not None:
        return f"to run it as a job: vq submit -- {shlex.join(words)}"
    return "vq --help lists the commands"


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
  vq submit -d . --mem-mb 4000 -- python calculation.py
  vq queue
  vq explain a1
  vq logs a1 -f
  vq kill a1
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

    `vq submit -- COMMAND` is all it takes to begin: the first one starts the daemon, which runs the jobs.

    Exit status: 0 done; 1 it failed, or the data are bad; 2 wrong usage.
    """
