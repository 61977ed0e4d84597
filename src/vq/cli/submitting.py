"""The words and options of `vq submit`, which `vq run` takes as well: parsed into the request that an action takes.

After `--` stands a command. Without it the first word that is no host is a script, and what follows belongs to it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from vq.actions.bringing import Bringing, script_command, unread_directives
from vq.actions.orders import read_array, read_order
from vq.actions.submit import Request
from vq.cli.mebibytes import MEM_MB
from vq.cli.output import note
from vq.errors import UsageError
from vq.jobs.record import Reserve

HOSTS = ("localhost", "auto")
_COMMAND = "vq.command"
_WORDS = "vq.words"
_ARGUMENTS = "vq.arguments"
_SAY_THE_SAME = (
    ("mem_mb", "mem_from_estimate"),
    ("time_limit", "wall_time_seconds", "time_from_estimate"),
)

OPTIONS_ELSEWHERE = {
    name: ours
    for ours, names in {
        "--array": "-a",
        "--auto-resume": "--requeue",
        "--cpus": "-c --cpus-per-task -n --ntasks --ntasks-per-node",
        "--depends-on": "--dependency --after",
        "--dir": "-D --chdir -w --working-directory",
        "--env": "--export",
        "--name": "-J --job-name -l --label",
        "--not-before": "-b --begin --delay",
        "--profile": "-p --partition -g --group",
        "--priority": "--nice",
        "--quiet": "--parsable --print-task-id",
        "--time": "-t",
    }.items()
    for name in names.split()
}
"""What other queues call an option, and what it is here."""

_GPUS_INSTEAD = (
    "to run so many jobs on them at once, give a profile slots ([profiles.gpu] slots = 1), and submit with"
    " --profile gpu; which one a job sees is for you to say: --env CUDA_VISIBLE_DEVICES=0"
)
_WITHOUT_EQUAL = {
    name: (why, instead)
    for names, why, instead in (
        (
            "--gres --gpus -G --gpus-per-node --gpus-per-socket --gpus-per-task",
            "vq does not manage GPUs",
            _GPUS_INSTEAD,
        ),
        (
            "--output -o --error -e",
            "vq keeps what every job writes",
            "vq logs JOB prints it, and vq logs JOB -f while it runs",
        ),
        (
            "--wrap",
            "a command needs no script around it",
            "it stands behind --: vq submit -- COMMAND, or with a shell: vq submit -- sh -c 'COMMAND'",
        ),
        (
            "--hold -H --stashed -s",
            "a job is held once it is in the queue",
            "vq pause JOB holds it, vq resume JOB releases it; --not-before +1h gives you the time to",
        ),
        (
            "--mem-per-cpu",
            "a memory limit is that of the whole job",
            "--mem SIZE, for all of its CPUs together",
        ),
        (
            "--mail-type --mail-user",
            "vq sends no mail",
            "hooks.on_end in the configuration is a command that runs when a job has ended",
        ),
        (
            "-A --account -N --nodes --qos -C --constraint --reservation --exclusive",
            "there is one host, and the queue on it is yours alone",
            "leave it out; --cpus and --mem say how much of the host a job needs",
        ),
    )
    for name in names.split()
}
"""Options of other queues that nothing is the same as here: why, and what to do instead."""

Command = Callable[..., Any]


class WithCommand(click.Command):
    """A command whose line ends in the words of a job: `[HOST] [OPTIONS] [-- COMMAND…]`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what stands before `--`; the host, the words, the command and the whole line are kept in ctx."""
        args = list(args)
        ours, command = args, None
        if "--" in args:
            place = args.index("--")
            ours, command = args[:place], args[place + 1 :]
        ours, words = self._split(ctx, ours)
        if words and words[0] in HOSTS:
            # Options may stand behind the host, too.
            ours, words = self._split(ctx, [*ours, *words[1:]])
        ctx.meta[_WORDS], ctx.meta[_COMMAND], ctx.meta[_ARGUMENTS] = words, command, args
        return super().parse_args(ctx, ours)

    def _split(self, ctx: click.Context, args: list[str]) -> tuple[list[str], list[str]]:
        """The options, and the words from the first that is none."""
        try:
            _, words, _ = self.make_parser(ctx).parse_args(args=list(args))
        except click.NoSuchOption as error:
            if error.option_name in _WITHOUT_EQUAL:
                why, instead = _WITHOUT_EQUAL[error.option_name]
                raise UsageError(f"there is no {error.option_name}: {why}", hint=instead) from None
            meant = OPTIONS_ELSEWHERE.get(error.option_name)
            if meant is None:
                raise
            message = f"No such option {error.option_name!r}. Did you mean {meant!r}?"
            raise click.NoSuchOption(error.option_name, message, ctx=ctx) from None
        return args[: len(args) - len(words)], words

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The line of usage, as it is meant."""
        del ctx
        return ["[HOST]", "[OPTIONS]", "[SCRIPT [ARGUMENTS...] | -- COMMAND...]"]


