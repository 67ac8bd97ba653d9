"""The noise floor checks: is the measured noise where probability puts it, is there room above it, is it noise at all?

Other pools. Where another expectation than that of the given N is needed (which N would the measured value fit, which
ratio would have been noticed, between which ratios does the truth lie), it is that of random documents from a pool of
another size. A smaller pool is what leakage and a wrong unit amount to: fewer documents compete with the gold.
Between whole numbers a query's pool is the larger one with the chance that the fraction says, so the expectation is
linear between neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from falsify_adapters.core.draws import hypergeometric
from falsify_adapters.core.lattice import ROUND_OFF, Law, MeanLaw, mean_law
from falsify_adapters.core.noise_laws import Mask, NoiseKinds, noise_kinds
from falsify_adapters.errors import InputError, OptionError
from falsify_adapters.measures import Measure
from falsify_adapters.model import Ints, Judgments

ALPHA = 0.01
POWER = 0.9
MIN_SIGNAL = 2.0
MIN_HEADROOM = 0.5

_LARGEST = 1e9  # documents; no pool beyond this is looked at


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pool size in some unit, and whether the measured noise is compatible with it."""

    unit: str
    n: int
    fits: bool


@dataclass(frozen=True, slots=True)
class Check1:
    """Is the measured noise where probability puts it?

    measured: mean score of `seeds` noise runs; expected, sd: of that mean; method: how its law was found ("exact",
    "grid", "drawn"); ratio: measured / expected; ci: the ratios that the test at level alpha does not reject, None
    where no pool size changes the expectation; p: two-sided, twice the smaller tail, never below 2e-12; alpha: the
    level; detectable_ratio: the smallest ratio noticed with the chance `power`, None where no pool is small enough;
    verdict: "pass", "above", "below". implied_n: the pool size whose expectation is `measured`, None where there is
    none, or where queries have pools of their own; implied_n_ci: the smallest and the largest whole N that the test
    does not reject, the largest None where there is no end, the whole None where no N fits.
    """

    measured: float
    seeds: int
    expected: float
    sd: float
    method: str
    ratio: float
    ci: tuple[float, float] | None
    p: float
    alpha: float
    detectable_ratio: float | None
    power: float
    verdict: str
    implied_n: float | None
    implied_n_ci: tuple[int, int | None] | None
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Check2:
    """Is there room above the floor?

    score: the system's, or the ceiling where `assumed`; signal: score over the measured noise, or over the floor
    where nothing was measured, None where that is 0; signal_over_floor: score over the floor, None where that is 0;
    headroom: ceiling - floor; chance_corrected: (score - floor) / headroom, None without headroom; verdict: "pass"
    or "fail".
    """

    score: float
    assumed: bool
    signal: float | None
    signal_over_floor: float | None
    headroom: float
    chance_corrected: float | None
    verdict: str


@dataclass(frozen=True, slots=True)
class Overlap:
    """Do two lists share more than chance? observed, expected: shared documents over those that could be shared, in
    [0, 1]; p: upper tail, never below 1e-12; verdict: "pass" or "above"."""

    observed: float
    expected: float
    p: float
    verdict: str


def null_distribution(
    measure: Measure,
    judgments: Judgments,
    size: Ints,
    depth: Ints,
    inside: Mask | None,
    seeds: int,
    rng: Generator,
) -> MeanLaw:
    """Law of the mean score of `seeds` noise runs over the Q queries, those that can only score 0 included.

    size, depth: (Q,) documents in the pool, and retrieved (N or more: all); inside: (J,) judgments in the pool, None
    where all are. Errors: those of `noise_laws.noise_kinds`; OptionError where seeds is under 1.
    """
    kinds = noise_kinds(measure, judgments, size, depth, inside, rng)
    return kinds.law(kinds.at(1.0), _seeds(seeds))


