"""Start supervisors: forked by one warm process where that works, which is fast, and else one by one.

The warm process is never needed: when it is gone, those it forked go on, and another one is made for the next.
"""

from __future__ import annotations

import os
import select
import subprocess
from contextlib import suppress
from dataclasses import dataclass

from vq.supervisor.command import SERVE, supervisor_command

_PIECE = 64 * 1024
_PATIENCE_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """A supervisor that ended, by the path of its spec; `status` is negative after a signal, None where unknown."""

    spec_path: str
    status: int | None


class Launcher:
    """Starts supervisors and tells which of them have ended; closing it ends none of them."""

    def __init__(self) -> None:
        self._warm: subprocess.Popen[bytes] | None = None
        self._sent: dict[str, None] = {}
        self._unknown: list[str] = []
        self._told: list[Gone] = []
        self._single: dict[str, subprocess.Popen[bytes]] = {}
        self._rest = b""

    def launch(self, spec_path: str) -> None:
        """Start the supervisor of a spec; raises `OSError` when no process can be started."""
        if "\n" in spec_path or not self._send(spec_path):
            self._single[spec_path] = _popen(spec_path)

    @property
    def descriptor(self) -> int | None:
        """What becomes readable when the warm process has something to say; None without one."""
        return None if self._warm is None or self._warm.stdout is None else self._warm.stdout.fileno()

    def gone(self) -> list[Gone]:
        """The supervisors that have ended since the last call."""
        found = [
            Gone(spec_path=path, status=status)
            for path, process in self._single.items()
            if (status := process.poll()) is not None
        ]
        for one in found:
            del self._single[one.spec_path]
        self._hear()
        told, self._told = self._told, []
        unknown, self._unknown = self._unknown, []
        return found + told + [Gone(spec_path=path, status=None) for path in unknown]

    def close(self) -> None:
        """Let the warm process end; the supervisors go on."""
        self._drop()
        for process in self._single.values():
            # They outlive us: nobody is to wait for them.
            process.returncode = 0
        self._single.clear()

    def _send(self, spec_path: str) -> bool:
        for _ in range(2):
            if self._warm is None and not self._begin():
                return False
            if self._warm is not None and self._warm.stdin is not None:
                with suppress(OSError):
                    self._write(self._warm.stdin.fileno(), os.fsencode(f"{spec_path}\n"))
                    self._sent[spec_path] = None
                    return True
            self._drop()
        return False

    def _write(self, descriptor: int, line: bytes) -> None:
        while True:
            # So short a line goes whole or not at all.
            with suppress(BlockingIOError):
                os.write(descriptor, line)
                return
            # It reads nothing more while nobody reads what it says.
            poll = select.poll()
            poll.register(descriptor, select.POLLOUT)
            if self.descriptor is not None:
                poll.register(self.descriptor, select.POLLIN)
            poll.poll()
            self._hear()
            if self._warm is None:
                raise BrokenPipeError

    def _begin(self) -> bool:
        try:
            self._warm = subprocess.Popen(  # noqa: S603 - our own program
                supervisor_command(SERVE),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                cwd="/",
                # What a terminal sends to the daemon is not for it.
                start_new_session=True,
            )
        except OSError:
            return False
        for stream in (self._warm.stdin, self._warm.stdout):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
        return True

    def _hear(self) -> None:
        while (piece := self._read()) is not None:
            if not piece:
                self._drop()
                break
            *lines, self._rest = (self._rest + piece).split(b"\n")
            for line in lines:
                _, status, name = line.split(b" ", 2)
                path = os.fsdecode(name)
                self._sent.pop(path, None)
                self._told.append(Gone(spec_path=path, status=int(status)))

    def _read(self) -> bytes | None:
        """What the warm process says; empty at its end, None when there is nothing."""
        descriptor = self.descriptor
        if descriptor is None:
            return None
        try:
            return os.read(descriptor, _PIECE)
        except BlockingIOError:
            return None

    def _drop(self) -> None:
        warm, self._warm, self._rest = self._warm, None, b""
        if warm is None:
            return
        # What became of those it forked, it can no longer say.
        self._unknown.extend(self._sent)
        self._sent.clear()
        for stream in (warm.stdin, warm.stdout):
            if stream is not None:
                stream.close()
        try:
            warm.wait(timeout=_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            warm.kill()
            warm.wait()


def _popen(spec_path: str) -> subprocess.Popen[bytes]:
    null = subprocess.DEVNULL
    return subprocess.Popen(supervisor_command(spec_path), stdin=null, stdout=null, stderr=null, cwd="/")  # noqa: S603
