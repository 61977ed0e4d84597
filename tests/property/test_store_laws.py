"""Laws of the store: two connections that do this and that by turns agree with a queue that is kept in memory."""

from __future__ import annotations

import tempfile
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from made_jobs import NOW, ended, job, started
from vq.jobs.events import Event, HostRebooted, KillRequested, Paused, Resumed
from vq.jobs.lifecycle import TransitionError, advance
from vq.jobs.record import Dependency, Job, Need, State
from vq.store.advancing import advance_jobs
from vq.store.connection import Store, open_store
from vq.store.history import rows_in_order
from vq.store.jobs import active, counts, read, states
from vq.store.submitting import Claim, ConflictError, Submission, submit

which = st.integers(0, 1)
_events = st.sampled_from(
    (
        started(NOW + 10**7),
        ended(NOW + 10**7 + 5, 1),
        ended(NOW + 10**7 + 5, 1, 1),
        KillRequested(at_ms=NOW + 7),
        Paused(at_ms=NOW + 8),
        Resumed(at_ms=NOW + 9),
        HostRebooted(at_ms=NOW + 10**7 + 6, attempt=1),
    )
)


class TwoConnections(RuleBasedStateMachine):
    """A submitter and a daemon, each with a connection of its own, beside jobs kept in a dictionary."""

    jobs = Bundle("jobs")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.stores = [open_store(f"{self.folder.name}/vq"), open_store(f"{self.folder.name}/vq")]
        self.known: dict[str, Job] = {}
        self.keys: dict[str, tuple[str, str]] = {}
        self.rows = 0

    def teardown(self) -> None:
        for store in self.stores:
            store.close()
        self.folder.cleanup()

    def _store(self, place: int) -> Store:
        return self.stores[place]

    @rule(target=jobs, place=which, retry=st.integers(0, 1), resume=st.booleans(), needs=st.lists(jobs, max_size=2))
    def accept(self, place: int, retry: int, resume: bool, needs: list[str]) -> str:  # noqa: FBT001 - a strategy's
        depends_on = tuple(Dependency(job=need, kind=Need.ENDED) for need in needs)
        made = job(retry=retry, auto_resume=resume, depends_on=depends_on)
        ((identifier, state),) = submit(self._store(place), [Submission(job=made)]).jobs
        assert identifier not in self.known
        assert state is State.PENDING
        self.known[identifier] = read(self._store(place), identifier)
        return identifier

    @rule(place=which, key=st.sampled_from("abc"), intent=st.sampled_from("xy"))
    def claim(self, place: int, key: str, intent: str) -> None:
        try:
            accepted = submit(self._store(place), [Submission(job=job())], Claim(key=key, intent=intent))
        except ConflictError:
            assert self.keys[key][0] != intent
            return
        ((identifier, _),) = accepted.jobs
        assert accepted.existing is (key in self.keys)
        assert self.keys.setdefault(key, (intent, identifier)) == (intent, identifier)
        self.known.setdefault(identifier, read(self._store(place), identifier))

    @rule(place=which, identifier=jobs, event=_events)
    def happen(self, place: int, identifier: str, event: Event) -> None:
        expected, refused = self.known[identifier], False
        try:
            expected, _ = advance(expected, event)
        except TransitionError:
            refused = True
        done = advance_jobs(self._store(place), [(identifier, event)])
        assert bool(done.refused) is refused
        assert done.jobs[identifier] == expected
        self.rows += len(done.rows)
        self.known.update(done.jobs)

    @invariant()
    def both_see_the_same(self) -> None:
        for store in self.stores:
            assert {each.id: each for each in active(store)} == {
                identifier: each for identifier, each in self.known.items() if not each.state.ended
            }
            assert states(store, self.known) == {identifier: each.state for identifier, each in self.known.items()}
            tally: dict[State, int] = {}
            for each in self.known.values():
                tally[each.state] = tally.get(each.state, 0) + 1
            assert counts(store) == tally

    @invariant()
    def each_attempt_that_ran_has_one_row(self) -> None:
        assert len(list(rows_in_order(self.stores[0]))) == self.rows

    @invariant()
    def nobody_waits_for_what_has_ended(self) -> None:
        for each in self.known.values():
            for need in each.life.waiting_for:
                assert not self.known[need].state.ended


TestTwoConnections: Any = TwoConnections.TestCase
TestTwoConnections.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
