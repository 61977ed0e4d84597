"""One reading of sizes: what is a size, what it comes to, and what a number without a unit means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vq.sizes import MIB, MOST_MIB, mebibytes, size_bytes

GIB = 1024 * MIB
FOREIGN = ("1\N{KELVIN SIGN}", "1M\N{LATIN SMALL LETTER DOTLESS I}B", "\N{ARABIC-INDIC DIGIT ONE}K")
"""Letters and digits that are not ours, though they fold to some or count as some."""


@pytest.mark.parametrize(
    ("text", "size"),
    [("1K", 1024), ("1.5GiB", 3 * GIB // 2), ("24g", 24 * GIB), ("2 TB", 2048 * GIB), ("7B", 7), ("0.3K", 307)],
)
def test_a_size_says_its_unit_and_means_powers_of_1024(text: str, size: int) -> None:
    assert size_bytes(text) == size_bytes(text, MIB) == size


def test_a_number_alone_is_of_the_unit_of_its_place_or_no_size() -> None:
    assert (size_bytes("3"), size_bytes("3", MIB), size_bytes("1.5e3", 1)) == (None, 3 * MIB, 1500)


@pytest.mark.parametrize("text", ["", "G", "-1G", "1X", "1iB", "1 G B", "1,5G", "0x1G", "²G", "1G\n", "infG", *FOREIGN])
def test_what_is_no_size(text: str) -> None:
    assert size_bytes(text, 1) is mebibytes(text) is None


@pytest.mark.parametrize(
    ("text", "mib"),
    [("4000", 4000), ("4G", 4096), ("1.5g", 1536), ("512MB", 512), ("1B", 1), ("1025K", 2), (str(MOST_MIB), MOST_MIB)],
)
def test_a_memory_limit_is_whole_mib_and_never_less_than_was_asked_for(text: str, mib: int) -> None:
    assert mebibytes(text) == mib


@pytest.mark.parametrize("text", ["0", "0G", "1.5", "1e3", str(MOST_MIB + 1), "9E", "-4", "4 000"])
def test_what_is_no_memory_limit(text: str) -> None:
    assert mebibytes(text) is None


@given(st.integers(1, MOST_MIB))
def test_a_number_and_the_same_with_its_unit_are_one_limit(mib: int) -> None:
    assert mebibytes(str(mib)) == mebibytes(f"{mib}M") == mebibytes(f"{mib * MIB}B") == mib
