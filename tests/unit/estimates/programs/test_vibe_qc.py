from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

import pytest

from support.documents import MANIFEST
from vq.errors import BadDataError
from vq.estimates.program import ProgramEstimate
from vq.estimates.programs.vibe_qc import read_manifest

LARGEST = 2**53 - 1


def read(*changes: tuple[str, str]) -> ProgramEstimate:
    """The manifest with lines replaced, each of which must be there."""
    text = MANIFEST
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return read_manifest(text.encode())


def refusal(*changes: tuple[str, str]) -> str:
    with pytest.raises(BadDataError) as caught:
        read(*changes)
    return str(caught.value)


def test_a_dry_run() -> None:
    estimate = read()
    assert estimate.estimator == "vibe-qc-dry-run/1"
    assert estimate.program == "vibe-qc"
    assert estimate.program_version == "0.17.4"
    assert estimate.predicted_peak_bytes == 1_000_000
    assert estimate.safety_margin == "included"
    assert estimate.scope is None
    assert estimate.runtime_seconds is None
    assert estimate.source.sha256 == sha256(MANIFEST.encode()).hexdigest()
    assert estimate.source.bytes == len(MANIFEST)
    assert list(estimate.features) == ["method", "basis", "functional", "task_type", "options_digest", "threads"]
    assert estimate.features["method"] == "RKS"
    assert estimate.unknown_features == frozenset()


@pytest.mark.parametrize(
    "status", ['"running"', '"complete"', '"crashed"', '"DRY_RUN"', '""', "true", "1", "[]", "{}", "2020-01-01"]
)
def test_only_a_dry_run_counts(status: str) -> None:
    assert refusal(('status = "dry_run"', f"status = {status}")).startswith('$.outputs.status: expected "dry_run"')


def test_a_missing_status_is_refused() -> None:
    assert "$.outputs.status" in refusal(('status = "dry_run"', ""))
    assert "$.outputs.status" in refusal(('[outputs]\nstatus = "dry_run"', ""))


def test_another_programs_manifest_is_refused() -> None:
    assert "$.vibeqc: expected this table" in refusal(("[vibeqc]", "[other]"))


@pytest.mark.parametrize("name", ["vibeqc", "cpu", "memory", "plan", "outputs"])
@pytest.mark.parametrize("value", ["1", '"x"', "[]", "[{}]", "2020-01-01"])
def test_a_table_must_be_one(name: str, value: str) -> None:
    text = MANIFEST.replace(f"[{name}]", "[elsewhere]")
    with pytest.raises(BadDataError, match=rf"\$\.{name}: expected a table"):
        read_manifest(f"{name} = {value}\n{text}".encode())


@pytest.mark.parametrize(
    "value", ["0", "-1", "1.0", "true", '"1"', "[1]", "2020-01-01", str(LARGEST + 1), "nan", "0x" + "f" * 5000]
)
def test_a_figure_is_an_integer_of_at_least_one(value: str) -> None:
    message = refusal(("estimate_bytes = 1000000", f"estimate_bytes = {value}"))
    assert message.startswith(f"$.memory.estimate_bytes: expected an integer from 1 to {LARGEST}")


@pytest.mark.parametrize("value", [1, LARGEST])
def test_a_figure_is_kept_exactly(value: int) -> None:
    assert read(("estimate_bytes = 1000000", f"estimate_bytes = {value}")).predicted_peak_bytes == value


def test_without_a_figure_it_is_unknown_and_said() -> None:
    for change in (("estimate_bytes = 1000000", ""), ("[memory]\nestimate_bytes = 1000000", "")):
        estimate = read(change)
        assert estimate.predicted_peak_bytes is None
        assert any("no memory estimate" in sentence for sentence in estimate.limitations)
    assert not any("no memory estimate" in sentence for sentence in read().limitations)


@pytest.mark.parametrize("value", ["-1", "8.0", "true", '"8"', str(LARGEST + 1)])
def test_threads_are_an_integer(value: str) -> None:
    assert "$.cpu.omp_threads_used" in refusal(("omp_threads_used = 8", f"omp_threads_used = {value}"))


@pytest.mark.parametrize("line", ["omp_threads_used = 0", ""])
def test_no_threads_are_unknown(line: str) -> None:
    estimate = read(("omp_threads_used = 8", line))
    assert estimate.features["threads"] is None
    assert estimate.unknown_features == {"threads"}


@pytest.mark.parametrize(
    ("key", "feature"),
    [("method", "method"), ("job_kind", "task_type"), ("options_digest", "options_digest")],
)
@pytest.mark.parametrize("value", ['""', '"unknown"', None])
def test_an_unknown_word(key: str, feature: str, value: str | None) -> None:
    pattern = re.compile(rf"^{key} = .*$", re.MULTILINE)
    text = pattern.sub("" if value is None else f"{key} = {value}", MANIFEST)
    estimate = read_manifest(text.encode())
    assert estimate.features[feature] is None
    assert estimate.unknown_features == {feature}


@pytest.mark.parametrize(
    ("key", "value", "feature", "unknown"),
    [
        ("basis", '""', None, False),
        ("basis", '"(none)"', None, False),
        ("basis", '"<basis-free>"', None, False),
        ("basis", '"unknown"', None, True),
        ("basis", None, None, True),
        ("basis", '"Unknown"', "Unknown", False),
        ("functional", '""', None, False),
        ("functional", '"unknown"', None, True),
        ("functional", None, None, True),
        ("functional", '"(none)"', "(none)", False),
    ],
)
def test_no_basis_is_known_to_be_none(key: str, value: str | None, feature: str | None, unknown: bool) -> None:  # noqa: FBT001
    text = re.sub(rf"(?m)^{key} = .*$", "" if value is None else f"{key} = {value}", MANIFEST)
    estimate = read_manifest(text.encode())
    assert estimate.features[key] is feature or estimate.features[key] == feature
    assert (key in estimate.unknown_features) is unknown


