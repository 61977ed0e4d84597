"""The command line: `vq COMMAND`. Each command is a function that parses, calls an action and shows the result."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from vq.cli.commands import vq
from vq.cli.output import columns_of
from vq.errors import VqError
from vq.wording import escape, wrap

_INTERRUPTED = 130


def main() -> NoReturn:
    """Run `vq` with this process's arguments and end the process."""
    _prepare_streams()
    status = _interruptible(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError as error:
        _forget_stdout()
        status = status or _output_failed(error)
    # All is written and closed by now; to take the interpreter apart would be a seventh of the time of a submission.
    os._exit(status)


def _interruptible(arguments: Sequence[str]) -> int:
    """As `run`, where an interrupt is an exception that the command may answer; before and after, its end."""
    quietly = signal.getsignal(signal.SIGINT)
    try:
        if quietly is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        status = run(arguments)
        signal.signal(signal.SIGINT, quietly)
    except KeyboardInterrupt:
        return _INTERRUPTED
    return status


def run(arguments: Sequence[str]) -> int:
    """The exit status of `vq ARGUMENTS`, its messages on stderr; no traceback ever reaches the user."""
    try:
        result = vq.main(args=list(arguments), prog_name="vq", standalone_mode=False)
    except VqError as error:
        return _report(str(error), error.hint, error.exit_code)
    except click.ClickException as error:
        return _wrong_usage(error)
    except (KeyboardInterrupt, click.Abort):
        return _INTERRUPTED
    except OSError as error:
        _forget_stdout()
        return _output_failed(error)
    except Exception as error:  # noqa: BLE001 - the last resort
        return _report(*_last_resort(error), 1)
    return result if isinstance(result, int) else 0


def _wrong_usage(error: click.ClickException) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return error.exit_code
    hint = None
    if isinstance(error, click.UsageError):
        from vq.cli.slips import hint_for  # noqa: PLC0415 - only a slip needs it

        hint = hint_for(error)
    return _report(" ".join(error.format_message().split()), hint, error.exit_code)


def _prepare_streams() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started us: what is printed goes nowhere
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - open to the end
        else:
            # A name that the terminal's encoding lacks is escaped, not an error.
            stream.reconfigure(errors="backslashreplace")


def _output_failed(error: OSError) -> int:
    """What the system said that no action has turned into an error of its own: our output could not be written."""
    if isinstance(error, BrokenPipeError):
        return 1
    where = error.filename or "output"
    return _report(f"{where}: {(error.strerror or str(error)).lower()}", None, 1)


def _report(message: str, hint: str | None, status: int) -> int:
    columns = columns_of(sys.stderr) or sys.maxsize  # not on a terminal, a message is a line for whoever searches in it
    for text, indent in ((f"vq: error: {message}", ""), (hint, "  ")):
        for line in [] if text is None else wrap(escape(text), columns - 2):
            click.echo(f"{indent}{line}", err=True)
    return status


def _forget_stdout() -> None:
    """Whoever read our output is gone; the interpreter must not try to flush into that pipe again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _last_resort(error: Exception) -> tuple[str, str]:
    if isinstance(error, MemoryError):
        return "out of memory", "allow this process more (ulimit -v), or give it less at once"
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
