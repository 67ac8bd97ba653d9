"""A PyTerrier experiment with chance-corrected scores and lifts beside its own measures. No index, no Java.

    python pyterrier_gate.py

Results are data frames here; transformers go in the same place. Without PyTerrier (pip install python-terrier) the
gate itself is shown on the same frames. Made data: 40 queries over 1000 documents, every query with one relevant
document, every fourth query with the same one; a system that ranks by the query, and one that always shows the most
often relevant documents.
"""

from __future__ import annotations

from importlib.util import find_spec

import pandas as pd
from ir_measures import RR

import falsify_adapters as fa
from falsify_adapters.irm import ChanceCorrected, Lift

N = 1000
QUERIES = [f"q{q}" for q in range(40)]
GOLD = {query: "popular" if q % 4 == 0 else f"d{q}" for q, query in enumerate(QUERIES)}
QRELS = pd.DataFrame({"qid": QUERIES, "docno": [GOLD[q] for q in QUERIES], "label": 1})
TOPICS = pd.DataFrame({"qid": QUERIES, "query": "words of the query"})
MEASURES = [
    "recip_rank",
    ChanceCorrected(RR @ 10, pool=N),
    Lift(RR @ 10, null="A"),
    Lift(RR @ 10, null="C", pool=N),
]


def results(lists: dict[str, list[str]]) -> pd.DataFrame:
    rows = [(q, d, 10.0 - r, r) for q, docs in lists.items() for r, d in enumerate(docs)]
    return pd.DataFrame(rows, columns=["qid", "docno", "score", "rank"])


SYSTEMS = {
    "by query": results({q: [f"x{q}", GOLD[q]] for q in QUERIES}),
    "popular": results({q: ["popular", "d1", "d2"] for q in QUERIES}),
}


def main() -> None:
    if find_spec("pyterrier") is None:
        for name, run in SYSTEMS.items():
            print(name, fa.gate(QRELS, run, "RR@10", pool=N), sep="\n")
        return
    import pyterrier as pt

    table = pt.Experiment(SYSTEMS, TOPICS, QRELS, eval_metrics=MEASURES, round=4)
    print(table.set_index("name").T.to_string())


if __name__ == "__main__":
    main()