_OPTIONS = (
    click.option("-d", "--dir", "folder", metavar="DIR", help="Copy this folder; the job starts in the copy."),
    click.option("--compressed", metavar="FILE", help="Unpack this tar archive (plain, gz, bz2, xz); start in it."),
    click.option("--here", is_flag=True, help="Run in the current folder, without a copy."),
    click.option("--from-file", metavar="LIST", help="A job a line (- is stdin): a command, or JSON with options."),
    click.option("--array", metavar="N[%K]", help="N jobs with VQ_ARRAY_INDEX 0 to N-1, at most K at once."),
    click.option("--cpus", metavar="N", type=int, help="CPUs (default: the profile's, 1)."),
    click.option(
        "--mem-mb",
        "--mem",
        metavar="SIZE",
        type=MEM_MB,
        help="Memory limit: a number of MiB, or a size such as 4G (default: the profile's, else a share of the host).",
    ),
    click.option("--time", "--time-limit", "time_limit", metavar="T", help="Time limit: minutes, H:M:S, D-H:M:S, 2h."),
    click.option("--wall-time-seconds", metavar="N", type=int, help="Time limit in seconds."),
    click.option("--profile", metavar="NAME", help="The profile whose limits and slots it has."),
    click.option(
        "--reserve",
        type=click.Choice([word.value for word in Reserve]),
        help="Set aside for it by what earlier runs used, or its whole limit.",
    ),
    click.option("--priority", metavar="N", type=int, help="Higher goes first (default 0)."),
    click.option("--depends-on", metavar="JOB", multiple=True, help="Start after this job completed (repeatable)."),
    click.option("--depends-on-any", metavar="JOB", multiple=True, help="Start after it ended, however (repeatable)."),
    click.option("--not-before", metavar="TIME", help="Start no earlier: 2026-11-30T18:00, 18:00 or +2h."),
    click.option("--retry", metavar="N", type=int, help="Start again after an exit code other than 0, up to N times."),
    click.option(
        "--oom-retry",
        metavar="SIZE|max",
        help="If it meets its memory limit, start once more with this one; max is all that jobs may have.",
    ),
    click.option("--auto-resume", is_flag=True, help="After a reboot, start again in the old workspace."),
    click.option("--name", metavar="TEXT", help="Its name (default: the script's or the program's)."),
    click.option("--workflow", metavar="TEXT", help="The workflow that it is a step of."),
    click.option("--repository", metavar="TEXT", help="Its repository (default: Git's owner/name, or the folder)."),
    click.option("--tag", metavar="TEXT", multiple=True, help="A tag to select it by (repeatable)."),
    click.option("--env", metavar="N=V", multiple=True, help="Set a variable for the job (repeatable)."),
    click.option("--clean-env", is_flag=True, help="Leave out the environment of this shell."),
    click.option("--estimate", metavar="FILE", help="Attach this estimate; its inputs must be what you submit."),
    click.option("--mem-from-estimate", is_flag=True, help="The calibrated figure is the memory limit."),
    click.option("--time-from-estimate", is_flag=True, help="The calibrated runtime is the time limit."),
)


def job_options(command: Command) -> Command:
    """Give a command all the options that a job is submitted with."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_request(ctx: click.Context, options: dict[str, Any]) -> Request:
    """The request of a command line; raises `UsageError` for what cannot be meant together."""
    bringing = _bringing(options)
    words, command = ctx.meta[_WORDS], ctx.meta[_COMMAND]
    if options["from_file"] is not None:
        if command is not None or words:
            raise UsageError("--from-file has the commands in it", hint="leave out the command, or the list")
        if options["array"] is not None:
            raise UsageError("--from-file and --array do not go together", hint="write a line for each job")
        from vq.actions.lists import read_orders  # noqa: PLC0415 - most submissions have no list

        orders = read_orders(options["from_file"], options)
    else:
        if command is not None and words:
            raise UsageError(
                f"{words[0]!r} stands before --, and is no host",
                hint=f"known hosts: {', '.join(HOSTS)}; a command stands behind --",
            )
        if command is None:
            if not words:
                raise UsageError("there is no command", hint="vq submit -- COMMAND…, or the name of a script")
            bringing, command = script_command(bringing, words)
        orders = [read_order(options, command)]
    array = None if options["array"] is None else read_array(options["array"])
    return Request(orders=orders, bringing=bringing, array=array, key=options.get("idempotency_key"))


def _bringing(options: dict[str, Any]) -> Bringing:
    given = {
        "-d": options["folder"] is not None,
        "--compressed": options["compressed"] is not None,
        "--here": options["here"],
    }
    flags = [flag for flag, is_given in given.items() if is_given]
    if len(flags) > 1:
        raise UsageError(f"{' and '.join(flags)} do not go together", hint="a job starts in one folder")
    return Bringing(folder=options["folder"], archive=options["compressed"], here=options["here"])


def note_directives(ctx: click.Context, bringing: Bringing) -> None:
    """Say that what a script tells another queue is not read; a person would take it for options of the job.

    The same command line with those options follows, without those that it says already.
    """
    found = unread_directives(bringing)
    if found is None:
        return
    text, same = found
    note(text)
    missing = [option for option in same if not _is_given(ctx, option.split(" ", 1)[0])]
    if missing:
        import shlex  # noqa: PLC0415 - few scripts say anything to other queues

        is_array = any(option.startswith("--array ") for option in missing)
        command = "vq submit" if is_array else ctx.command_path  # vq run is for one job
        note(f"  with them: {' '.join([command, *missing, shlex.join(ctx.meta[_ARGUMENTS])])}")


def _is_given(ctx: click.Context, flag: str) -> bool:
    """Whether a command line has an option, or one that says the same thing of the job."""
    (name,) = (parameter.name for parameter in ctx.command.params if flag in parameter.opts)
    names = next((same for same in _SAY_THE_SAME if name in same), (name,))
    return any(ctx.params[each] not in (None, (), False) for each in names if each is not None)


def progress_line(done_bytes: int, total_bytes: int) -> None:
    """How far a long copy is, on one line of a terminal's stderr."""
    if sys.stderr.isatty():
        end = "\r\033[K" if done_bytes >= total_bytes else ""
        percent = 100 * done_bytes // max(1, total_bytes)
        click.echo(f"\rcopied {done_bytes >> 20:,} of {total_bytes >> 20:,} MiB ({percent} %){end}", err=True, nl=False)
