"""Floors from published numbers alone: what N, the number of queries and the mean, least and most gold allow.

For one N every expectation of `floors` is a function f(G). Of a benchmark whose gold counts have a known mean and
range, the mean floor lies between the lower and the upper convex envelope of f on the whole numbers of that range,
taken at the mean; where each query has its own candidates, of f over (N, G). Grades are unknown, so nDCG's f is an
interval: one dominating grade gives D_m/N, equal grades G D_m/(N D_min(G,k)), D_j the discounts of the first j ranks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from falsify_adapters.core.draws import any_gold, harmonic, reciprocal_first_gold, sum_to
from falsify_adapters.core.kernels import discount
from falsify_adapters.errors import MeasureError
from falsify_adapters.measures import Measure
from falsify_adapters.model import Floats, Ints

FAMILIES = ("P", "R", "RR", "AP", "nDCG", "Success", "Rprec")
GRID = 160  # values of N, and of G, that the envelope over both is made of
LEVEL = 0.001  # of the sampling error
Bound = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Spread:
    """What is known of a whole number per query: mean, least and most."""

    mean: float
    least: int
    most: int

    @property
    def fixed(self) -> bool:
        return self.least == self.most


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a task: queries; size: N, documents or candidates; gold: G, relevant ones."""

    queries: int
    size: Spread
    gold: Spread


def floor_bounds(measure: Measure, facts: Facts) -> Bound:
    """The least and the most that the floor can be. Raises MeasureError for a family without a formula here."""
    if measure.family not in FAMILIES:
        raise MeasureError(f"{measure} has no floor from published numbers", legal=", ".join(FAMILIES))
    size, gold = facts.size, facts.gold
    if size.fixed:
        counts = _counts(gold, size.most)
        low, high = _expected(measure, np.full(len(counts), size.most), counts)
        return _envelope(counts, low, gold.mean, upper=False), _envelope(counts, high, gold.mean, upper=True)
    return _plane(measure, size, gold)


def ceiling_bound(measure: Measure, facts: Facts) -> float:
    """The most that a perfect system can score on average: 1, but for P, R and AP, whose cutoffs may hold less."""
    k, gold = measure.cutoff, facts.gold
    if measure.family == "P" and k is not None:
        counts = _counts(gold, facts.size.most)
        return _envelope(counts, np.minimum(counts, k) / k, gold.mean, upper=True)
    if measure.family in ("R", "AP") and k is not None:
        counts = np.maximum(_counts(gold, facts.size.most), 1)
        return _envelope(counts, np.minimum(k / counts, 1.0), gold.mean, upper=True)
    return 1.0


def _counts(gold: Spread, size: int) -> Ints:
    """Whole numbers from least to most, and at most N; thinned where they are many, the ends and the mean's kept."""
    most = max(min(gold.most, size), gold.least)
    if most - gold.least <= 20_000:
        return np.arange(gold.least, most + 1)
    thin = np.unique(np.geomspace(max(gold.least, 1), most, 20_000).round().astype(np.int64))
    near = np.arange(int(gold.mean), int(gold.mean) + 2)
    return np.unique(np.concatenate([[gold.least, most], thin, np.clip(near, gold.least, most)]))


def _expected(measure: Measure, size: Ints, gold: Ints) -> tuple[Floats, Floats]:
    """f over pairs of N and G <= N, lower and upper where grades are unknown; 0 for G = 0."""
    n, g = size.astype(np.float64), gold.astype(np.float64)
    k = measure.cutoff
    seen = size if k is None else np.minimum(size, k)
    m, here = seen.astype(np.float64), gold > 0
    safe = np.maximum(gold, 1)
    if measure.family == "P":
        value = m / (k or 1) * g / n
    elif measure.family == "R":
        value = np.where(here, m / n, 0.0)
    elif measure.family == "Rprec":
        value = np.where(here, np.minimum(m, g) / n, 0.0)
    elif measure.family == "AP":
        # trec_eval divides by G, at any cutoff.
        h = harmonic(seen)
        value = np.where(here, (h + (g - 1) / np.maximum(n - 1, 1) * (m - h)) / n, 0.0)
    elif measure.family == "Success":
        value = np.where(here, any_gold(size, safe, seen), 0.0)
    elif measure.family == "RR":
        value = np.where(here, reciprocal_first_gold(size, safe, seen)[0], 0.0)
    else:
        gain = sum_to(discount, seen) / n
        ideal = sum_to(discount, safe if k is None else np.minimum(safe, k))
        return np.where(here, gain, 0.0), np.where(here, np.minimum(g * gain / ideal, 1.0), 0.0)
    return value, value


