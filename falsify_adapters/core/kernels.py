"""The ten measure families on ranked hits, for many (list, gold set) pairs at once.

A hit is a retrieved document that the gold set judges; a pair's value depends on its hits alone, so pairs without a
gold hit are 0 in every family here and never need to be graded. Definitions are trec_eval's (RBP and ERR: those of
Moffat and Zobel 2008 and Chapelle et al. 2009, the latter with gdeval's stop(g) = (2^g - 1)/16).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from falsify_adapters.errors import MeasureError
from falsify_adapters.measures import Measure
from falsify_adapters.model import Floats, Ints, Judgments

ERR_MAX_GRADE = 4


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """Judged hits of many pairs, sorted by pair, then rank.

    pair: (n,) pair numbers; rank: (n,) from 1; grade: (n,) grades, 0 (judged non-relevant) included only where
    the measure looks at it (bpref); first, last: (n,) the ranks at which each hit's tie begins and ends, where values
    are averaged over the order of ties, else None.
    """

    pair: Ints
    rank: Ints
    grade: Ints
    first: Ints | None = None
    last: Ints | None = None


@dataclass(frozen=True, slots=True, eq=False)
class GoldStats:
    """What a measure must know of a gold set beside the hits, one row per gold set.

    relevant: (U,) G, documents at or above the level; nonrelevant: (U,) M, judged from 0 to below the level;
    ideal: (U,) the ideal DCG at the cutoff (nDCG only, else zeros).
    """

    relevant: Ints
    nonrelevant: Ints
    ideal: Floats

    def take(self, rows: Ints) -> GoldStats:
        return GoldStats(self.relevant[rows], self.nonrelevant[rows], self.ideal[rows])


def gains(grade: NDArray[np.integer], gain: str) -> Floats:
    """Gain of each grade: g, or 2^g - 1; negative grades gain 0."""
    g: Floats = np.maximum(grade, 0).astype(np.float64)
    return np.asarray(np.exp2(g) - 1.0) if gain == "exp" else g


def discount(rank: NDArray[np.integer | np.floating]) -> Floats:
    """1 / log2(r + 1)."""
    return np.asarray(1.0 / np.log2(rank.astype(np.float64) + 1.0))


def stop(grade: NDArray[np.integer]) -> Floats:
    """Probability that ERR's reader stops at a document of each grade: (2^g - 1) / 16, 0 for negative grades."""
    return gains(grade, "exp") / 2.0**ERR_MAX_GRADE


def relevant_from(measure: Measure) -> int:
    """The lowest grade whose hits move the measure: nDCG and ERR look at every positive grade, whatever the level."""
    return 1 if measure.graded else measure.rel


def precision_cutoff(measure: Measure) -> int:
    """The k that P@k divides by. Raises MeasureError where there is none: P is not defined without a cutoff."""
    if measure.cutoff is None:
        raise MeasureError(f"{measure} needs a cutoff", legal="P@1, P@2, ...", mend="Use P@10, or R for recall.")
    return measure.cutoff


def gold_stats(measure: Measure, judgments: Judgments) -> GoldStats:
    """Statistics of every query's own judgments. Raises MeasureError where ERR meets a grade above 4."""
    level = relevant_from(measure)
    query, grade, n = judgments.query, judgments.grade, judgments.n_queries
    if measure.family == "ERR" and len(grade) and grade.max() > ERR_MAX_GRADE:
        at = int(np.argmax(grade))
        raise MeasureError(
            f"{measure} is defined for grades up to {ERR_MAX_GRADE}, and query {judgments.queries[query[at]]!r} "
            f"has grade {int(grade[at])}",
            legal=f"grades 0 to {ERR_MAX_GRADE}",
            mend="Use nDCG, or rescale the grades.",
        )
    relevant = np.bincount(query[grade >= level], minlength=n)
    nonrelevant = np.bincount(query[(grade >= 0) & (grade < level)], minlength=n)
    ideal: Floats = np.zeros(n)
    if measure.family == "nDCG":
        positive = grade > 0
        q, g = query[positive], gains(grade[positive], measure.gain)
        order = np.lexsort((-g, q))
        q, g = q[order], g[order]
        place = np.arange(len(q)) - np.searchsorted(q, q, side="left")
        seen = np.ones(len(q), bool) if measure.cutoff is None else place < measure.cutoff
        ideal = np.bincount(q[seen], g[seen] * discount(place[seen] + 1), minlength=n).astype(np.float64)
    return GoldStats(relevant.astype(np.int64), nonrelevant.astype(np.int64), ideal)


