"""The noise floor: exact mean and variance of a measure when each query is answered by random documents of its pool.

K = min(depth, N) documents, drawn uniformly without replacement from N, in random order; m = min(k, K) of them seen.
Unjudged documents are not relevant. All follows from P(document at rank r) = 1/N and from the hypergeometric number
of gold documents in a prefix. AP@k and its variance: also Manzhos, Ianevych and Melnyk (2026), 10.15559/26-VMSTA298.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from falsify_adapters.core.draws import any_gold, harmonic, hypergeometric, reciprocal_first_gold, sum_to
from falsify_adapters.core.floor_err import err_expectation
from falsify_adapters.core.kernels import (
    ERR_MAX_GRADE,
    discount,
    gains,
    gold_stats,
    precision_cutoff,
    relevant_from,
)
from falsify_adapters.errors import InputError, MeasureError
from falsify_adapters.measures import KERNEL_FAMILIES, Measure
from falsify_adapters.model import Floats, Ints, Judgments

Mask = NDArray[np.bool_]

ADDITIVE = ("P", "R", "nDCG", "Rprec", "RBP")


@dataclass(frozen=True, slots=True, eq=False)
class _Draws:
    """The A queries that can score: gold in the pool, something retrieved.

    query: (A,) their numbers; size: N; depth: m, ranks that the measure sees; gold, gold_in: G, and those in the
    pool; bad, bad_in: M, judged non-relevant, and those in the pool; ideal: IDCG (nDCG); judged: (J,) judgments
    that count as gold and lie in the pool of such a query.
    """

    query: Ints
    size: Ints
    depth: Ints
    gold: Ints
    gold_in: Ints
    bad: Ints
    bad_in: Ints
    ideal: Floats
    judged: Mask


def expectation(measure: Measure, judgments: Judgments, size: Ints, depth: Ints, inside: Mask | None = None) -> Floats:
    """Exact expectation of every query's value under random ranking.

    size: (Q,) N, documents in the query's pool; depth: (Q,) documents retrieved (more than N count as N);
    inside: (J,) judgments that lie in their query's pool, None where all do. Returns (Q,); 0 without gold, without
    a pool, without retrieved documents. Raises MeasureError for a family without a formula, InputError where a
    pool is smaller than the judged documents in it.
    """
    d = _draws(measure, judgments, size, depth, inside)
    family = measure.family
    if family in ADDITIVE:
        weight, _, gain, _ = _additive(measure, judgments, d)
        value = weight * gain / d.size
    elif family == "Success":
        value = _per_class(any_gold, d.size, d.gold_in, d.depth)
    elif family == "RR":
        value = _per_class(lambda *a: reciprocal_first_gold(*a)[0], d.size, d.gold_in, d.depth)
    elif family == "AP":
        h = harmonic(d.depth)
        more = (d.gold_in - 1) / np.maximum(d.size - 1, 1)
        value = d.gold_in / d.gold / d.size * (h + more * (d.depth - h))
    elif family == "bpref":
        value = _per_class(_bpref, d.size, d.depth, d.gold, d.gold_in, d.bad, d.bad_in)
    else:
        grade = judgments.grade[d.judged]
        query = np.searchsorted(d.query, judgments.query[d.judged])
        counts = np.bincount(query * ERR_MAX_GRADE + grade - 1, minlength=len(d.query) * ERR_MAX_GRADE)
        counts = counts.reshape(-1, ERR_MAX_GRADE)
        value = _per_class(lambda n, m, *c: err_expectation(n, m, np.stack(c, axis=1)), d.size, d.depth, *counts.T)
    return _spread(value, d, judgments)


def variance(
    measure: Measure, judgments: Judgments, size: Ints, depth: Ints, inside: Mask | None = None
) -> Floats | None:
    """Exact variance of every query's value under random ranking; arguments and errors as for `expectation`.

    None for ERR and bpref, which have no closed form here. A mean over queries has variance sum / Q^2.
    """
    d = _draws(measure, judgments, size, depth, inside)
    if measure.family in ADDITIVE:
        weight, weight2, gain, gain2 = _additive(measure, judgments, d)
        spread = (weight2 - weight**2 / d.size) * (gain2 - gain**2 / d.size)
        value = np.where(d.size > 1, spread / np.maximum(d.size - 1, 1), 0.0)
    elif measure.family == "Success":
        p = _per_class(any_gold, d.size, d.gold_in, d.depth)
        value = p * (1.0 - p)
    elif measure.family == "RR":
        value = _per_class(_rr_variance, d.size, d.gold_in, d.depth)
    elif measure.family == "AP":
        value = _ap_variance(d)
    else:
        return None
    return _spread(np.maximum(value, 0.0), d, judgments)


def _draws(measure: Measure, judgments: Judgments, size: Ints, depth: Ints, inside: Mask | None) -> _Draws:
    if not measure.has_kernel:
        raise MeasureError(
            f"{measure} has no formula for its expectation under random ranking",
            legal=", ".join(KERNEL_FAMILIES) + ", with cutoff, level and gain only",
            mend="Simulate it through the backend.",
        )
    q = judgments.n_queries
    for name, array, length in (("size", size, q), ("depth", depth, q), ("inside", inside, len(judgments.grade))):
        if array is not None and np.shape(array) != (length,):
            raise InputError(f"`{name}` has shape {np.shape(array)} and should have ({length},)")
    stats = gold_stats(measure, judgments)
    query, grade, level = judgments.query, judgments.grade, relevant_from(measure)
    within = np.ones(len(grade), bool) if inside is None else inside
    judged_in = np.bincount(query[within], minlength=q)
    short = np.flatnonzero((judged_in > size) & (size > 0))
    if len(short):
        at = int(short[0])
        raise InputError(
            f"query {judgments.queries[at]!r} has {int(judged_in[at])} judged documents in a pool of {int(size[at])}",
            legal=f"a pool of {int(judged_in[at])} documents or more",
            mend="Give the size of the collection in the units that are judged, or say which judged documents "
            "lie in the pool.",
        )
    gold = within & (grade >= level)
    gold_in = np.bincount(query[gold], minlength=q)
    bad_in = np.bincount(query[within & (grade >= 0) & (grade < level)], minlength=q)
    seen = np.minimum(size, depth)
    if measure.cutoff is not None:
        seen = np.minimum(seen, measure.cutoff)
    alive = (gold_in > 0) & (seen > 0)
    rows = np.flatnonzero(alive)
    return _Draws(
        query=rows,
        size=np.asarray(size[rows], dtype=np.int64),
        depth=np.asarray(seen[rows], dtype=np.int64),
        gold=stats.relevant[rows],
        gold_in=gold_in[rows],
        bad=stats.nonrelevant[rows],
        bad_in=bad_in[rows],
        ideal=stats.ideal[rows],
        judged=gold & alive[query],
    )


def _spread(value: Floats, d: _Draws, judgments: Judgments) -> Floats:
    out = np.zeros(judgments.n_queries)
    out[d.query] = value
    return out


def _per_class(function: Callable[..., Floats], *columns: Ints) -> Floats:
    # Queries with the same numbers have the same value; most benchmarks have few distinct ones.
    table, back = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    return np.asarray(function(*table.T)[back.ravel()])


def _additive(measure: Measure, judgments: Judgments, d: _Draws) -> tuple[Floats, Floats, Floats, Floats]:
    """Measures of the form sum over gold of w(rank) a(document): sums of w and w^2 over ranks, a and a^2 over gold."""
    m = d.depth.astype(np.float64)
    gold_in = d.gold_in.astype(np.float64)
    if measure.family == "P":
        k = precision_cutoff(measure)
        return m / k, m / k**2, gold_in, gold_in
    if measure.family == "R":
        return m / d.gold, m / d.gold**2, gold_in, gold_in
    if measure.family == "Rprec":
        m = np.minimum(m, d.gold)
        return m / d.gold, m / d.gold**2, gold_in, gold_in
    if measure.family == "RBP":
        p = float(measure.param("p"))
        return -np.expm1(m * np.log(p)), (p - 1.0) / (p + 1.0) * np.expm1(2.0 * m * np.log(p)), gold_in, gold_in
    gain = gains(judgments.grade[d.judged], measure.gain)
    query = np.searchsorted(d.query, judgments.query[d.judged])
    a, a2 = (np.bincount(query, g, minlength=len(m)) for g in (gain, gain**2))
    return sum_to(discount, d.depth), sum_to(_discount2, d.depth), a / d.ideal, a2 / d.ideal**2


def _discount2(r: Floats) -> Floats:
    return discount(r) ** 2


def _rr_variance(size: Ints, gold: Ints, depth: Ints) -> Floats:
    mean, square = reciprocal_first_gold(size, gold, depth)
    return square - mean**2


def _ap_variance(d: _Draws) -> Floats:
    """E[AP^2] - E[AP]^2, from the chances f_j that j given documents of the pool's gold stand at j given ranks."""
    n, g, m = (x.astype(np.float64) for x in (d.size, d.gold_in, d.depth))
    h, h2 = harmonic(d.depth), sum_to(lambda r: 1.0 / r**2, d.depth)
    pairs = (h**2 - h2) / 2.0
    f1 = g / n
    f2 = f1 * (g - 1) / np.maximum(n - 1, 1)
    f3 = f2 * (g - 2) / np.maximum(n - 2, 1)
    f4 = f3 * (g - 3) / np.maximum(n - 3, 1)
    square = (
        f1 * h2
        + f2 * (3 * (h - h2) + 4 * pairs)
        + f3 * (m - 3 * h + 2 * h2 + 2 * (3 * (m - h) + m * h - m - 5 * pairs))
        + 2 * f4 * (m * (m - 1) / 2 - 3 * (m - h) - (m * h - m) + 3 * pairs)
    )
    mean = f1 * h + f2 * (m - h)
    return (square - mean**2) / d.gold**2


