"""Frozen, slotted, keyword-only dataclasses that are made in a tenth of the time, for what every command loads.

The decorator of the standard library writes and compiles six functions for each class, which takes half a millisecond
of every start, and `vq submit` needs dozens of classes. Here they share functions that go by the fields. What comes
out is a dataclass to `fields`, `replace`, `asdict` and `match`, and it is equal, hashed, shown and refused as one. It
takes a microsecond more to make a value, which is why those that are made by the million stay with the standard one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable
from dataclasses import MISSING, FrozenInstanceError, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any


def _dataclass(*, frozen: bool, slots: bool, kw_only: bool) -> Callable[[type], type]:
    """The decorator of a class that is a value, as that of the standard library with these arguments, all true."""
    if not (frozen and slots and kw_only):
        raise TypeError("a class that is not frozen, slotted and keyword-only is made by the standard library")
    return _value


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - the one that type checkers understand
else:
    dataclass = _dataclass


def _value(written: type) -> type:
    cls: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=True)(written)
    cls.__init__ = _initialiser(cls)
    cls.__eq__, cls.__hash__ = _comparison(cls)
    cls.__repr__ = _shown
    cls.__setattr__ = _refuse_to_set
    cls.__delattr__ = _refuse_to_delete
    return cls  # type: ignore[no-any-return]  # a class that has been given methods


def _initialiser(cls: Any) -> Callable[..., None]:
    # By the slots themselves, because `__setattr__` refuses.
    put = {field.name: getattr(cls, field.name).__set__ for field in fields(cls)}
    plain = {field.name: field.default for field in fields(cls) if field.default is not MISSING}
    made = {field.name: field.default_factory for field in fields(cls) if field.default_factory is not MISSING}

    def initialise(self: object, /, **given: Any) -> None:
        if len(given) != len(put):
            given = {**plain, **{name: make() for name, make in made.items() if name not in given}, **given}
            if absent := [name for name in put if name not in given]:
                raise TypeError(f"{cls.__qualname__} needs {', '.join(absent)}")
        try:
            for name, value in given.items():
                put[name](self, value)
        except KeyError as error:
            raise TypeError(f"{cls.__qualname__} has no {error}") from None

    return initialise


def _comparison(cls: Any) -> tuple[Callable[[Any, object], bool], Callable[[Any], int]]:
    values: Callable[[Any], Hashable] = attrgetter(*(field.name for field in fields(cls)))

    def is_equal(self: object, other: object) -> bool:
        return values(self) == values(other) if type(self) is type(other) else NotImplemented

    def hashed(self: object) -> int:
        return hash(values(self))

    return is_equal, hashed


def _shown(self: Any) -> str:
    pairs = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(pairs)})"


def _refuse_to_set(_: object, name: str, __: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")
