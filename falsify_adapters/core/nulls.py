"""The four nulls: what each replaces, its expectation per query, and draws from it.

A permuted gold sets, B uniformly drawn distinct gold sets, C random retrieval, D gold labels drawn by popularity.
Every null is summarised in the same way, so that the resampling and the verdict need not know which one it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from falsify_adapters.core import sampling
from falsify_adapters.core.cross import CrossScores, Grade, gold_level, lowest_grade, visible
from falsify_adapters.core.kernels import Hits
from falsify_adapters.measures import Measure
from falsify_adapters.model import Floats, Ints, Judgments, Lists

DENSE = 2048  # up to this many queries S is held as a full matrix


@dataclass(frozen=True, slots=True, eq=False)
class NullScores:
    """One null of one measure and run.

    per_query: (Q,) each query's own expectation; mean: the expectation of the score, fixed points included for A;
    se: standard error of `mean`, 0 where exact; draws: (B,) scores drawn under the null; reach: the most that any
    order of the same documents could score under it, None where the pool is the whole collection.
    """

    per_query: Floats
    mean: float
    se: float
    draws: Floats
    reach: float | None = None

    @property
    def method(self) -> str:
        return "exact" if self.se == 0 else "simulated"


@dataclass(frozen=True, slots=True, eq=False)
class GoldSets:
    """Which queries have gold, and which of them share one gold set (same documents and grades above 0).

    rows: (Qg,) queries with gold; set_of: (Qg,) number of the gold set of each; n_sets: distinct gold sets.
    """

    rows: Ints
    set_of: Ints
    n_sets: int


def gold_sets(measure: Measure, judgments: Judgments) -> GoldSets:
    low = gold_level(measure)
    has_gold = np.bincount(judgments.query[judgments.grade >= low], minlength=judgments.n_queries) > 0
    rows = np.flatnonzero(has_gold)
    known: dict[bytes, int] = {}
    number = np.empty(len(rows), np.int64)
    for n, q in enumerate(rows):
        part = slice(judgments.start[q], judgments.start[q + 1])
        positive = judgments.grade[part] > 0
        key = judgments.doc[part][positive].tobytes() + judgments.grade[part][positive].tobytes()
        number[n] = known.setdefault(key, len(known))
    return GoldSets(rows, number, len(known))


def set_weights(n_queries: int, gold: GoldSets, *, uniform_sets: bool) -> Floats:
    """(Q,) how likely each query's gold set is drawn: every query's alike, or every distinct set's alike (shared out
    evenly among the queries that have it; they can differ in judgments at grade 0 and below)."""
    out = np.zeros(n_queries)
    if len(gold.rows):
        times = np.bincount(gold.set_of, minlength=gold.n_sets)
        out[gold.rows] = 1.0 / (gold.n_sets * times[gold.set_of]) if uniform_sets else 1.0 / len(gold.rows)
    return out


def permuted_gold(cross: CrossScores, gold: GoldSets, n_draws: int, rng: Generator) -> NullScores:
    """Null A: gold sets dealt out by a random bijection of the queries that have gold."""
    dealt = gold.rows[sampling.deal_queries(len(gold.rows), n_draws, rng)] if len(gold.rows) else None
    return _from_sets(cross, gold, set_weights(cross.n_queries, gold, uniform_sets=False), dealt, n_draws)


def drawn_sets(cross: CrossScores, gold: GoldSets, n_draws: int, rng: Generator, *, uniform_sets: bool) -> NullScores:
    """Null B (`uniform_sets`) and null D by sets: each query draws one of the distinct gold sets, alike or by the
    number of queries that have it."""
    dealt = None
    if len(gold.rows):
        if uniform_sets:
            order = np.argsort(gold.set_of, kind="stable")
            begin = np.searchsorted(gold.set_of[order], np.arange(gold.n_sets + 1))
            which = rng.integers(0, gold.n_sets, (n_draws, len(gold.rows)))
            member = begin[which] + rng.integers(0, np.diff(begin)[which])
            dealt = gold.rows[order[member]]
        else:
            dealt = gold.rows[rng.integers(0, len(gold.rows), (n_draws, len(gold.rows)))]
    return _from_sets(cross, gold, set_weights(cross.n_queries, gold, uniform_sets=uniform_sets), dealt, n_draws)


def _from_sets(
    cross: CrossScores, gold: GoldSets, weight: Floats, dealt: Ints | None, n_draws: int
) -> NullScores:
    per_query = np.zeros(cross.n_queries)
    per_query[gold.rows] = cross.row_means(weight)[gold.rows]
    mean = float(per_query.sum() / cross.n_queries)
    drawn = np.zeros(n_draws) if dealt is None else _dealt_scores(cross, gold, dealt)
    return NullScores(per_query, mean, cross.se, drawn)


def _dealt_scores(cross: CrossScores, gold: GoldSets, dealt: Ints) -> Floats:
    """(B,) mean over queries of S[i, dealt[b, i]]."""
    n_draws, n = dealt.shape
    if cross.n_queries <= DENSE:
        score = cross.dense()
        total = np.array([score[gold.rows, row].sum() for row in dealt])
        return total / cross.n_queries
    column = np.full(cross.n_queries, -1)
    column[gold.rows] = np.arange(n)
    used = column[cross.i] >= 0
    i, j, value = column[cross.i[used]], cross.j[used], cross.value[used]
    narrow, j = dealt.astype(np.int32), j.astype(np.int32)
    rows = max(1, sampling.BLOCK // max(len(i), 1))
    total = np.concatenate(
        [(narrow[a : a + rows][:, i] == j) @ value for a in range(0, n_draws, rows)]
    )
    return np.asarray(total / cross.n_queries)


def simulated(
    blocks: Iterator[tuple[Ints, Hits]], grade: Grade, judgments: Judgments, depth: Ints, n_draws: int
) -> tuple[Floats, Floats]:
    """Grade drawn hits: (Q,) mean per query, (B,) mean score per draw."""
    n = judgments.n_queries
    bare = without_hits(grade, depth)
    per_query, per_draw = np.zeros(n), np.zeros(n_draws)
    for cell, hits in blocks:
        owner = cell % n
        gain = grade(hits, owner, depth[owner]) - bare[owner]
        per_query += np.bincount(owner, gain, minlength=n)
        per_draw += np.bincount(cell // n, gain, minlength=n_draws)
    return bare + per_query / n_draws, bare.mean() + per_draw / n


def without_hits(grade: Grade, depth: Ints) -> Floats:
    """(Q,) value of a list without judged documents: 0 for most measures."""
    none = np.zeros(0, np.int64)
    return grade(Hits(none, none, none), np.arange(len(depth), dtype=np.int64), depth)


def drawn_labels(
    measure: Measure, judgments: Judgments, lists: Lists, grade: Grade, n_draws: int, rng: Generator
) -> NullScores:
    """Null D by documents: each query's gold labels replaced by as many distinct labels drawn by popularity.

    Exact for queries with one gold document; those with several are simulated. Judgments below the gold level, where
    the measure looks at them, stay in place.
    """
    low, lowest = gold_level(measure), lowest_grade(measure)
    shown = _cut(measure, lists)
    blocks = sampling.label_draws(judgments, shown, low, n_draws, rng, keep_from=lowest if lowest < low else None)
    per_query, per_draw = simulated(blocks, grade, judgments, lists.depth, n_draws)
    gold = np.bincount(judgments.query[judgments.grade >= low], minlength=judgments.n_queries)
    exact = gold <= 1
    if lowest < low:
        exact = gold < 1
    elif exact.any():
        per_query[exact] = _single_label(judgments, shown, grade, low, exact)[exact]
    mean = float(per_query.sum() / judgments.n_queries)
    se = 0.0 if exact.all() or n_draws < 2 else float(per_draw.std(ddof=1) / np.sqrt(n_draws))
    return NullScores(per_query, mean, se, per_draw)


def _single_label(
    judgments: Judgments, lists: Lists, grade: Grade, low: int, single: NDArray[np.bool_]
) -> Floats:
    """(Q,) the frequency-weighted mean over labels, for queries with one gold document (0 for those with none)."""
    n = judgments.n_queries
    own_grade = np.zeros(n, np.int64)
    gold = judgments.grade >= low
    own_grade[judgments.query[gold]] = judgments.grade[gold]
    frequency = np.bincount(judgments.doc[gold], minlength=judgments.n_docs) / max(int(gold.sum()), 1)
    rows = np.flatnonzero((single & (own_grade > 0))[lists.query] & (frequency[lists.doc] > 0))
    query = lists.query[rows].astype(np.int64)
    hits = Hits(np.arange(len(rows)), lists.rank[rows].astype(np.int64), own_grade[query])
    bare = without_hits(grade, lists.depth)
    gain = (grade(hits, query, lists.depth[query]) - bare[query]) * frequency[lists.doc[rows]]
    return np.asarray(bare + np.bincount(query, gain, minlength=n))


def random_draws(
    measure: Measure, judgments: Judgments, size: Ints, depth: Ints, inside: NDArray[np.bool_] | None, grade: Grade,
    n_draws: int, rng: Generator,
) -> tuple[Floats, Floats]:
    """Null C by simulation: (Q,) mean per query, (B,) mean score per draw."""
    seen = judgments.grade >= lowest_grade(measure)
    if inside is not None:
        seen &= inside
    grades = [
        judgments.grade[a:b][seen[a:b]].astype(np.int64)
        for a, b in zip(judgments.start[:-1], judgments.start[1:], strict=True)
    ]
    reach = np.minimum(depth, size)
    shown = reach if measure.cutoff is None else np.minimum(reach, measure.cutoff)
    blocks = sampling.random_lists(grades, size, shown, n_draws, rng)
    return simulated(blocks, grade, judgments, reach, n_draws)


def _cut(measure: Measure, lists: Lists) -> Lists:
    """The rows of the lists inside the measure's cutoff."""
    rows = visible(measure, lists)
    if rows.all():
        return lists
    start = np.concatenate([[0], np.cumsum(rows)])[lists.start]
    return Lists(
        lists.depth, start, lists.rank[rows], lists.doc[rows], lists.tie_first[rows], lists.tie_last[rows],
        lists.first_tie, lists.all_tied,
    )
