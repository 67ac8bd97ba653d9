"""Our own kernels as a backend: exact, and there without any further package."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from falsify_adapters.adapters.translate import elsewhere, require
from falsify_adapters.core.kernels import Hits, evaluate, gold_stats
from falsify_adapters.measures import Measure
from falsify_adapters.model import Judgments


class BuiltinBackend:
    """The ten families of `core.kernels`, at any level and cutoff, and IPrec as trec_eval 10 has it."""

    name = "builtin"

    def why_not(self, measure: Measure) -> str | None:
        return None if measure.has_kernel or measure.family == "IPrec" else elsewhere(self.name, measure)

    def tolerance(self, measure: Measure) -> float:  # noqa: ARG002 - the same for every measure
        return 1e-9

    def score(
        self, measure: Measure, qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Mapping[str, float]]
    ) -> Sequence[float]:
        require(self, measure)
        if measure.family == "IPrec":
            recall = float(measure.param("recall"))
            return [_interpolated(qrels[query], run[query], recall, measure.rel) for query in qrels]
        documents = sorted({doc for grades in qrels.values() for doc in grades})
        code = {doc: i for i, doc in enumerate(documents)}
        rows = [(code[doc], grade) for grades in qrels.values() for doc, grade in sorted(grades.items())]
        table = np.array(rows, dtype=np.int64).reshape(-1, 2)
        judgments = Judgments(
            queries=tuple(qrels),
            n_docs=len(documents),
            start=np.concatenate([[0], np.cumsum([len(g) for g in qrels.values()])]).astype(np.int64),
            doc=table[:, 0].astype(np.int32),
            grade=table[:, 1].astype(np.int32),
        )
        hits = [
            (pair, rank, grades[doc])
            for pair, (query, grades) in enumerate(qrels.items())
            for rank, doc in enumerate(sorted(run[query], key=run[query].__getitem__, reverse=True), 1)
            if doc in grades
        ]
        pair, rank, grade = np.array(hits, dtype=np.int64).reshape(-1, 3).T
        values = evaluate(measure, Hits(pair, rank, grade), len(qrels), gold_stats(measure, judgments))
        return [float(v) for v in values]


def _interpolated(judged: Mapping[str, int], scores: Mapping[str, float], recall: float, rel: int) -> float:
    """Highest precision from the rank on where `recall` of the relevant documents are found, that number rounded as
    trec_eval 10 does (lround); trec_eval 9, inside pytrec_eval, rounds up from 0.1."""
    wanted = math.floor(recall * sum(grade >= rel for grade in judged.values()) + 0.5)
    found, best = 0, [0.0]
    for rank, doc in enumerate(sorted(scores, key=scores.__getitem__, reverse=True), 1):
        found += judged.get(doc, rel - 1) >= rel
        if found >= max(wanted, 1):
            best.append(found / rank)
    return max(best)