def _envelope(x: Ints, y: Floats, at: float, *, upper: bool) -> float:
    """The convex envelope of points (x ascending): the extreme mean of y over all weights with the mean `at` of x."""
    sign = -1.0 if upper else 1.0
    hull: list[int] = []
    values = (sign * np.asarray(y, dtype=np.float64)).tolist()
    places = x.tolist()
    for i in range(len(places)):
        while len(hull) > 1:
            a, b = hull[-2:]
            if (values[b] - values[a]) * (places[i] - places[b]) < (values[i] - values[b]) * (places[b] - places[a]):
                break
            hull.pop()
        hull.append(i)
    point = min(max(at, places[0]), places[-1])
    return float(sign * np.interp(point, [places[i] for i in hull], [values[i] for i in hull]))


def _plane(measure: Measure, size: Spread, gold: Spread) -> Bound:
    """Envelope over (N, G): the extreme mean of f over all weights with these means (a linear program)."""
    from scipy.optimize import linprog

    sizes = _axis(size.least, size.most, size.mean)
    golds = _axis(gold.least, gold.most, gold.mean)
    n, g = (grid.ravel() for grid in np.meshgrid(sizes, golds, indexing="ij"))
    fits: NDArray[np.bool_] = g <= n
    n, g = n[fits], g[fits]
    low, high = _expected(measure, n, g)
    equal, right = np.stack([np.ones(len(n)), n, g]), [1.0, size.mean, gold.mean]
    out = []
    for sign, value in ((1.0, low), (-1.0, high)):
        found = linprog(sign * value, A_eq=equal, b_eq=right, method="highs")
        if not found.success:  # the means cannot be had together: nothing is known
            return 0.0, 1.0
        out.append(float(np.clip(sign * found.fun, 0.0, 1.0)))
    return out[0], out[1]


def _axis(least: int, most: int, mean: float) -> Ints:
    """Whole numbers from least to most, thinned above GRID of them, the neighbours of the mean kept."""
    if most - least < GRID:
        return np.arange(least, most + 1)
    spaced = np.geomspace(max(least, 1), most, GRID).round().astype(np.int64)
    return np.unique(np.concatenate([[least, most], spaced, [int(mean), int(mean) + 1]]))


def chance_of(score: float, floor: float, queries: int) -> float:
    """The most that the chance can be of a mean of so many independent values in [0, 1], of mean `floor`, to lie as far
    out as `score` (Chernoff's bound with the relative entropy, Hoeffding 1963)."""
    return math.exp(-queries * _entropy(min(max(score, 0.0), 1.0), min(max(floor, 0.0), 1.0)))


def _entropy(p: float, q: float) -> float:
    total = 0.0
    for a, b in ((p, q), (1.0 - p, 1.0 - q)):
        if a > 0.0:
            total += math.inf if b <= 0.0 else a * math.log(a / b)
    return max(total, 0.0)


def sampling_error(mean: float, queries: int, level: float = LEVEL) -> Bound:
    """How far below and above a true mean a mean of so many values in [0, 1] can lie: `chance_of` equals `level`."""
    ends = []
    for far in (0.0, 1.0):
        near, out = mean, far
        if chance_of(far, mean, queries) > level:
            ends.append(abs(far - mean))
            continue
        for _ in range(60):
            middle = (near + out) / 2
            near, out = (middle, out) if chance_of(middle, mean, queries) > level else (near, middle)
        ends.append(abs(near - mean))
    return ends[0], ends[1]