def _bpref(size: Ints, depth: Ints, gold: Ints, gold_in: Ints, bad: Ints, bad_in: Ints) -> Floats:
    """G_in/(G N) times the sum over ranks of E[1 - min(h, G)/min(G, M)], h judged non-relevant above the rank.

    Where h cannot exceed G the expectation of h is enough. Elsewhere the sum over ranks of E[(G - h)^+] is
    sum_{t<=G} E[min(m, T_t)], T_t the rank of the t-th judged non-relevant document among N - 1, and
    i C(i-1, t-1) = t C(i, t) turns it into two hypergeometric means: of c(c+1)/2, c = min(G, X-1), X of M_in + 1
    in m of N; and of (G - Y)^+, Y of M_in in m - 1 of N - 1.
    """
    n, m = size.astype(np.float64), depth.astype(np.float64)
    bound = np.maximum(np.minimum(gold, bad), 1)
    total = m - bad_in / np.maximum(n - 1.0, 1.0) * m * (m - 1.0) / 2.0 / bound
    for i in np.flatnonzero(bad_in > gold):
        s, k, g, b = int(size[i]), int(depth[i]), int(gold[i]), int(bad_in[i])
        low, chance = hypergeometric(s, b + 1, k)
        c = np.clip(np.arange(low, low + len(chance)) - 1, 0, g)
        within = float(chance @ (c * (c + 1) / 2.0)) * s / (b + 1)
        low, chance = hypergeometric(s - 1, b, k - 1)
        beyond = float(chance @ np.maximum(g - np.arange(low, low + len(chance)), 0)) * k
        total[i] = (within + beyond) / g
    return gold_in / gold * total / n
