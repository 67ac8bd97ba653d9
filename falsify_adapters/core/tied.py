"""Measures of lists with ties, averaged over every order of the tied documents (`--ties expected`).

Documents of one score form a group: `above` documents stand before it, it has `size` members, and the first `seen` of
its places are above the cutoff. Every order of the members is equally likely, and groups are independent, so each
family has a closed form by group. P, R, RR, AP and nDCG: McSherry and Najork, Computing information retrieval
performance measures efficiently in the presence of tied scores, ECIR 2008; the others follow alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from falsify_adapters.core.draws import any_gold, blocks, first_gold_chances
from falsify_adapters.core.floor_err import err_of_group
from falsify_adapters.core.kernels import (
    ERR_MAX_GRADE,
    GoldStats,
    Hits,
    discount,
    gains,
    precision_cutoff,
    relevant_from,
    stop,
)
from falsify_adapters.measures import Measure
from falsify_adapters.model import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class _Groups:
    """Groups that hold a hit, in the order of pairs and ranks, (g,) each. of_hit: (n,) the group of each hit."""

    pair: Ints
    above: Ints
    size: Ints
    seen: Ints
    gold: Ints
    bad: Ints
    of_hit: Ints


def evaluate_tied(measure: Measure, hits: Hits, n_pairs: int, stats: GoldStats) -> Floats:
    """Expected value of every pair, (n_pairs,), over the orders of tied documents; as `kernels.evaluate` without ties.

    hits: with `first` and `last`, the ranks at which each hit's tie begins and ends.
    """
    level = relevant_from(measure)
    groups, grade = _groups(measure, hits, stats, level)
    gold = np.maximum(stats.relevant, 1).astype(np.float64)
    pair, seen = groups.pair, groups.seen
    family = measure.family

    def total(value: Floats) -> Floats:
        return np.bincount(pair, value, minlength=n_pairs).astype(np.float64)

    if family == "P":
        return total(groups.gold * seen / groups.size) / precision_cutoff(measure)
    if family in ("R", "Rprec"):
        return total(groups.gold * seen / groups.size) / gold
    if family == "RBP":
        p = float(measure.param("p"))
        return total(groups.gold * (p**groups.above * -np.expm1(seen * np.log(p))) / groups.size)
    if family == "nDCG":
        gain = np.bincount(groups.of_hit, gains(grade, measure.gain), minlength=len(pair))
        weight = _between(discount, groups)
        return total(gain * weight / groups.size) / np.where(stats.ideal > 0, stats.ideal, 1.0)
    if family == "AP":
        h = _between(_inverse, groups)
        among = (groups.gold - 1) / np.maximum(groups.size - 1, 1)
        before = _before(pair, groups.gold)
        value = groups.gold / groups.size * ((before + 1) * h + among * (seen - (groups.above + 1) * h))
        return total(value) / gold
    if family == "Success":
        out = np.zeros(n_pairs)
        np.maximum.at(out, pair, any_gold(groups.size, groups.gold, seen))
        return out
    if family == "RR":
        first = np.concatenate([[True], pair[1:] != pair[:-1]])[: len(pair)]
        out = np.zeros(n_pairs)
        columns = np.stack([groups.above, groups.size, groups.gold, seen], axis=1)[first]
        table, back = np.unique(columns, axis=0, return_inverse=True)
        out[pair[first]] = _reciprocal_first(*table.T)[back.ravel()]
        return out
    if family == "bpref":
        return total(groups.gold * (1.0 - _share_above(groups, stats))) / gold
    return _err(groups, grade, n_pairs)


def _groups(measure: Measure, hits: Hits, stats: GoldStats, level: int) -> tuple[_Groups, Ints]:
    """The groups, and the grade of each hit that lies in one."""
    if hits.first is None or hits.last is None:
        raise ValueError("hits without their ties")
    keep = hits.grade >= (0 if measure.family == "bpref" else level)
    limit = np.full(len(stats.relevant), np.iinfo(np.int64).max if measure.cutoff is None else measure.cutoff)
    if measure.family == "Rprec":
        limit = np.minimum(limit, stats.relevant)
    keep &= hits.first <= limit[hits.pair]
    pair, first, last, grade = hits.pair[keep], hits.first[keep], hits.last[keep], hits.grade[keep]
    new = np.concatenate([[True], (pair[1:] != pair[:-1]) | (first[1:] != first[:-1])])[: len(pair)]
    of_hit = np.cumsum(new) - 1
    pair, above, size = pair[new], first[new] - 1, (last - first + 1)[new]
    gold = np.bincount(of_hit, grade >= level, minlength=len(pair)).astype(np.int64)
    bad = np.bincount(of_hit, grade < level, minlength=len(pair)).astype(np.int64)
    return _Groups(pair, above, size, np.minimum(size, limit[pair] - above), gold, bad, of_hit), grade


def _inverse(rank: NDArray[np.integer | np.floating]) -> Floats:
    return np.asarray(1.0 / rank)


def _between(weight: Callable[[NDArray[np.integer]], Floats], groups: _Groups) -> Floats:
    """(g,) sum of weight(rank) over the ranks of each group that are seen."""
    deepest = int((groups.above + groups.seen).max(initial=0))
    sums = np.concatenate([[0.0], np.cumsum(weight(np.arange(1, deepest + 1)))])
    return np.asarray(sums[groups.above + groups.seen] - sums[groups.above])


def _before(pair: Ints, count: Ints) -> Ints:
    """(g,) what `count` comes to in the earlier groups of the same pair."""
    so_far = np.cumsum(count) - count
    first = np.searchsorted(pair, pair, side="left")
    return np.asarray(so_far - so_far[first])


def _reciprocal_first(above: Ints, size: Ints, gold: Ints, seen: Ints) -> Floats:
    """E[1/(above + T); T <= seen], T the place of the group's first gold document."""
    out = np.zeros(len(size))
    for rows, longest in blocks(seen):
        place = np.arange(1, longest + 1)
        chance = first_gold_chances(size[rows], gold[rows], longest)
        inside = place <= seen[rows, None]
        out[rows] = np.where(inside, chance / (above[rows, None] + place), 0.0).sum(axis=1)
    return out


