"""The noise floor checks: is measured noise where probability puts it, is there room above it, is it noise at all?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from falsify_adapters.core.draws import hypergeometric
from falsify_adapters.core.lattice import ROUND_OFF, Law, MeanLaw, mean_law
from falsify_adapters.core.noise_laws import Mask, noise_kinds
from falsify_adapters.core.noise_search import PoolSearch
from falsify_adapters.errors import InputError, OptionError
from falsify_adapters.measures import Measure
from falsify_adapters.model import Ints, Judgments

ALPHA = 0.01
POWER = 0.9
MIN_SIGNAL = 2.0
MIN_HEADROOM = 0.5


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
    search = PoolSearch(kinds, measured, _seeds(seeds), alpha, rounding)
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
        ci=search.ratios(around) if moves else None,
        p=p,
        alpha=alpha,
        detectable_ratio=search.detectable(power, ceiling) if moves else None,
        power=power,
        verdict=verdict,
        implied_n=None if implied is None or kinds.shared is None else implied * kinds.shared,
        implied_n_ci=search.whole(around),
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


def _seeds(seeds: int) -> int:
    if seeds < 1:
        raise OptionError(f"a mean of {seeds} noise runs", legal="1 or more")
    return int(seeds)


def _score(name: str, value: float) -> float:
    if not 0.0 <= value <= 1.0:
        raise OptionError(f"the {name} is {value!r}", legal="a number from 0 to 1")
    return float(value)
