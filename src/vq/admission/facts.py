"""Why something was decided, as data: what a program can compare, a document hold and a sentence be made of."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Fact:
    """One reason, by the `kind` that documents know it under, with its figures as fields."""

    kind: ClassVar[str]

    def as_data(self) -> dict[str, Any]:
        """The reason as a JSON object: its kind and its figures."""
        return {"kind": self.kind} | {field.name: getattr(self, field.name) for field in fields(self)}
