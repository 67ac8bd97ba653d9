"""pytrec_eval (pytrec-eval-terrier): trec_eval's own C code.

Measured in 0.5.11: a query whose judgments are all negative crashes the process, at times and with nDCG or bpref
alone; so does bpref at a huge relevance level; uncut nDCG takes time quadratic in the grade (minutes at 10^6), while
ndcg_cut with a cutoff that no list reaches gives the same number. None of these is ever handed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from falsify_adapters.adapters.translate import (
    NO_CUTOFF,
    binary,
    decimal,
    elsewhere,
    judged,
    missing,
    ranked,
    refuse_huge,
    require,
)
from falsify_adapters.measures import Measure

_PLAIN = {
    "RR": "recip_rank", "Rprec": "Rprec", "bpref": "bpref", "SetP": "set_P", "SetR": "set_recall", "SetF": "set_F",
    "SetAP": "set_map", "IPrec": "iprec_at_recall", "11pt_avg": "11pt_avg", "infAP": "infAP", "AP": "map",
    "R": "set_recall",
}  # fmt: skip
_CUT = {"P": "P", "R": "recall", "Success": "success", "AP": "map_cut", "nDCG": "ndcg_cut", "relative_P": "relative_P"}


def trec_name(measure: Measure) -> str | None:
    """trec_eval's name for the measure, None where it has none. RR@k is recip_rank of lists cut at k."""
    params = dict(measure.params)
    judged_only = bool(params.pop("judged_only", False))
    family, cutoff = measure.family, measure.cutoff
    if family == "nDCG":
        return f"ndcg_cut.{cutoff or NO_CUTOFF}" if measure.gain == "linear" else None
    if family == "RR" and cutoff is not None and judged_only:
        return None
    if cutoff is not None and family != "RR":
        return f"{_CUT[family]}.{cutoff}" if family in _CUT else None
    if family == "SetP" and params.get("relative"):
        return "set_relative_P"
    if family == "IPrec":
        return f"iprec_at_recall.{float(params['recall']):.2f}"
    if family == "SetF" and "beta" in params:
        return f"set_F.{decimal(float(params['beta']))}"
    return _PLAIN.get(family)


class PytrecEvalBackend:
    """trec_eval's measures. Judgments of binary measures are handed over as 1, 0 and -1 (`translate.binary`)."""

    name = "pytrec_eval"

    def why_not(self, measure: Measure) -> str | None:
        if trec_name(measure) is None:
            return elsewhere(self.name, measure)
        return missing("pytrec_eval", "pytrec-eval")

    def tolerance(self, measure: Measure) -> float:  # noqa: ARG002 - the same for every measure
        return 1e-9

    def score(
        self, measure: Measure, qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Mapping[str, float]]
    ) -> Sequence[float]:
        require(self, measure)
        refuse_huge(measure, qrels)
        import pytrec_eval

        evaluator = pytrec_eval.RelevanceEvaluator(
            judged(qrels) if measure.graded else binary(qrels, measure.rel),
            [name for name in (trec_name(measure),) if name],
            judged_docs_only_flag=bool(dict(measure.params).get("judged_only", False)),
        )
        values = evaluator.evaluate(ranked(qrels, run, measure.cutoff if measure.family == "RR" else None))
        out = []
        for query in qrels:
            (value,) = values[query].values()  # one measure was asked for
            out.append(float(value))
        return out
