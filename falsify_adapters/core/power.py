"""What a benchmark of so many queries can certify, before any run exists.

The hardest system to tell from chance is one whose queries score 0 or the ceiling and nothing between: for a given
mean no scores spread wider. Its number of hits X is binomial, the lower end of the gate's interval is Clopper and
Pearson's (SPEC 5: Gaffke's bound at 0/1 scores), and it passes a null of expectation m where X/Q - m >= tau and that
end lies above m. The chance of that is exact, and rises with the gap.
"""

from __future__ import annotations

from dataclasses import dataclass

from falsify_adapters.errors import OptionError

NULLS = 4
POWER = 0.8
MOST_QUERIES = 10**6
TEETH = 4  # of the chance as a function of the queries, looked at ahead


@dataclass(frozen=True, slots=True)
class Certifiable:
    """For one measure and number of queries. least_score: the lowest score that passes, None where none does; gap: the
    smallest true gap that passes with the chance `power`, None where none does; coin_toss: the gap that passes in half
    of all tries."""

    least_score: float | None
    gap: float | None
    coin_toss: float | None


def least_hits(n: int, null: float, top: float, tau: float, alpha: float) -> int | None:
    """The fewest of n queries that must score `top`, all others 0, to pass a null of expectation `null`; None where
    even all do not."""
    _checked(n, null, top)
    from scipy.stats import beta

    def passes(hits: int) -> bool:
        if hits * top / n - null < tau:
            return False
        low = 0.0 if hits == 0 else float(beta.ppf(alpha / NULLS / 2, hits, n - hits + 1))
        return low * top > null

    if not passes(n):
        return None
    low, high = -1, n  # passes(high), not passes(low): the bound rises with the hits
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high


def chance(n: int, null: float, top: float, gap: float, tau: float = 0.05, alpha: float = 0.05) -> float:
    """Probability that a system of scores 0 and `top`, with the true mean null + gap, passes on n queries."""
    hits = least_hits(n, null, top, tau, alpha)
    if hits is None:
        return 0.0
    from scipy.stats import binom

    return float(binom.sf(hits - 1, n, min((null + gap) / top, 1.0)))


def certifiable(
    n: int, null: float, top: float, tau: float = 0.05, alpha: float = 0.05, power: float = POWER
) -> Certifiable:
    """n: queries; null: expectation of the null, the floor say; top: the ceiling; power: chance to pass."""
    hits = least_hits(n, null, top, tau, alpha)
    if hits is None:
        return Certifiable(None, None, None)
    from scipy.stats import beta

    # X ~ Bin(n, p) has P(X >= hits) = I_p(hits, n - hits + 1), the regularised beta function, inverted here for p.
    at = [float(beta.ppf(p, hits, n - hits + 1)) * top - null for p in (power, 0.5)]
    return Certifiable(hits * top / n, at[0], at[1])


def queries_for(
    gap: float, null: float, top: float, tau: float = 0.05, alpha: float = 0.05, power: float = POWER
) -> int | None:
    """The number of queries from which a true gap passes with the chance `power`, also at every larger number; None
    where no number up to a million does (a gap of tau is a coin toss on any benchmark)."""
    if not 0.0 < gap <= 1.0:
        raise OptionError(f"a gap of {gap!r}", legal="a number above 0, up to 1")
    if null + gap > top or gap <= tau:
        return None
    high = 8
    while high <= MOST_QUERIES and _worst_near(high, gap, null, top, tau, alpha) < power:
        high *= 2
    if high > MOST_QUERIES:
        return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _worst_near(middle, gap, null, top, tau, alpha) >= power else (middle, high)
    return high


def _worst_near(n: int, gap: float, null: float, top: float, tau: float, alpha: float) -> float:
    """The chance rises with n while the hits that it takes stay the same, and falls where one more is needed: the
    lowest of n itself and the next such falls."""
    lowest = chance(n, null, top, gap, tau, alpha)
    for _ in range(TEETH):
        hits = least_hits(n, null, top, tau, alpha)
        if hits is None:
            return 0.0
        low, high = n, n + int(2 * top / (tau + null)) + 2  # one hit more is needed within that many queries
        while high - low > 1:
            middle = (low + high) // 2
            more = least_hits(middle, null, top, tau, alpha)
            low, high = (low, middle) if more is None or more > hits else (middle, high)
        n = high
        lowest = min(lowest, chance(n, null, top, gap, tau, alpha))
    return lowest


def _checked(n: int, null: float, top: float) -> None:
    if n < 1:
        raise OptionError(f"{n} queries", legal="1 or more")
    if not 0.0 <= null <= top <= 1.0 or top == 0.0:
        raise OptionError(
            f"a null of {null!r} under a ceiling of {top!r}", legal="0 <= null <= ceiling <= 1, ceiling > 0"
        )
