"""Write the reference of the configuration file, `docs/reference/configuration.md`, from the keys themselves.

    python docs/generate_configuration.py

A test compares the page with what this makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from vq.config.keys import KEYS, PROFILE_KEYS, SECTIONS, Key
from vq.jobs.times import span_text

PAGE = Path(__file__).parent / "reference" / "configuration.md"

HEAD = """\
# Configuration

`vq config path` prints where the file lies: `$XDG_CONFIG_HOME/vq/config.toml`, else `~/.config/vq/config.toml`. Every
key may be missing. What is wrong is refused with its line. The daemon reads the file when it starts, and what it made
of it holds for every command until it starts again; `vq config show` prints that, and where each value came from.

Sizes are numbers with a unit, as on the command line: K, M, G or T, also written KB or KiB, are powers of 1024. Spans
of time are whole numbers with s, m, h or d. Both are text: a number without its unit is refused.
"""
DEFAULTS = {
    "host.memory_max": "three quarters of the host's memory",
    "host.cpus": "what the process may use",
    "memory": "its share of the host",
    "slots": "no limit",
}
EXAMPLE = """\
## Example

```toml
[host]
memory_max = "200G"       # leave the rest to what runs outside the queue
cpus = 30

[daemon]
autostart = false         # a service starts it

[profiles.default]
memory = "4G"

[profiles.big]
memory = "64G"
cpus = 8
slots = 2                 # so many at once

[hooks]
on_end = ["notify-me"]
```
"""


def page() -> str:
    """The text of the page."""
    parts = [HEAD]
    for section in SECTIONS:
        keys: Mapping[str, Key] = {
            key.partition(".")[2]: kind for key, kind in KEYS.items() if key.startswith(f"{section}.")
        }
        title = "profiles.NAME" if section == "profiles" else section
        parts.append(f"## `[{title}]`\n")
        parts += ["| key | written | default | meaning |", "|---|---|---|---|"]
        for name, kind in (PROFILE_KEYS if section == "profiles" else keys).items():
            default = DEFAULTS.get(f"{section}.{name}", DEFAULTS.get(name) if section == "profiles" else None)
            parts.append(f"| `{name}` | {_code(kind.expected)} | {default or _default(name, kind)} | {kind.meaning} |")
        parts.append("")
    return "\n".join([*parts, EXAMPLE])


def _default(name: str, kind: Key) -> str:
    value = kind.default
    if value is None:
        return "off"
    if name.endswith(("_after", "_grace")):
        return f"`{span_text(value)}`"
    if type(value) is bool:
        return str(value).lower()
    return "none" if value == () else f"`{value}`"


def _code(text: str) -> str:
    """Words in quotes as they stand in the file."""
    return "".join(f'`"{part}"`' if number % 2 else part for number, part in enumerate(text.split('"')))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
