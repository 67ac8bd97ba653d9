"""One measure of one run against the four nulls: gaps, intervals, verdict (SPEC 4 and 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import sqrt

import numpy as np

from falsify_adapters.core import floors, nulls, orders
from falsify_adapters.core.bootstrap import Interval, Target, resample
from falsify_adapters.core.case import MIN_QUERIES, Case, GateResult, NullResult, Settings
from falsify_adapters.core.cross import Grade, cross_scores, cross_scores_all, overlap_blocks, own_hits
from falsify_adapters.core.findings import conclude
from falsify_adapters.core.kernels import evaluate, gold_stats
from falsify_adapters.core.nulls import GoldSets, NullScores
from falsify_adapters.measures import Measure
from falsify_adapters.model import Floats, Judgments, Lists, Pool

LABEL_DRAWS = 3  # place of null D among the streams of random numbers


def kernel_grade(measure: Measure, judgments: Judgments) -> Grade:
    """Grade hits with the kernel."""
    stats = gold_stats(measure, judgments)
    return lambda hits, owner, _length: evaluate(measure, hits, len(owner), stats.take(owner))


def own_values(measure: Measure, judgments: Judgments, lists: Lists, grade: Grade) -> Floats:
    """(Q,) each list against its own judgments."""
    hits, _ = own_hits(measure, judgments, lists)
    everyone = np.arange(judgments.n_queries, dtype=np.int64)
    return grade(hits, everyone, lists.depth)


def ideal_values(measure: Measure, judgments: Judgments, lists: Lists, pool: Pool, grade: Grade) -> Floats:
    """(Q,) the best list that the qrels, the pool and the depth of the run allow."""
    limit = np.minimum(pool.size, lists.depth.max(initial=0))
    hits = orders.ideal_hits(measure, judgments, pool.inside, limit)
    return grade(hits, np.arange(judgments.n_queries, dtype=np.int64), limit)


def examine(case: Case, settings: Settings) -> GateResult:
    """Judge one measure of one run."""
    measure, judgments, lists, pool = case.measure, case.judgments, case.lists, case.pool
    n = judgments.n_queries
    streams = dict(zip("ABCDRX", np.random.default_rng(settings.seed).spawn(6), strict=True))
    n_draws = case.n_draws or settings.n_boot
    gold = nulls.gold_sets(measure, judgments)
    if case.sparse:
        cross = cross_scores(measure, judgments, lists, case.grade, case.own)
    else:
        cross = cross_scores_all(measure, judgments, lists, case.grade, case.own, streams["X"].spawn(1)[0])
    scores = {
        "A": nulls.permuted_gold(cross, gold, n_draws, streams["A"]),
        "B": nulls.drawn_sets(cross, gold, n_draws, streams["B"], uniform_sets=True),
        "C": _random_retrieval(case, n_draws, streams["C"]),
        "D": (
            nulls.drawn_sets(cross, gold, n_draws, streams["D"], uniform_sets=False)
            if settings.null_d == "sets"
            else nulls.drawn_labels(measure, judgments, lists, case.grade, n_draws, streams["D"])
        ),
    }
    for name, extra in case.extra.items():
        scores[name] = extra(cross, n_draws, streams["X"].spawn(1)[0])
    score, ceiling, floor = float(case.own.mean()), float(case.ideal.mean()), scores["C"]
    same = _same_lists(measure, lists)
    reach = dict.fromkeys(scores, ceiling)
    if pool.per_query:
        reach |= _reach(case, gold, settings, n_draws)
    target = Target(case.own, float(case.ideal.max(initial=0.0)), cross, gold, _fixed(scores))
    drawn = resample(target, settings.n_boot, streams["R"]) if n >= MIN_QUERIES else None
    judged = {}
    for name, null in scores.items():
        delta = score - null.mean
        if name == "A" and same:
            delta, ci95, ci = 0.0, (0.0, 0.0), (0.0, 0.0)
        elif drawn is None:
            ci95 = ci = None
        else:
            ci95, ci = drawn[name].ci95(delta), drawn[name].ci(delta, 1.0 - settings.alpha / len(scores))
        judged[name] = NullResult(
            null.mean, null.se, null.method, delta, ci95, ci, _p_value(score, null.draws), reach[name],
            null_verdict(delta, ci, settings.tau), null.per_query,
        )  # fmt: skip
    worst, best = orders.tie_extremes(measure, judgments, lists)
    everyone = np.arange(n, dtype=np.int64)
    span = tuple(sorted(float(case.grade(h, everyone, lists.depth).mean()) for h in (worst, best)))
    popular = case.grade(orders.popularity_hits(measure, judgments, lists), everyone, lists.depth)
    first_tie = lists.first_tie
    result = GateResult(
        measure=measure,
        score=score,
        floor=floor.mean,
        floor_se=floor.se,
        ceiling=ceiling,
        tie_span=(min(span[0], score), max(span[1], score)),
        tied_queries=int(((first_tie > 0) & (first_tie <= (measure.cutoff or n_max(lists)))).sum()),
        judged_at_k=judged_share(measure, judgments, lists),
        nulls=judged,
        popularity=float(popular.mean()),
        paired=_paired(case, settings),
        verdict="",
        queries_needed=None,
        flags=(),
        own=case.own,
        floor_per_query=floor.per_query,
    )
    return conclude(result, case, settings, gold, same_lists=same, low_tail=_low_tail(score, floor.draws))


def n_max(lists: Lists) -> int:
    return int(lists.depth.max(initial=0))


def judged_share(measure: Measure, judgments: Judgments, lists: Lists) -> float:
    """Judged@k: the share of the first k documents (10 where the measure has no cutoff) that have any judgment, mean
    over the queries that the run answers."""
    k = measure.cutoff or 10
    hits, _ = own_hits(replace(measure, cutoff=k), judgments, lists)
    shown = np.minimum(lists.depth, k)
    answered = shown > 0
    share = np.bincount(hits.pair, minlength=judgments.n_queries)[answered] / shown[answered]
    return float(share.mean()) if answered.any() else 0.0


def null_verdict(delta: float, ci: Interval | None, tau: float) -> str:
    """under-ns where the interval holds both 0 and tau (or there is none); else pass at tau or more, fail below."""
    if ci is None or ci[0] <= 0.0 and ci[1] >= tau:
        return "under-ns"
    return "pass" if delta >= tau else "fail"


def _fixed(scores: Mapping[str, NullScores]) -> dict[str, Floats]:
    return {name: null.per_query for name, null in scores.items() if name != "A"}


def _random_retrieval(case: Case, n_draws: int, rng: np.random.Generator) -> NullScores:
    judgments, pool, depth = case.judgments, case.pool, case.lists.depth
    per_query, per_draw = nulls.random_draws(
        case.measure, judgments, pool.size, depth, pool.inside, case.grade, n_draws, rng
    )
    if case.floor is not None:
        return NullScores(case.floor, float(case.floor.mean()), 0.0, per_draw)
    return NullScores(per_query, float(per_query.mean()), float(per_draw.std(ddof=1) / sqrt(n_draws)), per_draw)


def _same_lists(measure: Measure, lists: Lists) -> bool:
    """Whether every query has one and the same list, as far as the measure looks and the qrels can tell."""
    k = measure.cutoff or n_max(lists)
    shown = np.minimum(lists.depth, k)
    if len(shown) < 2 or (shown != shown[0]).any() or not shown[0]:
        return False
    rows = lists.rank <= k
    counts = np.bincount(lists.query[rows], minlength=len(shown))
    if (counts != counts[0]).any():
        return False
    rank, doc = (x[rows].reshape(len(shown), -1) for x in (lists.rank, lists.doc))
    return bool((rank == rank[0]).all() and (doc == doc[0]).all())


def _reach(case: Case, gold: GoldSets, settings: Settings, n_draws: int) -> dict[str, float]:
    """The most that any order of the candidates could score under each label null: every pair is given the order that
    is best for it alone, which no single order can beat."""
    judgments, lists, n = case.judgments, case.lists, case.judgments.n_queries
    uncut = replace(case.measure, cutoff=None)
    weights = {
        "A": nulls.set_weights(n, gold, uniform_sets=False),
        "B": nulls.set_weights(n, gold, uniform_sets=True),
    }
    total = dict.fromkeys(weights, 0.0)
    for i, j, hits in overlap_blocks(uncut, judgments, lists):
        value = case.grade(orders.best_order(hits), j, lists.depth[i])
        for name, weight in weights.items():
            total[name] += float(value @ weight[j])
    out = {name: value / n for name, value in total.items()}
    if settings.null_d == "sets":
        return out | {"D": out["A"]}
    rng = np.random.default_rng(settings.seed).spawn(6)[LABEL_DRAWS]
    best = lambda hits, owner, length: case.grade(orders.best_order(hits), owner, length)  # noqa: E731
    found = nulls.drawn_labels(uncut, judgments, lists, best, n_draws, rng)
    return out | {"D": found.mean}


def _p_value(score: float, draws: Floats) -> float:
    """(1 + draws that reach the score) / (1 + draws); never 0."""
    return float((1 + (draws >= score - 1e-12).sum()) / (1 + len(draws)))


def _low_tail(score: float, draws: Floats) -> float:
    return float((1 + (draws <= score + 1e-12).sum()) / (1 + len(draws)))


def _paired(case: Case, settings: Settings) -> GateResult | None:
    """A graded measure on multi-gold qrels is held against recall of the single top-graded document."""
    judgments = case.judgments
    gold = np.bincount(judgments.query[judgments.grade >= 1], minlength=judgments.n_queries)
    if not case.measure.graded or case.measure.top1 or int(gold.max(initial=0)) < 2:
        return None
    measure = Measure("R", case.measure.cutoff or 10, top1=True)
    one, inside = orders.top_one(judgments, case.pool.inside)
    pool = replace(case.pool, inside=inside)
    grade = kernel_grade(measure, one)
    own = own_values(measure, one, case.lists, grade)
    ideal = ideal_values(measure, one, case.lists, pool, grade)
    floor = floors.expectation(measure, one, pool.size, case.lists.depth, pool.inside)
    return examine(Case(measure, one, case.lists, pool, grade, own, ideal, floor), settings)
