"""The command line: `vq COMMAND`. Each command is a function that parses, calls an action and shows the result."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from vq.cli.commands import vq
from vq.cli.output import escape
from vq.errors import VqError

_INTERRUPTED = 130


def main() -> NoReturn:
    """Run `vq` with this process's arguments and end the process."""
    _open_streams()
    status = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError as error:
        status = status or _unwritten(error)
    sys.exit(status)


def run(arguments: Sequence[str]) -> int:
    """The exit status of `vq ARGUMENTS`, its messages on stderr; no traceback ever reaches the user."""
    try:
        result = vq.main(args=list(arguments), prog_name="vq", standalone_mode=False)
    except VqError as error:
        return _report(str(error), error.hint, error.exit_code)
    except click.ClickException as error:
        return _misused(error)
    except (KeyboardInterrupt, click.Abort):
        return _INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last resort
        # Files are opened and read where errors get their names, so what has none was written to stdout.
        unwritten = isinstance(error, OSError) and error.filename is None
        return _unwritten(error) if unwritten else _report(*_last_resort(error), 1)
    return result if isinstance(result, int) else 0


def _misused(error: click.ClickException) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return error.exit_code
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = f"see {context.command_path} --help" if context else None
    return _report(error.format_message(), hint, error.exit_code)


def _report(message: str, hint: str | None, status: int) -> int:
    for line in (f"vq: error: {message}", f"  {hint}" if hint else ""):
        if line:
            click.echo(escape(line), err=True)
    return status


def _open_streams() -> None:
    """Standard streams that a caller closed lead nowhere, and no file that is opened later takes their place."""
    for descriptor, name in ((0, "stdin"), (1, "stdout"), (2, "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
        if getattr(sys, name) is None:
            mode = "r" if descriptor == 0 else "w"
            stream = open(descriptor, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - until the process ends
            setattr(sys, name, stream)
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal's encoding lacks is escaped, not an error.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # both are text files


def _unwritten(error: Exception) -> int:
    """The exit status when stdout takes no more; the interpreter must not try to flush into it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):  # whoever read it has seen enough
        return 1
    return _report(f"standard output: {error}", None, 1)


def _last_resort(error: Exception) -> tuple[str, str]:
    import tempfile  # noqa: PLC0415 - only a bug in vq leads here
    import traceback  # noqa: PLC0415

    text = "".join(traceback.format_exception(error))
    try:
        with tempfile.NamedTemporaryFile("w", prefix="vq-report-", suffix=".txt", delete=False) as file:
            file.write(text)
    except OSError:
        return f"a bug in vq: {type(error).__name__}: {error}", "no report could be written"
    return (
        f"a bug in vq: {type(error).__name__}: {error}",
        f"the full report is in {file.name}; please send it to the developers",
    )
