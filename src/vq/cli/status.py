"""`vq status`: all that is known of one job."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from typing import Any

import click

from vq.actions.place import Place, config_in_force
from vq.canonical import pretty
from vq.cli.clock import local_moment
from vq.cli.corrections import short
from vq.cli.endings import budget_of, next_step
from vq.cli.jobs import the_queue
from vq.cli.options import json_option, quiet_option
from vq.cli.output import Output
from vq.jobs.reasons import read_reason, reason_document
from vq.jobs.record import ACTIVE, Need, State
from vq.jobs.times import MINUTE_SECONDS, shown_seconds
from vq.store import jobs as stored
from vq.wording import MIB, counted, human_bytes, human_cpus, human_seconds

Entry = tuple[str, str]

_MS = 1000
_WHOLE = frozenset(("command", "folder", "workspace", "estimate", "next", "stdout", "stderr", "env"))
"""What is to be copied, or found by a program, and so stays in one line."""
_SOURCES = {
    "explicit": "as asked for",
    "calibrated-estimate": "calibrated estimate",
    "profile": "from its profile",
    "oom-retry": "from --oom-retry",
    None: "its share of the host",
}
_NEEDS = {Need.COMPLETED: "once it has completed", Need.ENDED: "once it has ended, however"}


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
@quiet_option("only the state")
def status(job: str, show_env: bool, as_json: bool, quiet: bool) -> None:  # noqa: FBT001 - click passes flags so
    """Show all that is known of JOB: what it is to do, how far it is, and what it used."""
    output = Output(json=as_json, quiet=quiet)
    with the_queue() as place:
        record = stored.full_record(place.store, job)
        environment = stored.environment(place.store, job) if show_env else None
        said: dict[str, str] = {}
        if as_json and record["state"] == State.PENDING:
            record["reason"] = _waits_for(place, job) or record["reason"]
        if not (as_json or quiet):
            said = dict(_admission(place, job) if record["state"] in ACTIVE else _ending(place, job))
    if output.json:
        output.document([pretty({**record, "environment": environment} if show_env else record)])
        return
    if output.quiet:
        output.line(record["state"])
        return
    env = [("env", f"{name}={value}") for name, value in sorted((environment or {}).items())]
    output.entries([*(list(group) for group in _groups({**record, "said": said})), env], whole=_WHOLE)


def _groups(record: dict[str, Any]) -> Iterator[Iterator[Entry]]:
    """What is shown of a record: who it is and how it stands, its work, its limits, its times, its use, its logs."""
    yield _standing(record)
    yield _work(record)
    yield _limits(record)
    yield _times(record)
    yield _used(record)
    paths = ((name, record[f"{name}_path"]) for name in ("stdout", "stderr"))
    yield ((name, _there(path, record)) for name, path in paths if path is not None)


def _there(path: str, record: dict[str, Any]) -> str:
    """A path of the record, and whether what an ended job leaves there is not: purged, or never written."""
    is_gone = State(record["state"]).ended and not os.path.lexists(path)
    return f"{path} (not there)" if is_gone else path


def _standing(record: dict[str, Any]) -> Iterator[Entry]:
    yield "id", record["id"]
    yield "name", f"{record['name']} ({_of(record)})"
    yield "state", _state(record)
    if "waits" in record["said"]:
        yield "waits", record["said"]["waits"]
    elif record["reason"] is not None:
        yield "reason", read_reason(record["reason"]).what
    if "next" in record["said"]:
        yield "next", record["said"]["next"]


def _admission(place: Place, identifier: str) -> Iterator[Entry]:
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
    step = next_step(found.job, config.host.memory_max_bytes)
    if step is not None:
        yield "next", step


def _waits_for(place: Place, identifier: str) -> dict[str, Any] | None:
    """Why a waiting job waits; None where nothing keeps it."""
    from vq.actions.explain import explain  # noqa: PLC0415 - as above
    from vq.actions.requesting import now_ms  # noqa: PLC0415

    reason = explain(place, identifier, config_in_force(place, os.environ), now_ms()).reason
    return None if reason is None else reason_document(reason)


def _ending(place: Place, identifier: str) -> Iterator[Entry]:
    """The command that helps a job that ended badly."""
    step = next_step(stored.read(place.store, identifier), budget_of(place))
    if step is not None:
        yield "next", step


def _work(record: dict[str, Any]) -> Iterator[Entry]:
    yield "command", shlex.join(record["command"])
    if record["cwd"] is not None:
        yield "folder", _there(record["cwd"], record)
    if record["workspace"] not in (None, record["cwd"]):
        yield "workspace", _there(record["workspace"], record)
    for key in ("profile", "priority"):
        if record[key] not in ("default", 0):
            yield key, str(record[key])
    if record["retry"]:
        yield "retry", f"up to {counted(record['retry'], 'time')}, after a plain failure"
    if record["tags"]:
        yield "tags", ", ".join(record["tags"])
    if record["array"] is not None:
        array = record["array"]
        yield "array", f"{array['group']}, index {array['index']} of {array['total']}"
    for need in record["depends_on"]:
        yield "after", f"{need['job']}, {_NEEDS[need['kind']]}"
    if record["parent"] is not None:
        yield "in place of", record["parent"]


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


def _limits(record: dict[str, Any]) -> Iterator[Entry]:
    yield "cpus", str(record["cpus"])
    yield "mem_mb", f"{record['mem_mb']} ({_SOURCES[record['mem_mb_source']]})"
    if "reserved" in record["said"]:
        yield "reserved", record["said"]["reserved"]
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
    return "unknown" if size is None else f"{-(-size // MIB)} MiB"


def _times(record: dict[str, Any]) -> Iterator[Entry]:
    queued, started, finished = record["queued_at"], record["started_at"], record["finished_at"]
    yield "submitted", local_moment(queued)
    if record["not_before"] is not None:
        yield "not before", local_moment(record["not_before"])
    if started is not None:
        waited = f" (waited {_seconds((started - queued) / _MS)})" if record["attempt"] == 1 else ""
        yield "started", f"{local_moment(started)}{waited}"
    if finished is not None:
        measured = (record["usage"] or {}).get("wall_seconds")
        ran = "" if started is None else f" (ran {_seconds(measured or (finished - started) / _MS)})"
        yield "ended", f"{local_moment(finished)}{ran}"
    if record["paused_seconds"]:
        yield "paused", _seconds(record["paused_seconds"])


def _seconds(seconds: float) -> str:
    """A span: of what is short, the hundredths of a second, too."""
    return f"{max(0.0, seconds):.2f} s" if seconds < MINUTE_SECONDS else human_seconds(int(seconds))


def _used(record: dict[str, Any]) -> Iterator[Entry]:
    usage = record["usage"] or {}
    peak = usage.get("job_peak_bytes")
    if peak is not None:
        yield "peak", f"{human_bytes(peak)} (the whole job, without files; limits go by it)"
    if usage.get("peak_rss_kb") is not None:
        yield "largest process", f"{human_bytes(usage['peak_rss_kb'] * 1024)} (with files; estimates go by it)"
    if usage.get("active_cpu_seconds") is not None:
        average = usage.get("average_cpu_millicores")
        on_average = "" if average is None else f" ({human_cpus(round(average))} on average)"
        yield "cpu time", f"{_seconds(usage['active_cpu_seconds'])}{on_average}"
