"""Intervals for the gaps: the Bayesian bootstrap over queries, kept honest near the ends of the range (SPEC 5).

Query weights are e ~ Exp(1), normalised. Two pseudo-queries, one scoring 0 and one scoring the largest ceiling H,
join the real score only: with Gamma(1/2) weights 0/1 scores give Jeffreys' interval (`ci95`), with Exp(1) on one side
Gaffke's bound, for 0/1 scores Clopper and Pearson's (`ci`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from falsify_adapters.core.cross import CrossScores
from falsify_adapters.core.nulls import DENSE, GoldSets
from falsify_adapters.model import Floats

MIN_DRAWS = 4000  # the verdict's interval looks far into the tails
ROWS = 256  # resamples held at a time

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


def resample(target: Target, n_boot: int, rng: Generator) -> dict[str, Resampled]:
    """Resampled gaps of null A and of every null in `fixed`, from the same query weights.

    The weights depend on the generator and the number of queries alone: not on the measure, the run, or what else is
    computed. The first `n_boot` of them serve `ci95`, all (at least 4000) serve `ci`.
    """
    n, n_draws = len(target.own), max(n_boot, MIN_DRAWS)
    pseudo, weights = rng.spawn(2)
    half = pseudo.standard_gamma(0.5, (n_boot, 2))
    one = pseudo.standard_exponential((n_draws, 2))
    names = ["A", *target.fixed]
    columns = np.column_stack([target.own, *target.fixed.values()])
    pairing = _Pairing(target)
    scale_a = 1.0 - 1.0 / max(len(target.gold.rows), 1)
    parts: dict[str, list[tuple[Floats, Floats, Floats]]] = {name: [] for name in names}
    for first in range(0, n_draws, ROWS):
        e = weights.standard_exponential((min(ROWS, n_draws - first), n))
        rows = slice(first, first + len(e))
        total = e.sum(axis=1)
        moments = e @ columns
        real = moments[:, 0]
        null = {"A": pairing.expectation(e, total)}
        null |= {name: moments[:, c + 1] / total for c, name in enumerate(target.fixed)}
        a, b = half[rows].T
        even = (real[: len(a)] + b * target.top) / (total[: len(a)] + a + b)
        low = real / (total + one[rows, 0])
        high = (real + one[rows, 1] * target.top) / (total + one[rows, 1])
        for name in names:
            scale = scale_a if name == "A" else 1.0
            x = null[name]
            parts[name].append((scale * (even - x[: len(even)]), scale * (low - x), scale * (high - x)))
    return {name: Resampled(*(np.concatenate(p) for p in zip(*parts[name], strict=True))) for name in names}


class _Pairing:
    """null_A(v) = (v'Sv - sum v_i^2 S_ii) / (1 - sum v_i^2): no query is paired with a copy of itself.

    Queries without gold take no part in the dealing; they score 0 under system and null alike, so v runs over the
    queries with gold and the whole is scaled by their share of the weight.
    """

    def __init__(self, target: Target) -> None:
        cross, self.rows = target.cross, target.gold.rows
        off = cross.i != cross.j
        i, j, value = cross.i[off], cross.j[off], cross.value[off]
        self.empty = not len(value)
        self.matrix: Any
        if cross.n_queries <= DENSE:
            self.matrix = np.zeros((cross.n_queries, cross.n_queries))
            self.matrix[i, j] = value
        else:
            from scipy.sparse import csr_array  # only where S is too large to be held in full: the import is slow

            self.matrix = csr_array((value, (j, i)), shape=(cross.n_queries, cross.n_queries))

    def expectation(self, e: Floats, total: Floats) -> Floats:
        if self.empty or len(self.rows) < 2:
            return np.zeros(len(e))
        gold = e[:, self.rows]
        mass = gold.sum(axis=1)
        paired = mass**2 - np.einsum("ij,ij->i", gold, gold)
        both = self._quadratic(e)
        return np.asarray(mass / total * both / paired)

    def _quadratic(self, e: Floats) -> Floats:
        if isinstance(self.matrix, np.ndarray):
            return np.asarray(np.einsum("ij,ij->i", e @ self.matrix, e))
        return np.asarray(np.einsum("ji,ij->i", self.matrix @ e.T, e))

