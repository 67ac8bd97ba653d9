"""S[i,j]: every list graded against every gold set that it touches.

For measures that are 0 without a retrieved gold document only overlapping pairs have a value; they come from joining
the hits of the lists with the qrels on the document. Nothing else is ever graded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from falsify_adapters.core.kernels import Hits, relevant_from
from falsify_adapters.measures import Measure, sight
from falsify_adapters.model import Floats, Ints, Judgments, Lists

LOWEST_GRADE = -(2**30)
ALL_PAIRS = 40_000  # pairs graded at most for a measure that is not 0 without a gold hit,
ALL_DOCUMENTS = 8_000_000  # and documents in them, about, but no fewer gold sets than
FEWEST_SETS = 20
BLOCK = 4_000_000  # hits expanded at a time: bounds memory, never changes a value

# (hits, owner (n_pairs,) query whose judgments grade the pair, length (n_pairs,) documents in the list) -> values
Grade = Callable[[Hits, Ints, Ints], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class CrossScores:
    """S as a sparse matrix, one column for all queries that are judged alike, as far as the measure can see: gold that
    many queries share would otherwise fill Q x Q cells with repeats.

    i, j: (n,) list and column, ascending; value: (n,), pairs that are not listed are 0; own: (Q,) the diagonal, S[i,i];
    columns: (Q,) the column of each query's judgments, None where each query has its own. Where only some of the
    columns were graded, each value off the diagonal stands for several and is scaled up, and `se` is the standard
    error of the mean of S (0 where all were graded).
    """

    n_queries: int
    i: Ints
    j: Ints
    value: Floats
    own: Floats
    se: float = 0.0
    columns: Ints | None = None

    @property
    def column_of(self) -> Ints:
        """(Q,) the column of each query's judgments."""
        return np.arange(self.n_queries) if self.columns is None else self.columns

    def row_means(self, weight: Floats) -> Floats:
        """(Q,) sum over queries q of weight[q] S[i,q]."""
        per_column = np.bincount(self.column_of, weight, minlength=1)
        return np.bincount(self.i, self.value * per_column[self.j], minlength=self.n_queries).astype(np.float64)

    def dense(self) -> Floats:
        """(Q, Q) S."""
        column = self.column_of
        out = np.zeros((self.n_queries, int(column.max(initial=-1)) + 1))
        out[self.i, self.j] = self.value
        return out[:, column]


def gold_level(measure: Measure) -> int:
    """The lowest grade that is gold to the measure."""
    return relevant_from(measure)


def lowest_grade(measure: Measure) -> int:
    """The lowest grade whose documents the measure looks at: bpref sees judged non-relevant ones too, and a measure
    without a kernel may see anything."""
    if measure.family == "bpref":
        return 0
    return gold_level(measure) if measure.has_kernel else LOWEST_GRADE


def visible(measure: Measure, lists: Lists) -> NDArray[np.bool_]:
    """(H,) the rows of the lists that the measure can see."""
    k = sight(measure)
    rank = lists.tie_first if lists.averaged else lists.rank
    return np.ones(len(rank), bool) if k is None else np.asarray(rank <= k)


def tie_bounds(lists: Lists, rows: Ints) -> tuple[Ints, Ints] | tuple[None, None]:
    """Where the ties of these rows begin and end, for `Hits`; None where values are taken from the ranks."""
    if not lists.averaged:
        return None, None
    return lists.tie_first[rows].astype(np.int64), lists.tie_last[rows].astype(np.int64)


def own_hits(
    measure: Measure, judgments: Judgments, lists: Lists, within: NDArray[np.bool_] | None = None
) -> tuple[Hits, Ints]:
    """Each list's hits against its own judgments of every grade, negative ones included; and their rows in `lists`.

    within: (H,) the rows to look at, None for those that the measure can see.
    """
    key = judgments.query.astype(np.int64) * judgments.n_docs + judgments.doc
    rows = np.flatnonzero(visible(measure, lists) if within is None else within)
    query = lists.query[rows].astype(np.int64)
    wanted = query * judgments.n_docs + lists.doc[rows]
    at = np.minimum(np.searchsorted(key, wanted), max(len(key) - 1, 0))
    found = key[at] == wanted if len(key) else np.zeros(len(wanted), bool)
    rows = rows[found]
    grade = judgments.grade[at[found]].astype(np.int64)
    return Hits(query[found], lists.rank[rows].astype(np.int64), grade, *tie_bounds(lists, rows)), rows


def judged_alike(measure: Measure, judgments: Judgments) -> Ints:
    """(Q,) for each query the first one with the same judgments, as far as the measure looks at them."""
    seen = judgments.grade >= lowest_grade(measure)
    known: dict[bytes, int] = {}
    first = np.empty(judgments.n_queries, np.int64)
    for q in range(judgments.n_queries):
        part = slice(judgments.start[q], judgments.start[q + 1])
        key = judgments.doc[part][seen[part]].tobytes() + judgments.grade[part][seen[part]].tobytes()
        first[q] = known.setdefault(key, q)
    return first


