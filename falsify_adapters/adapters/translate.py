"""What the adapters do to judgments and lists before a library sees them: translation, never scoring.

The libraries crash, give NaN or skip a query where a list is empty or nothing is judged from 0 up. A document that
nobody judged, and a judged non-relevant one that nobody retrieved, change no measure and keep them off that ground.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from falsify_adapters.errors import BackendError
from falsify_adapters.measure_names import BY_NAME
from falsify_adapters.measures import Measure
from falsify_adapters.model import Backend

Judged = Mapping[str, Mapping[str, int]]
Ranked = Mapping[str, Mapping[str, float]]

# Ids that cannot be codes: a document in a list that nobody judged, and judged ones that nobody retrieved.
UNJUDGED, NOT_RETRIEVED, GOLD_NOT_RETRIEVED = "unjudged", "nonrelevant", "gold"
# Families of ir_measures that judge by subtopic.
SUBTOPICS = ("alpha_nDCG", "ERR_IA", "nERR_IA", "NRBP", "nNRBP", "AP_IA", "P_IA", "StRecall")
# A cutoff that no list reaches.
NO_CUTOFF = 2**31 - 1
# 10 ms and 8 MB a query.
HIGHEST_GRADE = 10**6


def missing(module: str, extra: str) -> str | None:
    """Why the library cannot be used, without importing it."""
    if find_spec(module) is not None:
        return None
    return f"{module} is not installed: pip install 'falsify-adapters[{extra}]'"


def elsewhere(backend: str, measure: Measure) -> str:
    """The sentence for a measure that the backend does not have: who does, or what to use instead."""
    family, judged_only = measure.family, dict(measure.params).get("judged_only", False)
    if measure.has_kernel:
        cure = "use --backend builtin"
    elif family in SUBTOPICS:
        cure = "it needs judgments by subtopic, and qrels are read without subtopics; use nDCG@10"
    elif family == "RR" and judged_only and measure.cutoff is not None:
        cure = f"no library cuts RR behind the unjudged documents; use RR(judged_only=True) or RR@{measure.cutoff}"
    elif family == "F1":
        cure = "use --backend ranx"
    elif family in ("11pt_avg", "relative_P"):
        cure = "use --backend pytrec_eval"
    elif family in BY_NAME:
        cure = "use --backend ir_measures"
    else:
        cure = "`falsify-adapters measures` lists who computes what"
    return f"{backend} does not compute {measure}: {cure}"


def require(backend: Backend, measure: Measure) -> None:
    """Raises BackendError where the backend does not compute the measure: nothing impossible reaches a library."""
    if measure.cutoff is not None and measure.cutoff < 1:
        raise BackendError(f"{measure} has no legal cutoff", legal="a whole number from 1")
    why = backend.why_not(measure)
    if why is not None:
        raise BackendError(why)


def refuse_huge(measure: Measure, qrels: Judged) -> None:
    """Raises BackendError where trec_eval's memory for nDCG, 8 bytes a query times the grade, would get out of hand."""
    top = max((g for grades in qrels.values() for g in grades.values()), default=0)
    if measure.family == "nDCG" and top > HIGHEST_GRADE:
        raise BackendError(
            f"{measure} with a grade of {top}: trec_eval's time and memory grow with the grade",
            legal=f"grades up to {HIGHEST_GRADE}",
            mend="Use --backend builtin, or put the grades on a scale of a few steps.",
        )


def judged(qrels: Judged) -> dict[str, dict[str, int]]:
    """The judgments, each query with at least one grade from 0 up: trec_eval crashes on queries without."""
    return {
        query: dict(grades) if any(g >= 0 for g in grades.values()) else {**grades, NOT_RETRIEVED: 0}
        for query, grades in qrels.items()
    }


def binary(qrels: Judged, level: int) -> dict[str, dict[str, int]]:
    """`judged`, and 1 from the level up, 0 from there down to 0, -1 below: what a relevance level means.

    Handing the level itself over makes trec_eval's cost, and its crash on huge levels, depend on how grades are coded.
    """
    return {
        query: {doc: 1 if g >= level else 0 if g >= 0 else -1 for doc, g in grades.items()}
        for query, grades in judged(qrels).items()
    }


def ranked(qrels: Judged, run: Ranked, cutoff: int | None = None) -> dict[str, dict[str, float]]:
    """The lists in the order of `qrels`, cut at the cutoff, none of them empty."""
    out: dict[str, dict[str, float]] = {}
    for query in qrels:
        scores: Mapping[str, float] = run[query]
        if cutoff is not None and len(scores) > cutoff:
            best = sorted(scores, key=scores.__getitem__, reverse=True)[:cutoff]
            scores = {doc: scores[doc] for doc in best}
        out[query] = dict(scores) or {UNJUDGED: 1.0}
    return out


def decimal(value: float) -> str:
    """A number in plain decimals, digits enough to read it back exactly: the libraries know no exponents."""
    from numpy import format_float_positional

    return format_float_positional(value, trim="-")
