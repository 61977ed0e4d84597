"""Tell the daemon that there is something new, and start one where none runs."""

from __future__ import annotations

from vq.actions.daemon import daemon_status, poke, start_daemon
from vq.actions.place import Place
from vq.config.values import Config


def wake(place: Place, config: Config) -> str | None:
    """What a person should know about the daemon after a submission; None where one is at work already.

    Starts one unless the configuration says not to; raises `VqError` where that fails.
    """
    poke(place.folder)
    if daemon_status(place.folder)["running"]:
        return None
    if not config.autostart:
        return "no daemon runs, so nothing starts yet: vq daemon start"
    return "started the daemon" if start_daemon(place.folder) else None


def nudge(place: Place) -> str | None:
    """What a person should know after a request was recorded; None where a daemon takes it up now."""
    poke(place.folder)
    absent = absence(place)
    return None if absent is None else f"recorded, but {absent}"


def absence(place: Place) -> str | None:
    """That no daemon runs, and how to start one; None where one does."""
    return None if daemon_status(place.folder)["running"] else "no daemon runs to do it: vq daemon start"
