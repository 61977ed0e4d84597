"""The vibe-qc dry-run manifest (`calculation.system`, TOML) as a program's estimate.

Only a dry run counts. The figure already holds the program's own safety margin, whose factor is neither recorded nor
assumed. What the manifest leaves open stays unknown; host, environment, paths and stems are never taken over.
"""

from __future__ import annotations

import re
import tomllib
from hashlib import sha256
from typing import Any

from vq.errors import BadDataError
from vq.estimates.program import UNSPECIFIED, Feature, Program, ProgramEstimate, Source
from vq.shapes import LARGEST, Record, integer, text

_NAME = "vibe-qc"
_ESTIMATOR = "vibe-qc-dry-run/1"
_MOST_BYTES = 1024 * 1024

_MOST_CHARACTERS = 256
_NO_BASIS = frozenset({"", "(none)", "<basis-free>"})

# A TOML parser takes time quadratic in the parts of a dotted key; a manifest's keys have one or two. The pattern takes
# a text apart as TOML does, so that dots in comments and strings do not count, and in one pass: nothing is tried twice,
# and a string without its end goes on to the end of the line or the text, where the parser refuses it.
_MOST_PARTS = 16
_PART = r"""(?:"(?:[^"\\\n]|\\.)*+"?+|'[^'\n]*+'?+|[A-Za-z0-9_-]++)"""
_TOKEN = re.compile(
    "|".join(
        (
            r"#[^\n]*+",
            r'"{3}(?:[^"\\]|\\.|"(?!""))*+(?:"{3})?+',
            r"'{3}(?:[^']|'(?!''))*+(?:'{3})?+",
            rf"(?P<many>(?:{_PART}[ \t]*+\.[ \t]*+){{{_MOST_PARTS}}})",
            _PART,
        )
    ),
    re.DOTALL,
)

_NO_ESTIMATE = "The manifest carries no memory estimate, so there is no figure; a plain dry run prints none."
_BINDING = (
    "The manifest does not bind its estimate to the calculation's inputs: that they belong together is the word of "
    "whoever made this receipt."
)


def read_manifest(data: bytes) -> ProgramEstimate:
    """The estimate in the bytes of a dry-run manifest; raises `BadDataError` with the place of what is wrong."""
    manifest = _parse(data)
    outputs = _table(manifest, "outputs")
    status = outputs.get("status", ...)
    if status != "dry_run":
        raise BadDataError(
            '"dry_run" (vq reads estimates of dry runs, not of runs that have begun)',
            path=("outputs", "status"),
            found=None if status is ... else status,
        )
    if "vibeqc" not in manifest:
        raise BadDataError("this table; without it the file is not a vibe-qc manifest", path=("vibeqc",))
    figure = _integer(manifest, "memory", "estimate_bytes", low=1)
    features, unknown = _features(manifest)
    return ProgramEstimate(
        estimator=_ESTIMATOR,
        program=_NAME,
        program_version=_string(manifest, "vibeqc", "version", unknown=("", "unknown"), most=None),
        features=features,
        unknown_features=frozenset(unknown),
        predicted_peak_bytes=figure,
        safety_margin="included",
        scope=None,
        runtime_seconds=None,
        source=Source(sha256=sha256(data).hexdigest(), bytes=len(data)),
        limitations=(_BINDING,) if figure is not None else (_BINDING, _NO_ESTIMATE),
    )


def _features(manifest: dict[str, Any]) -> tuple[dict[str, Feature], list[str]]:
    keys = {"method": "method", "task_type": "job_kind", "options_digest": "options_digest"}
    found: dict[str, Feature] = {
        name: _string(manifest, "plan", key, unknown=("", "unknown")) for name, key in keys.items()
    }
    found["basis"] = _string(manifest, "plan", "basis", unknown=("unknown",))
    found["functional"] = _string(manifest, "plan", "functional", unknown=("unknown",))
    found["threads"] = _integer(manifest, "cpu", "omp_threads_used", low=0) or None
    unknown = [name for name, value in found.items() if value is None]
    if found["basis"] in _NO_BASIS:
        found["basis"] = None
    if found["functional"] == "":
        found["functional"] = None
    names = ("method", "basis", "functional", "task_type", "options_digest", "threads")
    return {name: found[name] for name in names}, unknown


def _parse(data: bytes) -> dict[str, Any]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise BadDataError(f"UTF-8 text; byte {error.start} is none") from error
    if any(token["many"] for token in _TOKEN.finditer(text)):
        raise BadDataError(f"TOML keys of at most {_MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadDataError(f"TOML; {error}") from error
    except RecursionError:
        raise BadDataError("TOML that is nested less deeply") from None
    except ValueError as error:
        raise BadDataError(f"TOML with integers within ±{LARGEST}") from error


def _table(manifest: dict[str, Any], name: str) -> dict[str, Any]:
    table = manifest.get(name, {})
    if not isinstance(table, dict):
        raise BadDataError("a table", path=(name,), found=table)
    return table


def _string(
    manifest: dict[str, Any], table: str, key: str, *, unknown: tuple[str, ...], most: int | None = _MOST_CHARACTERS
) -> str | None:
    value = _table(manifest, table).get(key)
    if value is None or value in unknown:
        return None
    text(most=most).check(value, (table, key))
    return str(value)


def _integer(manifest: dict[str, Any], table: str, key: str, *, low: int) -> int | None:
    value = _table(manifest, table).get(key)
    if value is None:
        return None
    if type(value) is not int or not low <= value <= LARGEST:
        raise BadDataError(f"an integer from {low} to {LARGEST}", path=(table, key), found=value)
    return value


def _recognise(data: bytes) -> str | None:
    return "[vibeqc]" if re.search(rb"^[ \t]*\[vibeqc\]", data, re.MULTILINE) else None


_WORD = text(null=True, least=1, most=_MOST_CHARACTERS)

PROGRAM = Program(
    name=_NAME,
    estimator=_ESTIMATOR,
    most_bytes=_MOST_BYTES,
    features=Record(
        {
            "method": _WORD,
            "basis": _WORD,
            "functional": _WORD,
            "task_type": _WORD,
            "options_digest": _WORD,
            "threads": integer(1, null=True),
        }
    ),
    scopes=(UNSPECIFIED,),
    margin="included",
    recognise=_recognise,
    read=read_manifest,
)