def evaluate(measure: Measure, hits: Hits, n_pairs: int, stats: GoldStats) -> Floats:
    """Value of every pair, (n_pairs,); `stats` has one row per pair. Pairs without gold are 0."""
    if not measure.has_kernel:
        raise MeasureError(f"{measure} has no kernel")
    level = relevant_from(measure)
    keep = hits.grade >= (0 if measure.family == "bpref" else level)
    if measure.cutoff is not None:
        keep &= hits.rank <= measure.cutoff
    pair, rank, grade = hits.pair[keep], hits.rank[keep], hits.grade[keep]
    r = rank.astype(np.float64)
    gold = np.maximum(stats.relevant, 1).astype(np.float64)

    def total(weight: Floats | None = None) -> Floats:
        return np.bincount(pair, weight, minlength=n_pairs).astype(np.float64)

    family = measure.family
    if family == "P":
        return total() / precision_cutoff(measure)
    if family == "R":
        return total() / gold
    if family == "Success":
        return (total() > 0).astype(np.float64)
    if family == "RR":
        out = np.zeros(n_pairs)
        first = _first_of_pair(pair)
        out[pair[first]] = 1.0 / r[first]
        return out
    if family == "AP":
        return total(_place_in_pair(pair) / r) / gold
    if family == "nDCG":
        ideal = np.where(stats.ideal > 0, stats.ideal, 1.0)
        return total(gains(grade, measure.gain) * discount(rank)) / ideal
    if family == "Rprec":
        pair = pair[rank <= stats.relevant[pair]]
        return total() / gold
    if family == "RBP":
        p = float(measure.param("p"))
        return total((1.0 - p) * p ** (r - 1.0))
    if family == "bpref":
        bad = (grade < level).astype(np.int64)
        above = np.cumsum(bad) - bad
        above -= above[_start_of_pair(pair)] if len(pair) else 0
        bound = np.minimum(stats.relevant, stats.nonrelevant)[pair]
        share = np.minimum(above, stats.relevant[pair]) / np.maximum(bound, 1)
        return total(np.where(bad == 1, 0.0, 1.0 - np.where(above > 0, share, 0.0))) / gold
    return _err(pair, r, grade, n_pairs)


def _err(pair: Ints, r: Floats, grade: Ints, n_pairs: int) -> Floats:
    # The product over earlier hits runs level by level (all first hits, all second hits, ...): a running sum of
    # logarithms over all pairs would lose digits on long inputs.
    stops = stop(grade)
    place = _place_in_pair(pair).astype(np.int64) - 1
    order = np.argsort(place, kind="stable")
    bounds = np.searchsorted(place[order], np.arange(int(place.max(initial=-1)) + 2))
    out, going = np.zeros(n_pairs), np.ones(n_pairs)
    for a, b in pairwise(bounds):
        rows = order[a:b]
        out[pair[rows]] += going[pair[rows]] * stops[rows] / r[rows]
        going[pair[rows]] *= 1.0 - stops[rows]
    return out


def _first_of_pair(pair: Ints) -> NDArray[np.bool_]:
    first = np.ones(len(pair), bool)
    first[1:] = pair[1:] != pair[:-1]
    return first


def _start_of_pair(pair: Ints) -> Ints:
    """(n,) index of the first hit of the same pair."""
    first = _first_of_pair(pair)
    return np.asarray(np.flatnonzero(first)[np.cumsum(first) - 1], dtype=np.int64)


def _place_in_pair(pair: Ints) -> Floats:
    """(n,) 1, 2, 3, ... within each pair."""
    if not len(pair):
        return np.zeros(0)
    return (np.arange(len(pair)) - _start_of_pair(pair) + 1).astype(np.float64)
