from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vq.admission.replay import Moment
from vq.plots.course import PIECES, Course


def course(*moments: tuple[int, int, int, int]) -> Course:
    made = Course()
    for moment in moments:
        made.look(Moment(*moment))
    return made


def test_each_piece_has_the_most_of_its_time() -> None:
    made = course((100, 1, 10, 5), (102, 2, 20, 6), (102, 1, 15, 7), (104, 0, 0, 0))
    assert (made.start, made.end, made.width) == (100, 104, 1)
    assert made.pieces == [(1, 10, 5), (1, 10, 5), (2, 20, 7), (1, 15, 7), (1, 15, 7)]


def test_nothing_seen_is_nothing_drawn() -> None:
    assert course().pieces == []


@given(st.lists(st.tuples(st.integers(0, 10**10), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)), min_size=1))
def test_pieces_are_bounded_cover_the_time_and_keep_the_most(moments: list[tuple[int, int, int, int]]) -> None:
    moments.sort(key=lambda moment: moment[0])
    made = course(*moments)
    assert len(made.pieces) <= PIECES
    assert len(made.pieces) == (made.end - made.start) // made.width + 1
    for figure in range(3):
        assert max(piece[figure] for piece in made.pieces) == max(moment[figure + 1] for moment in moments)
    for at, *figures in moments:
        piece = made.pieces[(at - made.start) // made.width]
        assert all(most >= figure for most, figure in zip(piece, figures, strict=True))