def overlap_blocks(
    measure: Measure,
    judgments: Judgments,
    lists: Lists,
    block: int = BLOCK,
    only: NDArray[np.bool_] | None = None,
) -> Iterator[tuple[Ints, Ints, Hits]]:
    """Blocks of (i, j, hits) over all overlapping pairs, pairs ascending by (i, j); hits count pairs from 0.

    only: (Q,) the queries whose judgments are looked at, None for all.
    """
    low = lowest_grade(measure)
    rows = np.flatnonzero(judgments.grade >= low)
    if only is not None:
        rows = rows[only[judgments.query[rows]]]
    rows = rows[np.argsort(judgments.doc[rows], kind="stable")]
    begin = np.searchsorted(judgments.doc[rows], np.arange(judgments.n_docs + 1)).astype(np.int64)
    gold_query, gold_grade = judgments.query[rows].astype(np.int64), judgments.grade[rows].astype(np.int64)
    seen = np.flatnonzero(visible(measure, lists))
    fan = np.diff(begin)[lists.doc[seen]]
    seen, fan = seen[fan > 0], fan[fan > 0]
    query = lists.query[seen].astype(np.int64)
    total = np.concatenate([[0], np.cumsum(fan)])
    # Cut between queries only, so that no pair is split over two blocks.
    edge = np.searchsorted(query, np.arange(judgments.n_queries + 1))
    a = 0
    while a < judgments.n_queries:
        b = int(np.searchsorted(total[edge], total[edge[a]] + block, side="right")) - 1
        b = min(max(b, a + 1), judgments.n_queries)
        part = slice(edge[a], edge[b])
        a = b
        n = fan[part]
        if not len(n):
            continue
        where = np.repeat(begin[lists.doc[seen[part]]] - (np.cumsum(n) - n), n) + np.arange(int(n.sum()))
        i, j = np.repeat(query[part], n), gold_query[where]
        key = i * judgments.n_queries + j
        order = np.argsort(key, kind="stable")  # ranks ascend within a list, so they ascend within a pair
        key = key[order]
        pairs, pair = np.unique(key, return_inverse=True)
        rank = np.repeat(lists.rank[seen[part]].astype(np.int64), n)[order]
        bounds = tie_bounds(lists, np.repeat(seen[part], n)[order]) if lists.averaged else ()
        yield (
            pairs // judgments.n_queries,
            pairs % judgments.n_queries,
            Hits(pair.astype(np.int64), rank, gold_grade[where][order], *bounds),
        )


def cross_scores(measure: Measure, judgments: Judgments, lists: Lists, grade: Grade, own: Floats) -> CrossScores:
    """S over all overlapping pairs; `own` (Q,) is the diagonal, graded beforehand and kept as it is."""
    first = judged_alike(measure, judgments)
    column = np.cumsum(first == np.arange(len(first))) - 1  # of each query that is the first of its kind
    columns = column[first]
    parts = []
    for i, q, hits in overlap_blocks(measure, judgments, lists, only=first == np.arange(len(first))):
        value = grade(hits, q, lists.depth[i])
        keep = (value != 0) & (column[q] != columns[i])
        parts.append((i[keep], column[q[keep]], value[keep]))
    rows = np.flatnonzero(own)
    parts.append((rows, columns[rows], own[rows]))
    i, j, value = (np.concatenate(x) for x in zip(*parts, strict=True))
    order = np.lexsort((j, i))
    return CrossScores(judgments.n_queries, i[order], j[order], value[order], own, columns=columns)


def cross_scores_all(
    measure: Measure, judgments: Judgments, lists: Lists, grade: Grade, own: Floats, rng: np.random.Generator
) -> CrossScores:
    """S for a measure that need not be 0 without a gold hit: every list against all gold sets, or a sample of them.

    Queries without gold have no gold set to be graded against.
    """
    n = judgments.n_queries
    gold = np.bincount(judgments.query[judgments.grade >= gold_level(measure)], minlength=n) > 0
    sets = np.flatnonzero(gold)
    each = max(int(lists.depth.sum()), 1)  # documents that one column takes
    some = max(2, min(len(sets), ALL_PAIRS // n, max(FEWEST_SETS, ALL_DOCUMENTS // each)))
    chosen = np.sort(rng.permutation(sets)[:some]) if some < len(sets) else sets
    key = (np.arange(n)[:, None] * n + chosen).ravel()
    pair, rank, grades = [], [], []
    for i, j, hits in overlap_blocks(measure, judgments, lists):
        wanted = (i * n + j)[hits.pair]
        at = np.searchsorted(key, wanted)
        keep = np.append(key, -1)[at] == wanted
        pair.append(at[keep])
        rank.append(hits.rank[keep])
        grades.append(hits.grade[keep])
    empty = [np.zeros(0, np.int64)]
    hits = Hits(*(np.concatenate(x + empty) for x in (pair, rank, grades)))
    i, j = key // n, key % n
    value = grade(hits, j, lists.depth[i])
    off = i != j
    i, j, value = i[off], j[off], value[off]
    se = 0.0
    if some < len(sets):
        column = np.bincount(j, value * gold[i], minlength=n)[chosen] / n
        se = float(column.std(ddof=1) * np.sqrt((1 - some / len(sets)) / some))
        value = value * ((len(sets) - gold) / (some - np.isin(np.arange(n), chosen)))[i]
    everyone = np.arange(n)
    i, j, value = np.concatenate([i, everyone]), np.concatenate([j, everyone]), np.concatenate([value, own])
    order = np.lexsort((j, i))
    return CrossScores(n, i[order], j[order], value[order], own, se)
