"""PyTerrier's experiments with the measures of this package; no Java is needed for frames.

Where PyTerrier is not installed, its evaluation is done as it does it: its frames, their columns renamed, through
ir_measures, and plain means over queries.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ir_measures
import pandas as pd
import pytest
from ir_measures import nDCG

import falsify_adapters as fa
from falsify_adapters.irm import ChanceCorrected, Floor, Lift

POOL = 2000
QUERIES = [str(q) for q in range(1, 21)]
TOPICS = pd.DataFrame({"qid": QUERIES, "query": "words"})
QRELS = pd.DataFrame(
    [(q, f"d{q}-{i}", 1 + i % 2) for q in QUERIES for i in range(1 + int(q) % 4)], columns=["qid", "docno", "label"]
)
SHARE, FLOOR = ChanceCorrected(nDCG @ 10, pool=POOL), Floor(nDCG @ 10, pool=POOL)
LIFTS = [Lift(nDCG @ 10, null=null, pool=POOL) for null in "ABCD"]
MEASURES = ["map", nDCG @ 10, SHARE, FLOOR, *LIFTS]


def ranked(lists: dict[str, list[str]]) -> pd.DataFrame:
    rows = [(q, "words", d, 1.0 / (1 + i), i) for q, docs in lists.items() for i, d in enumerate(docs)]
    return pd.DataFrame(rows, columns=["qid", "query", "docno", "score", "rank"])


SYSTEMS = {
    "good": ranked({q: [*(f"x{q}-{i}" for i in range(int(q) % 5)), f"d{q}-0", f"d{q}-1"] for q in QUERIES}),
    "the same for all": ranked({key: [f"d{q}-0" for q in range(1, 11)] for key in QUERIES}),
    "silent on some": ranked({q: [f"d{q}-0"] for q in QUERIES[:12]}),
}


def experiment(**options: Any) -> pd.DataFrame:
    if find_spec("pyterrier") is not None:
        import pyterrier as pt

        return pt.Experiment(SYSTEMS, TOPICS, QRELS, eval_metrics=MEASURES, **options)
    names = {"qid": "query_id", "docno": "doc_id", "label": "relevance"}
    wanted = [ir_measures.AP, *MEASURES[1:]]
    rows = [
        (name, m.query_id, "map" if m.measure == ir_measures.AP else str(m.measure), m.value)
        for name, run in SYSTEMS.items()
        for m in ir_measures.iter_calc(wanted, QRELS.rename(columns=names), run.rename(columns=names))
    ]
    table = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    if options.get("perquery"):
        return table
    return table.pivot_table(index="name", columns="measure", values="value", aggfunc="mean").reset_index()


def test_an_experiment_prints_the_new_measures_beside_the_old() -> None:
    table = experiment().set_index("name")
    for name, run in SYSTEMS.items():
        entry = fa.gate(QRELS, run, "nDCG@10", pool=POOL)["nDCG@10"]
        row = table.loc[name]
        told = [
            entry.score,
            entry.result.chance_corrected,
            entry.result.floor,
            *(n.delta for n in entry.nulls.values()),
        ]
        assert [row[str(m)] for m in MEASURES[1:]] == pytest.approx(told, abs=1e-14)
    assert table.loc["the same for all", str(LIFTS[0])] == pytest.approx(0.0, abs=1e-15)
    assert table.loc["good", "map"] > 0.2


def test_values_per_query_average_to_those_of_the_experiment() -> None:
    table = experiment(perquery=True)
    assert len(table) == len(SYSTEMS) * len(QUERIES) * len(MEASURES)
    means = table.pivot_table(index="name", columns="measure", values="value", aggfunc="mean")
    whole = experiment().set_index("name")
    for name in SYSTEMS:
        assert means.loc[name].to_dict() == pytest.approx(whole.loc[name].to_dict(), abs=1e-14)


def test_no_java_is_started_and_nothing_is_warned_of() -> None:
    if find_spec("pyterrier") is None:
        assert str(SHARE) in experiment().columns
        return
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import test_irm_pyterrier as t, pyterrier as pt\n"
        "table = t.experiment(baseline=0, round=3)\n"
        "assert not pt.java.started()\n"
        "print(*table.columns, sep='\\n')\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    columns = done.stdout.splitlines()
    assert columns[0] == "name"
    assert {*map(str, MEASURES), f"{SHARE} p-value"} <= set(columns)