def check1(
    measure: Measure,
    judgments: Judgments,
    size: Ints,
    depth: Ints,
    inside: Mask | None,
    measured: float,
    seeds: int,
    rng: Generator,
    *,
    alpha: float = ALPHA,
    power: float = POWER,
    ceiling: float = 1.0,
    candidates: Mapping[str, int] | None = None,
    rounding: float = 0.0,
) -> Check1:
    """Check 1 for the mean score `measured` of `seeds` noise runs; arguments and errors as for `null_distribution`.

    ceiling: the best score there can be; candidates: pool sizes by unit, to be tested like N; rounding: half a unit
    of the last digit where `measured` was typed, so that 0.0357 may be 1/28. Raises OptionError where a number is
    outside its range.
    """
    measured = _score("measured noise", measured)
    for name, value in (("alpha", alpha), ("power", power)):
        if not 1e-9 < value < 1.0:
            raise OptionError(f"{name} is {value!r}", legal="a number between 0 and 1")
    for unit, n in (candidates or {}).items():
        if n < 1:
            raise OptionError(f"the candidate pool {unit}={n} is empty", legal="a pool of 1 or more")
    kinds = noise_kinds(measure, judgments, size, depth, inside, rng)
    search = _Search(kinds, measured, _seeds(seeds), alpha, rounding)
    law, expected = search.law(1.0), kinds.mean(kinds.at(1.0))
    below, above = search.tails(1.0)
    p = min(max(2.0 * min(below, above), 2.0 * ROUND_OFF), 1.0)
    verdict = "pass" if p > alpha else "above" if above < below else "below"
    moves = not math.isclose(kinds.mean(kinds.at(2.0)), expected, rel_tol=1e-9)
    implied = search.implied() if moves else None
    around = search.interval(implied) if moves else None
    return Check1(
        measured=measured,
        seeds=seeds,
        expected=expected,
        sd=law.sd,
        method=law.method,
        ratio=measured / expected,
        ci=_ratios(kinds, around, measured / expected) if moves else None,
        p=p,
        alpha=alpha,
        detectable_ratio=search.detectable(power, ceiling) if moves else None,
        power=power,
        verdict=verdict,
        implied_n=_shared_pool(kinds, implied),
        implied_n_ci=_whole(search, around),
        candidates=tuple(Candidate(unit, int(n), search.fits(int(n))) for unit, n in (candidates or {}).items()),
    )


def check2(
    score: float | None,
    noise: float | None,
    floor: float,
    ceiling: float,
    *,
    min_signal: float = MIN_SIGNAL,
    min_headroom: float = MIN_HEADROOM,
) -> Check2:
    """Check 2. score: None where the ceiling stands in for it; noise: measured noise, None where the floor stands in.

    Passes where signal >= min_signal (a noise of 0: where the score is above 0) and headroom >= min_headroom. Raises
    OptionError where a number is outside its range.
    """
    floor, ceiling = _score("floor", floor), _score("ceiling", ceiling)
    value = ceiling if score is None else _score("score", score)
    under = floor if noise is None else _score("measured noise", noise)
    if not (math.isfinite(min_signal) and min_signal >= 0.0):
        raise OptionError(f"the least signal is {min_signal!r}", legal="a number from 0 up")
    if not 0.0 <= min_headroom <= 1.0:
        raise OptionError(f"the least headroom is {min_headroom!r}", legal="a number from 0 to 1")
    headroom = ceiling - floor
    heard = value >= min_signal * under if under > 0 else value > 0
    return Check2(
        score=value,
        assumed=score is None,
        signal=value / under if under > 0 else None,
        signal_over_floor=value / floor if floor > 0 else None,
        headroom=headroom,
        chance_corrected=(value - floor) / headroom if headroom > 0 else None,
        verdict="pass" if heard and headroom >= min_headroom else "fail",
    )


