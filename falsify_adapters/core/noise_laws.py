"""The law of a measure under random ranking: of one query, and of the mean over queries and noise runs.

Exact for Success, P, R, Rprec, RR, and for any measure where one judged document counts. Elsewhere the number of
judged documents among those seen is exact (hypergeometric), and where they stand is drawn, as often for each number;
the drawn values are then weighted so that mean and variance are the exact ones of `core.floors`. What is left to
chance is the skewness of a query's value, and a mean of many queries hardly knows it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from falsify_adapters.core import floors, sampling
from falsify_adapters.core.draws import any_gold, first_gold, hypergeometric
from falsify_adapters.core.kernels import GoldStats, Hits, evaluate, gold_stats, precision_cutoff, relevant_from
from falsify_adapters.core.lattice import Law, MeanLaw, mean_law, mixed
from falsify_adapters.errors import InputError, OptionError
from falsify_adapters.measures import Measure
from falsify_adapters.model import Floats, Ints, Judgments

Mask = NDArray[np.bool_]

_COUNTS = ("P", "R", "Rprec", "Success")
_LCM_TO = 16  # 1/1, ..., 1/16 are multiples of 1/720720; from 17 on no grid of that kind fits into memory
_ALONE = 2**14  # ranks looked at one by one; further ones in blocks, each under 1/512 of its rank long
_DRAWS = 100_000  # values drawn per kind of query, at most
_FEWEST = 200  # at least, and fewer where there are many kinds: it is the draws of all kinds together that count
_BUDGET = 1_500_000  # judged documents placed at random per law of a mean
_ENUMERATED = 2**15  # places of a single judged document that are listed instead of drawn
_ROUNDS = 20  # of making weights fit and cutting off negative ones
_RARE = 1e-12  # counts of judged documents less likely than this are left out
_ROUNDED = 1000  # documents; in larger pools a fraction of one does not matter
_MANY = 64  # kinds of query; more blur what rounding does to one
_STORED = 2**23  # values kept for further pool sizes


@dataclass(frozen=True, slots=True, eq=False)
class NoiseKinds:
    """A benchmark under random ranking, queries that cannot be told apart counted together.

    measure, judgments, inside: as for `floors.expectation`, with one query a kind and only the judgments that count
    (gold; for bpref the judged non-relevant too); size, depth: (C,) of each kind; whole: (C,) whether all of the
    pool is retrieved, whatever its size; least: (C,) judgments in the pool, the smallest pool there can be;
    count: (C,) queries of each kind; n_queries: Q, queries that can only score 0 included; seed: of all draws;
    drawn: values drawn so far, by kind, ranks seen and judged documents among them.
    """

    measure: Measure
    judgments: Judgments
    inside: Mask
    stats: GoldStats
    size: Ints
    depth: Ints
    whole: Mask
    least: Ints
    count: Ints
    n_queries: int
    seed: int
    drawn: dict[tuple[int, int, int], tuple[Floats, Floats, bool]] = field(default_factory=dict, repr=False)

    @property
    def shared(self) -> int | None:
        """N where all queries have the same pool size, else None."""
        return int(self.size[0]) if (self.size == self.size[0]).all() else None

    def at(self, scale: float) -> Floats:
        """(C,) pool sizes `scale` times as large, none smaller than the judgments in it."""
        return np.maximum(np.round(self.size * scale, 9), self.least)

    def mean(self, size: Floats) -> float:
        """Expectation of the mean score with pools of these sizes, (C,); linear between whole numbers."""
        return float(self._per_kind(floors.expectation, size) @ self.count) / self.n_queries

    def _per_kind(self, moment: Callable[..., Floats], size: Floats) -> Floats:
        low = np.floor(size).astype(np.int64)
        share = size - low
        value = self._whole(moment, low)
        return value if not share.any() else (1.0 - share) * value + share * self._whole(moment, low + 1)

    def _whole(self, moment: Callable[..., Floats], size: Ints) -> Floats:
        return moment(self.measure, self.judgments, size, self.retrieved(size), self.inside)

    def retrieved(self, size: Ints) -> Ints:
        return np.where(self.whole, size, np.minimum(self.depth, size))

    def law(self, size: Floats, seeds: int, *, fine: bool = True) -> MeanLaw:
        """Law of the mean over the queries and `seeds` noise runs, with pools of these sizes.

        Between whole numbers each query's pool is the larger one with the chance that the fraction says; above 1000
        documents, and with pools of more than 64 kinds, sizes are rounded. fine: as for `mean_law`.
        """
        size = np.where((size > _ROUNDED) | (len(size) > _MANY), np.rint(size), size)
        low = np.floor(size).astype(np.int64)
        share = size - low
        laws = self._laws(low)
        if share.any():
            laws = [
                mixed(a, b, s) if s else a for a, b, s in zip(laws, self._laws(low + 1), share.tolist(), strict=True)
            ]
        return mean_law(
            list(zip(laws, self.count.tolist(), strict=True)), size=self.n_queries, repeats=seeds, fine=fine
        )

    def _laws(self, size: Ints) -> list[Law]:
        seen = self.retrieved(size)
        if self.measure.cutoff is not None:
            seen = np.minimum(seen, self.measure.cutoff)
        family, gold_in = self.measure.family, self.least
        if family in _COUNTS or family == "RR":
            rows = zip(size.tolist(), seen.tolist(), self.stats.relevant.tolist(), gold_in.tolist(), strict=True)
            return [_by_formula(self.measure, *row) for row in rows]
        mean = self._whole(floors.expectation, size)
        spread = floors.variance(self.measure, self.judgments, size, self.retrieved(size), self.inside)
        square = None if spread is None else spread + mean**2
        judged = [self._grades(kind) for kind in range(len(size))]
        fewest = min(max(100 * _FEWEST // len(size), _FEWEST // 5), _FEWEST)
        out = []
        for kind, (n, m, grades) in enumerate(zip(size.tolist(), seen.tolist(), judged, strict=True)):
            draws = _BUDGET / len(size) / (1.0 + len(grades) * m / n)
            value, weight, exact = self._given_count(kind, n, m, grades, int(min(max(draws, fewest), _DRAWS)))
            if not exact:
                moments = float(mean[kind]), None if square is None else float(square[kind])
                weight = _with_moments(value, weight, moments)
            nothing = max(1.0 - float(weight.sum()), 0.0)
            out.append(Law(np.append(value, 0.0), np.append(weight, nothing), exact=exact))
        return out

    def _given_count(self, kind: int, n: int, m: int, grades: Ints, draws: int) -> tuple[Floats, Floats, bool]:
        """Values with one or more judged documents among the first m, their probabilities, and whether all are exact.

        How many are among them depends on n, where they stand only on m: the draws serve every n with the same m.
        """
        low, chance = hypergeometric(n, len(grades), m)
        first = max(1 - low, 0)
        share = chance[first:] / max(float(chance[first:].sum()), 1e-300)
        parts = []
        for among in np.flatnonzero(share > _RARE) + low + first:
            key = (kind, m, int(among))
            part = self.drawn.get(key)
            if part is None:
                rows = math.ceil(max(draws * share[among - low - first], min(draws, _FEWEST) / 4))
                rng = np.random.default_rng([self.seed, *key])
                part = _placed(self.measure, self.stats.take(np.array([kind])), m, int(among), grades, rows, rng)
                if (self.measure.cutoff is not None or not self.whole[kind]) and len(self.drawn) < _STORED // draws:
                    self.drawn[key] = part
            parts.append((part[0], part[1] * chance[among - low], part[2]))
        none = (np.zeros(0), np.zeros(0), True)
        value, weight, exact = zip(*(parts or [none]), strict=True)
        return np.concatenate(value), np.concatenate(weight), all(exact)

    def _grades(self, kind: int) -> Ints:
        part = slice(self.judgments.start[kind], self.judgments.start[kind + 1])
        return np.asarray(self.judgments.grade[part][self.inside[part]], np.int64)


def noise_kinds(
    measure: Measure, judgments: Judgments, size: Ints, depth: Ints, inside: Mask | None, rng: Generator
) -> NoiseKinds:
    """Queries with the same pool size, depth and grades counted together.

    size, depth: (Q,); inside: (J,) or None. A depth of N or more means that all of the pool is retrieved. Raises
    InputError where no query has gold in its pool and a document retrieved, or where a pool is smaller than its
    judged documents; OptionError for a pool size under 1; MeasureError for a measure without a formula.
    """
    if len(size) and int(np.min(size)) < 1:
        at = int(np.argmin(size))
        raise OptionError(
            f"the pool of query {judgments.queries[at]!r} holds {int(size[at])} documents", legal="a pool of 1 or more"
        )
    if not floors.expectation(measure, judgments, size, depth, inside).any():
        raise InputError(
            f"no query has gold for {measure} in its pool, so random documents always score 0",
            legal="one or more queries with a document at or above the relevance level",
            mend="Lower the level (-l, or rel= in the measure), or check that qrels and pool belong together.",
        )
    level, bad = relevant_from(measure), measure.family == "bpref"
    within = np.ones(len(judgments.grade), bool) if inside is None else inside
    counts = judgments.grade >= (0 if bad else level)
    grade = judgments.grade if measure.graded else (judgments.grade >= level).astype(np.int32)
    known: dict[tuple[int, int, bytes, bytes], int] = {}
    for q, (a, b) in enumerate(pairwise(judgments.start.tolist())):
        use = counts[a:b]
        mine, here = grade[a:b][use], within[a:b][use]
        n, k = int(size[q]), int(min(depth[q], size[q]))
        if k > 0 and bool((here & (mine > 0)).any()):
            key = (n, k, np.sort(mine[here]).tobytes(), np.sort(mine[~here]).tobytes())
            known[key] = known.get(key, 0) + 1
    kinds = sorted(known)
    near = [np.frombuffer(key[2], np.int32) for key in kinds]
    away = [np.frombuffer(key[3], np.int32) for key in kinds]
    start = np.cumsum([0, *(len(h) + len(w) for h, w in zip(near, away, strict=True))]).astype(np.int64)
    merged = Judgments(
        queries=tuple(str(i) for i in range(len(kinds))),
        n_docs=int(start[-1]),
        start=start,
        doc=np.arange(start[-1], dtype=np.int32),
        grade=np.concatenate([part for pair in zip(near, away, strict=True) for part in pair]),
    )
    plain = replace(measure, rel=1)
    sizes, depths = (np.array([key[i] for key in kinds], np.int64) for i in (0, 1))
    return NoiseKinds(
        measure=plain,
        judgments=merged,
        inside=np.concatenate([np.repeat([True, False], [len(h), len(w)]) for h, w in zip(near, away, strict=True)]),
        stats=gold_stats(plain, merged),
        size=sizes,
        depth=depths,
        whole=depths == sizes,
        least=np.array([len(h) for h in near], np.int64),
        count=np.array([known[key] for key in kinds], np.int64),
        n_queries=judgments.n_queries,
        seed=int(rng.integers(2**63)),
    )


def _by_formula(measure: Measure, n: int, m: int, gold: int, gold_in: int) -> Law:
    family = measure.family
    if family == "RR":
        rank, edge = _rank_blocks(m)
        found = first_gold(n, gold_in, min(m, _ALONE))
        if m > _ALONE:
            end = np.append(edge[_ALONE:], m)
            by = any_gold(np.full(len(end), n), np.full(len(end), gold_in), end)
            found = np.append(found, np.diff(by))
        unit = math.lcm(*range(1, m + 1)) if m <= _LCM_TO else 0
        return Law(np.append(1.0 / rank, 0.0), np.append(found, max(1.0 - float(found.sum()), 0.0)), unit)
    if family == "Success":
        hit = float(any_gold(np.array([n]), np.array([gold_in]), np.array([m]))[0])
        return Law(np.array([0.0, 1.0]), np.array([1.0 - hit, hit]), 1)
    unit = precision_cutoff(measure) if family == "P" else gold
    low, chance = hypergeometric(n, gold_in, min(m, gold) if family == "Rprec" else m)
    return Law((low + np.arange(len(chance))) / unit, chance, unit)


def _placed(
    measure: Measure, stats: GoldStats, m: int, among: int, grades: Ints, rows: int, rng: Generator
) -> tuple[Floats, Floats, bool]:
    """Values with `among` judged documents somewhere in the first m ranks, their weights, and whether that is all.

    A single document: every rank and grade it can have, far ranks in blocks; several: `rows` draws.
    """
    if among == 1:
        kind, often = np.unique(grades, return_counts=True)
        rank, edge = _rank_blocks(m)
        if len(rank) * len(kind) <= _ENUMERATED:
            length = np.diff(np.append(edge, m))
            place = np.tile(np.rint(rank).astype(np.int64), len(kind))
            hits = Hits(np.arange(len(place)), place, np.repeat(kind, len(rank)))
            weight = np.outer(often / len(grades), length / m).ravel()
            return evaluate(measure, hits, len(place), _same(stats, len(place))), weight, len(rank) == m
    if 2 * among * among <= m:
        place = sampling.distinct(m, among, rows, rng)
    else:  # many of few: a ticket for each rank
        place = sampling.draw_labels(np.arange(m, dtype=np.int32), m, among, rows, rng).astype(np.int64)
    if (grades == grades[0]).all():
        dealt = np.full(place.shape, grades[0])
    else:
        dealt = grades[sampling.distinct(len(grades), among, rows, rng)]
    hits = Hits(np.repeat(np.arange(rows), among), (np.sort(place, axis=1) + 1).ravel(), dealt.ravel())
    return evaluate(measure, hits, rows, _same(stats, rows)), np.full(rows, 1.0 / rows), False


def _same(stats: GoldStats, rows: int) -> GoldStats:
    return stats.take(np.zeros(rows, np.int64))


def _with_moments(value: Floats, weight: Floats, moments: tuple[float, float | None]) -> Floats:
    """Weights of the same sum under which the values have the exact mean (and mean square), as near as can be."""
    scale = float(np.abs(value).max(initial=0.0)) or 1.0
    v = value / scale
    wanted = [weight.sum(), moments[0] / scale]
    basis = [np.ones(len(v)), v]
    if moments[1] is not None:
        wanted.append(moments[1] / scale**2)
        basis.append(v**2)
    design, target = np.stack(basis), np.array(wanted)
    for _ in range(_ROUNDS):
        change = np.linalg.lstsq((design * weight) @ design.T, target - design @ weight, rcond=1e-12)[0]
        weight = weight * (1.0 + change @ design)
        if weight.min(initial=0.0) >= 0.0:
            break
        weight = np.maximum(weight, 0.0)
    return weight


def _rank_blocks(m: int) -> tuple[Floats, Ints]:
    """Ranks 1..m, one by one at first, then in blocks: the middle of each (geometric), and its first rank less 1."""
    if m <= _ALONE:
        return np.arange(1.0, m + 1.0), np.arange(m)
    far = np.unique(np.geomspace(_ALONE, m, 1 + math.ceil(512 * math.log(m / _ALONE))).astype(np.int64))
    edge = np.concatenate([np.arange(_ALONE), far[:-1]])
    end = np.append(edge[1:], m)
    return np.sqrt((edge + 1.0) * end), edge
