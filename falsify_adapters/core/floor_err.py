"""ERR of a random ranking.

With T_t the rank of the t-th gold document, and e_j the mean over all j-subsets of the gold documents of the product
of their (1 - stop), the reader stops at the t-th gold document with probability e_{t-1} - e_t wherever it stands, so
E[ERR@k] = sum_t (e_{t-1} - e_t) E[1/T_t; T_t <= m]. This is sum_{r<=m} (A_{r-1} - A_r)/r, A_r the chance of passing
rank r, summed in the other order: no difference of nearly equal numbers is left.
"""

from __future__ import annotations

import numpy as np

from falsify_adapters.core.draws import blocks, reciprocal_first_gold
from falsify_adapters.core.kernels import ERR_MAX_GRADE, stop
from falsify_adapters.model import Floats, Ints

# (1 - stop) is at most 15/16, so e_700 is below 1e-19 of e_0 - e_1.
_GOLD_SEEN = 700
# Beyond this many ranks, recursion over the gold documents is cheaper than walking down the list.
_LONG = 4096


def err_expectation(size: Ints, depth: Ints, counts: Ints) -> Floats:
    """(A,) E[ERR] over m = `depth` random documents of N = `size`; counts: (A, 4) pool documents of grades 1 to 4."""
    gold = counts.sum(axis=1)
    out = np.zeros(len(size))
    seen = np.minimum(np.minimum(gold, depth), _GOLD_SEEN)
    # Recursion amplifies rounding by gold/(N - gold) a step: only where less than half of a long list is gold.
    long = (depth > _LONG) & (2 * gold <= size)
    for row in np.flatnonzero(long):
        stops = _stop_at(counts[row : row + 1], int(seen[row]))[0]
        out[row] = stops @ _reciprocal_ranks(int(size[row]), int(gold[row]), int(depth[row]), int(seen[row]))
    short = np.flatnonzero(~long)
    for part, _ in blocks(np.maximum(depth[short], seen[short])):
        rows = short[part]
        out[rows] = _walk(size[rows], gold[rows], depth[rows], _stop_at(counts[rows], int(seen[rows].max())))
    return out


def _stop_at(counts: Ints, longest: int) -> Floats:
    """(A, longest) e_{t-1} - e_t for t = 1, 2, ...; beyond the gold documents the values mean nothing.

    Adding a d-th document with pass probability q: e_j <- ((d-j) e_j + j q e_{j-1}) / d.
    """
    gold, upto = counts.sum(axis=1), np.cumsum(counts, axis=1)
    passes = 1.0 - stop(np.arange(1, ERR_MAX_GRADE + 1))
    j = np.arange(longest + 1)
    e = np.zeros((len(counts), longest + 1))
    e[:, 0] = 1.0
    for d in range(1, int(gold.max(initial=0)) + 1):
        level = np.minimum((upto < d).sum(axis=1), ERR_MAX_GRADE - 1)
        top = min(d, longest)
        fresh = (
            np.maximum(d - j[1 : top + 1], 0) * e[:, 1 : top + 1] + j[1 : top + 1] * passes[level, None] * e[:, :top]
        )
        e[:, 1 : top + 1] = np.where((d <= gold)[:, None], fresh / d, e[:, 1 : top + 1])
    return e[:, :-1] - e[:, 1:]


def err_of_group(size: Ints, depth: Ints, counts: Ints, above: Ints) -> Floats:
    """(A,) as `err_expectation`, of N documents that stand below `above` others: rank r of them is rank above + r."""
    gold = counts.sum(axis=1)
    seen = np.minimum(np.minimum(gold, depth), _GOLD_SEEN)
    out = np.zeros(len(size))
    for rows, _ in blocks(np.maximum(depth, seen)):
        stops = _stop_at(counts[rows], int(seen[rows].max()))
        out[rows] = _walk(size[rows], gold[rows], depth[rows], stops, above[rows])
    return out


def _walk(size: Ints, gold: Ints, depth: Ints, stops: Floats, above: Ints | int = 0) -> Floats:
    """Down the list rank by rank, carrying the distribution of the number of gold documents seen."""
    width = stops.shape[1]
    left = np.maximum(gold[:, None] - np.arange(width), 0)
    state = np.zeros((len(size), width))
    state[:, 0] = 1.0
    out = np.zeros(len(size))
    for r in range(1, int(depth.max(initial=0)) + 1):
        hit = state * (left / np.maximum(size - r + 1, 1)[:, None])
        out += np.where(r <= depth, (hit * stops).sum(axis=1), 0.0) / (r + above)
        state -= hit
        state[:, 1:] += hit[:, :-1]
    return out


def _reciprocal_ranks(size: int, gold: int, depth: int, longest: int) -> Floats:
    """(longest,) E[1/T_t; T_t <= m] for t = 1, 2, ..., by recursion along d = G - t, all d at once.

    (1/r) C(r-1, t-1) = C(r-1, t-2)/(t-1) - (1/r) C(r-1, t-2) gives, with one gold document and one place fewer,
    E(G, t) = G/(N-G+1) [P(T_{t-1} <= m of G-1)/(t-1) - E(G-1, t-1)]. The probability is that of at most d of the
    gold documents beyond rank m; a further one makes it smaller by P(exactly d beyond, the new one beyond).
    """
    after = gold - np.arange(1, longest + 1)
    n, m = np.full(longest, size), np.full(longest, depth)
    value, _ = reciprocal_first_gold(n, after + 1, m)
    exactly = _all_beyond(size, depth, after)
    at_most = np.ones(longest)
    # Round s starts with `value` = E(d+s+1, s+1), and brings the two probabilities, of d+s gold documents, to d+s+1.
    out = np.zeros(longest)
    for s in range(longest):
        d = after[s:]
        at_most = at_most - exactly * (size - depth - d) / (size - d - s)
        exactly = exactly * ((d + s + 1) / (s + 1)) * ((depth - s) / (size - d - s))
        out[s] = value[0]
        at_most, exactly = at_most[1:], exactly[1:]
        total = after[s + 1 :] + s + 2
        value = total / (size - total + 1.0) * (at_most / (s + 1) - value[1:])
    return out


def _all_beyond(size: int, depth: int, gold: Ints) -> Floats:
    """C(N-m, d)/C(N, d): none of d gold documents among the first m."""
    i = np.arange(int(gold.max(initial=0)))
    none = np.concatenate([[1.0], np.cumprod(np.maximum(size - depth - i, 0) / (size - i))])
    return np.asarray(none[gold])
