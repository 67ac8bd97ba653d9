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
from falsify_adapters.core.cross import CrossScores, Grade, gold_level, lowest_grade, tie_bounds
from falsify_adapters.core.kernels import Hits
from falsify_adapters.measures import Measure, sight
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


def deal_sets(gold: GoldSets, n_draws: int, rng: Generator, *, uniform_sets: bool) -> NDArray[np.signedinteger]:
    """(Qg, n_draws) the query whose gold set each query with gold draws: any distinct set alike (then any query that
    has it), or any query's alike. Places among `gold.rows`, as in `sampling.deal_queries`."""
    n = len(gold.rows)
    kind = sampling.narrow(n)
    if not uniform_sets:
        return rng.integers(0, n, (n, n_draws), dtype=kind)
    order = np.argsort(gold.set_of, kind="stable")
    begin = np.searchsorted(gold.set_of[order], np.arange(gold.n_sets + 1))
    which = rng.integers(0, gold.n_sets, (n, n_draws), dtype=kind)
    dealt = order.astype(kind)[begin[:-1]][which]
    times = np.diff(begin)
    shared = np.flatnonzero((times > 1)[which])  # any of the queries that have the set
    chosen = which.ravel()[shared]
    dealt.ravel()[shared] = order[begin[chosen] + rng.integers(0, times[chosen])]
    return np.asarray(dealt)


def dealt_gold(
    cross: CrossScores, gold: GoldSets, dealt: NDArray[np.signedinteger], *, uniform_sets: bool
) -> NullScores:
    """Nulls A and B, and D by sets: whole gold sets dealt out as in `dealt` (Qg, B)."""
    per_query = np.zeros(cross.n_queries)
    weight = set_weights(cross.n_queries, gold, uniform_sets=uniform_sets)
    per_query[gold.rows] = cross.row_means(weight)[gold.rows]
    mean = float(per_query.sum() / cross.n_queries)
    return NullScores(per_query, mean, cross.se, _dealt_scores(cross, gold, dealt))


def _dealt_scores(cross: CrossScores, gold: GoldSets, dealt: NDArray[np.signedinteger]) -> Floats:
    """(B,) mean over queries of S[i, dealt[i, b]]."""
    if cross.n_queries <= DENSE:
        score = cross.dense()[np.ix_(gold.rows, gold.rows)]
        return np.asarray(np.take_along_axis(score, dealt.astype(np.int64), axis=1).sum(axis=0) / cross.n_queries)
    place = np.full(cross.n_queries, -1)
    place[gold.rows] = np.arange(len(gold.rows))
    used = np.flatnonzero(place[cross.i] >= 0)
    column = cross.column_of[gold.rows].astype(sampling.narrow(cross.n_queries))
    pair, draw = sampling.matches(column[dealt], place[cross.i[used]], cross.j[used])
    return np.bincount(draw, cross.value[used[pair]], minlength=dealt.shape[1]) / cross.n_queries


def simulated(
    blocks: Iterator[tuple[Ints, Hits]],
    grade: Grade,
    judgments: Judgments,
    depth: Ints,
    n_draws: int,
    exact: NDArray[np.bool_] | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Grade drawn hits: (Q,) mean per query, (B,) mean score per draw, and that of the queries that are not `exact`."""
    n = judgments.n_queries
    bare = without_hits(grade, depth)
    per_query, per_draw, rest = np.zeros(n), np.zeros(n_draws), np.zeros(n_draws)
    for cell, hits in blocks:
        owner = cell % n
        gain = grade(hits, owner, depth[owner]) - bare[owner]
        per_query += np.bincount(owner, gain, minlength=n)
        per_draw += np.bincount(cell // n, gain, minlength=n_draws)
        if exact is not None:
            rest += np.bincount(cell // n, gain * ~exact[owner], minlength=n_draws)
    return bare + per_query / n_draws, bare.mean() + per_draw / n, rest / n


def without_hits(grade: Grade, depth: Ints) -> Floats:
    """(Q,) value of a list without judged documents: 0 for most measures."""
    none = np.zeros(0, np.int64)
    return grade(Hits(none, none, none), np.arange(len(depth), dtype=np.int64), depth)


def drawn_labels(
    measure: Measure, judgments: Judgments, lists: Lists, grade: Grade, drawn: tuple[Ints, Hits], n_draws: int
) -> NullScores:
    """Null D by documents: each query's gold labels replaced by as many distinct labels drawn by popularity.

    Exact for queries with one gold document; those with several are simulated, from `drawn` (sampling.label_draws).
    Judgments below the gold level, where the measure looks at them, stay in place.
    """
    low, lowest = gold_level(measure), lowest_grade(measure)
    gold = np.bincount(judgments.query[judgments.grade >= low], minlength=judgments.n_queries)
    exact = gold < 1 if lowest < low else gold <= 1
    per_query, per_draw, rest = simulated(iter([drawn]), grade, judgments, lists.depth, n_draws, exact)
    if lowest >= low and exact.any():
        per_query[exact] = _single_label(judgments, lists, grade, low, exact)[exact]
    mean = float(per_query.sum() / judgments.n_queries)
    se = 0.0 if exact.all() or n_draws < 2 else float(rest.std(ddof=1) / np.sqrt(n_draws))
    return NullScores(per_query, mean, se, per_draw)


def _single_label(judgments: Judgments, lists: Lists, grade: Grade, low: int, single: NDArray[np.bool_]) -> Floats:
    """(Q,) the frequency-weighted mean over labels, for queries with one gold document (0 for those with none)."""
    n = judgments.n_queries
    own_grade = np.zeros(n, np.int64)
    gold = judgments.grade >= low
    own_grade[judgments.query[gold]] = judgments.grade[gold]
    frequency = np.bincount(judgments.doc[gold], minlength=judgments.n_docs) / max(int(gold.sum()), 1)
    rows = np.flatnonzero((single & (own_grade > 0))[lists.query] & (frequency[lists.doc] > 0))
    query = lists.query[rows].astype(np.int64)
    rank = lists.rank[rows].astype(np.int64)
    hits = Hits(np.arange(len(rows)), rank, own_grade[query], *tie_bounds(lists, rows))
    bare = without_hits(grade, lists.depth)
    gain = (grade(hits, query, lists.depth[query]) - bare[query]) * frequency[lists.doc[rows]]
    return np.asarray(bare + np.bincount(query, gain, minlength=n))


def random_draws(
    measure: Measure,
    judgments: Judgments,
    size: Ints,
    depth: Ints,
    inside: NDArray[np.bool_] | None,
    grade: Grade,
    n_draws: int,
    rng: Generator,
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
    k = sight(measure)
    shown = reach if k is None else np.minimum(reach, k)
    blocks = sampling.random_lists(grades, size, shown, n_draws, rng)
    per_query, per_draw, _ = simulated(blocks, grade, judgments, reach, n_draws)
    return per_query, per_draw
