"""`vq status`: all that is known of one job."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from typing import Any

import click

from vq.actions.place import Place, config_in_force
from vq.canonical import pretty
from vq.cli.corrections import short
from vq.cli.jobs import the_queue
from vq.cli.options import json_option, quiet_option
from vq.cli.output import Output
from vq.jobs.record import ACTIVE, State
from vq.jobs.times import shown_moment, shown_seconds
from vq.store import jobs as stored
from vq.wording import human_bytes

_MIB = 2**20
_SOURCES = {
    "explicit": "as asked for",
    "calibrated-estimate": "calibrated estimate",
    "profile": "from its profile",
    "oom-retry": "from --oom-retry",
    None: "its share of the host",
}


@click.command(
    epilog="""Examples:

\b
  vq status a7
  vq status a7 --json
  vq status a7 --show-env"""
)
@click.argument("job")
@click.option("--show-env", is_flag=True, help="Show the environment that was captured with it, too.")
@json_option
@quiet_option
def status(job: str, show_env: bool, as_json: bool, quiet: bool) -> None:  # noqa: FBT001 - click passes flags so
    """Show all that is known of JOB: what it is to do, how far it is, and what it used."""
    output = Output(json=as_json, quiet=quiet)
    with the_queue() as place:
        record = stored.full_record(place.store, job)
        environment = stored.environment(place.store, job) if show_env else None
        said = dict(_admission(place, job)) if record["state"] in ACTIVE and not (as_json or quiet) else {}
    if output.json:
        output.document([pretty({**record, "environment": environment} if show_env else record)])
        return
    if output.quiet:
        output.line(record["state"])
        return
    for label, text in _lines({**record, "said": said}):
        output.line(f"{label}: {text}")
    for name, value in sorted((environment or {}).items()):
        output.line(f"env: {name}={value}")


def _lines(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "id", record["id"]
    yield "state", _state(record)
    if record["reason"] is not None and "waits" not in record["said"]:
        yield "reason", record["reason"]["text"]
    yield "name", f"{record['name']} ({_of(record)})"
    yield from _work(record)
    yield from _limits(record)
    yield from _times(record)
    yield from _used(record)
    for key in ("stdout_path", "stderr_path"):
        if record[key] is not None:
            yield key, record[key]


def _admission(place: Place, identifier: str) -> Iterator[tuple[str, str]]:
    """What admission says of a job that has not ended: what it has or would have, and what it waits for."""
    from vq.actions.explain import explain  # noqa: PLC0415 - it loads all of admission, which an ended job needs not
    from vq.actions.requesting import now_ms  # noqa: PLC0415
    from vq.cli.sentences import reserved_sentence, waits_sentence  # noqa: PLC0415

    config = config_in_force(place, os.environ)
    found = explain(place, identifier, config, now_ms())
    prediction = found.prediction
    if prediction.memory is not None:
        yield "reserved", reserved_sentence(found.job, prediction.memory, prediction.basis, config.margin_percent)
    if found.job.state is State.PENDING:
        yield "waits", waits_sentence(found.reason, found.ahead)


def _work(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "command", shlex.join(record["command"])
    for key in ("cwd", "workspace"):
        if record[key] is not None:
            yield key, record[key]
    for key in ("profile", "priority", "retry"):
        if record[key] not in ("default", 0):
            yield key, str(record[key])
    if record["tags"]:
        yield "tags", ", ".join(record["tags"])
    if record["array"] is not None:
        array = record["array"]
        yield "array", f"{array['group']}, index {array['index']} of {array['total']}"
    for need in record["depends_on"]:
        yield "depends_on", f"{need['job']} ({need['kind']})"
    if record["parent"] is not None:
        yield "parent", record["parent"]


def _state(record: dict[str, Any]) -> str:
    words = [record["state"]]
    if record["paused"] or record["held"]:
        words.append("(paused)" if record["paused"] else "(held)")
    if record["exit_code"] is not None:
        words.append(f"(exit code {record['exit_code']})")
    if record["attempt"] > 1:
        words.append(f"(attempt {record['attempt']})")
    return " ".join(words)


def _of(record: dict[str, Any]) -> str:
    names = (record["repository"], record["workflow"])
    return ", ".join(name for name in names if name)


def _limits(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "cpus", str(record["cpus"])
    yield "mem_mb", f"{record['mem_mb']} ({_SOURCES[record['mem_mb_source']]})"
    if record["said"]:
        yield from record["said"].items()
    elif record["reserved_bytes"] is not None:
        yield "reserved", human_bytes(record["reserved_bytes"])
    if record["wall_time_seconds"] is not None:
        source = _SOURCES[record["wall_time_source"]]
        yield "wall_time", f"{shown_seconds(record['wall_time_seconds'])} ({source})"
    if record["resource_estimate"] is not None:
        yield "estimate", estimate_line(record["resource_estimate"], record["resource_estimate_calibration"])


def estimate_line(receipt: dict[str, Any], calibration: dict[str, Any] | None) -> str:
    """What an attached estimate says: its figure, of what, and the calibrated one or why there is none."""
    memory = receipt["memory"]
    figure = memory["predicted_peak_bytes"]
    method = receipt["features"].get("method") or (receipt["evidence"] or {}).get("method")
    program = " ".join(str(word) for word in (receipt["program"], receipt["program_version"], method) if word)
    text = f"{_mib(figure)} ({memory['scope']} scope, {program})"
    if calibration is None:
        return text
    if calibration["status"] == "calibrated":
        figure = _mib(calibration["calibrated_peak_bytes"])
        return f"{text}; calibrated {figure} ({short(calibration)}, {calibration['hardware_class']})"
    return f"{text}; not calibrated: {calibration['reason'].replace('_', ' ')}"


def _mib(size: int | None) -> str:
    """A size in whole MiB, rounded up as a limit is."""
    return "unknown" if size is None else f"{-(-size // _MIB)} MiB"


def _times(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key in ("queued_at", "not_before", "started_at", "finished_at"):
        if record[key] is not None:
            yield key, shown_moment(record[key])
    if record["paused_seconds"]:
        yield "paused_seconds", str(record["paused_seconds"])


def _used(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    usage = record["usage"] or {}
    if usage.get("wall_seconds") is not None:
        yield "wall_seconds", str(usage["wall_seconds"])
    peak = usage.get("job_peak_bytes")
    if peak is not None:
        yield "peak", f"{human_bytes(peak)} (the whole job, without files: limits and admission go by this)"
    if usage.get("peak_rss_kb") is not None:
        yield "peak_rss", f"{human_bytes(usage['peak_rss_kb'] * 1024)} (its largest process, with files: estimates)"
    if usage.get("active_cpu_seconds") is not None:
        yield "cpu_seconds", str(usage["active_cpu_seconds"])