@pytest.mark.parametrize("key", ["method", "basis", "functional", "job_kind", "options_digest"])
def test_a_plan_string_has_at_most_256_characters(key: str) -> None:
    def with_value(value: str) -> Any:
        return read_manifest(re.sub(rf"(?m)^{key} = .*$", f"{key} = {value}", MANIFEST).encode())

    assert with_value(f'"{"é" * 256}"')
    for value in (f'"{"x" * 257}"', "1", "true", "[]", "{}", "1979-05-27T07:32:00Z"):
        with pytest.raises(BadDataError, match=rf"\$\.plan\.{key}: expected a string of at most 256 characters"):
            with_value(value)


@pytest.mark.parametrize("value", ['""', '"unknown"'])
def test_an_unknown_version(value: str) -> None:
    assert read(('version = "0.17.4"', f"version = {value}")).program_version is None
    assert read(('version = "0.17.4"', "")).program_version is None


def test_a_version_is_a_string_of_any_length() -> None:
    assert "$.vibeqc.version: expected a string, found 0.17" in refusal(('version = "0.17.4"', "version = 0.17"))
    assert read(('version = "0.17.4"', f'version = "{"1" * 300}"')).program_version == "1" * 300


def test_the_spelling_is_kept() -> None:
    assert read(('method = "RKS"', 'method = "rKs é"')).features["method"] == "rKs é"


def test_whatever_else_there_is_is_ignored() -> None:
    extra = '[host]\nhostname = "x"\n[[plan.files]]\npath = "y"\n["a.b"."c d"]\n"x=y" = {z.w = [1, {v = 1979-05-27}]}\n'
    assert read_manifest((MANIFEST + extra).encode()).features == read().features


@pytest.mark.parametrize("value", ["0x" + "f" * 5000, "[0x" + "f" * 5000 + "]", "{a = 0x" + "f" * 5000 + "}"])
@pytest.mark.parametrize("line", ['status = "dry_run"', 'version = "0.17.4"', 'method = "RKS"', "omp_threads_used = 8"])
def test_integers_past_what_python_prints_are_refused_with_their_place(line: str, value: str) -> None:
    key = line.split(" = ", maxsplit=1)[0]
    assert f".{key}: expected" in refusal((line, f"{key} = {value}"))


@pytest.mark.parametrize("table", ["vibeqc", "cpu", "memory", "plan", "outputs"])
def test_such_integers_in_the_place_of_a_table_too(table: str) -> None:
    text = MANIFEST.replace(f"[{table}]", "[elsewhere]")
    with pytest.raises(BadDataError, match=rf"\$\.{table}: expected a table"):
        read_manifest(f"{table} = [0x{'f' * 5000}]\n{text}".encode())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff", "UTF-8 text; byte 0 is none"),
        (b"\xef\xbb\xbf[outputs]", "TOML; Invalid statement"),
        (b"", "$.outputs.status"),
        (b"[outputs", "TOML; Expected ']'"),
        (b"a = 1\na = 2", "TOML; Cannot overwrite a value"),
        (b"a = " + b"9" * 5000, "TOML with integers within"),
        (b"a = " + b"[" * 100_000, "TOML that is nested less deeply"),
        (b"a = " + b"{a = " * 100_000, "TOML that is nested less deeply"),
        (b'a = "\\ud800"', "TOML; Escaped character is not a Unicode scalar value"),
        (b"a = 1979-13-01", "TOML; "),
    ],
)
def test_what_is_no_toml_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(BadDataError, match=re.escape(message)):
        read_manifest(data)


PARTS = ["a", '"a"', "'a'", '"a.b"', '"\\""', "'\"'", "1", "-_"]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(
    ("before", "after"),
    [("", " = 1"), ("[", "]"), ("[[ ", "]]"), ("x = {", " = 1}"), ("x = {y = 1, ", " = 1}"), ("\t", "\t= 1")],
)
@pytest.mark.parametrize("dot", [".", " . ", "\t."])
def test_a_key_has_at_most_16_parts(part: str, before: str, after: str, dot: str) -> None:
    def with_parts(number: int) -> ProgramEstimate:
        key = dot.join([part, *(["b"] * (number - 2)), part])
        return read_manifest(f"{MANIFEST}\n[other]\n{before}{key}{after}\n".encode())

    assert with_parts(16)
    with pytest.raises(BadDataError, match="TOML keys of at most 16 parts"):
        with_parts(17)


DOTS = ".".join("1" * 40)


@pytest.mark.parametrize(
    "line",
    [
        f"# {DOTS}",
        f"x = 1 # , {DOTS}",
        f'x = "a, {DOTS}"',
        f"x = 'a, {DOTS}'",
        f'x = """\n{DOTS}\n"""',
        f"x = '''\n{DOTS}\n'''",
        f'x = """\\"\n{{{DOTS}\n""\n"""',
        f"x = '''''\n{DOTS}\n'''",
        f'x = """"{DOTS}""""',
        f'"{DOTS}" = 1',
        "x = [" + "1.5, " * 40 + "]",
        "x = [" + "1979-05-27T07:32:00.999, " * 40 + "]",
    ],
)
def test_dots_elsewhere_are_no_parts(line: str) -> None:
    assert read_manifest(f"{MANIFEST}\n[other]\n{line}\n".encode())
