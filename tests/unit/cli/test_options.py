from __future__ import annotations

import sys

import pytest

from vq.cli.options import progress


class Terminal:
    """A stderr that is a terminal and remembers what it was told."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass


def test_many_cases_are_counted_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    cases = range(2000)
    assert list(progress(cases)) == list(cases)
    shown = terminal.text.split("\r")
    assert shown[1:5] == [f"{number:,} of 2,000 cases" for number in (0, 500, 1000, 1500)]
    assert shown[-1] == "\x1b[K"


def test_the_line_goes_away_after_an_error_too(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    counted = iter(progress(range(5000)))
    next(counted)
    counted.close()  # type: ignore[attr-defined]  # a generator
    assert terminal.text.endswith("\r\x1b[K")


@pytest.mark.parametrize("number", [1999, 2000])
def test_few_cases_or_no_terminal_are_left_alone(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    cases = range(number)
    assert progress(cases) is cases
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert (progress(cases) is cases) is (number < 2000)
