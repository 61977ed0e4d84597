from __future__ import annotations

import gzip
import json
from pathlib import Path

from imported import lines
from vq.actions.admission import Asked, predict
from vq.admission import Copies
from vq.admission.documents import read_setup
from vq.formats import jsonl

CASES = Path(__file__).parents[2] / "data" / "admission" / "predict.jsonl.gz"


def test_the_given_queries_have_the_given_answers() -> None:
    with gzip.open(CASES, "rt", encoding="utf-8") as file:
        cases = [json.loads(line) for line in file]
    assert len(cases) > 50
    for case in cases:
        rows = list(jsonl.rows(lines("".join(json.dumps(row) + "\n" for row in case["rows"]))))
        setup = read_setup({key: case[key] for key in ("margin", "min_jobs", "profiles")}, rows)
        for query, expected in zip(case["queries"], case["expected"], strict=True):
            now, copies = query.pop("now"), Copies.SEVERAL if query.pop("copies") else Copies.ALONE
            (predicted,) = predict(setup, rows, Asked(**query, copies=copies), now)
            document = predicted.document()
            assert {key: document[key] for key in expected} == expected
