from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from histories import GIB, HOUR, histories, run, setups
from vq.admission import Policy, Profile, Run, Setup, simulate
from vq.plots.course import Course
from vq.plots.replay import TITLE, draw

SVG = "{http://www.w3.org/2000/svg}"
SETUP = Setup(margin=15, min_jobs=3, profiles={"small": Profile(memory=GIB, cpus=2)}, memory_max=4 * GIB, mirror=GIB)
ROWS = [run(queued_at=at * 1000, started_at=at * 1000, finished_at=at * 1000 + HOUR) for at in range(20)]


def courses(setup: Setup, rows: list[Run], *policies: Policy) -> Mapping[Policy, Course]:
    found = {policy: Course() for policy in policies or tuple(Policy)}
    for policy, course in found.items():
        simulate(setup, rows, policy, look=course.look)
    return found


def picture(setup: Setup, rows: list[Run], *policies: Policy) -> str:
    return "".join(draw(courses(setup, rows, *policies), setup))


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314 - our own text


def test_the_picture_names_its_panels_axes_and_budget() -> None:
    said = texts(picture(SETUP, ROWS))
    assert said[0] == TITLE
    for expected in (
        "Running jobs",
        "Memory by limits (caps)",
        "Memory by measured peaks",
        "used",
        "reserved",
        "Time since the first job was queued",
        "2 h",
        "2 GiB",
        "Dashed: the memory budget of 3 GiB.",
    ):
        assert expected in said


def test_one_policy_has_one_panel_of_memory() -> None:
    said = texts(picture(SETUP, ROWS, Policy.MEASURED))
    assert "Memory by measured peaks" in said
    assert "Memory by limits (caps)" not in said


def test_without_a_budget_there_is_no_dashed_line() -> None:
    svg = picture(replace(SETUP, memory_max=None), ROWS)
    assert "stroke-dasharray" not in svg
    assert not any("budget" in text for text in texts(svg))


def test_the_line_of_running_jobs_goes_from_the_first_start_to_the_last_end() -> None:
    svg = ET.fromstring(picture(SETUP, ROWS[:1], Policy.CAPS))  # noqa: S314 - our own text
    lines = [element.get("d") or "" for element in svg.iter(f"{SVG}path") if element.get("class") == "caps"]
    assert lines[1] == "M84 196H84V136H724"


def test_how_much_time_a_point_stands_for_is_said_where_it_is_seconds() -> None:
    assert any(text.startswith("Each point") for text in texts(picture(SETUP, ROWS)))
    assert not any(text.startswith("Each point") for text in texts(picture(SETUP, [run()])))


def test_a_history_without_jobs_says_so() -> None:
    said = texts(picture(SETUP, []))
    assert "Nothing to draw: no job of the history can be replayed." in said


@pytest.mark.parametrize("days", [1, 30, 4000])
def test_long_histories_have_days_on_their_axis(days: int) -> None:
    rows = [run(), run(queued_at=days * 24 * HOUR, started_at=0, finished_at=1000)]
    said = texts(picture(SETUP, rows))
    assert any(text.endswith((" d", " h")) for text in said)
    assert sum(text.endswith((" d", " h")) for text in said) <= 8


@settings(max_examples=25, deadline=None)
@given(setups(), histories(), st.sets(st.sampled_from(Policy), min_size=1))
def test_any_replay_is_a_well_formed_picture_and_always_the_same(
    setup: Setup, rows: list[Run], policies: set[Policy]
) -> None:
    chosen = sorted(policies, key=lambda policy: policy.value)
    svg = picture(setup, rows, *chosen)
    ET.fromstring(svg)  # noqa: S314 - our own text
    assert svg == picture(setup, rows, *chosen)
    assert "nan" not in svg
