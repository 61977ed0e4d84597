"""The user's systemd asked for a scope, with programs in the place of `busctl`; `make test-systemd` asks a real one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vq.hosts.local import scopes
from vq.readings.cgroups import NoGroupsError


def busctl(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file to which a `busctl` that does as `script` says writes its arguments, a call a line."""
    path = folder / "busctl"
    path.write_text(f'#!/bin/sh\necho "$XDG_RUNTIME_DIR" "$@" >> {folder}/calls\n{script}\n')
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/here")
    return folder / "calls"


def test_without_a_busctl_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoGroupsError, match="there is no busctl") as refused:
        scopes.enter_scope("vq-x")
    assert refused.value.hint is not None
    assert "sampled" in refused.value.hint


def test_what_a_manager_says_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = busctl(tmp_path, "echo Failed to connect to bus: No medium found >&2; exit 1", monkeypatch)
    with pytest.raises(NoGroupsError, match="Failed to connect to bus") as refused:
        scopes.enter_scope("vq-x")
    assert refused.value.hint is not None
    assert scopes.linger_command() in refused.value.hint
    (call,) = calls.read_text().splitlines()
    assert call.startswith("/run/user/here --user --quiet call org.freedesktop.systemd1 ")
    assert "StartTransientUnit" in call
    assert f"vq-x.scope fail 3 PIDs au 1 {os.getpid()} Delegate b true" in call


def test_a_scope_that_is_there_is_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = 'case "$*" in *StartTransientUnit*) echo Unit vq-x.scope already exists. >&2; exit 1;; esac'
    calls = busctl(tmp_path, script, monkeypatch)
    monkeypatch.setattr(scopes, "_PATIENCE_SECONDS", 0.0)
    with pytest.raises(NoGroupsError, match="did not move process"):
        scopes.enter_scope("vq-x")
    last = calls.read_text().splitlines()[-1]
    assert last.endswith(f"AttachProcessesToUnit ssau vq-x.scope /vq-daemon 1 {os.getpid()}")


def test_who_lingers_has_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scopes, "LINGERING", str(tmp_path))
    assert not scopes.lingers()
    (tmp_path / scopes.linger_command().split()[-1]).touch()
    assert scopes.lingers()
