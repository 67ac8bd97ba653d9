"""The noise floor where chunks are ranked and documents are scored: exact expectations under random chunk order.

A document takes the position of its best chunk, so one with more chunks comes first more often and the floor depends
on the chunk counts of the gold documents. Formulas: core.races; draws: core.chunk_draws.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from falsify_adapters.core.chunk_draws import simulate
from falsify_adapters.core.floors import ADDITIVE
from falsify_adapters.core.kernels import discount, gains, gold_stats, precision_cutoff, relevant_from, stop
from falsify_adapters.core.races import ChunkCounts, Others, Weight, kinds_of, panels, real_times, times
from falsify_adapters.errors import InputError, MeasureError
from falsify_adapters.measures import KERNEL_FAMILIES, Measure
from falsify_adapters.model import Floats, Ints, Judgments

__all__ = ["ChunkCounts", "expectation", "simulate"]

_CELLS = 4_000_000  # numbers held at a time in tables of pairs of classes
_ALONE = 1024  # gold documents from which a query gets windows of its own


@dataclass(frozen=True, slots=True, eq=False)
class _Gold:
    """The J' judgments that count as gold and can be retrieved, of queries that can score.

    query, grade: (J',); kind: (J',) number of the chunk count in `chunks`; cut: (Q,) ranks that the measure sees, at
    most N; total: (Q,) G, those that cannot be retrieved included; ideal: (Q,) IDCG (nDCG).
    """

    chunks: ChunkCounts
    query: Ints
    grade: Ints
    kind: Ints
    cut: Ints
    total: Ints
    ideal: Floats


def expectation(
    measure: Measure, judgments: Judgments, chunks: ChunkCounts, weight: Ints, depth: Ints | None = None
) -> Floats | None:
    """Expectation of every query's value when the chunks of the collection are ranked at random and de-duplicated.

    weight: (J,) chunk count of each judged document, 0 where it has none in the collection and cannot be retrieved;
    depth: (Q,) documents retrieved, None for the whole collection. Returns (Q,), 0 without gold or depth; None for
    bpref, which has to be simulated (`simulate`). Accurate to about 1e-13 of the value. Raises MeasureError for a
    family that has no kernel, InputError where judged documents do not fit the collection.
    """
    if not measure.has_kernel:
        raise MeasureError(
            f"{measure} has no formula for its expectation under random ranking of chunks",
            legal=", ".join(KERNEL_FAMILIES) + ", with cutoff, level and gain only",
            mend="Simulate it through the backend.",
        )
    gold = _gold(measure, judgments, chunks, weight, depth)
    if measure.family == "bpref":
        return None
    value = np.zeros(judgments.n_queries)
    if not len(gold.query):
        return value
    if measure.family in ADDITIVE:
        value = _additive(measure, gold)
    elif measure.family == "AP":
        value = _average_precision(gold)
    else:
        value = _first_stop(measure, gold)
    return np.asarray(np.minimum(value, 1.0))  # quadrature may end a few 1e-16 above a value that is certain


def _gold(measure: Measure, judgments: Judgments, chunks: ChunkCounts, weight: Ints, depth: Ints | None) -> _Gold:
    n = judgments.n_queries
    if depth is not None and np.shape(depth) != (n,):
        raise InputError(f"`depth` has shape {np.shape(depth)} and should have ({n},)")
    kind, stats = kinds_of(judgments, chunks, weight), gold_stats(measure, judgments)
    cut = np.full(n, chunks.n_docs) if depth is None else np.minimum(depth, chunks.n_docs)
    if measure.cutoff is not None:
        cut = np.minimum(cut, measure.cutoff)
    if measure.family == "Rprec":
        cut = np.minimum(cut, stats.relevant)
    query = judgments.query.astype(np.int64)
    rows = np.flatnonzero((judgments.grade >= relevant_from(measure)) & (kind >= 0) & (cut[query] > 0))
    grade = judgments.grade[rows].astype(np.int64)
    return _Gold(chunks, query[rows], grade, kind[rows], cut.astype(np.int64), stats.relevant, stats.ideal)


def _cut_groups(cuts: Ints, n_docs: int, most: int) -> Iterator[Ints]:
    """Distinct cuts that may share panels, `most` at a time."""
    distinct = np.unique(cuts)
    group = np.where(distinct < n_docs, np.log2(distinct).astype(np.int64), 64)
    for g in np.unique(group):
        some = distinct[group == g]
        for a in range(0, len(some), most):
            yield some[a : a + most]


def _others(chunks: ChunkCounts, out: int) -> Others:
    """The whole collection, from which up to `out` documents of a chunk count are taken."""
    most = chunks.documents.astype(np.float64)
    return Others(chunks.weights.astype(np.float64), most, np.maximum(most - out, 0.0)[None], chunks.n_docs - 1)


def _one(b: Floats) -> Floats:
    return np.ones_like(b)


def _reciprocal(b: Floats) -> Floats:
    return 1.0 / (b + 1.0)


def _additive(measure: Measure, gold: _Gold) -> Floats:
    """Measures of the form sum over gold of h(rank) a(document): one expectation of h per chunk count and cut."""
    scale = np.ones(len(gold.query))
    rank_weight: Weight = _one
    if measure.family == "P":
        scale /= precision_cutoff(measure)
    elif measure.family in ("R", "Rprec"):
        scale = 1.0 / gold.total[gold.query]
    elif measure.family == "nDCG":
        scale = gains(gold.grade, measure.gain) / gold.ideal[gold.query]
        rank_weight = _discount
    else:
        rank_weight = _persistence(float(measure.param("p")))
    kinds, place = np.unique(gold.kind, return_inverse=True)
    others = _others(gold.chunks, 1)
    cut = gold.cut[gold.query]
    each = np.zeros(len(gold.query))
    for cuts in _cut_groups(cut, gold.chunks.n_docs, 64):
        table = np.zeros((len(kinds), len(cuts)))
        rate = others.rate[kinds]
        for at in panels(others, rank_weight, cuts, rate):
            without = np.exp(times(others.most[None], at.log_factor) - at.log_factor[:, kinds])
            arrives = at.step[:, None] * rate * at.stay[:, kinds]
            table += (arrives[..., None] * real_times(without, at.weight)).sum(0)
        rows = np.flatnonzero(np.isin(cut, cuts))
        each[rows] = table[place[rows], np.searchsorted(cuts, cut[rows])]
    return np.bincount(gold.query, each * scale, minlength=len(gold.cut)).astype(np.float64)


def _discount(b: Floats) -> Floats:
    return discount(b + 1.0)


def _persistence(p: float) -> Weight:
    return lambda b: np.asarray((1.0 - p) * p**b)


def _average_precision(gold: _Gold) -> Floats:
    """(1/G) sum over gold g of E[1/rank(g)] + sum over other gold h of E[1/rank(g); h ahead of g].

    Both depend on chunk counts alone: a table per chunk count and one per pair of them.
    """
    kinds, place = np.unique(gold.kind, return_inverse=True)
    k, n = len(kinds), len(gold.cut)
    others = _others(gold.chunks, 2)
    rate = others.rate[kinds]
    count = np.bincount(gold.query * k + place, minlength=n * k).reshape(n, k).astype(np.float64)
    value = np.zeros(n)
    for cuts in _cut_groups(gold.cut[np.unique(gold.query)], gold.chunks.n_docs, min(64, max(1, _CELLS // k**2))):
        alone, both = np.zeros((k, len(cuts))), np.zeros((len(cuts), k, k))
        for at in panels(others, _reciprocal, cuts, rate):
            out = np.exp(-at.log_factor[:, kinds])
            whole = np.exp(times(others.most[None], at.log_factor)) * at.weight
            arrives = (at.step[:, None] * rate * at.stay[:, kinds])[..., None]
            alone += (arrives * real_times(out, whole)).sum(0)
            meet = arrives * at.gone[:, None, kinds]
            for i in range(len(cuts)):
                both[i] += (real_times(out * (whole[:, i] * at.turn)[:, None], out) * meet).sum(0)
        same = np.diagonal(both, axis1=1, axis2=2).copy()
        both[:, np.arange(k), np.arange(k)] = 0.0
        for i, cut in enumerate(cuts):
            c = count[gold.cut == cut]
            value[gold.cut == cut] = c @ alone[:, i] + ((c @ both[i]) * c).sum(1) + (c * (c - 1.0)) @ same[i]
    return np.asarray(value / np.maximum(gold.total, 1))


def _first_stop(measure: Measure, gold: _Gold) -> Floats:
    """RR, Success, ERR: the reader stops at a gold document with a chance of its grade's (RR, Success: always).

    E = sum over gold g of stop(g) E[h(B_g) prod over other gold ahead of (1 - stop)]: the other gold documents enter
    the characteristic function with q + p (1 - stop) e^(ix) for q + p e^(ix). Queries with the same gold share a row.
    """
    n_kinds, n = len(gold.chunks.weights), len(gold.cut)
    stops = stop(gold.grade) if measure.family == "ERR" else np.ones(len(gold.query))
    stop_of, level = np.unique(stops, return_inverse=True)
    types, place = np.unique(level * n_kinds + gold.kind, return_inverse=True)
    table = np.zeros((n, len(types) + 1), np.int64)
    np.add.at(table, (gold.query, place), 1)
    table[:, -1] = gold.cut
    some = np.unique(gold.query)
    distinct, back = np.unique(table[some], axis=0, return_inverse=True)
    result = np.zeros(len(distinct))
    weight = _one if measure.family == "Success" else _reciprocal
    for rows in _row_groups(distinct[:, :-1].sum(1)):
        for cuts in _cut_groups(distinct[rows, -1], gold.chunks.n_docs, 64):
            part = rows[np.isin(distinct[rows, -1], cuts)]
            which = np.searchsorted(cuts, distinct[part, -1])
            result[part] = _stop_rows(
                gold.chunks, types % n_kinds, stop_of[types // n_kinds], distinct[part, :-1], weight, cuts, which
            )
    value = np.zeros(n)
    value[some] = result[back.ravel()]
    return value


def _row_groups(total: Ints) -> Iterator[Ints]:
    """Rows whose windows may be shared: those with little gold together, the others one by one."""
    few = np.flatnonzero(total <= _ALONE)
    for a in range(0, len(few), 256):
        yield few[a : a + 256]
    for row in np.flatnonzero(total > _ALONE):
        yield np.array([row])


def _stop_rows(
    chunks: ChunkCounts, kind: Ints, stops: Floats, count: Ints, weight: Weight, cuts: Ints, which: Ints
) -> Floats:
    """(R,) the expectation for rows of gold counts (R, T) by type: chunk count number `kind`, chance to stop."""
    rest = np.tile(chunks.documents.astype(np.float64), (len(count), 1))
    np.subtract.at(rest.T, kind, count.T)
    rate, always, many = chunks.weights[kind].astype(np.float64), stops == 1.0, count.astype(np.float64)
    # Where every stop is certain the first of the gold documents decides, at the sum of their rates.
    certain = bool(always.all())
    most = rest.max(0) if certain else chunks.documents.astype(np.float64)
    others = Others(
        chunks.weights.astype(np.float64), most, rest, int(rest.sum(1).max()) if certain else chunks.n_docs - 1
    )
    value = np.zeros(len(count))
    for at in panels(others, weight, cuts, many @ rate if certain else rate):
        if certain:
            f = np.exp(times(rest, at.log_factor) - np.multiply.outer(at.s, many @ rate)[..., None])
            f *= (many @ rate)[:, None]
        else:
            factor = at.gone[:, kind, None] * (1.0 - stops)[:, None] * at.turn + at.stay[:, kind, None]
            f = np.exp(times(rest, at.log_factor) + times(many, np.log(factor)))
            f *= times(many, (stops * rate * at.stay[:, kind])[..., None] / factor)
        value += at.step @ (f * at.weight[:, which]).real.sum(2)
    return value
