"""Intervals for the gaps: the Bayesian bootstrap over queries, kept honest near the ends of the range (SPEC 5).

Query weights are e ~ Exp(1), normalised. Two pseudo-queries join the score only, one scoring 0 and one scoring H, the
largest ceiling. With Gamma(1/2) weights 0/1 scores give Jeffreys' interval (`ci95`), with Exp(1) on one side Gaffke's
bound, for 0/1 scores Clopper and Pearson's (`ci`).

`ci` holds the expectation of nulls B, C and D fixed where SPEC 5 weighs it anew in every resample. Under such a null
each query's score has its own known expectation, and a bound on the mean score that is right for equal chances is
right for unequal ones (Hoeffding 1956: unequal chances spread less). Weighing the null anew lets a few easy queries
carry both away together: with candidate lists of 2 beside lists of 100, in Success@1, 60 of 500 random orders passed
at 10 queries. Where all queries have the same expectation the two are the same to the last digit.

Queries that come in clusters (paraphrases of one question) share one weight, and the pseudo-queries weigh as much as
the largest cluster. Null A is then rebuilt with pairs inside a cluster at half their weight, as E[e^2] = 2.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from falsify_adapters.core.cross import CrossScores
from falsify_adapters.core.nulls import GoldSets
from falsify_adapters.model import Floats, Ints

MIN_DRAWS = 4000  # the verdict's interval looks far into the tails
ROWS = 32  # resamples in a block
DENSE_CELLS = 2**18  # S is held in full up to this many cells,
DENSE_SHARE = 1 / 8  # or where more of them than this are filled
THREADS = 2  # blocks under way at a time
THREADS_FROM = 1000  # queries, below which starting threads costs more than it brings

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """What is resampled for one measure and run.

    own: (Q,) the system's values; top: H, the largest per-query ceiling; cross and gold: S and the queries with gold,
    for null A; fixed: per name, (Q,) each query's expectation under a null that does not pair queries.
    """

    own: Floats
    top: float
    cross: CrossScores
    gold: GoldSets
    fixed: dict[str, Floats]


@dataclass(frozen=True, slots=True, eq=False)
class Resampled:
    """Resampled gaps of one null: `even` with both pseudo-queries at Gamma(1/2), `low` with the zero-scorer alone at
    Exp(1), `high` with the H-scorer alone; (n,) each."""

    even: Floats
    low: Floats
    high: Floats

    def ci95(self, point: float) -> Interval:
        """The printed interval, extended to hold the point."""
        return _hold(_quantile(self.even, 0.025), _quantile(self.even, 0.975), point)

    def ci(self, point: float, level: float) -> Interval:
        """The interval that decides, two-sided at `level` (1 - alpha/4)."""
        tail = (1.0 - level) / 2.0
        return _hold(_quantile(self.low, tail), _quantile(self.high, 1.0 - tail), point)


def _quantile(values: Floats, q: float) -> float:
    return float(np.quantile(values, q, method="weibull"))


def _hold(low: float, high: float, point: float) -> Interval:
    return min(low, point), max(high, point)


def resample(
    targets: Sequence[Target], n_boot: int, rng: Generator, clusters: Ints | None = None
) -> list[dict[str, Resampled]]:
    """Resampled gaps of null A and of every null in `fixed`, for each target, from the same query weights.

    clusters: (Q,) the cluster of each query, from 0, where they are not independent.

    The weights depend on the generator and the number of queries alone: not on the measure, the run, or what else is
    computed. The first `n_boot` of them serve `ci95`, all (at least 4000) serve `ci`.
    """
    n, n_draws = len(targets[0].own), max(n_boot, MIN_DRAWS)
    halves, ones, weights = rng.spawn(3)
    half, one = halves.standard_gamma(0.5, (n_boot, 2)), ones.standard_exponential((n_draws, 2))
    units = n
    if clusters is not None:
        sizes = np.bincount(clusters)
        units, half, one = len(sizes), half * sizes.max(), one * sizes.max()
    sums = [_Sums(t, n_draws, clusters) for t in targets]
    blocks = ((a, weights.standard_exponential((min(ROWS, n_draws - a), units))) for a in range(0, n_draws, ROWS))
    if clusters is not None:
        blocks = ((a, np.ascontiguousarray(e[:, clusters])) for a, e in blocks)
    if n < THREADS_FROM:
        for first, e in blocks:
            _add_block(sums, first, e, half[first : first + len(e)], one)
    else:
        _in_threads(sums, blocks, half, one)
    return [{name: Resampled(g[0, :n_boot], g[1], g[2]) for name, g in s.gaps.items()} for s in sums]


def _in_threads(sums: Sequence[_Sums], blocks: Iterable[tuple[int, Floats]], half: Floats, one: Floats) -> None:
    """Add the blocks, some at a time; numpy lets go of the interpreter while it computes."""
    from concurrent.futures import Future, ThreadPoolExecutor

    with ThreadPoolExecutor(THREADS) as pool:
        waiting: deque[Future[None]] = deque()
        for first, e in blocks:
            waiting.append(pool.submit(_add_block, sums, first, e, half[first : first + len(e)], one))
            if len(waiting) > 2 * THREADS:  # memory stays flat
                waiting.popleft().result()
        for block in waiting:
            block.result()


class _Sums:
    """What is gathered for one target: (3, draws) gaps by null, for `even`, `low` and `high`."""

    def __init__(self, target: Target, n_draws: int, clusters: Ints | None) -> None:
        self.target = target
        self.columns = np.column_stack([target.own, *target.fixed.values()])
        self.pairing = _Pairing(target, clusters)
        self.gaps = {name: np.empty((3, n_draws)) for name in ("A", *target.fixed)}


def _add_block(sums: Sequence[_Sums], first: int, e: Floats, half: Floats, one: Floats) -> None:
    """Resampled gaps of the draws from `first`, e (rows, Q). Blocks write to places of their own, in any order."""
    rows = slice(first, first + len(e))
    total, square, across = e.sum(axis=1), e * e, np.ascontiguousarray(e.T)
    (a, b), k = half.T, len(half)  # the first n_boot draws only
    summed: dict[bytes, Floats] = {}  # of queries judged alike, which most measures see alike
    for s in sums:
        moments, h, pairing = e @ s.columns, s.target.top, s.pairing
        real = moments[:, 0]
        even = (real[:k] + b * h) / (total[:k] + a + b)
        low = real / (total + one[rows, 0])
        high = (real + one[rows, 1] * h) / (total + one[rows, 1])
        if pairing.key not in summed:
            summed[pairing.key] = pairing.summed(across)
        null = pairing.expectation(e, across, summed[pairing.key], square, total)
        s.gaps["A"][0, first : first + k] = pairing.scale * (even - null[:k])
        s.gaps["A"][1:, rows] = pairing.scale * (low - null), pairing.scale * (high - null)
        for c, (name, expected) in enumerate(s.target.fixed.items(), start=1):
            s.gaps[name][0, first : first + k] = even - (moments[:, c] / total)[:k]
            s.gaps[name][1:, rows] = low - expected.mean(), high - expected.mean()


class _Pairing:
    """null_A(v) = (v'Sv - sum v_i^2 S_ii) / (1 - sum v_i^2): no query is paired with a copy of itself.

    Queries without gold take no part in the dealing; they score 0 under system and null alike, so v runs over the
    queries with gold and the whole is scaled by their share of the weight.
    """

    def __init__(self, target: Target, clusters: Ints | None = None) -> None:
        cross = target.cross
        self.scale = 1.0 - 1.0 / max(len(target.gold.rows), 1)
        self.gold = np.zeros(cross.n_queries)
        self.gold[target.gold.rows] = 1.0
        used = cross.value * self.gold[cross.i] != 0
        diagonal = used & (cross.j == cross.column_of[cross.i])
        self.own = np.bincount(cross.i[diagonal], cross.value[diagonal], minlength=cross.n_queries)
        column = cross.column_of
        self.key = column.tobytes()
        self.alone = len(column) == int(column.max(initial=-1)) + 1
        self.members = np.argsort(column, kind="stable")
        self.begin = np.searchsorted(column[self.members], np.arange(int(column.max(initial=-1)) + 1))
        i, j, value = cross.i[used], cross.j[used], cross.value[used]
        self.inside, self.beside = np.zeros(0), self.gold
        if clusters is not None:
            self.inside, others = _within(clusters, column, self.gold, i, j, value)
            self.beside = self.gold * (1.0 + others / 2)
        self.whole = False
        self.empty = not len(value) or len(target.gold.rows) < 2
        self.rows, row = np.unique(i, return_inverse=True)
        self.columns, at = np.unique(j, return_inverse=True)
        size = len(self.rows) * len(self.columns)
        self.matrix: Any
        if size <= DENSE_CELLS or len(value) > size * DENSE_SHARE:
            self.matrix = np.zeros((len(self.rows), len(self.columns)))
            self.matrix[row, at] = value
        else:
            from scipy.sparse import csr_array  # only where S is large and thin: the import is slow

            self.whole = 2 * len(self.rows) > cross.n_queries  # then picking rows costs more than the empty ones
            shape = (cross.n_queries, len(self.begin)) if self.whole else (len(self.rows), len(self.columns))
            self.matrix = csr_array((value, (i, j) if self.whole else (row, at)), shape=shape)

    def summed(self, across: Floats) -> Floats:
        """(columns, rows) the weight of all queries that are judged alike."""
        if self.alone:
            return across[self.members]
        return np.asarray(np.add.reduceat(across[self.members], self.begin, axis=0))

    def expectation(self, e: Floats, across: Floats, summed: Floats, square: Floats, total: Floats) -> Floats:
        """(rows,) null A under the weights e (rows, Q); across: e transposed, square: e * e, total: sums of e."""
        if self.empty:
            return np.zeros(len(e))
        mass = e @ self.gold
        product = self.matrix @ (summed if self.whole else summed[self.columns])
        product *= across if self.whole else across[self.rows]
        both = np.ones(len(product)) @ product - square @ self.own
        if len(self.inside):
            both -= square @ self.inside / 2
        return np.asarray(mass / total * both / (mass**2 - square @ self.beside))


def _within(clusters: Ints, column: Ints, gold: Floats, i: Ints, j: Ints, value: Floats) -> tuple[Floats, Floats]:
    """For each query, over the others with gold in its cluster: the sum of S against their gold, and how many they are.

    i, j, value: S by query and column, as in `CrossScores`.
    """
    n, many = len(clusters), int(clusters.max(initial=-1)) + 1
    own = column.astype(np.int64) * many + clusters  # of each query: what it is judged by, and its cluster
    keys, at = np.unique(own, return_inverse=True)
    counts = np.bincount(at, gold, minlength=len(keys))
    wanted = j.astype(np.int64) * many + clusters[i]
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    alike = np.where(keys[place] == wanted, counts[place], 0.0) - (column[i] == j) * gold[i]
    inside = np.bincount(i, value * alike * gold[i], minlength=n).astype(np.float64)
    return inside, np.bincount(clusters, gold, minlength=many)[clusters] - gold
