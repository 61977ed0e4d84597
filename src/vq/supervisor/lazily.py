"""Put off a module that is imported and hardly ever used, so that a supervisor stays small."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _PutOff(ModuleType):
    """Stands for a module until something in it is asked for.

    The loader of the standard library that does this loads at the next `import` already, which is too early here.
    """

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def put_off(name: str) -> None:
    """Have the module `name` loaded when something in it is first used, and not when it is imported."""
    if name not in sys.modules:
        sys.modules[name] = _PutOff(name)
