"""Tell the daemon that there is something new, and start one where none runs."""

from __future__ import annotations

from vq.actions.place import Place
from vq.config.values import Config
from vq.files.fifo import tell
from vq.store.layout import NEWS, wake_path

_ABSENT = "no daemon runs to do it: vq daemon start"


def wake(place: Place, config: Config) -> str | None:
    """What a person should know about the daemon after a submission; None where one is at work already.

    Starts one unless the configuration says not to; raises `VqError` where that fails.
    """
    if _is_heard(place.folder):
        return None
    if not config.autostart:
        return "no daemon runs, so nothing starts yet: vq daemon start"
    from vq.actions.daemon import start_daemon  # noqa: PLC0415 - a daemon that runs hears of it without

    return "started the daemon" if start_daemon(place.folder) else None


def nudge(place: Place) -> str | None:
    """What a person should know after a request was recorded; None where a daemon takes it up now."""
    return None if _is_heard(place.folder) else f"recorded, but {_ABSENT}"


def absence(place: Place) -> str | None:
    """That no daemon runs, and how to start one; None where one does."""
    from vq.actions.daemon import is_running  # noqa: PLC0415 - as above

    return None if is_running(place.folder) else _ABSENT


def poke(state_folder: str) -> bool:
    """Whether a daemon was told that there is something new in the store; False also when it has been told enough."""
    return tell(wake_path(state_folder), NEWS)


def _is_heard(folder: str) -> bool:
    if poke(folder):
        return True
    from vq.actions.daemon import is_running  # noqa: PLC0415 - as above

    return is_running(folder)
