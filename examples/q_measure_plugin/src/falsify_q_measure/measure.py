"""Q-measure (Sakai 2004): average precision whose precision is blended with cumulative gain.

With G gold documents of gains g (their grades), C(r) gold documents and cg(r) gain in the first r, and cgI(r) the
gain of the best r gold documents,

    Q = 1/G * sum over gold documents, retrieved at rank r, of (C(r) + beta cg(r)) / (r + beta cgI(r)).

beta is 1 by default; at beta = 0 this is average precision. Q@k sums over the first k ranks and divides by min(k, G),
so that a list of the best k documents scores 1.

Tetsuya Sakai, New performance metrics based on multigrade relevance: their application to question answering,
NTCIR-4, 2004. The cutoff: Tetsuya Sakai, Metrics, statistics, tests, PROMISE winter school 2013, LNCS 8173.
"""

from __future__ import annotations

from collections.abc import Sequence

from falsify_adapters.measure_names import LAST_JUDGED, OPTIONAL, Family, Param
from falsify_adapters.measures import Measure
from falsify_adapters.offers import MeasureSpec

FAMILY = Family(
    "Q",
    "Q-measure",
    "Mean over gold documents of (C(r) + beta cg(r)) / (r + beta cgI(r)) at their ranks r.",
    cutoff=OPTIONAL,
    params={"beta": Param(float, 0.0, default=1.0)},
    zero_without_gold=True,  # so that only lists and gold sets that overlap are graded
    tail=LAST_JUDGED,
)


def score(measure: Measure, ranked: Sequence[int | None], judged: Sequence[int]) -> float:
    """Q of one ranked list; 0 for a query without gold."""
    beta, ideal, gold = _beta(measure), _ideal(measure, judged, len(ranked)), _gold(measure, judged)
    found, gain, total = 0, 0, 0.0
    for r, grade in enumerate(ranked, start=1):
        if grade is not None and grade >= measure.rel:
            found += 1
            gain += grade
            total += (found + beta * gain) / (r + beta * ideal[r - 1])
    return total / _best(measure, len(gold)) if gold else 0.0


def floor(measure: Measure, n: int, depth: int, in_pool: Sequence[int], judged: Sequence[int]) -> float:
    """Exact expectation of Q when `depth` of `n` documents are drawn at random and ranked in random order.

    Given a gold document d at rank r, which has probability 1/n, each of the r - 1 places above it holds another
    gold document h with probability 1/(n - 1), so C(r) + beta cg(r) is 1 + beta g_d, and 1 + beta g_h for each h times
    (r - 1)/(n - 1). Summed over d, that is (G + beta S)(1 + (r - 1)(G - 1)/(n - 1)), with G gold documents and their
    gain S in the pool. The denominators do not depend on the draw.
    """
    gold, pool_gold = _gold(measure, judged), _gold(measure, in_pool)
    if not gold:
        return 0.0
    m = min(depth, n, measure.cutoff or depth)
    beta, ideal = _beta(measure), _ideal(measure, judged, m)
    worth = len(pool_gold) + beta * sum(pool_gold)
    others = (len(pool_gold) - 1) / (n - 1) if n > 1 else 0.0
    total = sum((1 + (r - 1) * others) / (r + beta * ideal[r - 1]) for r in range(1, m + 1))
    return worth / n * total / _best(measure, len(gold))


SPEC = MeasureSpec(FAMILY, citation="Sakai 2004, NTCIR-4", score=score, floor=floor)


def _beta(measure: Measure) -> float:
    return float(dict(measure.params).get("beta", 1.0))


def _gold(measure: Measure, grades: Sequence[int]) -> list[int]:
    return [grade for grade in grades if grade >= measure.rel]


def _best(measure: Measure, gold: int) -> int:
    return min(measure.cutoff or gold, gold)


def _ideal(measure: Measure, judged: Sequence[int], length: int) -> list[int]:
    """cgI(1), ..., cgI(length); `judged` descends."""
    gold = _gold(measure, judged)
    out, total = [], 0
    for r in range(length):
        total += gold[r] if r < len(gold) else 0
        out.append(total)
    return out
