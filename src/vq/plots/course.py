"""The course of a replay over time, in bounded memory: how many jobs ran, and what they reserved and used.

Time is cut into equal pieces, and each piece keeps the most of every figure that it saw. When a replay outgrows the
pieces, neighbours are joined, so that there are never more than twice as many as a picture can show.
"""

from __future__ import annotations

from vq.admission.replay import Moment

PIECES = 1280
"""The most pieces that a course keeps: half pixels of a picture's width."""

State = tuple[int, int, int]
"""How many jobs run, and the bytes that they reserve and use."""

_NOTHING: State = (0, 0, 0)


class Course:
    """What ran over time; `pieces` are the most of each figure, each for `width` milliseconds from `start` on."""

    def __init__(self) -> None:
        self.start = 0
        self.end = 0
        self.width = 1
        self.pieces: list[State] = []
        self._state = _NOTHING

    def look(self, moment: Moment) -> None:
        """Take in what runs from a moment on, not before the last."""
        if not self.pieces:
            self.start = moment.at
        place = (moment.at - self.start) // self.width
        while place >= PIECES:
            self._join()
            place = (moment.at - self.start) // self.width
        while len(self.pieces) <= place:
            self.pieces.append(self._state)
        self._state = (moment.running, moment.reserved, moment.used)
        self.pieces[place] = _most(self.pieces[place], self._state)
        self.end = moment.at

    def _join(self) -> None:
        """Let each piece be twice as long."""
        pairs = zip(self.pieces[::2], [*self.pieces[1::2], _NOTHING], strict=False)
        self.pieces = [_most(first, second) for first, second in pairs]
        self.width *= 2


def _most(first: State, second: State) -> State:
    return (max(first[0], second[0]), max(first[1], second[1]), max(first[2], second[2]))
