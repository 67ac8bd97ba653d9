"""The law of a mean of many independent values, from the laws of the single ones: a convolution by FFT.

The FFT is taken over a window that holds all but 1e-16 of the probability (Bernstein's inequality), not over the whole
range, so thousands of values cost no more than a few. Where all values are multiples of one 1/unit the result is exact
but for round-off; elsewhere each value is shared out on a fine grid so that mean and variance stay the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from falsify_adapters.model import Floats

ROUND_OFF = 1e-12  # tails below this are round-off of the FFT, and are reported as this

_BEYOND = 37.0  # -log of the probability left outside the window, on each side
_LONGEST = 2**20  # points of the longest exact window
_POINTS = 2**23  # points of all transforms together
_GRID = 2**16  # points of a window where there is no common unit
_COUNTABLE = 2**45  # points from 0 on that a double can tell apart with room to spare
_SPREAD = 2.0  # steps over which the grid spreads a value
_NOISE = 1e-18  # what the FFT leaves where there is nothing
_SLACK = 1e-9  # relative: a measured mean is a sum of rounded quotients


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """One discrete random value in [0, 1].

    value, chance: (n,) atoms (in any order, repeats allowed) and their probabilities, sum 1; unit: all values are
    multiples of 1/unit, 0 where no unit is known; exact: whether the atoms were derived, not drawn.
    """

    value: Floats
    chance: Floats
    unit: int = 0
    exact: bool = True

    @property
    def mean(self) -> float:
        return float((self.chance * self.value).sum())  # not a dot product: BLAS threads cost more than they save

    @property
    def variance(self) -> float:
        return float((self.chance * (self.value - self.mean) ** 2).sum())


def mixed(first: Law, second: Law, share: float) -> Law:
    """`second` with probability `share`, else `first`."""
    return Law(
        np.concatenate([first.value, second.value]),
        np.concatenate([(1.0 - share) * first.chance, share * second.chance]),
        math.lcm(first.unit, second.unit),
        first.exact and second.exact,
    )


@dataclass(frozen=True, slots=True, eq=False)
class MeanLaw:
    """Law of a mean of independent values, at the points (first + i) * step, i = 0..n-1.

    at_most, at_least: (n,) P(mean <= point) and P(mean >= point); slack: by how many steps a value may miss its
    point; method: "exact" (common unit), "grid" (exact atoms on a grid) or "drawn" (some atoms drawn).
    """

    mean: float
    sd: float
    method: str
    first: int
    step: float
    slack: float
    at_most: Floats
    at_least: Floats

    def cdf(self, x: float) -> float:
        """P(mean <= x)."""
        at = x / self.step
        i = math.floor(at + self.slack + _SLACK * abs(at)) - self.first
        return 0.0 if i < 0 else float(self.at_most[min(i, len(self.at_most) - 1)])

    def sf(self, x: float) -> float:
        """P(mean >= x), x included."""
        at = x / self.step
        i = math.ceil(at - self.slack - _SLACK * abs(at)) - self.first
        return 0.0 if i >= len(self.at_least) else float(self.at_least[max(i, 0)])

    def exceeded_by(self, tail: float) -> float | None:
        """The smallest point x with P(mean >= x) <= tail; None where the window ends first (no value is that rare)."""
        i = int(np.argmax(self.at_least <= tail))
        return (self.first + i) * self.step if self.at_least[i] <= tail else None


def mean_law(laws: Sequence[tuple[Law, int]], *, size: int, repeats: int = 1, fine: bool = True) -> MeanLaw:
    """Law of the mean of `size` * `repeats` values, independent of each other.

    laws: one or more, each with how many of the `size` values have it; the rest are 0. repeats: how often the `size`
    values are drawn. fine: False for a coarser lattice or grid, several times faster, for searches.
    """
    n = size * repeats
    count = np.array([c * repeats for _, c in laws], dtype=np.float64)
    mean = float(count @ [law.mean for law, _ in laws])
    variance = float(count @ [law.variance for law, _ in laws])
    # Many laws make a smooth sum, for which fewer points do.
    points = min(max(_POINTS // (len(laws) if fine else 4 * len(laws)), _GRID // 16), _GRID)
    longest = min(max(8 * _POINTS // len(laws), points), _LONGEST if fine else _LONGEST // 8)
    low, high = _window(laws, count, mean, variance)
    unit = math.lcm(*(law.unit for law, _ in laws))
    on_lattice = unit > 0 and (high - low) * unit < longest and high * unit < _COUNTABLE
    step = 1.0 / unit if on_lattice else max((high - low) / points, high / _COUNTABLE, 1e-300)
    first, last = math.floor(low / step + 1e-6) - 1, math.ceil(high / step - 1e-6) + 1
    width = 1 << max(last - first, 1).bit_length()
    spectrum: NDArray[np.complex128] = np.ones(width // 2 + 1, np.complex128)
    for law, c in laws:
        spectrum *= _power(np.fft.rfft(_on_grid(law, step, width, on_lattice)), c)
    chance = np.roll(np.fft.irfft(_power(spectrum, repeats), width), -(first % width))
    if on_lattice:
        chance[chance < _NOISE] = 0.0
    exact = all(law.exact for law, _ in laws)
    return MeanLaw(
        mean=mean / n,
        sd=math.sqrt(variance) / n,
        method=("exact" if on_lattice else "grid") if exact else "drawn",
        first=first,
        step=step / n,
        slack=1e-6 if on_lattice else _SPREAD,
        at_most=np.clip(np.cumsum(chance), 0.0, 1.0),
        at_least=np.clip(np.cumsum(chance[::-1])[::-1], 0.0, 1.0),
    )


def _window(laws: Sequence[tuple[Law, int]], count: Floats, mean: float, variance: float) -> tuple[float, float]:
    """Where the sum lies but for a probability of e^-37 on each side."""
    middle = np.array([law.mean for law, _ in laws])
    least, most = (np.array([f(law.value[law.chance > 0]) for law, _ in laws]) for f in (np.min, np.max))

    def reach(furthest: float) -> float:
        b = furthest * _BEYOND / 3.0
        return b + math.sqrt(b * b + 2.0 * variance * _BEYOND)

    low = max(mean - reach(float((middle - least).max())), float(count @ least))
    high = min(mean + reach(float((most - middle).max())), float(count @ most))
    return low, max(low, high)


def _on_grid(law: Law, step: float, width: int, on_lattice: bool) -> Floats:
    at = law.value / step
    near = np.rint(at)
    cell = near.astype(np.int64)
    if on_lattice:
        return np.asarray(np.bincount(cell % width, law.chance, minlength=width), np.float64)
    # Three points with the same mean and variance (Lagrange's weights, the outer ones can be slightly negative): a
    # plain rounding or sharing between two would widen the sum of many small values.
    off = at - near
    out = np.bincount(cell % width, law.chance * (1.0 - off * off), minlength=width)
    out += np.bincount((cell + 1) % width, law.chance * (off * off + off) / 2.0, minlength=width)
    out += np.bincount((cell - 1) % width, law.chance * (off * off - off) / 2.0, minlength=width)
    return np.asarray(out, np.float64)


def _power(base: NDArray[np.complex128], exponent: int) -> NDArray[np.complex128]:
    # By squaring: products only, so no logarithm of a zero and no loss of digits in a phase.
    out = np.ones_like(base)
    while True:
        if exponent & 1:
            out = out * base
        exponent >>= 1
        if not exponent:
            return out
        base = base * base
