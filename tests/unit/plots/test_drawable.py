from __future__ import annotations

from collections import Counter

import pytest

from made_reports import MIB, Run, report
from vq.plots import drawable as module
from vq.plots.drawable import NO_FIGURE, NO_PEAK, OTHER_GROUP, ZERO_PEAK, drawable


def test_what_has_no_figure_or_no_peak_is_counted_by_reason_and_verdict() -> None:
    runs = [
        Run(),
        Run(predicted=None),
        Run(predicted=None, measured=None),
        Run(measured=None),
        Run(measured=0),
        Run(measured=None, outcome="killed"),
    ]
    found = drawable(report(runs))
    assert found.left_out == {
        (NO_FIGURE, "no_prediction"): 2,
        (NO_PEAK, "unobserved"): 1,
        (NO_PEAK, "censored"): 1,
        (ZERO_PEAK, "within"): 1,
    }
    assert found.drawn == 1
    assert found.drawn + found.left_out.total() == len(runs)


def test_panels_keep_the_order_of_the_report_with_unknown_methods_last() -> None:
    found = drawable(report([Run(method=None), Run(method="RKS"), Run(method="HF", hardware="b"), Run(method="HF")]))
    assert [(panel.method, panel.hardware_class) for panel in found.panels] == [
        ("HF", "b"),
        ("HF", "class-a"),
        ("RKS", "class-a"),
        (None, "class-a"),
    ]


def test_underpredicted_by_its_limit_only_is_counted_apart() -> None:
    runs = [Run(outcome="oom_killed", limit=200 * MIB), Run(measured=101 * MIB)]
    found = drawable(report(runs))
    assert found.counts() == {"underpredicted": 2}
    assert found.not_above == 1


def test_a_group_without_a_point_keeps_its_panel() -> None:
    found = drawable(report([Run(), Run(method="HF", measured=None)]))
    assert [(panel.cases, panel.drawn) for panel in found.panels] == [(1, 0), (1, 1)]


def test_of_very_many_groups_the_largest_are_shown_and_the_others_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PANELS", 2)
    limited = Run(method="A", outcome="oom_killed", limit=200 * MIB)
    runs = [limited, *[Run(method="B")] * 2, *[Run(method="C")] * 2]
    found = drawable(report(runs))
    assert [panel.method for panel in found.panels] == ["B", "C"]
    assert found.other_groups == 1
    assert found.left_out == Counter({(OTHER_GROUP, "underpredicted"): 1})
    assert found.not_above == 0


@pytest.mark.parametrize("multiplier", [None, 4.0])
def test_the_domain_holds_every_point_and_its_calibrated_figure(multiplier: float | None) -> None:
    runs = [Run(predicted=2**20, measured=2**21), Run(predicted=2**30, measured=2**24)]
    low, high = drawable(report(runs, multiplier)).domain()
    assert low < 20
    assert high > (32 if multiplier else 30)
    assert high - low < 14


@pytest.mark.parametrize("size", [1, 3, 2**20, 2**20 - 1, 2**53 - 1])
def test_the_domain_of_one_point_spans_two_octaves_at_least(size: int) -> None:
    found = drawable(report([Run(predicted=size, measured=size)]))
    low, high = found.domain()
    point = found.panels[0].points["within"][0]
    assert low < point.predicted < high
    assert high - low >= 2
    assert point.calibrated is None
