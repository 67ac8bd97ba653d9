"""Whether two systems differ: paired t test, randomization test, Tukey's HSD, and Holm's correction.

The first two are those of Smucker, Allan and Carterette, A comparison of statistical significance tests for information
retrieval evaluation, CIKM 2007. Values are (R, Q): runs by queries, in the same order of queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from falsify_adapters.errors import OptionError
from falsify_adapters.model import Floats

StatTest = Literal["student", "fisher", "tukey"]
TESTS: tuple[StatTest, ...] = get_args(StatTest)

EXACT = 12  # queries that differ: up to here every assignment of signs is looked at
BLOCK = 2_000_000  # signs held at a time


def p_values(test: StatTest, values: Floats, n_permutations: int, rng: Generator) -> Floats:
    """(R, R) two-sided p of every pair, symmetric; NaN on the diagonal and where two runs have the same values.

    n_permutations: of the randomization test. Raises OptionError where a test needs more queries or permutations.
    """
    if values.ndim != 2 or values.shape[1] < 2:
        raise OptionError(f"{values.shape[-1]} queries", where="--stat-test", legal="2 queries or more")
    if n_permutations < 1:
        raise OptionError(f"{n_permutations} permutations", legal="1 or more")
    if test == "tukey":
        p = _tukey(values)
    elif test == "fisher":
        p = _fisher(values, n_permutations, rng)
    else:
        p = np.full((len(values),) * 2, np.nan)
        for a in range(len(values)):
            p[a, a + 1 :] = p[a + 1 :, a] = _student(values[a + 1 :] - values[a])
    same = (values[:, None] == values).all(axis=2)
    return np.where(same, np.nan, p)


def _student(differ: Floats) -> Floats:
    """(P,) paired t test of rows of differences; a difference that is the same in every query has p 0."""
    from scipy.stats import t

    n = differ.shape[1]
    spread = differ.std(axis=1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = differ.mean(axis=1) / (spread / np.sqrt(n))
    return np.asarray(2.0 * t.sf(np.abs(statistic), n - 1))


def _fisher(values: Floats, n_permutations: int, rng: Generator) -> Floats:
    """(R, R) randomization test: signs of the differences are exchanged. (1 + hits)/(1 + draws), never 0; with few
    queries that differ every assignment is looked at, and p is exact. All pairs see the same draws, so that a pair's p
    does not depend on which other runs there are."""
    runs, queries = values.shape
    rows = range(runs - 1)
    hits = [np.zeros(runs - a - 1, dtype=np.int64) for a in rows]
    step = min(1000, max(1, BLOCK // queries))
    for first in range(0, n_permutations, step):
        signs = 1.0 - 2.0 * rng.integers(0, 2, (min(step, n_permutations - first), queries), dtype=np.int8)
        for a in rows:
            differ = values[a + 1 :] - values[a]
            hits[a] += (np.abs(signs @ differ.T) >= _least(differ)).sum(axis=0)
    p = np.full((runs, runs), np.nan)
    for a in rows:
        differ = values[a + 1 :] - values[a]
        found = (1 + hits[a]) / (1 + n_permutations)
        for b in np.flatnonzero((differ != 0).sum(axis=1) <= EXACT):
            found[b] = _every_sign(differ[b])
        p[a, a + 1 :] = p[a + 1 :, a] = found
    return p


def _every_sign(differ: Floats) -> float:
    """Exact p of the randomization test."""
    moved = differ[differ != 0]
    signs = 1 - 2 * ((np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved))) & 1)
    return float((np.abs(signs @ moved) >= _least(moved)).mean())


def _least(differ: Floats) -> Floats:
    """The sums that count as at least as far from 0 as what was seen; sums that differ by rounding are equal."""
    return np.asarray(np.abs(differ.sum(axis=-1)) - 1e-12 * np.abs(differ).sum(axis=-1))


def least_p(test: StatTest, queries: int, n_permutations: int) -> float:
    """The smallest p that the randomization test can give for this many queries; 0 for the others."""
    if test != "fisher":
        return 0.0
    return 2.0 ** (1 - queries) if queries <= EXACT else 1.0 / (1 + n_permutations)


def _tukey(values: Floats) -> Floats:
    """(R, R) Tukey's HSD over all runs, unpaired, as ranx has it."""
    from scipy.stats import tukey_hsd

    if len(values) < 2:
        return np.full((1, 1), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.array(tukey_hsd(*values).pvalue, dtype=np.float64)
    np.fill_diagonal(p, np.nan)
    return p


def holm(p: Sequence[float] | Floats) -> Floats:
    """Holm's step-down adjustment of a family of p-values, in the order given. NaN is no test: it stays and is not
    counted (Holm 1979, A simple sequentially rejective multiple test procedure)."""
    given = np.asarray(p, dtype=np.float64)
    out = given.copy()
    tests: NDArray[np.intp] = np.flatnonzero(~np.isnan(given))
    order = tests[np.argsort(given[tests], kind="stable")]
    steps = given[order] * np.arange(len(order), 0, -1)
    out[order] = np.minimum(np.maximum.accumulate(steps) if len(steps) else steps, 1.0)
    return out
