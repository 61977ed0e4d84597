"""What the demonstrations print: text, headings and the output of commands, laid out for 80 columns."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from typing import Any

from vq.canonical import parse
from vq.errors import VqError

PAGE = 80
REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def say(text: str) -> None:
    """Print text; a line wider than the page goes on below, where a space allows."""
    for line in text.splitlines():
        print("\n".join(textwrap.wrap(line, PAGE, break_long_words=False, break_on_hyphens=False)) or "")


def paragraph(text: str) -> None:
    """Print running text, laid out for the page."""
    print(textwrap.fill(" ".join(text.split()), PAGE, break_on_hyphens=False) + "\n")


def heading(text: str) -> None:
    """Print the title of a step."""
    print(f"{text}\n{'=' * len(text)}\n")


def load(path: str) -> dict[str, Any]:
    """The JSON document in a file."""
    with open(path, "rb") as file:
        return parse(file.read())


def installed() -> str:
    """The path of the command `vq` beside this Python, else of the first on PATH; raises `VqError` without one."""
    beside = os.path.join(os.path.dirname(sys.executable), "vq")
    found = beside if os.access(beside, os.X_OK) else shutil.which("vq")
    if found is None:
        raise VqError("the command vq is not installed beside this Python; run: make setup")
    return found
