"""The configuration: what is in force, where it came from, and what is refused at which line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vq.config.file import ConfigError
from vq.config.resolve import Facts, config_path, load, resolve
from vq.config.values import Config, Profile, Source, config_document, read_config
from vq.errors import BadDataError
from vq.files.documents import FileError

GIB = 2**30
FACTS = Facts(memory_bytes=32 * GIB, cpus=16)

WHOLE = """\
[host]
memory_max = "24G"        # the budget; default three quarters of the host
cpus = 16                 # default: what the process may use (affinity, cgroup)
admission = "measured"    # memory: "measured" (default) or "caps"
cpu_admission = "caps"    # "caps" (default), "measured" or "off"
cpu_overcommit = 1.0
barrier_after = "10m"     # "off" to let small jobs pass for ever
on_host_oom = "requeue"
kill_grace = "10s"
starved_after = "off"
enforcement = "auto"      # cgroup2, cgroup1, systemd, sampled; also VQ_ENFORCEMENT
[daemon]
autostart = true
[sizing]
margin = 15               # percent
min_jobs = 10
[profiles.default]        # others: [profiles.NAME]
memory = "4G"
cpus = 1
slots = 8                 # default: no limit
[hooks]
on_end = ["notify-me"]    # argv; gets the job's record on stdin
"""


def config(text: str | None = None, **flags: Any) -> Config:
    return resolve(text, FACTS, environment={}, flags=flags)


def refusal(text: str) -> ConfigError:
    with pytest.raises(ConfigError) as refused:
        config(text)
    return refused.value


def test_the_example_of_the_specification_is_what_is_in_force_without_it_but_for_its_profile_and_hook() -> None:
    given, default = config(WHOLE), config()
    assert given.host == default.host
    assert (given.autostart, given.margin_percent, given.min_jobs) == (True, 15, 10)
    assert (default.autostart, default.margin_percent, default.min_jobs) == (True, 15, 10)
    assert given.profiles == {"default": Profile(memory_bytes=4 * GIB, cpus=1, slots=8)}
    assert default.profiles == {"default": Profile(memory_bytes=None, cpus=1, slots=None)}
    assert (given.on_end, default.on_end) == (("notify-me",), ())
    assert {source.kind for source in given.sources.values()} == {"file"}
    assert given.sources["sizing.margin"].where == "config.toml:15"
    assert set(default.sources.values()) == {Source(kind="default")}


def test_a_flag_wins_over_the_environment_and_that_over_the_file() -> None:
    text, environment = '[host]\nenforcement = "cgroup1"\n', {"VQ_ENFORCEMENT": "cgroup2"}
    by_file = resolve(text, FACTS, environment={}, flags={})
    by_variable = resolve(text, FACTS, environment=environment, flags={})
    by_flag = resolve(text, FACTS, environment=environment, flags={"host.enforcement": "sampled"})
    assert [each.host.enforcement for each in (by_file, by_variable, by_flag)] == ["cgroup1", "cgroup2", "sampled"]
    assert [each.sources["host.enforcement"] for each in (by_file, by_variable, by_flag)] == [
        Source(kind="file", where="config.toml:2"),
        Source(kind="environment", where="VQ_ENFORCEMENT"),
        Source(kind="flag", where="--enforcement"),
    ]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("[host]\ncpu = 4\n", 2, "host.cpu: no such key; known are memory_max, cpus"),
        ("\n[hots]\n", 2, "hots: no such section; known are [host]"),
        ("cpus = 4\n", 1, "cpus: no such section"),
        ("\n\nhost = 4\n", 3, "host: expected a section, [host]"),
        ("[[host]]\ncpus = 1\n", 1, "host: expected a section"),
        ("[profiles]\nbig = 4\n", 2, "profiles.big: expected a section, [profiles.big]"),
        ("[profiles.big]\nmem = 4\n", 2, "profiles.big.mem: no such key; known are memory, cpus, slots"),
        ('[profiles."a.b"]\n', 1, "profiles.a.b: a profile's name has"),
        ("# first\n[profiles.-x]\n", 2, "profiles.-x: a profile's name has"),
        ("[host]\nmemory_max = 24\n", 2, 'host.memory_max: expected a size such as "24G" or "1.5GiB", found 24'),
        ('[host]\nmemory_max = "24 X"\n', 2, "host.memory_max: expected a size"),
        ('[host]\nmemory_max = "0G"\n', 2, "host.memory_max: expected a size"),
        ('[host]\nmemory_max = "33G"\n', 2, "host.memory_max: 33 GiB is impossible; this host has 32 GiB"),
        ("[host]\ncpus = 17\n", 2, "host.cpus: 17 is impossible; this host has 16"),
        ("[host]\ncpus = 1.0\n", 2, "host.cpus: expected a whole number of 1 or more, found 1.0"),
        ("[host]\ncpus = true\n", 2, "host.cpus: expected a whole number"),
        ('[host]\nadmission = "on"\n', 2, 'host.admission: expected "measured" or "caps", found "on"'),
        ("[host]\nadmission = 1\n", 2, "host.admission: expected"),
        ("[host]\ncpu_overcommit = 0\n", 2, "host.cpu_overcommit: expected a number above 0"),
        ("[host]\ncpu_overcommit = nan\n", 2, "host.cpu_overcommit: expected a number above 0"),
        ('[host]\ncpu_overcommit = "2"\n', 2, "host.cpu_overcommit: expected a number above 0"),
        ("[host]\nbarrier_after = 10\n", 2, 'host.barrier_after: expected a span of time such as "10m"'),
        ('[host]\nkill_grace = "off"\n', 2, "host.kill_grace: expected a span of time"),
        ("[daemon]\nautostart = 1\n", 2, "daemon.autostart: expected true or false"),
        ("[sizing]\nmargin = -1\n", 2, "sizing.margin: expected a percentage from 0 to 1000"),
        ("[hooks]\non_end = 'notify-me'\n", 2, "hooks.on_end: expected an array of strings"),
        ("[hooks]\non_end = [\n  '',\n]\n", 2, "hooks.on_end: expected an array of strings"),
        ("[hooks]\non_end = ['a', 1]\n", 2, "hooks.on_end: expected an array of strings"),
        ('[profiles.big]\nmemory = "25G"\n', 2, "profiles.big.memory: 25 GiB is impossible; host.memory_max is 24 GiB"),
        ("[profiles.big]\ncpus = 17\n", 2, "profiles.big.cpus: 17 is impossible; host.cpus is 16"),
        ("[profiles]\nbig = {cpus = 1, slots = 0}\n", 2, "profiles.big.slots: expected a whole number"),
        ('profiles.big.slots = """\nx\n"""\n', 1, "profiles.big.slots: expected a whole number"),
        ("[host]\n# a comment\n\ncpus = [\n 1,\n]\n", 4, "host.cpus: expected a whole number"),
    ],
)
def test_what_cannot_be_is_refused_at_its_line(text: str, line: int, message: str) -> None:
    error = refusal(text)
    assert error.where == f"config.toml:{line}"
    assert message in str(error)
    assert error.exit_code == 1


def test_what_is_no_toml_is_refused_with_line_and_column() -> None:
    assert "at line 2, column" in str(refusal("[host]\ncpus 4\n"))


def test_a_variable_and_a_flag_are_named_where_they_are_at_fault() -> None:
    with pytest.raises(ConfigError, match=r"^VQ_ENFORCEMENT: host\.enforcement: expected"):
        resolve(None, FACTS, environment={"VQ_ENFORCEMENT": "none"}, flags={})
    with pytest.raises(ConfigError, match=r"^--memory-max: host\.memory_max: 40 GiB is impossible"):
        resolve(None, FACTS, environment={}, flags={"host.memory_max": "40G"})


def test_off_is_none_and_a_profile_may_be_empty() -> None:
    given = config('[host]\nbarrier_after = "off"\nstarved_after = "1h"\n[profiles.big]\n')
    assert given.host.barrier_after_ms is None
    assert given.host.starved_after_ms == 3_600_000
    assert given.profiles["big"] == Profile(memory_bytes=None, cpus=1, slots=None)


def test_sizes_are_powers_of_1024() -> None:
    for written, size in (("1K", 1024), ("512MiB", 512 * 2**20), ("1.5G", 3 * GIB // 2)):
        assert config(f'[host]\nmemory_max = "{written}"\n').host.memory_max_bytes == size
    for written in ("", "1", "G", "-1G", "9999999T"):
        assert "expected a size such as" in str(refusal(f'[host]\nmemory_max = "{written}"\n'))


sizes = st.builds(lambda number, unit: f"{number}{unit}", st.integers(1, 7), st.sampled_from("KMG"))
spans = st.builds(lambda number, unit: f"{number}{unit}", st.integers(0, 99), st.sampled_from("smhd"))
values = {
    "host.memory_max": st.just("8G"),
    "host.cpus": st.integers(4, 16),
    "host.admission": st.sampled_from(("caps", "measured")),
    "host.cpu_overcommit": st.integers(1, 100) | st.floats(0.1, 100, allow_nan=False),
    "host.barrier_after": spans | st.just("off"),
    "host.kill_grace": spans,
    "daemon.autostart": st.booleans(),
    "sizing.margin": st.integers(0, 1000),
    "hooks.on_end": st.lists(st.text("abc", min_size=1), max_size=3),
    "profiles.default.memory": sizes,
    "profiles.big-1.cpus": st.integers(1, 4),
    "profiles.big-1.slots": st.integers(1, 9),
}


@given(st.fixed_dictionaries({}, optional=values))
def test_what_is_written_is_in_force_and_reads_back_from_the_store(given_values: dict[str, Any]) -> None:
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in given_values.items())
    read = config(text)
    for number, key in enumerate(given_values, start=1):
        assert read.sources[key] == Source(kind="file", where=f"config.toml:{number}")
    stored = json.loads(json.dumps(config_document(read)))
    for key, value in given_values.items():
        assert type(value) is str or stored["values"][key] == value
    assert read_config(stored) == read


@pytest.mark.parametrize(
    ("key", "value", "path"),
    [
        ("host.cpus", 0, r'\$\.values\["host\.cpus"\]'),
        ("host.cpu", 1, r'\$\.values\["host\.cpu"\]: expected no such key'),
        ("profiles.x.cpus", 1, r'\$\.values\["profiles\.x\.memory"\]: expected this key'),
        ("hooks.on_end", [1], r'\$\.values\["hooks\.on_end"\]'),
        ("host.cpu_overcommit", 0, r'\$\.values\["host\.cpu_overcommit"\]'),
    ],
)
def test_a_stored_document_of_another_shape_is_refused(key: str, value: Any, path: str) -> None:
    document = config_document(config())
    document["values"][key] = value
    with pytest.raises(BadDataError, match=path):
        read_config(document)
    with pytest.raises(BadDataError, match=r"\$\.values"):
        read_config({"values": [], "sources": {}})


def test_the_file_lies_where_the_base_directory_specification_says(tmp_path: Path) -> None:
    assert config_path({"XDG_CONFIG_HOME": "/c"}) == "/c/vq/config.toml"
    home = os.path.join(os.path.expanduser("~"), ".config", "vq", "config.toml")
    assert config_path({}) == config_path({"XDG_CONFIG_HOME": "relative"}) == home
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert load(environment, FACTS) == config()
    file = tmp_path / "vq" / "config.toml"
    file.parent.mkdir()
    file.write_text("[host]\ncpus = 3\n")
    assert load(environment, FACTS).sources["host.cpus"].where == f"{file}:2"
    assert load(environment, FACTS, {"host.cpus": 2}).host.cpus == 2
    file.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="byte 0 is none"):
        load(environment, FACTS)
    file.write_bytes(b"#" * 70_000)
    with pytest.raises(FileError, match="at most 65536") as refused:
        load(environment, FACTS)
    assert refused.value.hint is not None
