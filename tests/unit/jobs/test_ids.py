"""What is no id is refused, with the id that was meant where it can be told."""

from __future__ import annotations

import pytest

from vq.errors import UsageError
from vq.jobs.ids import sequence_of


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a10", "did you mean b10? the letter counts the digits: a7, b10, c124"),
        ("10", "did you mean b10? the letter counts the digits: a7, b10, c124"),
        ("B10", "did you mean b10? the letter counts the digits: a7, b10, c124"),
        ("b7", "did you mean a7? the letter counts the digits: a7, b10, c124"),
        ("a0", "ids look like a7 or c124; `vq queue` shows them"),
        ("", "ids look like a7 or c124; `vq queue` shows them"),
        ("train.py", "ids look like a7 or c124; `vq queue` shows them"),
        ("9" * 19, "ids look like a7 or c124; `vq queue` shows them"),
    ],
)
def test_what_is_no_id_is_refused_with_the_one_that_was_meant(text: str, hint: str) -> None:
    with pytest.raises(UsageError, match="is no job id") as refused:
        sequence_of(text)
    assert refused.value.hint == hint
