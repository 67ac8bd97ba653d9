"""ranx: numba kernels, compiled at the first call of each process.

Measured in 0.3.21: RBP multiplies by the raw grade; bpref counts negative grades as judged non-relevant, is NaN where
nothing is judged non-relevant (passed on: the caller refuses it), and in a query without gold stops its thread, so
that the queries behind it come out as 0; nDCG honours the relevance level. The number of threads is global.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

from falsify_adapters.adapters.translate import (
    GOLD_NOT_RETRIEVED,
    NOT_RETRIEVED,
    binary,
    decimal,
    elsewhere,
    judged,
    missing,
    ranked,
    require,
)
from falsify_adapters.measures import Measure

_PLAIN = {
    "RR": "mrr", "AP": "map", "R": "recall", "SetR": "recall", "SetP": "precision", "SetF": "f1", "bpref": "bpref",
    "Rprec": "r-precision", "nDCG": "ndcg",
}  # fmt: skip
_CUT = {"RR": "mrr", "AP": "map", "R": "recall", "P": "precision", "F1": "f1", "Success": "hit_rate", "nDCG": "ndcg"}


def ranx_name(measure: Measure) -> str | None:
    """ranx's name for the measure, None where it has none. RBP@k is RBP of lists cut at k."""
    if measure.family == "RBP":
        return f"rbp.{decimal(float(measure.param('p'))).removeprefix('0.')}"
    name = (_PLAIN if measure.cutoff is None else _CUT).get(measure.family)
    if name is None or measure.params:
        return None
    if measure.graded:
        name += "_burges" if measure.gain == "exp" else ""
    at = f"@{measure.cutoff}" if measure.cutoff is not None else ""
    return f"{name}{at}" if measure.graded or measure.rel == 1 else f"{name}{at}-l{measure.rel}"


class RanxBackend:
    """ranx's measures. Never gives nDCG a level."""

    name = "ranx"

    def why_not(self, measure: Measure) -> str | None:
        if ranx_name(measure) is None:
            return elsewhere(self.name, measure)
        return missing("ranx", "ranx")

    def tolerance(self, measure: Measure) -> float:  # noqa: ARG002 - the same for every measure
        return 1e-9

    def score(
        self, measure: Measure, qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Mapping[str, float]]
    ) -> Sequence[float]:
        require(self, measure)
        import numba
        import ranx

        grades = judged(qrels)
        if measure.family == "RBP":
            grades = binary(qrels, measure.rel)
        elif measure.family == "bpref":
            for query, given in grades.items():
                gold = {} if max(given.values()) >= measure.rel else {GOLD_NOT_RETRIEVED: measure.rel, NOT_RETRIEVED: 0}
                grades[query] = {doc: g for doc, g in given.items() if g >= 0} | gold
        lists = ranked(qrels, run, measure.cutoff if measure.family == "RBP" else None)
        name, threads = ranx_name(measure), numba.get_num_threads()
        try:
            with warnings.catch_warnings():
                # numba's own remark on a loop counter of ranx's, at the first compilation.
                warnings.simplefilter("ignore", numba.core.errors.NumbaTypeSafetyWarning)
                # Asked for twice: a lone measure's values are looked up under its name without cutoff (KeyError).
                values = ranx.evaluate(grades, lists, [name, name], return_mean=False)[name]
        finally:
            numba.set_num_threads(threads)
        return [float(v) for v in values]
