"""Which other pools a measured noise score would fit, and which ratio to the expectation would have been noticed.

A smaller pool is what leakage and a wrong unit amount to: fewer documents compete with the gold. Between whole numbers
a query's pool is the larger one with the chance that the fraction says, so the expectation is linear between
neighbours. No pool is smaller than the judged documents in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from falsify_adapters.core.lattice import MeanLaw
from falsify_adapters.core.noise_laws import NoiseKinds

Scales: TypeAlias = "tuple[float, float | None]"  # the upper end None where there is none

_LARGEST = 1e9  # documents; no pool beyond this is looked at


class PoolSearch:
    """What a measured noise score says of other pools; their sizes are given as a scale, multiples of the given ones.

    measured: the mean of `seeds` noise runs, known to within `rounding`; alpha: the level of the two-sided test.
    """

    def __init__(self, kinds: NoiseKinds, measured: float, seeds: int, alpha: float, rounding: float) -> None:
        self.kinds, self.seeds = kinds, seeds
        self.low, self.high = max(measured - rounding, 0.0), measured + rounding
        self.measured, self.tail = measured, alpha / 2.0
        self.least = float((kinds.least / kinds.size).min())  # from here down every pool is as small as can be
        self.most = max(_LARGEST / float(kinds.size.max()), 1.0)
        self._laws: dict[float, MeanLaw] = {}

    def law(self, scale: float) -> MeanLaw:
        if scale not in self._laws:
            self._laws[scale] = self.kinds.law(self.kinds.at(scale), self.seeds, fine=scale == 1.0)
        return self._laws[scale]

    def tails(self, scale: float) -> tuple[float, float]:
        """P(a mean at most the measured one), P(at least): each includes the measured value itself."""
        law = self.law(scale)
        return law.cdf(self.high), law.sf(self.low)

    def fits(self, n: int) -> bool:
        """Whether the test accepts one pool of n documents for every query."""
        if n < int(self.kinds.least.max()):
            return False
        law = self.kinds.law(np.full(len(self.kinds.size), float(n)), self.seeds)
        return min(law.cdf(self.high), law.sf(self.low)) > self.tail

    def implied(self) -> float | None:
        """The scale whose expectation is the measured value."""

        def over(scale: float) -> float:
            return self.kinds.mean(self.kinds.at(scale)) - self.measured

        floor = self.least if self.kinds.shared is None else float(self.kinds.least.max()) / self.kinds.size[0]
        if self.measured <= 0.0 or over(floor) < 0.0:
            return None
        found = _last(over, 1.0, floor, self.most, within=1e-12)
        return None if found is None or found >= self.most else found

    def interval(self, near: float | None) -> Scales | None:
        """The scales that the test accepts; the upper end None where there is none; None where no scale is."""
        near = near or (self.least if self.measured > 0.0 else 1.0)
        highest: float | None = None
        if self.low > 0.0:
            highest = _last(lambda s: _odds(self.tails(s)[1], self.tail), near, self.least, self.most)
            if highest is None:
                return None
            highest = None if highest >= self.most else highest
        lowest = _last(lambda s: -_odds(self.tails(s)[0], self.tail), near, self.least, self.most)
        if lowest is not None and lowest >= self.most:
            return None
        return self.least if lowest is None else lowest, highest

    def detectable(self, power: float, ceiling: float) -> float | None:
        """The smallest ratio that gives the verdict "above" with the chance `power`."""
        limit = self.law(1.0).exceeded_by(self.tail)
        if limit is None:
            return None
        found = _last(lambda s: _odds(self.law(s).sf(limit), power), 0.7, self.least, 1.0)
        if found is None:
            return None
        planted, expected = self.kinds.mean(self.kinds.at(found)), self.kinds.mean(self.kinds.at(1.0))
        return planted / expected if planted <= ceiling + 1e-9 else None

    def ratios(self, scales: Scales | None) -> tuple[float, float]:
        """Expectations at the ends of the accepted scales, over that of the given sizes; they hold the measured one."""
        expected = self.kinds.mean(self.kinds.at(1.0))
        ratio = self.measured / expected
        if scales is None:
            return ratio, ratio
        upper = self.kinds.mean(self.kinds.at(scales[0])) / expected
        lower = 0.0 if scales[1] is None else self.kinds.mean(self.kinds.at(scales[1])) / expected
        return min(lower, ratio), max(upper, ratio)

    def whole(self, scales: Scales | None) -> tuple[int, int | None] | None:
        """The whole pool sizes in the accepted scales; None where there is none, or no pool shared by all queries."""
        n = self.kinds.shared
        if scales is None or n is None:
            return None
        low = max(self._settled(scales[0] * n, math.ceil), int(self.kinds.least.max()))
        high = None if scales[1] is None else self._settled(scales[1] * n, math.floor)
        return None if high is not None and high < low else (low, high)

    def _settled(self, end: float, inward: Callable[[float], int]) -> int:
        """The whole number inward of an end; where the end is as near to one as the root may err, the test decides."""
        near = round(end)
        return near if abs(end - near) < 2e-4 * end and self.fits(near) else inward(end)


def _last(
    falling: Callable[[float], float], near: float, low: float, high: float, within: float = 5e-5
) -> float | None:
    """The largest x in [low, high] at which a falling function is above 0, found from `near`; None where it is nowhere.

    within: the relative error of x.
    """
    from scipy.optimize import brentq

    a = b = min(max(near, low), high)
    step = 1.5
    if falling(a) > 0.0:
        while falling(b) > 0.0:
            if b >= high:
                return high
            a, b, step = b, min(b * step, high), step**1.5
    else:
        while falling(a) <= 0.0:
            if a <= low:
                return None
            a, b, step = max(a / step, low), a, step**1.5
    root = brentq(lambda t: falling(math.exp(t)), math.log(a), math.log(b), xtol=within, rtol=1e-12)
    return math.exp(root)


def _odds(tail: float, level: float) -> float:
    """Positive where tail > level, and nearly linear in the logarithm of the pool size: a difference of probits."""
    from scipy.special import ndtri

    if tail == level:
        return 0.0
    return float(ndtri(min(max(tail, 1e-15), 1.0 - 1e-15)) - ndtri(level))