def overlap(a: Ints, b: Ints, size: Ints, k: int, *, alpha: float = ALPHA) -> Overlap:
    """Whether the first k documents of two runs have more in common than two independent random draws would.

    a, b: (Q, at least k) document codes in rank order, -1 where a list has ended; size: (Q,) N. Two lists of x and y
    distinct documents share a hypergeometric number of them; the sum over queries is a convolution of those. Raises
    InputError for lists that are longer than the pool or of unlike shape, OptionError for k under 1.
    """
    if k < 1:
        raise OptionError(f"k is {k}", legal="a whole number from 1 up")
    if a.ndim != 2 or b.ndim != 2 or len(a) != len(b) or len(a) != len(size):
        raise InputError(f"lists of {a.shape} and {b.shape} for {len(size)} pools", legal="(Q, k), (Q, k) and (Q,)")
    first, second = np.sort(a[:, :k], axis=1), np.sort(b[:, :k], axis=1)
    x, y = (first >= 0).sum(axis=1), (second >= 0).sum(axis=1)
    long = np.flatnonzero(np.maximum(x, y) > size)
    if len(long):
        at = int(long[0])
        raise InputError(
            f"query number {at + 1} has a list of {int(max(x[at], y[at]))} documents from a pool of {int(size[at])}",
            mend="Give the size of the collection in the units that are retrieved.",
        )
    both = np.sort(np.concatenate([first, second], axis=1), axis=1)
    shared = int(((both[:, 1:] == both[:, :-1]) & (both[:, 1:] >= 0)).sum())
    could = int(np.minimum(x, y).sum())
    if could == 0:
        raise InputError("no query has documents in both runs", mend="Compare runs over the same queries.")
    table, count = np.unique(np.stack([size, x, y], axis=1), axis=0, return_counts=True)
    laws = []
    for (n, marked, drawn), c in zip(table.tolist(), count.tolist(), strict=True):
        low, chance = hypergeometric(n, marked, drawn)
        laws.append((Law((low + np.arange(len(chance))) / k, chance, k), int(c)))
    law = mean_law(laws, size=len(size))
    p = min(max(law.sf(shared / (k * len(size))), ROUND_OFF), 1.0)
    expected = float((x * y / size).sum() / could)
    return Overlap(shared / could, expected, p, "above" if p <= alpha else "pass")


class _Search:
    """What the measured value says of other pools: sizes are given as a scale, the multiple of the given ones."""

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
        found = _last(over, 1.0, floor, self.most)
        return None if found is None or found >= self.most else found

    def interval(self, near: float | None) -> tuple[float, float | None] | None:
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


def _last(falling: Callable[[float], float], near: float, low: float, high: float) -> float | None:
    """The largest x in [low, high] at which a falling function is above 0; None where it is nowhere."""
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
    root = brentq(lambda t: falling(math.exp(t)), math.log(a), math.log(b), xtol=5e-5, rtol=1e-12)
    return math.exp(root)


def _odds(tail: float, level: float) -> float:
    """Positive where tail > level, and nearly linear in the logarithm of the pool size: a difference of probits."""
    from scipy.special import ndtri

    if tail == level:
        return 0.0
    return float(ndtri(min(max(tail, 1e-15), 1.0 - 1e-15)) - ndtri(level))


def _ratios(kinds: NoiseKinds, scales: tuple[float, float | None] | None, ratio: float) -> tuple[float, float]:
    """Expectations at the ends of the accepted scales, over the expectation at the given sizes."""
    if scales is None:
        return ratio, ratio
    expected = kinds.mean(kinds.at(1.0))
    upper = kinds.mean(kinds.at(scales[0])) / expected
    lower = 0.0 if scales[1] is None else kinds.mean(kinds.at(scales[1])) / expected
    return min(lower, ratio), max(upper, ratio)


def _shared_pool(kinds: NoiseKinds, scale: float | None) -> float | None:
    return None if scale is None or kinds.shared is None else scale * kinds.shared


def _whole(search: _Search, scales: tuple[float, float | None] | None) -> tuple[int, int | None] | None:
    """The whole pool sizes that the test accepts, from the accepted scales."""
    if scales is None or search.kinds.shared is None:
        return None
    n, least = search.kinds.shared, int(search.kinds.least.max())
    low = max(_settled(search, scales[0] * n, math.ceil), least)
    high = None if scales[1] is None else _settled(search, scales[1] * n, math.floor)
    return None if high is not None and high < low else (low, high)


def _settled(search: _Search, end: float, inward: Callable[[float], int]) -> int:
    """The whole number inward of an end; where the end is so near to one that the root may err, the test decides."""
    near = round(end)
    return near if abs(end - near) < 2e-4 * end and search.fits(near) else inward(end)


def _seeds(seeds: int) -> int:
    if seeds < 1:
        raise OptionError(f"a mean of {seeds} noise runs", legal="1 or more")
    return int(seeds)


def _score(name: str, value: float) -> float:
    if not 0.0 <= value <= 1.0:
        raise OptionError(f"the {name} is {value!r}", legal="a number from 0 to 1")
    return float(value)
