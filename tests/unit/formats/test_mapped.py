from __future__ import annotations

import pytest

from imported import outcomes, reason, refusal, row
from vq.errors import BadDataError, UsageError
from vq.formats.mapped import Rule, importer
from vq.formats.outcomes import Importer

MIB = 1 << 20
NEEDED = ("name=tool", "memory_peak=peak", "queued_at=at", "succeeded==true")


def mapped(*rules: str) -> Importer:
    fields = [rule.partition("=")[0] for rule in rules]
    needed = [rule for rule in NEEDED if rule.partition("=")[0] not in fields]
    return importer([Rule.of(rule) for rule in (*needed, *rules)])


def table(cells: str, *columns: str) -> str:
    return ",".join(("tool", "peak", "at", *columns)) + f"\nalign,1048576,1000{cells}\n"


def test_fields_come_from_columns_and_constants() -> None:
    found = row(mapped("profile==big", "page_cache==true", "memory_cap==4GiB", "workflow=flow"), table(",w", "flow"))
    assert (found.name, found.memory_peak, found.queued_at, found.succeeded) == ("align", MIB, 1000, True)
    assert (found.profile, found.page_cache, found.memory_cap, found.workflow) == ("big", True, 4096 * MIB, "w")
    assert (found.repository, found.started_at, found.own_cap, found.cancelled) == ("file", None, None, False)


@pytest.mark.parametrize(
    ("rule", "cell", "field", "value"),
    [
        ("memory_cap=x:MB", "3", "memory_cap", 3 * MIB),
        ("memory_cap=x:GiB", "1.5", "memory_cap", 1536 * MIB),
        ("memory_cap=x:mb", "3", "memory_cap", 3 * MIB),
        ("memory_cap=x:K", "3072", "memory_cap", 3 * MIB),
        ("memory_cap=x:B", "3.0", "memory_cap", 3),
        ("reserved=x", "3 MB", "reserved", 3 * MIB),
        ("memory_cap=x", "9223372036854771712", "memory_cap", None),
        ("started_at=x:s", "1.5", "started_at", 1500),
        ("started_at=x:ms", "1500", "started_at", 1500),
        ("finished_at=x", "1970-01-01T00:00:02", "finished_at", 2000),
        ("finished_at=x:s", "", "finished_at", None),
        ("cpu_cap=x", "2", "cpu_cap", 2000),
        ("cpu_cap=x:millicores", "2000", "cpu_cap", 2000),
        ("cpu_average=x:percent", "183.8", "cpu_average", 1838),
        ("cpu_average=x:cores", "1.838", "cpu_average", 1838),
        ("oom_killed=x:137", "137", "oom_killed", True),
        ("oom_killed=x:137", "", "oom_killed", False),
        ("succeeded=x:ok", "error", "succeeded", False),
        ("cancelled=x", "Yes", "cancelled", True),
        ("own_cap=x", "0", "own_cap", False),
        ("own_cap=x", "-", "own_cap", None),
        ("hit_cap=x", "1", "hit_cap", True),
    ],
)
def test_units(rule: str, cell: str, field: str, value: object) -> None:
    assert getattr(row(mapped(rule), table(f",{cell}", "x")), field) == value


@pytest.mark.parametrize(("finish", "average"), [("11000", 500), ("1000", None), ("", None)])
def test_cpu_time_is_divided_by_the_run_time(finish: str, average: int | None) -> None:
    rules = ("cpu_average=cpu:cpu-s", "started_at=start", "finished_at=end")
    found = row(mapped(*rules), table(f",5,1000,{finish}", "cpu", "start", "end"))
    assert found.cpu_average == average


def test_a_column_may_have_a_colon_in_its_name() -> None:
    assert row(mapped("memory_cap=a:MB"), table(",3", "a:MB")).memory_cap == 3
    assert row(mapped("memory_cap=a:b:MB"), table(",3", "a:b")).memory_cap == 3 * MIB


def test_what_is_given_for_all_rows_wins() -> None:
    found = row(mapped("repository=r", "profile=p"), table(",a,b", "r", "p"), repository="o/r", profile="big")
    assert (found.repository, found.profile) == ("o/r", "big")
    found = row(mapped("repository=r", "profile=p"), table(",a,", "r", "p"))
    assert (found.repository, found.profile) == ("a", "default")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (",1,1", "no name"),
        ("align,,1", "no memory peak"),
        ("align,0,1", "no memory peak"),
        ("align,1,-", "no times of a run"),
    ],
)
def test_records_without_what_a_row_needs_are_left_out(line: str, why: str) -> None:
    assert reason(mapped(), f"tool,peak,at\n{line}\n") == why


@pytest.mark.parametrize(
    ("rule", "cell", "why"),
    [
        ("memory_cap=x", "big", 'expected a size such as 24G, 1.5GiB or 512M in column x, found "big"'),
        ("cancelled=x", "maybe", 'expected true or false in column x, found "maybe"'),
        ("cancelled=x", "", 'expected true or false in column x, found ""'),
        ("workflow=x", "w" * 5000, "expected a name of at most 4096 characters in column x"),
    ],
)
def test_cells_that_cannot_be_read_are_refused(rule: str, cell: str, why: str) -> None:
    assert refusal(mapped(rule), table(f",{cell}", "x")).startswith(why)


@pytest.mark.parametrize("rule", ["memory_cap=limit", "memory_cap=limit:MB"])
def test_a_column_that_is_not_there_is_named(rule: str) -> None:
    with pytest.raises(BadDataError, match="line 1: expected a column limit for --map memory_cap"):
        outcomes(mapped(rule), table(""))


@pytest.mark.parametrize("rule", ["memory_peak", "peak=memory", "=x", ""])
def test_a_rule_names_a_field(rule: str) -> None:
    with pytest.raises(UsageError, match="expected FIELD=COLUMN"):
        Rule.of(rule)


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        (("name=a", "name=b"), "this field is mapped twice"),
        (("profile==p", "memory_cap==big"), "--map memory_cap==big: expected a size"),
        (("cancelled==maybe",), "--map cancelled==maybe: expected true or false"),
    ],
)
def test_rules_that_cannot_be_are_wrong_usage(rules: tuple[str, ...], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        mapped(*rules)


@pytest.mark.parametrize(
    ("rule", "why"),
    [("memory_cap=x:furlongs", "no unit furlongs"), ("workflow=x:MB", "a name has no unit, found MB")],
)
def test_units_that_do_not_exist_are_wrong_usage(rule: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        outcomes(mapped(rule), table(",1", "x"))


def test_what_each_row_needs_must_be_mapped() -> None:
    with pytest.raises(UsageError, match="nothing is said of queued_at, succeeded"):
        importer([Rule.of("name=tool"), Rule.of("memory_peak=peak")])
