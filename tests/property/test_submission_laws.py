"""What a submission's words mean: time forms, lists, arrays, limits, and which jobs a selection is of."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from made_jobs import job as made_job
from vq.actions.limits import limits_of
from vq.actions.lists import read_orders
from vq.actions.naming import name_of
from vq.actions.orders import read_array, read_order
from vq.actions.place import Place
from vq.actions.requesting import Chosen, choose
from vq.config.resolve import Facts, resolve
from vq.errors import UsageError, VqError
from vq.jobs.record import Array, MemorySource
from vq.store.connection import open_store
from vq.store.submitting import Submission, submit

WORD = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)
COMMAND = st.lists(WORD, min_size=1, max_size=5)
NUMBER = st.integers(0, 59)
QUIETLY = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


@given(st.integers(0, 99), st.integers(0, 23), NUMBER, NUMBER)
def test_every_form_of_a_time_limit_is_the_same_limit(days: int, hours: int, minutes: int, seconds: int) -> None:
    whole = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    forms: list[dict[str, int | str]] = [
        {"time_limit": f"{days}-{hours}:{minutes:02}:{seconds:02}"},
        {"time_limit": f"{days * 24 + hours}:{minutes:02}:{seconds:02}"},
        {"time": f"{whole // 60}:{seconds:02}"},
        {"wall_time_seconds": whole},
    ]
    if not seconds:
        forms.append({"time": whole // 60})
    for form in forms:
        if whole:
            assert read_order(form, ["x"]).wall_time_seconds == whole
        else:
            with pytest.raises(UsageError):
                read_order(form, ["x"])


@QUIETLY
@given(commands=st.lists(COMMAND, min_size=1, max_size=4), as_json=st.booleans())
def test_a_list_says_the_very_commands(tmp_path: Path, commands: list[list[str]], as_json: bool) -> None:  # noqa: FBT001
    path = tmp_path / "list"
    write = (lambda words: json.dumps({"command": words})) if as_json else shlex.join
    lines = [write(words) for words in commands]
    kept = [
        words for words, line in zip(commands, lines, strict=True) if as_json or not line.strip().startswith(("#", "{"))
    ]
    path.write_text("\n".join(line for words, line in zip(commands, lines, strict=True) if words in kept) + "\n")
    if kept:
        assert [list(order.command) for order in read_orders(str(path), {})] == kept


@given(st.integers(1, 100_000), st.integers(1, 100_000) | st.none())
def test_an_array_is_what_was_written(total: int, at_once: int | None) -> None:
    array = read_array(str(total) if at_once is None else f"{total}%{at_once}")
    assert (array.total, array.at_once) == (total, at_once)


@given(st.text(max_size=6))
def test_any_text_is_an_array_or_refused(text: str) -> None:
    try:
        array = read_array(text)
    except UsageError:
        return
    assert array.total >= 1


@given(COMMAND)
def test_every_command_has_a_name_that_can_be_shown(command: list[str]) -> None:
    name = name_of(command)
    assert name
    assert name.isprintable()


@given(
    cpus=st.none() | st.integers(1, 6),
    mem_mb=st.none() | st.integers(1, 5000),
    budget_mb=st.integers(1, 4096),
    host_cpus=st.integers(1, 4),
)
def test_a_limit_is_within_the_budget_or_refused(
    cpus: int | None, mem_mb: int | None, budget_mb: int, host_cpus: int
) -> None:
    text = f'[host]\nmemory_max = "{budget_mb}M"\ncpus = {host_cpus}\n'
    config = resolve(text, Facts(memory_bytes=2**40, cpus=64), environment={}, flags={})
    order = read_order({"cpus": cpus, "mem_mb": mem_mb}, ["x"])
    impossible = (cpus or 1) > host_cpus or (mem_mb or 1) > budget_mb
    try:
        limits = limits_of(order, None, config)
    except UsageError:
        assert impossible
        return
    assert not impossible
    assert 1 <= limits.mem_mb <= budget_mb
    assert limits.mem_mb_source is (None if mem_mb is None else MemorySource.EXPLICIT)
    if mem_mb is None:
        assert limits.mem_mb >= min(2048, budget_mb)


JOBS = st.lists(
    st.tuples(st.sampled_from("xy"), st.sets(st.sampled_from("st")), st.integers(1, 2)), min_size=1, max_size=5
)


@QUIETLY
@given(
    jobs=JOBS,
    name=st.none() | st.sampled_from("xy"),
    tag=st.none() | st.sampled_from("st"),
    everything=st.booleans(),
)
def test_a_selection_is_of_all_jobs_that_have_what_it_says_and_of_no_other(
    tmp_path_factory: pytest.TempPathFactory,
    jobs: list[tuple[str, set[str], int]],
    name: str | None,
    tag: str | None,
    everything: bool,  # noqa: FBT001 - Hypothesis passes it so
) -> None:
    folder = tmp_path_factory.mktemp("state", numbered=True)
    folder.chmod(0o700)
    expected, groups = [], []
    with open_store(str(folder)) as store:
        for of_name, tags, size in jobs:
            arrays = [Array(group="", index=index, total=size) for index in range(size)]
            made = [Submission(job=made_job(name=of_name, tags=tuple(sorted(tags)), array=array)) for array in arrays]
            ids = [identifier for identifier, _ in submit(store, made).jobs]
            groups.append(ids)
            if name in (None, of_name) and (tag is None or tag in tags):
                expected += ids
        place = Place(folder=str(folder), store=store)
        chosen = Chosen(name=name, tag=tag, everything=everything)
        if (name, tag, everything) == (None, None, False):
            with pytest.raises(UsageError):
                choose(place, chosen)
        elif expected or everything:
            assert choose(place, chosen) == expected
        else:
            with pytest.raises(VqError):
                choose(place, chosen)
        assert choose(place, Chosen(array=groups[-1][0])) == groups[-1]
        assert choose(place, Chosen(identifiers=(*groups[0], groups[0][0]))) == groups[0]
