"""`vq completion`: tab completion for a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(
    epilog="""Examples:

\b
  vq completion bash >> ~/.bashrc
  vq completion zsh >> ~/.zshrc
  vq completion fish > ~/.config/fish/completions/vq.fish"""
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the tab completion script for SHELL.

    Append it to the shell's start-up file and open a new shell.
    """
    from vq.cli.commands import vq  # noqa: PLC0415 - the table of commands names this module

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    click.echo(kind(vq, {}, "vq", "_VQ_COMPLETE").source())
