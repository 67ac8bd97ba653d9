"""Chance-corrected scores and lifts from ir_measures, beside its own measures.

    python ir_measures_gate.py [QRELS RUN N]

QRELS and RUN are TREC files, N the number of documents in the collection. Without them it takes made data: 30 queries
over 500 documents, and a system that puts the only relevant document third.
"""

from __future__ import annotations

import sys

import ir_measures
from ir_measures import RR, Qrel, ScoredDoc, nDCG

from falsify_adapters.irm import ChanceCorrected, Floor, Lift

QUERIES = range(30)


def made() -> tuple[list[Qrel], list[ScoredDoc], int]:
    qrels = [Qrel(f"q{q}", f"d{q}", 1) for q in QUERIES]
    run = [ScoredDoc(f"q{q}", f"d{(q + 2 - r) % 500}", 10.0 - r) for q in QUERIES for r in range(10)]
    return qrels, run, 500


def main(args: list[str]) -> None:
    if args:
        qrels = list(ir_measures.read_trec_qrels(args[0]))
        run = list(ir_measures.read_trec_run(args[1]))
        n = int(args[2])
    else:
        qrels, run, n = made()
    measures = [
        RR @ 10,
        nDCG @ 10,
        Floor(nDCG @ 10, pool=n),
        ChanceCorrected(nDCG @ 10, pool=n),
        *(Lift(nDCG @ 10, null=null, pool=n) for null in "ABCD"),
    ]
    found = ir_measures.calc_aggregate(measures, qrels, run)
    for measure in measures:
        print(f"{measure!s:46}{found[measure]:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
