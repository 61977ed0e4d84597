"""The states of jobs as options name them: in any case, and in the words of other queues where these mean the same."""

from __future__ import annotations

from typing import Any

import click

from vq.jobs.record import State

ELSEWHERE = {
    word: state
    for state, words in {
        State.PENDING: "pd waiting queued",
        State.RUNNING: "r",
        State.COMPLETED: "cd success succeeded",
        State.FAILED: "f",
        State.OOM_KILLED: "oom out_of_memory",
        State.TIME_EXCEEDED: "to timeout",
        State.KILLED: "ca cancelled canceled",
        State.INTERRUPTED: "nf node_fail",
    }.items()
    for word in words.split()
}
"""What Slurm, pueue and task-spooler call a state, in small letters, and which one it is here."""

_NO_STATE = {
    **dict.fromkeys(("done", "finished", "ended"), "completed is with exit code 0, and vq queue --all shows all jobs"),
    **dict.fromkeys(("paused", "suspended", "s"), "a paused job is running: --state running"),
    **dict.fromkeys(("held", "stashed"), "a held job is pending: --state pending"),
}
"""Words that no one state is meant by, and what to ask for instead."""


class StateWord(click.Choice[str]):
    """One of our states, or the word of another queue for it, as the value of the state."""

    def __init__(self) -> None:
        super().__init__([state.value for state in State], case_sensitive=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The value of the state; wrong usage otherwise, with the word that was meant where one is known."""
        word = str(value).lower().replace("-", "_")
        if word in _NO_STATE:
            self.fail(f"{value!r} is no state here: {_NO_STATE[word]}", param, ctx)
        meant = ELSEWHERE.get(word)
        return super().convert(word if meant is None else meant.value, param, ctx)
