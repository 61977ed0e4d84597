"""Law of importers: any text gives rows, records left out, records that cannot be read, or a refusal of ours.

Every row that comes out is one that the history's own form accepts.
"""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from imported import lines
from vq.admission.history import Run
from vq.errors import BadDataError
from vq.formats import jsonl, nextflow, sacct, swf
from vq.formats.mapped import Rule, importer
from vq.formats.outcomes import Importer, LeftOut, Source, Unread

TABLE = importer([Rule.of(f"{field}=c{place}") for place, field in enumerate(jsonl.FIELDS)])
NEXTFLOW = "name status peak_rss submit start complete duration realtime memory cpus %cpu"
SACCT = "JobID JobName Partition ReqMem MaxRSS AveCPU TotalCPU AllocCPUS NTasks Elapsed Submit Start End State"
IMPORTERS: dict[str, tuple[Importer, list[str]]] = {
    "nextflow": (nextflow.read, NEXTFLOW.split()),
    "sacct": (sacct.read, SACCT.split()),
    "csv": (TABLE, [f"c{place}" for place in range(len(jsonl.FIELDS))]),
    "swf": (swf.read, []),
    "jsonl": (jsonl.read, []),
}
ODD = """- 0 1 -1 4 2.5 137 12345678901234567890 1e99 1.2.3 NaN inf true false 4G 16Gn 2Gc 1.5K 512MB 3m2s 00:01:02
1-02:03:04 2026-11-30T12:00:00 0001-01-01 9999-12-31T23:59:59 1796083200000 123 123.0 123.batch 123_4 9.0 Unknown
COMPLETED FAILED ABORTED CACHED RUNNING OUT_OF_MEMORY CANCELLED+ align x(y"""
CELLS = st.sampled_from(ODD.split()) | st.text(st.characters(exclude_characters="\n\r"), max_size=8)


def check(name: str, data: bytes) -> None:
    read, _ = IMPORTERS[name]
    with suppress(BadDataError):
        for outcome in read(lines(data), Source(stem="file")):
            if isinstance(outcome, Run):
                assert jsonl.read_row(jsonl.written(outcome).encode()) == outcome
            else:
                assert isinstance(outcome, LeftOut | Unread)
                assert 1 <= outcome.line <= data.count(b"\n") + 1


@pytest.mark.parametrize("name", IMPORTERS)
@given(data=st.binary(max_size=300))
@example(data=b"\xef\xbb\xbf")
@example(data=b'"' * 99 + b"\n")
def test_any_bytes(name: str, data: bytes) -> None:
    check(name, data)


@pytest.mark.parametrize("name", ["nextflow", "sacct", "csv"])
@given(data=st.data())
def test_any_cells_below_a_good_header(name: str, data: st.DataObject) -> None:
    _, header = IMPORTERS[name]
    separator = data.draw(st.sampled_from("\t,;|"))
    records = data.draw(st.lists(st.lists(CELLS, min_size=len(header), max_size=len(header)), max_size=5))
    text = "\n".join(separator.join(cells) for cells in [header, *records])
    check(name, text.encode(errors="replace"))


@given(st.lists(st.lists(CELLS, min_size=18, max_size=18), max_size=5))
def test_any_words_in_eighteen_fields(records: list[list[str]]) -> None:
    check("swf", "\n".join(" ".join(cells) for cells in records).encode(errors="replace"))
