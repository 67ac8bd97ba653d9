"""Other orders of the same documents, as hits: ideal, tied ones at best and at worst, by popularity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from falsify_adapters.core.cross import gold_level, lowest_grade, own_hits
from falsify_adapters.core.kernels import Hits
from falsify_adapters.measures import Measure, sight
from falsify_adapters.model import Ints, Judgments, Lists


def best_order(hits: Hits) -> Hits:
    """Each pair's hits moved to the front, highest grade first: the most that any order of the list can score."""
    order = np.lexsort((-hits.grade, hits.pair))
    pair = hits.pair[order]
    first = np.searchsorted(pair, pair, side="left")
    return Hits(pair, np.arange(len(pair)) - first + 1, hits.grade[order])


def ideal_hits(measure: Measure, judgments: Judgments, inside: NDArray[np.bool_] | None, limit: Ints) -> Hits:
    """The best list that the qrels and the pool allow, at most `limit` (Q,) documents long: gold, best grade first."""
    gold = judgments.grade >= gold_level(measure)
    if inside is not None:
        gold &= inside
    best = best_order(
        Hits(judgments.query[gold].astype(np.int64), np.zeros(0, np.int64), judgments.grade[gold].astype(np.int64))
    )
    keep = best.rank <= limit[best.pair]
    return Hits(best.pair[keep], best.rank[keep], best.grade[keep].astype(np.int64))


def tie_extremes(measure: Measure, judgments: Judgments, lists: Lists) -> tuple[Hits, Hits]:
    """The worst and the best hits that any order of equally scored documents could give.

    Within a tie group the best order puts judged documents first, highest grade first; the worst puts them last,
    highest grade last. Documents below the cutoff take part where their group reaches above it.
    """
    k = sight(measure)
    hits, row = own_hits(
        measure, judgments, lists, np.ones(len(lists.rank), bool) if k is None else lists.tie_first <= k
    )
    low, high = lists.tie_first[row].astype(np.int64), lists.tie_last[row].astype(np.int64)
    order = np.lexsort((-hits.grade, low, hits.pair))
    pair, grade, low, high = hits.pair[order], hits.grade[order], low[order], high[order]
    group = np.flatnonzero(np.concatenate([[True], (pair[1:] != pair[:-1]) | (low[1:] != low[:-1])]))[: len(pair)]
    size = np.diff(np.append(group, len(pair)))
    place = np.arange(len(pair)) - np.repeat(group, size)
    best = Hits(pair, low + place, grade)
    back = np.lexsort((high - place, pair))
    worst = Hits(pair[back], (high - place)[back], grade[back])
    return worst, best


def popularity_hits(measure: Measure, judgments: Judgments, lists: Lists) -> Hits:
    """Hits of the popularity ranker: the most-often-gold documents (ties: lowest id), each query left out of its own
    counts, as many as the system retrieved. Documents that are gold for no other query are not in its list."""
    low, n_docs = gold_level(measure), judgments.n_docs
    seen = np.flatnonzero(judgments.grade >= lowest_grade(measure))
    query, doc, grade = judgments.query[seen], judgments.doc[seen].astype(np.int64), judgments.grade[seen]
    gold = grade >= low
    count = np.bincount(doc[gold], minlength=n_docs)
    votes = count[doc] - gold  # of the other queries
    # One number per (count, id), ascending in the order of the list: the place of a document is how many lie below.
    most = int(count.max(initial=0))
    labels = np.flatnonzero(count)
    with_own = np.sort((most - count[labels]) * n_docs + labels)
    key = (most - votes) * n_docs + doc
    place = np.searchsorted(with_own, key)
    start = np.searchsorted(query, np.arange(judgments.n_queries + 1))
    size = np.diff(start)
    # The query's own gold stands where the votes of the others put it, behind its place in the full counts.
    place[gold & (size[query] == 1)] -= 1
    for q in np.flatnonzero(size > 1):
        rows = slice(start[q], start[q + 1])
        mine = np.sort(key[rows][gold[rows]])
        place[rows] += np.searchsorted(mine, key[rows]) - np.searchsorted(mine - n_docs, key[rows])
    keep = np.flatnonzero((votes > 0) & (place < lists.depth[query]))
    keep = keep[np.lexsort((place[keep], query[keep]))]
    return Hits(query[keep].astype(np.int64), place[keep] + 1, grade[keep].astype(np.int64))


def top_one(judgments: Judgments) -> tuple[Judgments, Ints]:
    """Judgments reduced to each query's single top-graded document (ties: lowest id), graded 1; and their rows."""
    gold = np.flatnonzero(judgments.grade > 0)
    order = gold[np.lexsort((judgments.doc[gold], -judgments.grade[gold], judgments.query[gold]))]
    query = judgments.query[order]
    kept = order[np.concatenate([[True], query[1:] != query[:-1]])[: len(order)]]
    start = np.searchsorted(judgments.query[kept], np.arange(judgments.n_queries + 1)).astype(np.int64)
    ones = np.ones(len(kept), np.int32)
    return Judgments(judgments.queries, judgments.n_docs, start, judgments.doc[kept], ones), kept
