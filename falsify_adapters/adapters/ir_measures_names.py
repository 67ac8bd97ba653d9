"""What ir_measures calls a measure, who of its providers computes it, and what they must not be handed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from falsify_adapters.adapters.translate import NO_CUTOFF, refuse_huge
from falsify_adapters.errors import BackendError
from falsify_adapters.measure_names import BY_NAME
from falsify_adapters.measures import Measure

_GDEVAL_TOP = 4


def measure_object(measure: Measure, reach: int = 1000) -> Any:
    """The measure of ir_measures; None where there is none. reach: no list and no gold set is longer (gdeval)."""
    import ir_measures

    params: dict[str, Any] = dict(measure.params)
    family, cutoff = measure.family, measure.cutoff
    if family == "R" and cutoff is None:
        family = "SetR"
        params.pop("judged_only", None)  # an unjudged document is no gold
    elif family == "RBP":
        cutoff = None  # the lists are cut instead
    elif measure.gain == "exp" or family == "ERR":
        cutoff = cutoff or reach
    elif family == "nDCG":
        cutoff = cutoff or NO_CUTOFF  # uncut, trec_eval takes time quadratic in the grade for the same number
    if measure.gain == "exp":
        params["dcg"] = "exp-log2"
    if family in BY_NAME and BY_NAME[family].level:
        params["rel"] = 1  # the judgments are handed over as 1, 0 and -1
    if cutoff is not None:
        params["cutoff"] = cutoff
    found = getattr(ir_measures, {"bpref": "Bpref"}.get(family, family), None)
    if not isinstance(found, ir_measures.Measure) or not set(params) <= set(found.SUPPORTED_PARAMS):
        return None
    return found(**params)


def provider_of(wanted: Any) -> tuple[Any, list[Any]]:
    """The first installed provider that computes it, and those that would if they were installed."""
    import ir_measures

    able = [p for p in ir_measures.DefaultPipeline.providers if p.NAME != "ranx" and p.supports(wanted)]
    return next((p for p in able if p.is_available()), None), able


def refuse(measure: Measure, qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Mapping[str, float]]) -> None:
    """Stops what the providers would die of or clip without a word."""
    params = dict(measure.params)
    top = max((g for grades in qrels.values() for g in grades.values()), default=0)
    if (measure.family == "ERR" or measure.gain == "exp") and top > _GDEVAL_TOP:
        raise BackendError(
            f"ir_measures computes {measure} with gdeval, which stops at grades above {_GDEVAL_TOP}, and one is {top}",
            legal=f"grades up to {_GDEVAL_TOP}",
            mend="Rescale the grades, or use nDCG@10." if measure.family == "ERR" else "Use --backend builtin or ranx.",
        )
    refuse_huge(measure, qrels)
    if top > int(params.get("max_rel", top)):
        raise BackendError(
            f"{measure} is for grades up to its max_rel, and one is {top}",
            mend=f"Write max_rel={top}, or rescale the grades.",
        )
    if measure.family == "Accuracy":
        for query, scores in run.items():
            seen = sorted(scores, key=scores.__getitem__, reverse=True)[: measure.cutoff]
            if seen and all(qrels[query].get(doc, 0) >= measure.rel for doc in seen):
                raise BackendError(
                    "Accuracy is not defined where every retrieved document is relevant",
                    mend="Use AP or nDCG@10.",
                )
