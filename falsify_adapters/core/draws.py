"""Probability of random rankings: sums over ranks, gold counts in a prefix, the first and the t-th gold document.

Everywhere: N documents in uniformly random order, G of them gold, the first m seen. Arrays of N, G, m hold one case
per row. Products and recurrences of positive terms only, or differences bounded against the result, never lgamma:
at N = 1e7 the logarithm of a factorial is 1.5e8, and eight digits of a difference are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from falsify_adapters.model import Floats, Ints

# Ranks summed one by one; the rest of a sum of a smooth function is its integral (midpoint rule, error f'(b)/24:
# below 1e-14 of the sums used here).
_EXACT_RANKS = 2**20
_CELLS = 2**18


def sum_to(weight: Callable[[Floats], Floats], ranks: Ints) -> Floats:
    """Sum of a smooth positive weight(r) over r = 1..rank, for each of `ranks`."""
    ends, back = np.unique(ranks, return_inverse=True)
    sums = np.zeros(len(ends))
    near = 0.0
    for i, (a, b) in enumerate(pairwise([0, *ends.tolist()])):
        if a < _EXACT_RANKS:
            near += float(weight(np.arange(a + 1.0, min(b, _EXACT_RANKS) + 1.0)).sum())
        sums[i] = near + (_integral(weight, _EXACT_RANKS + 0.5, b + 0.5) if b > _EXACT_RANKS else 0.0)
    return np.asarray(sums[back])


def _integral(weight: Callable[[Floats], Floats], low: float, high: float) -> float:
    # Gauss-Legendre in log x, where 1/x, 1/x^2, 1/log x and their squares are smooth.
    node, share = np.polynomial.legendre.leggauss(40)
    half = (np.log(high) - np.log(low)) / 2.0
    x = np.exp(np.log(low) + half * (node + 1.0))
    return float((weight(x) * x * share).sum() * half)


def blocks(length: Ints) -> Iterator[tuple[Ints, int]]:
    """Rows of like length together: (row numbers, longest length), so that padded tables stay small."""
    order = np.argsort(length, kind="stable")
    begin = 0
    while begin < len(order):
        end = begin + 1
        while end < len(order) and (end + 1 - begin) * length[order[end]] <= _CELLS:
            end += 1
        yield np.asarray(order[begin:end]), int(length[order[end - 1]])
        begin = end


def any_gold(size: Ints, gold: Ints, depth: Ints) -> Floats:
    """Probability of one or more gold documents among the first m: 1 - C(N-G, m)/C(N, m)."""
    few, many = np.minimum(gold, depth), np.maximum(gold, depth)
    few = np.where(gold + depth > size, 0, few)
    log_none = np.zeros(len(size))
    for rows, longest in blocks(few):
        i = np.arange(longest)
        share = many[rows, None] / np.maximum(size[rows, None] - i, 1)
        log_none[rows] = np.log1p(-np.where(i < few[rows, None], share, 0.0)).sum(1)
    return np.asarray(np.where(gold + depth > size, 1.0, -np.expm1(log_none)))


def first_gold(size: int, gold: int, depth: int) -> Floats:
    """(m,) probability that the first gold document stands at rank r: C(N-r, G-1)/C(N, G)."""
    return np.asarray(first_gold_chances(np.array([size]), np.array([gold]), depth)[0])


def first_gold_chances(size: Ints, gold: Ints, depth: int) -> Floats:
    """(A, depth) `first_gold` of A cases, each seen down to `depth`."""
    # C(N-r, G-1)/C(N, G) = G/(N-r+1) prod_{i<r-1} (N-G-i)/(N-i)
    before = np.arange(depth)
    left = np.maximum(size[:, None] - before, 1)
    none = np.ones((len(size), depth))
    none[:, 1:] = np.cumprod(np.maximum(left - gold[:, None], 0) / left, axis=1)[:, :-1]
    return np.asarray(np.where(before < size[:, None], none * gold[:, None] / left, 0.0))


def reciprocal_first_gold(size: Ints, gold: Ints, depth: Ints) -> tuple[Floats, Floats]:
    """E[1/T] and E[1/T^2], T the rank of the first gold document, counted as 0 beyond rank m.

    Where m <= G, the sums over ranks. Elsewhere by recursion over the number of gold documents, in O(G): with
    E[1/T; T <= m] = G/(N-G+1) Y(G), (1/r) C(N-r, G-1) = [(N-G+2)/r - 1] C(N-r, G-2)/(G-1) gives
    Y(G) = Y(G-1) - P(any of G-1 among m)/(G-1), Y(1) = H_m; likewise Z for 1/T^2 with
    Z(G) = Z(G-1) - Y(G-1)/(N-G+2), Z(1) = sum_{r<=m} 1/r^2. With m = N: E[1/T] = G/(N-G+1) (H_N - H_{G-1}).
    """
    mean, square = np.zeros(len(size)), np.zeros(len(size))
    direct = depth <= gold
    some = np.flatnonzero(direct)
    for part, longest in blocks(depth[some]):
        rows = some[part]
        r = np.arange(1.0, longest + 1.0)
        chance = np.where(r <= depth[rows, None], first_gold_chances(size[rows], gold[rows], longest), 0.0)
        mean[rows], square[rows] = (chance / r).sum(1), (chance / r**2).sum(1)
    some = np.flatnonzero(~direct)
    y, z = harmonic(depth[some]), sum_to(_inverse_square, depth[some])
    for part, longest in blocks(gold[some]):
        rows = some[part]
        n, m = size[rows, None], depth[rows, None]
        g = np.arange(1, longest)
        none = np.cumprod(np.maximum(n - m - g + 1, 0) / np.maximum(n - g + 1, 1), axis=1)
        used = g < gold[rows, None]
        fall = np.where(used, (1.0 - none) / g, 0.0)
        y_before = y[part, None] - np.cumsum(fall, axis=1) + fall
        z[part] -= np.where(used, y_before / np.maximum(n - g + 1, 1), 0.0).sum(1)
        y[part] -= fall.sum(1)
    scale = gold[some] / (size[some] - gold[some] + 1.0)
    mean[some], square[some] = scale * y, scale * z
    return mean, square


def harmonic(ranks: Ints) -> Floats:
    """H_m = 1 + 1/2 + ... + 1/m."""
    return sum_to(_inverse, ranks)


def _inverse(r: Floats) -> Floats:
    return 1.0 / r


def _inverse_square(r: Floats) -> Floats:
    return 1.0 / r**2


def hypergeometric(size: int, marked: int, drawn: int) -> tuple[int, Floats]:
    """Marked documents among `drawn` of `size`: the smallest possible number, and the probabilities from there up.

    Ratios of neighbours, from the mode outwards, then scaled to sum 1: full relative precision at any size.
    """
    low, high = max(0, drawn + marked - size), min(marked, drawn)
    h = np.arange(low, high, dtype=np.float64)
    up = (marked - h) * (drawn - h) / ((h + 1.0) * (size - marked - drawn + h + 1.0))
    mode = min(max((drawn + 1) * (marked + 1) // (size + 2), low), high) - low
    above, below = np.cumprod(up[mode:]), np.cumprod(1.0 / up[:mode][::-1])[::-1]
    weight = np.concatenate([below, [1.0], above])
    return low, weight / weight.sum()