def _share_above(groups: _Groups, stats: GoldStats) -> Floats:
    """(g,) what bpref takes from a gold document of the group: E[min(b, G)] / min(G, M), b judged non-relevant above.

    Of the group's own b' such documents any number from 0 to b' stands above a gold one with equal chance.
    """
    relevant = stats.relevant[groups.pair]
    bound = np.maximum(np.minimum(relevant, stats.nonrelevant[groups.pair]), 1)
    before = np.minimum(_before(groups.pair, groups.bad), relevant)
    rising = np.minimum(groups.bad, relevant - before)
    total = before * (rising + 1) + rising * (rising + 1) / 2 + (groups.bad - rising) * relevant
    return np.asarray(total / (groups.bad + 1) / bound)


def _err(groups: _Groups, grade: Ints, n_pairs: int) -> Floats:
    n = len(groups.pair)
    cell = groups.of_hit * ERR_MAX_GRADE + grade - 1
    counts = np.bincount(cell, minlength=n * ERR_MAX_GRADE).reshape(n, ERR_MAX_GRADE)
    columns = np.column_stack([groups.above, groups.size, groups.seen, counts])
    table, back = np.unique(columns, axis=0, return_inverse=True)
    value = err_of_group(table[:, 1], table[:, 2], table[:, 3:], table[:, 0])[back.ravel()]
    passes = counts @ np.log1p(-stop(np.arange(1, ERR_MAX_GRADE + 1)))
    so_far = np.zeros(n)
    # Group by group down each pair: a running sum over all pairs would lose digits.
    place = np.arange(n) - np.searchsorted(groups.pair, groups.pair, side="left")
    order = np.argsort(place, kind="stable")
    edges = np.searchsorted(place[order], np.arange(int(place.max(initial=-1)) + 2))
    gone = np.zeros(n_pairs)  # log of the chance that the reader came so far
    for a, b in pairwise(edges):
        rows = order[a:b]
        so_far[rows] = gone[groups.pair[rows]]
        gone[groups.pair[rows]] += passes[rows]
    return np.bincount(groups.pair, np.exp(so_far) * value, minlength=n_pairs).astype(np.float64)
