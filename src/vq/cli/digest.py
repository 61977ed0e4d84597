"""`vq digest`: how receipts, reports and calibrations name a document."""

from __future__ import annotations

import json
import os

import click

from vq.actions.estimate import document_digest
from vq.cli.options import PATH, json_option, quiet_option
from vq.cli.output import Output
from vq.files.documents import text_of


@click.command(
    epilog="""Examples:

\b
  vq digest held-out/set.json
  vq digest estimates/*.json --json"""
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PATH)
@json_option
@quiet_option("only the digests, without the files' names")
def digest(files: tuple[str, ...], as_json: bool, quiet: bool) -> None:  # noqa: FBT001 - click passes flags so
    """Print the digest of each JSON document.

    It is the SHA-256 of the document's RFC 8785 form: the same for any layout and order of keys.
    """
    output = Output(json=as_json, quiet=quiet)
    digests = [(path, document_digest(path)) for path in files]
    if output.json:
        documents = [{"file": text_of(os.fsencode(path)), "sha256": sha256} for path, sha256 in digests]
        output.document([json.dumps({"documents": documents}, indent=2), "\n"])
        return
    for path, sha256 in digests:
        output.line(sha256 if output.quiet else f"{sha256}  {path}")
