"""Reasons: data with a sentence."""

from __future__ import annotations

from typing import Any

import pytest

from vq.errors import BadDataError
from vq.jobs.reasons import Kind, Reason, read_reason, reason_document

MIB = 2**20
AT = 1_796_000_000_000

SENTENCES: list[tuple[Kind, dict[str, Any], str]] = [
    (Kind.HELD, {}, "held until it is resumed"),
    (Kind.NOT_BEFORE, {"at": AT}, "not to start before 2026-11-30 00:53:20 UTC"),
    (Kind.DEPENDENCY, {"job": "a7", "state": None}, "waits for a7"),
    (Kind.DEPENDENCY, {"job": "a7", "state": "FAILED"}, "a7, which it depends on, ended as FAILED"),
    (
        Kind.RETRY,
        {"attempt": 1, "cause": "failed", "at": AT},
        "attempt 1 failed; starts again from 2026-11-30 00:53:20 UTC on",
    ),
    (
        Kind.RETRY,
        {"attempt": 1, "cause": "oom", "at": AT},
        "attempt 1 met its memory limit and gets a larger one; starts again from 2026-11-30 00:53:20 UTC on",
    ),
    (Kind.DRAIN, {}, "the queue is draining and starts nothing new; `vq daemon resume` ends that"),
    (Kind.ARRAY, {"group": "a3", "at_once": 2}, "array a3 runs at most 2 at once"),
    (Kind.SLOT, {"profile": "big"}, "every slot of profile big is taken"),
    (Kind.MEMORY, {"needs": 3 * MIB, "free": MIB}, "needs 3 MiB of memory, 1 MiB are free"),
    (Kind.HOST_MEMORY, {"needs": 3 * MIB, "free": 0}, "needs 3 MiB that the host can spare, 0 bytes are free"),
    (Kind.CPU, {"needs": 1500, "free": 200}, "needs 1.5 CPUs, 0.2 are free"),
    (
        Kind.HIGH_WATER,
        {"used": 9 * MIB, "budget": 10 * MIB},
        "jobs use 9 MiB of the budget of 10 MiB, and nothing starts so close to it",
    ),
    (Kind.STALLED, {}, "the host stalls for memory"),
    (Kind.BEHIND, {"job": "a4"}, "a4 has waited so long that nothing may start before it"),
    (Kind.ENDING, {"cause": "kill", "at_once": True}, "being ended: `vq kill`"),
    (Kind.EXEC, {"program": "./run", "error": "no such file"}, "./run cannot be run: no such file"),
    (Kind.EXEC, {"program": "run", "error": "run: no such program"}, "run cannot be run: no such program"),
    (Kind.EXEC, {"program": "run", "error": "run: cannot be run: too long"}, "run cannot be run: too long"),
    (
        Kind.EXEC,
        {"program": "run", "error": "run: cannot be run; its format is another"},
        "run cannot be run; its format is another",
    ),
    (
        Kind.OOM,
        {"limit_fired": "job", "cap": 5 * MIB, "cap_source": None, "peak": None},
        "met its memory limit of 5 MiB (its share of the host); vq resubmit JOB --mem-mb N raises it",
    ),
    (
        Kind.OOM,
        {"limit_fired": "host", "cap": 5 * MIB, "cap_source": "profile", "peak": 4 * MIB},
        (
            "the jobs together met the host's memory limit, not this job its own of 5 MiB (from its profile);"
            " it was seen to use 4 MiB"
        ),
    ),
    (
        Kind.OUTGREW,
        {"reserved": 2 * MIB, "cap": 5 * MIB},
        (
            "the jobs together outgrew the memory of the host while 2 MiB were reserved for this one;"
            " it starts once more with its whole limit of 5 MiB reserved"
        ),
    ),
    (Kind.WALL_LIMIT, {"seconds": 5700}, "stopped at its time limit of 1:35:00"),
    (Kind.WALL_LIMIT, {"seconds": None}, "stopped at its time limit of unknown length"),
    (Kind.STARVED, {}, "stopped: it used almost no CPU for the configured time"),
    (Kind.KILL, {}, "killed by `vq kill`"),
    (Kind.LOST, {"what": "host"}, "the host went down while it ran, and how it ended is not known"),
    (Kind.NOT_STARTED, {"error": "no space"}, "the queue could not start it: no space"),
]


@pytest.mark.parametrize(("kind", "details", "sentence"), SENTENCES)
def test_a_reason_is_data_with_a_sentence_and_reads_back(kind: Kind, details: dict[str, Any], sentence: str) -> None:
    reason = Reason(kind=kind, details=details)
    assert reason.text == sentence
    document = reason_document(reason)
    assert document == {"kind": kind, "text": sentence, **details}
    assert read_reason(document) == reason


def test_every_kind_has_a_case_here() -> None:
    assert {kind for kind, _, _ in SENTENCES} == set(Kind)


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ("held", r"expected an object"),
        ({"text": ""}, r"\$\.reason\.kind"),
        ({"kind": "hold", "text": ""}, r"\$\.reason\.kind"),
        ({"kind": "held"}, r"\$\.reason\.text"),
        ({"kind": "held", "text": "", "at": 3}, r"\$\.reason\.at"),
        ({"kind": "behind", "text": ""}, r"\$\.reason\.job"),
    ],
)
def test_what_is_no_reason_is_refused(document: Any, path: str) -> None:
    with pytest.raises(BadDataError, match=path):
        read_reason(document, ("reason",))
