"""Measures of one run against the four nulls: gaps, intervals, verdicts (SPEC 4 and 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from threading import RLock

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from falsify_adapters.core import floors, nulls, orders, sampling
from falsify_adapters.core.bootstrap import THREADS, THREADS_FROM, Resampled, Target, resample
from falsify_adapters.core.case import MIN_QUERIES, Case, GateResult, NullResult, Settings
from falsify_adapters.core.chunk_null import chunk_null
from falsify_adapters.core.cross import (
    CrossScores,
    Grade,
    cross_scores,
    cross_scores_all,
    gold_level,
    lowest_grade,
    overlap_blocks,
    own_hits,
)
from falsify_adapters.core.findings import conclude, null_verdict
from falsify_adapters.core.kernels import Hits, evaluate, gold_stats
from falsify_adapters.core.nulls import GoldSets, NullScores
from falsify_adapters.core.tied import evaluate_tied
from falsify_adapters.measures import Measure, sight
from falsify_adapters.model import Floats, Ints, Judgments, Lists, Pool


def kernel_grade(measure: Measure, judgments: Judgments) -> Grade:
    """Grade hits with the kernel, hits with ties by their mean over all orders."""
    stats = gold_stats(measure, judgments)

    def grade(hits: Hits, owner: Ints, _length: Ints) -> Floats:
        value = evaluate if hits.first is None else evaluate_tied
        return value(measure, hits, len(owner), stats.take(owner))

    return grade


def own_values(measure: Measure, judgments: Judgments, lists: Lists, grade: Grade) -> Floats:
    """(Q,) each list against its own judgments."""
    hits, _ = own_hits(measure, judgments, lists)
    return grade(hits, np.arange(judgments.n_queries, dtype=np.int64), lists.depth)


def ideal_values(measure: Measure, judgments: Judgments, lists: Lists, pool: Pool, grade: Grade) -> Floats:
    """(Q,) the best list that the qrels, the pool and the depth of the run allow."""
    limit = np.minimum(pool.size, lists.depth.max(initial=0))
    hits = orders.ideal_hits(measure, judgments, pool.inside, limit)
    everyone = np.arange(judgments.n_queries, dtype=np.int64)
    best = grade(hits, everyone, limit)
    if measure.has_kernel:
        return best
    # A measure of whole sets, precision say, is best on a list that ends with the last gold document.
    short = np.minimum(np.maximum(np.bincount(hits.pair, minlength=judgments.n_queries), 1), limit)
    return np.maximum(best, grade(hits, everyone, short))


def examine(cases: Sequence[Case], settings: Settings) -> list[GateResult]:
    """Judge measures of one run. What they have in common is drawn once and is the same for each of them, whatever
    the others are. A graded measure on multi-gold qrels brings recall of the top-graded document with it."""
    paired = {n: pair for n, case in enumerate(cases) if (pair := _paired(case)) is not None}
    every = [*cases, *paired.values()]
    draws = _Draws(settings)
    weighed = _weigh_all(every, settings, draws)
    drawn: list[dict[str, Resampled]] = [{} for _ in every]
    if cases and cases[0].independent >= MIN_QUERIES:
        drawn = resample([w.target for w in weighed], settings.n_boot, draws.stream("resample"), cases[0].clusters)
    both = list(zip(weighed, drawn, strict=True))
    partner = {n: _result(w, d, settings) for n, (w, d) in zip(paired, both[len(cases) :], strict=True)}
    return [_result(w, d, settings, partner.get(n)) for n, (w, d) in enumerate(both[: len(cases)])]


def _weigh_all(cases: Sequence[Case], settings: Settings, draws: _Draws) -> list[_Weighed]:
    """Every case with its nulls; two at a time where there are many queries and only kernels grade them, as numpy lets
    go of the interpreter while it computes. What a case comes to does not depend on which is first."""
    ours = all(case.n_draws is None and not case.extra for case in cases)
    if len(cases) < 2 or not ours or cases[0].judgments.n_queries < THREADS_FROM:
        return [_weigh(case, settings, draws) for case in cases]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(lambda case: _weigh(case, settings, draws), cases))


class _Draws:
    """Random draws that measures of one run share, each made at the first need. One stream per purpose, so that no
    draw depends on what else was asked for."""

    PURPOSES = ("A", "B", "C", "D", "resample", "sample", "extra")

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._made: dict[tuple[object, ...], object] = {}
        self._lock = RLock()

    def stream(self, purpose: str) -> Generator:
        children = np.random.SeedSequence(self._settings.seed).spawn(len(self.PURPOSES))
        return np.random.default_rng(children[self.PURPOSES.index(purpose)])

    def gold(self, case: Case) -> GoldSets:
        key = ("gold", id(case.judgments), gold_level(case.measure))
        with self._lock:
            if key not in self._made:
                self._made[key] = nulls.gold_sets(case.measure, case.judgments)
            return self._made[key]  # type: ignore[return-value]

    def permuted(self, gold: GoldSets, n_draws: int) -> NDArray[np.signedinteger]:
        key = ("A", len(gold.rows), n_draws)
        with self._lock:
            if key not in self._made:
                self._made[key] = sampling.deal_queries(len(gold.rows), n_draws, self.stream("A"))
            return self._made[key]  # type: ignore[return-value]

    def sets(self, gold: GoldSets, n_draws: int, *, uniform: bool) -> NDArray[np.signedinteger]:
        name = "B" if uniform else "D"
        key = (name, gold.set_of.tobytes(), n_draws)
        with self._lock:
            if key not in self._made:
                self._made[key] = nulls.deal_sets(gold, n_draws, self.stream(name), uniform_sets=uniform)
            return self._made[key]  # type: ignore[return-value]

    def labels(self, case: Case, n_draws: int) -> tuple[Ints, Hits]:
        low, lowest = gold_level(case.measure), lowest_grade(case.measure)
        key = ("labels", id(case.judgments), id(case.lists), low, lowest if lowest < low else None, n_draws)
        with self._lock:
            if key not in self._made:
                self._made[key] = sampling.label_draws(
                    case.judgments,
                    case.lists,
                    low,
                    n_draws,
                    self.stream("D"),
                    keep_from=lowest if lowest < low else None,
                )
            return self._made[key]  # type: ignore[return-value]


@dataclass(frozen=True, slots=True, eq=False)
class _Weighed:
    """A case with its nulls, before any resampling."""

    case: Case
    gold: GoldSets
    scores: Mapping[str, NullScores]
    reach: Mapping[str, float]
    target: Target
    same: bool
    low_tail: float = field(default=1.0)


def _weigh(case: Case, settings: Settings, draws: _Draws) -> _Weighed:
    measure, judgments, lists = case.measure, case.judgments, case.lists
    n_draws = case.n_draws or settings.n_boot
    gold = draws.gold(case)
    if case.sparse:
        cross = cross_scores(measure, judgments, lists, case.grade, case.own)
    else:
        cross = cross_scores_all(measure, judgments, lists, case.grade, case.own, draws.stream("sample"))
    scores = {
        "A": nulls.dealt_gold(cross, gold, draws.permuted(gold, n_draws), uniform_sets=False),
        "B": nulls.dealt_gold(cross, gold, draws.sets(gold, n_draws, uniform=True), uniform_sets=True),
        "C": _random_retrieval(case, n_draws, draws.stream("C")),
    }
    if settings.null_d == "sets":
        scores["D"] = nulls.dealt_gold(cross, gold, draws.sets(gold, n_draws, uniform=False), uniform_sets=False)
    else:
        scores["D"] = nulls.drawn_labels(measure, judgments, lists, case.grade, draws.labels(case, n_draws), n_draws)
    for (name, extra), rng in zip(case.extra.items(), draws.stream("extra").spawn(len(case.extra)), strict=True):
        scores[name] = extra(cross, n_draws, rng)
    ceiling = float(case.ideal.mean())
    reach = dict.fromkeys(scores, ceiling)
    if case.pool.per_query and case.sparse:
        reach |= _reach(case, gold, settings, draws, n_draws)
    fixed = {name: null.per_query for name, null in scores.items() if name != "A"}
    target = Target(case.own, float(case.ideal.max(initial=0.0)), cross, gold, fixed)
    low_tail = float((1 + (scores["C"].draws <= case.own.mean() + case.slack).sum()) / (1 + n_draws))
    return _Weighed(case, gold, scores, reach, target, _same_lists(measure, lists), low_tail)


def _result(
    weighed: _Weighed, drawn: Mapping[str, Resampled], settings: Settings, paired: GateResult | None = None
) -> GateResult:
    case, scores = weighed.case, weighed.scores
    measure, judgments, lists = case.measure, case.judgments, case.lists
    score, floor = float(case.own.mean()), scores["C"]
    level = 1.0 - settings.alpha / len(scores)
    judged = {}
    for name, null in scores.items():
        delta = score - null.mean
        ci95 = ci = None
        if name == "A" and weighed.same:
            delta, ci95, ci = 0.0, (0.0, 0.0), (0.0, 0.0)
        elif drawn and weighed.target.top > 0 and (name != "A" or len(weighed.gold.rows) > 1):
            # One gold set cannot be dealt anew, and where the best list scores 0 nothing can be told: no interval.
            ci95, ci = drawn[name].ci95(delta), drawn[name].ci(delta, level)
        p, verdict = _p_value(score - case.slack, null.draws), null_verdict(delta, ci, settings.tau)
        if name == "A" and verdict == "pass" and p > 1.0 - level >= 1.0 / (1 + len(null.draws)):
            # Where no list holds gold of another query, every resample of A lies above 0: permuting the gold decides.
            verdict = "under-ns"
        judged[name] = NullResult(
            null.mean, null.se, null.method, delta, ci95, ci, p, weighed.reach[name], verdict, null.per_query
        )
    everyone = np.arange(judgments.n_queries, dtype=np.int64)
    worst, best = (
        float(case.grade(hits, everyone, lists.depth).mean()) for hits in orders.tie_extremes(measure, judgments, lists)
    )
    popular = case.grade(orders.popularity_hits(measure, judgments, lists), everyone, lists.depth)
    within = np.minimum(lists.depth, sight(measure) or lists.depth)
    result = GateResult(
        measure=measure,
        score=score,
        floor=floor.mean,
        floor_se=floor.se,
        ceiling=float(case.ideal.mean()),
        tie_span=(min(worst, score), max(best, score)),
        tied_queries=int(((lists.first_tie > 0) & (lists.first_tie <= within)).sum()),
        judged_at_k=_judged_share(measure, judgments, lists),
        nulls=judged,
        popularity=float(popular.mean()),
        paired=paired,
        verdict="",
        queries_needed=None,
        flags=(),
        own=case.own,
        floor_per_query=floor.per_query,
    )
    return conclude(result, case, settings, weighed.gold, same_lists=weighed.same, low_tail=weighed.low_tail)


def _judged_share(measure: Measure, judgments: Judgments, lists: Lists) -> float:
    """Judged@k: the share of the first k documents (10 where the measure has no cutoff) that have any judgment, mean
    over the queries that the run answers."""
    k = measure.cutoff or 10
    hits, _ = own_hits(Measure("P", k), judgments, lists, lists.rank <= k)
    shown = np.minimum(lists.depth, k)
    answered = shown > 0
    share = np.bincount(hits.pair, minlength=judgments.n_queries)[answered] / shown[answered]
    return float(share.mean()) if answered.any() else 0.0


def _random_retrieval(case: Case, n_draws: int, rng: Generator) -> NullScores:
    if case.chunks is not None:
        return chunk_null(case.measure, case.judgments, case.chunks, case.lists.depth, case.grade, n_draws, rng)
    judgments, pool, depth = case.judgments, case.pool, case.lists.depth
    per_query, per_draw = nulls.random_draws(
        case.measure, judgments, pool.size, depth, pool.inside, case.grade, n_draws, rng
    )
    if case.floor is not None:
        return NullScores(case.floor, float(case.floor.mean()), 0.0, per_draw)
    return NullScores(per_query, float(per_query.mean()), float(per_draw.std(ddof=1) / sqrt(n_draws)), per_draw)


def _same_lists(measure: Measure, lists: Lists) -> bool:
    """Whether every query has one and the same list, as far as the measure looks and the qrels can tell. Of lists
    without a judged document they can tell nothing."""
    k = sight(measure) or int(lists.depth.max(initial=0))
    shown = np.minimum(lists.depth, k)
    if len(shown) < 2 or (shown != shown[0]).any() or not shown[0]:
        return False
    rows = lists.rank <= k
    counts = np.bincount(lists.query[rows], minlength=len(shown))
    if (counts != counts[0]).any() or not counts[0]:
        return False
    rank, doc = (x[rows].reshape(len(shown), -1) for x in (lists.rank, lists.doc))
    return bool((rank == rank[0]).all() and (doc == doc[0]).all())


def _reach(case: Case, gold: GoldSets, settings: Settings, draws: _Draws, n_draws: int) -> dict[str, float]:
    """The most that any order of the candidates could score under each label null: every pair is given the order that
    is best for it alone, which no single order can beat."""
    judgments, lists, n = case.judgments, case.lists, case.judgments.n_queries
    uncut = replace(case.measure, cutoff=None)

    def best(hits: Hits, owner: Ints, length: Ints) -> Floats:
        return case.grade(orders.best_order(hits), owner, length)

    weights = {name: nulls.set_weights(n, gold, uniform_sets=name == "B") for name in "AB"}
    total = dict.fromkeys(weights, 0.0)
    dealt = np.zeros(n)
    dealt[gold.rows] = 1.0
    for i, j, hits in overlap_blocks(uncut, judgments, lists):
        value = best(hits, j, lists.depth[i]) * dealt[i]
        for name, weight in weights.items():
            total[name] += float(value @ weight[j])
    out = {name: value / n for name, value in total.items()}
    if settings.null_d == "sets":
        return out | {"D": out["A"]}
    found = nulls.drawn_labels(uncut, judgments, lists, best, draws.labels(case, n_draws), n_draws)
    return out | {"D": found.mean}


def _p_value(score: float, draws: Floats) -> float:
    """(1 + draws that reach `score`) / (1 + draws); never 0."""
    return float((1 + (draws >= score).sum()) / (1 + len(draws)))


def _paired(case: Case) -> Case | None:
    """For a graded measure on multi-gold qrels: recall of the single top-graded document."""
    judgments, pool, depth = case.judgments, case.pool, case.lists.depth
    gold = np.bincount(judgments.query[judgments.grade >= 1], minlength=judgments.n_queries)
    if not case.measure.graded or case.measure.top1 or int(gold.max(initial=0)) < 2:
        return None
    measure = Measure("R", case.measure.cutoff or 10, top1=True)
    one, kept = orders.top_one(judgments)
    pool = replace(pool, inside=None if pool.inside is None else pool.inside[kept])
    chunks = None if case.chunks is None else replace(case.chunks, weight=case.chunks.weight[kept])
    grade = kernel_grade(measure, one)
    own = own_values(measure, one, case.lists, grade)
    ideal = ideal_values(measure, one, case.lists, pool, grade)
    floor = floors.expectation(measure, one, pool.size, depth, pool.inside)
    return Case(measure, one, case.lists, pool, grade, own, ideal, floor, chunks=chunks, clusters=case.clusters)


__all__ = ["CrossScores", "examine", "ideal_values", "kernel_grade", "own_values"]
