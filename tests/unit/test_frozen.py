"""What is made here is what the standard library makes, by every use that the project has of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from vq import frozen


def one(decorator: Callable[..., Callable[[type], type]]) -> Any:
    class Place:
        """Somewhere."""

        name: str
        size: int | None = None
        notes: Mapping[str, str] = dataclasses.field(default_factory=dict)
        hidden: str = dataclasses.field(default="s", repr=False)

        @property
        def double(self) -> int:
            return 2 * (self.size or 0)

    return decorator(frozen=True, slots=True, kw_only=True)(Place)


OURS, THEIRS = one(frozen.dataclass), one(dataclasses.dataclass)
BOTH = pytest.mark.parametrize("made", [OURS, THEIRS], ids=["ours", "theirs"])


@BOTH
def test_fields_have_what_was_given_or_their_defaults(made: Any) -> None:
    place = made(name="a")
    assert (place.name, place.size, place.notes, place.hidden) == ("a", None, {}, "s")
    assert made(size=3, name="a").double == 6
    assert place.notes is not made(name="a").notes
    assert dataclasses.asdict(place) == {"name": "a", "size": None, "notes": {}, "hidden": "s"}
    assert [field.name for field in dataclasses.fields(made)] == ["name", "size", "notes", "hidden"]


@BOTH
def test_equal_is_of_one_class_and_equal_in_every_field(made: Any) -> None:
    assert made(name="a") == made(name="a")
    assert made(name="a") != made(name="a", hidden="t")
    assert OURS(name="a") != THEIRS(name="a")
    assert made(name="a") != ("a", None, {}, "s")


@BOTH
def test_it_cannot_be_changed_only_replaced(made: Any) -> None:
    place = made(name="a", size=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        place.name = "b"
    with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):  # the latter is a slip of Python 3.11
        place.other = "b"
    with pytest.raises(dataclasses.FrozenInstanceError):
        del place.name
    assert not hasattr(place, "__dict__")
    assert dataclasses.replace(place, name="b") == made(name="b", size=1)
    assert place == made(name="a", size=1)


@BOTH
def test_what_is_no_field_and_what_lacks_one_is_refused(made: Any) -> None:
    with pytest.raises(TypeError, match="name"):
        made()
    with pytest.raises(TypeError, match="name"):
        made(size=1, notes={}, hidden="t")
    for given in ({"name": "a", "other": 1}, {"name": "a", "size": 1, "notes": {}, "hidden": "", "other": 1}):
        with pytest.raises(TypeError, match="other"):
            made(**given)
    with pytest.raises(TypeError):
        made("a")


@BOTH
def test_it_is_shown_as_it_would_be_written(made: Any) -> None:
    assert repr(made(name="a", size=1)) == "one.<locals>.Place(name='a', size=1, notes={})"


@pytest.mark.parametrize("decorator", [frozen.dataclass, dataclasses.dataclass], ids=["ours", "theirs"])
def test_it_is_hashed_by_its_fields(decorator: Callable[..., Callable[[type], type]]) -> None:
    class Pair:
        first: int
        second: str

    made: Any = decorator(frozen=True, slots=True, kw_only=True)(Pair)
    assert {made(first=1, second="a"), made(second="a", first=1), made(first=2, second="a")} == {
        made(first=1, second="a"),
        made(first=2, second="a"),
    }
    assert hash(made(first=1, second="a")) == hash((1, "a"))


@BOTH
def test_it_is_matched_by_its_fields(made: Any) -> None:
    match made(name="a", size=4):
        case object(name="a", size=size):
            assert size == 4
        case _:
            pytest.fail("a dataclass has its fields to match")


def test_any_other_form_is_left_to_the_standard_library() -> None:
    with pytest.raises(TypeError):
        frozen.dataclass(frozen=False, slots=True, kw_only=True)
