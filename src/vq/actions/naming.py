"""What a job is called where nobody says it: its repository and its name, as admission tells jobs apart by them.

The repository is the owner and name in the address of the Git remote `origin`, read from the files of the repository
without running anything; without one it is the name of the folder. The name is that of the script, of the file that
an interpreter is given, else of the program.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from vq.wording import escape

_INTERPRETERS = (
    (r"(?:ba|da|z|k|fi)?sh", r"-[A-Za-z]*c|--command|-"),
    (r"(?:python|pypy)[0-9.]*", r"-[A-Za-z]*[cm]|-"),
    (r"(?:perl|ruby|lua|php|node|julia|Rscript|octave)[0-9.]*", r"-[A-Za-z]*[eEr]|--eval|-"),
)
"""Interpreters, and the options by which they are given code, not a file; compiled where a command needs it."""
_REMOTE = r'\s*\[remote "origin"\]\s*(?:[#;].*)?'
_URL = r"\s*url\s*=\s*(\S+)\s*"
_MOST_BYTES = 256 * 1024

_ENV_TAKES_A_VALUE = frozenset(("-u", "--unset", "-C", "--chdir"))


def name_of(command: Sequence[str]) -> str:
    """The name of a job that runs `command`."""
    program, rest = _base(command[0]), list(command[1:])
    if program == "env":
        while rest and (rest[0].startswith("-") or "=" in rest[0]):
            del rest[: 2 if rest[0] in _ENV_TAKES_A_VALUE else 1]
        return name_of(rest) if rest else program
    for interpreter, takes_code in _INTERPRETERS:
        if re.fullmatch(interpreter, program):
            return _first_file(rest, takes_code) or program
    return program


def _first_file(words: Sequence[str], takes_code: str) -> str | None:
    for word in words:
        if re.fullmatch(takes_code, word):
            return None
        if word and not word.startswith("-"):
            return _base(word)
    return None


def repository_of(folder: str) -> str:
    """The repository that `folder` lies in: `owner/name` of its remote, else the name of a folder."""
    top = _git_folder(folder)
    if top is None:
        return _base(os.path.abspath(folder))
    return _owner_and_name(_remote_url(os.path.join(top, ".git"))) or _base(top)


def _base(path: str) -> str:
    """The last part of a path, as text that can be shown."""
    part = os.path.basename(path.rstrip("/")) or path
    return escape(os.fsencode(part).decode("utf-8", "backslashreplace"))


def _git_folder(folder: str) -> str | None:
    here = os.path.abspath(folder)
    while not os.path.lexists(os.path.join(here, ".git")):
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above
    return here


def _remote_url(git: str) -> str | None:
    """The address of `origin`; `git` is the folder, or, in a work tree beside it, a file that names the folder."""
    if not os.path.isdir(git):
        words = _text(git).split(maxsplit=1)
        git = os.path.join(os.path.dirname(git), words[1].strip()) if len(words) > 1 else git
        common = _text(os.path.join(git, "commondir")).strip()
        git = os.path.join(git, common) if common else git
    inside = False
    for line in _text(os.path.join(git, "config")).splitlines():
        if line.lstrip().startswith("["):
            inside = re.fullmatch(_REMOTE, line) is not None
        elif inside and (found := re.fullmatch(_URL, line)):
            return found[1]
    return None


def _owner_and_name(url: str | None) -> str | None:
    if url is None:
        return None
    parts = [part for part in re.split(r"[/:]", url.removesuffix("/").removesuffix(".git")) if part]
    return escape("/".join(parts[-2:])) or None


def _text(path: str) -> str:
    """What a small file says; nothing where there is none that can be read."""
    try:
        with open(path, encoding="utf-8", errors="backslashreplace") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return ""
