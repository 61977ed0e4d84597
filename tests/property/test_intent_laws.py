"""Laws of idempotency: the same asked again is the same, and each thing asked differently is another."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vq.errors import BadDataError, UsageError
from vq.jobs.intent import Asked, check_key, intent_digest
from vq.jobs.record import Dependency, MemorySource, Need, Reserve, WallSource

TRUE = Asked(command=("true",))

OTHERWISE: dict[str, Any] = {
    "command": ("true", ""),
    "payload_sha256": "0" * 64,
    "here": "/home/somebody",
    "repository": "owner/name",
    "workflow": "CI",
    "name": "name",
    "profile": "big",
    "tags": ("t",),
    "cpus": 1,
    "mem_mb": 1,
    "mem_mb_source": MemorySource.EXPLICIT,
    "wall_time_seconds": 1,
    "wall_time_source": WallSource.EXPLICIT,
    "reserve": Reserve.CAP,
    "priority": 0,
    "depends_on": (Dependency(job="a1", kind=Need.ENDED),),
    "retry": 0,
    "oom_retry": "max",
    "auto_resume": True,
    "not_before": "+2h",
    "clean_env": True,
    "env": {"A": "1"},
    "estimate_sha256": "1" * 64,
    "calibration_sha256": "2" * 64,
}

asked = st.dictionaries(st.sampled_from(sorted(set(OTHERWISE) - {"command"})), st.none()).map(
    lambda chosen: replace(TRUE, **{key: OTHERWISE[key] for key in chosen})
)


def test_every_thing_that_can_be_asked_stands_here() -> None:
    assert set(OTHERWISE) == {field.name for field in fields(Asked)}


@given(asked, st.sampled_from(sorted(OTHERWISE)))
def test_each_thing_asked_differently_is_another_intent(one: Asked, key: str) -> None:
    other = replace(one, **{key: OTHERWISE[key]})
    assert (intent_digest(other) == intent_digest(one)) is (other == one)


@given(st.dictionaries(st.text(max_size=4), st.text(max_size=4)), st.randoms())
def test_the_order_of_keys_tags_and_dependencies_says_nothing(env: dict[str, str], random: Any) -> None:
    tags = ["b", "a", "a"]
    needs = [Dependency(job="a2", kind=Need.ENDED), Dependency(job="a1", kind=Need.COMPLETED)]
    one = replace(TRUE, env=env, tags=tuple(tags), depends_on=tuple(needs))
    pairs = list(env.items())
    for shuffled in (tags, needs, pairs):
        random.shuffle(shuffled)
    other = replace(TRUE, env=dict(pairs), tags=tuple(tags), depends_on=tuple(needs))
    assert intent_digest(one) == intent_digest(other)


def test_a_submission_without_an_estimate_keeps_its_digest() -> None:
    assert intent_digest(TRUE) == "c71e7015963e6c74b6148bffa3aae164d809bccc6db225dbfa3e6a3b21b71f59"


def test_text_that_is_not_unicode_is_refused() -> None:
    with pytest.raises(BadDataError, match="surrogates"):
        intent_digest(Asked(command=("a\udcff",)))


@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}", fullmatch=True))
def test_a_key_is_taken(key: str) -> None:
    check_key(key)


@pytest.mark.parametrize("key", ["", "-a", ".a", "a b", "a/b", "a\n", "ä", "a" * 129])
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(UsageError, match="no idempotency key"):
        check_key(key)
