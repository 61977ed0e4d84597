"""`vq config`: what is in force, and where it came from."""

from __future__ import annotations

import os
from typing import Any

import click

from vq.actions.place import config_of_file
from vq.canonical import pretty
from vq.cli.jobs import the_queue
from vq.cli.options import Subcommands, json_option
from vq.cli.output import Output, note
from vq.config.resolve import config_path
from vq.config.values import config_document
from vq.jobs.times import span_text
from vq.store.settings import stored_config
from vq.wording import human_bytes

_SIZES = ("memory_max", ".memory")


@click.group(
    cls=Subcommands,
    epilog="""Examples:

\b
  vq config show
  vq config show --json
  vq config path""",
)
def config() -> None:
    """Show the configuration, and where its file lies."""


@config.command()
@json_option
def show(as_json: bool) -> None:  # noqa: FBT001 - click passes flags so
    """Show what is in force, and where each value came from."""
    from_file = config_of_file(os.environ)
    with the_queue() as place:
        stored = stored_config(place.store)
    found = config_document(from_file if stored is None else stored)
    if as_json:
        Output(json=True).document([pretty(found)])
    else:
        Output().table(
            ("KEY", "VALUE", "FROM"),
            [(key, _shown(key, value), _source(found["sources"][key])) for key, value in found["values"].items()],
            keys=1,
            text_columns=3,
        )
        Output().line()
        Output().fields([("File", _file())])
    if stored is not None and config_document(stored)["values"] != config_document(from_file)["values"]:
        note("the daemon goes by this; the file says something else by now: vq daemon stop, then vq daemon start")


@config.command()
def path() -> None:
    """Print where the file lies, whether or not there is one."""
    Output().line(config_path(os.environ))


def _file() -> str:
    where = config_path(os.environ)
    return where if os.path.lexists(where) else f"none, so all are defaults; it would be {where}"


def _shown(key: str, value: Any) -> str:
    if value is None:
        return "-" if key.startswith("profiles.") else "off"
    if type(value) is int and key.endswith(_SIZES):
        return human_bytes(value)
    if type(value) is int and key.endswith(("_after", "_grace")):
        return span_text(value)
    if type(value) is list:
        return " ".join(value) or "-"
    return str(value).lower() if type(value) is bool else str(value)


def _source(source: dict[str, Any]) -> str:
    return source["kind"] if source["where"] is None else f"{source['kind']} {source['where']}"
