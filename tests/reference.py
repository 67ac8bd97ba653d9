"""SPEC sections 4 and 5 in plain Python on dicts, as slow and as obvious as possible.

Qrels are query -> document -> grade; runs are query -> groups of tied documents, best group first. Measure values come
from the oracle, expectations from enumerating everything that could be drawn.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product

import numpy as np
from hypothesis import strategies as st
from oracle import moments, score

from falsify_adapters.core import floors
from falsify_adapters.core.case import Case
from falsify_adapters.core.gate import ideal_values, kernel_grade, own_values
from falsify_adapters.measures import Measure
from falsify_adapters.model import Judgments, Lists, Pool

Judged = Mapping[str, int]
Qrels = Mapping[str, Judged]
Groups = Sequence[Sequence[str]]
Run = Mapping[str, Groups]


def rbp(p: float, cutoff: int | None = None) -> Measure:
    return Measure("RBP", cutoff, params=(("p", p),))


# Every family, with and without a cutoff and a level where it has them.
MEASURES = [
    Measure("P", 3), Measure("P", 2, 2), Measure("R", 3), Measure("R", None, 2), Measure("Success", 2), Measure("RR"),
    Measure("RR", 2), Measure("RR", None, 2), Measure("AP"), Measure("AP", 3), Measure("AP", None, 2),
    Measure("nDCG"), Measure("nDCG", 3), Measure("nDCG", 2, gain="exp"), Measure("Rprec"), Measure("Rprec", None, 2),
    rbp(0.8), rbp(0.5, 3), Measure("bpref"), Measure("bpref", None, 2), Measure("ERR"), Measure("ERR", 3),
]  # fmt: skip


# From dicts to the arrays of the code under test.


def judge(qrels: Qrels) -> Judgments:
    queries = sorted(qrels)
    docs = sorted({d for judged in qrels.values() for d in judged})
    rows = [(docs.index(d), qrels[q][d]) for q in queries for d in sorted(qrels[q])]
    start = np.cumsum([0, *(len(qrels[q]) for q in queries)]).astype(np.int64)
    doc, grade = np.array(rows, np.int32).reshape(-1, 2).T
    return Judgments(tuple(queries), len(docs), start, np.ascontiguousarray(doc), np.ascontiguousarray(grade))


def enlist(qrels: Qrels, run: Run) -> Lists:
    docs = {d: n for n, d in enumerate(sorted({d for judged in qrels.values() for d in judged}))}
    rows, depth, first_tie, count = [], [], [], []
    for q in sorted(qrels):
        rank, mine, first = 0, [], 0
        for group in run.get(q, ()):
            low, high = rank + 1, rank + len(group)
            if len(group) > 1 and not first:
                first = low
            for d in group:
                rank += 1
                if d in docs:
                    mine.append((rank, docs[d], low, high))
        rows += mine
        depth.append(rank)
        first_tie.append(first)
        count.append(len(mine))
    long = [run[q] for q in qrels if q in run and sum(map(len, run[q])) > 1]
    columns = np.array(rows, np.int32).reshape(-1, 4).T
    start = np.cumsum([0, *count]).astype(np.int64)
    tied = bool(long) and all(len(groups) == 1 for groups in long)
    return Lists(
        np.array(depth, np.int64), start, *(np.ascontiguousarray(c) for c in columns), np.array(first_tie), tied
    )


def make_case(
    measure: Measure,
    qrels: Qrels,
    run: Run,
    pool: int | Pool | None = None,
    *,
    candidates: bool = False,
) -> Case:
    """A case graded by the kernels. pool: N for all queries, None: every document seen; candidates: each query's own
    list is its pool."""
    judgments, lists = judge(qrels), enlist(qrels, run)
    n = len(qrels)
    if candidates:
        inside = np.array([d in set(ranking(run.get(q, ()))) for q in sorted(qrels) for d in sorted(qrels[q])])
        pool = Pool(lists.depth, "run", True, inside)
    elif pool is None:
        seen = {d for judged in qrels.values() for d in judged} | {
            d for groups in run.values() for d in ranking(groups)
        }
        pool = Pool(np.full(n, len(seen), np.int64), "given")
    elif not isinstance(pool, Pool):
        pool = Pool(np.full(n, pool, np.int64), "given")
    grade = kernel_grade(measure, judgments)
    own = own_values(measure, judgments, lists, grade)
    ideal = ideal_values(measure, judgments, lists, pool, grade)
    floor = floors.expectation(measure, judgments, pool.size, lists.depth, pool.inside)
    return Case(measure, judgments, lists, pool, grade, own, ideal, floor)


def in_single_file(rankings: Mapping[str, Sequence[str]]) -> dict[str, list[list[str]]]:
    """A run without ties."""
    return {q: [[d] for d in docs] for q, docs in rankings.items()}


# Measures.


def ranking(groups: Groups) -> list[str]:
    return [d for group in groups for d in group]


def level(measure: Measure) -> int:
    return 1 if measure.family in ("nDCG", "ERR") else measure.rel


def gold(measure: Measure, judged: Judged) -> list[str]:
    return sorted(d for d, g in judged.items() if g >= level(measure))


def value(measure: Measure, docs: Iterable[str], judged: Judged) -> float:
    return score(measure, [judged.get(d) for d in docs], list(judged.values()))


def mean(values: Iterable[float]) -> float:
    listed = list(values)
    return math.fsum(listed) / len(listed)


def cross(measure: Measure, qrels: Qrels, run: Run) -> dict[tuple[str, str], float]:
    return {(i, j): value(measure, ranking(run.get(i, ())), qrels[j]) for i in qrels for j in qrels}


# Nulls: each query's expectation, and that of the score.


def players(measure: Measure, qrels: Qrels) -> list[str]:
    """Queries that take part in the dealing."""
    return [q for q in sorted(qrels) if gold(measure, qrels[q])]


def null_a(measure: Measure, qrels: Qrels, run: Run) -> dict[str, float]:
    s, some = cross(measure, qrels, run), players(measure, qrels)
    return {q: mean(s[q, j] for j in some) if q in some else 0.0 for q in sorted(qrels)}


def permuted_scores(measure: Measure, qrels: Qrels, run: Run) -> list[float]:
    """The score under every bijection of the queries that have gold."""
    s, some = cross(measure, qrels, run), players(measure, qrels)
    return [sum(s[i, j] for i, j in zip(some, dealt, strict=True)) / len(qrels) for dealt in permutations(some)]


def gold_set(judged: Judged) -> frozenset[tuple[str, int]]:
    return frozenset((d, g) for d, g in judged.items() if g > 0)


def null_b(measure: Measure, qrels: Qrels, run: Run) -> dict[str, float]:
    """Mean over distinct gold sets; the queries that share one can differ in what they judge non-relevant, and then
    any of them lends its judgments."""
    s, some = cross(measure, qrels, run), players(measure, qrels)
    shared: dict[frozenset[tuple[str, int]], list[str]] = {}
    for q in some:
        shared.setdefault(gold_set(qrels[q]), []).append(q)
    return {
        q: mean(mean(s[q, j] for j in same) for same in shared.values()) if q in some else 0.0 for q in sorted(qrels)
    }


def null_c(measure: Measure, qrels: Qrels, run: Run, size: int) -> dict[str, float]:
    """Random documents of a pool of `size` that holds everything judged."""
    out = {}
    for q in sorted(qrels):
        grades = Counter[int | None](qrels[q].values())
        grades[None] = size - len(qrels[q])
        out[q] = moments(measure, +grades, [], len(ranking(run.get(q, ()))))[0]
    return out


def frequencies(measure: Measure, qrels: Qrels) -> Counter[str]:
    return Counter(d for judged in qrels.values() for d in gold(measure, judged))


def successive(frequency: Mapping[str, int], want: int) -> Iterator[tuple[tuple[str, ...], float]]:
    """Every ordered draw of `want` distinct labels, one after another in proportion to frequency."""
    if not want:
        yield (), 1.0
        return
    total = sum(frequency.values())
    for first, times in frequency.items():
        rest = {d: n for d, n in frequency.items() if d != first}
        for tail, chance in successive(rest, want - 1):
            yield (first, *tail), chance * times / total


def null_d(measure: Measure, qrels: Qrels, run: Run) -> dict[str, float]:
    """Gold labels by documents: as many distinct labels, the query's grades dealt to them in every order."""
    frequency = frequencies(measure, qrels)
    out = {}
    for q in sorted(qrels):
        mine = gold(measure, qrels[q])
        grades = [qrels[q][d] for d in mine]
        below = {d: g for d, g in qrels[q].items() if g < level(measure)}
        docs, judged = ranking(run.get(q, ())), list(qrels[q].values())
        out[q] = math.fsum(
            chance
            * mean(_relabelled(measure, docs, judged, below, labels, dealt) for dealt in set(permutations(grades)))
            for labels, chance in successive(frequency, len(mine))
        )
    return out


def _relabelled(
    measure: Measure,
    docs: Sequence[str],
    judged: Sequence[int],
    below: Judged,
    labels: Sequence[str],
    dealt: Sequence[int],
) -> float:
    now = {**below, **dict(zip(labels, dealt, strict=True))}
    return score(measure, [now.get(d) for d in docs], judged)


# Other orders of the same documents.


def orders(groups: Groups) -> Iterator[list[str]]:
    """Every order that leaves the groups where they are."""
    for choice in product(*(permutations(group) for group in groups)):
        yield ranking(choice)


def tie_span(measure: Measure, qrels: Qrels, run: Run) -> tuple[float, float]:
    spans = []
    for q in sorted(qrels):
        values = [value(measure, docs, qrels[q]) for docs in orders(run.get(q, ()))]
        spans.append((min(values), max(values)))
    return mean(low for low, _ in spans), mean(high for _, high in spans)


def reach(measure: Measure, qrels: Qrels, run: Run, null: Callable[[Measure, Qrels, Run], dict[str, float]]) -> float:
    """The best score of any order of each query's own documents under a null, by trying them all, query by query."""
    best = dict.fromkeys(qrels, 0.0)
    for q in qrels:
        for docs in permutations(ranking(run.get(q, ()))):
            best[q] = max(best[q], null(measure, qrels, {**run, q: [[d] for d in docs]})[q])
    return mean(best.values())


def popularity(measure: Measure, qrels: Qrels, run: Run) -> dict[str, float]:
    """The most-often-gold documents of the other queries, ties by id, as many as the system retrieved."""
    out = {}
    for q in sorted(qrels):
        others = frequencies(measure, {other: judged for other, judged in qrels.items() if other != q})
        docs = sorted(others, key=lambda d: (-others[d], d))[: len(ranking(run.get(q, ())))]
        out[q] = value(measure, docs, qrels[q])
    return out


# Resampling.


@dataclass(frozen=True)
class Gaps:
    """Resampled gaps of one null: with both pseudo-queries, with the zero-scorer alone, with the H-scorer alone."""

    even: list[float]
    low: list[float]
    high: list[float]


def resampled_gaps(
    own: Sequence[float],
    top: float,
    null: Callable[[Sequence[float]], float],
    held: float | None,
    scale: float,
    n_boot: int,
    n_draws: int,
    rng: np.random.Generator,
) -> Gaps:
    """delta* = scale [(sum e_i S_ii + b H)/(sum e_i + a + b) - null], the random numbers drawn as the code does. The
    null is null(v), and for the deciding ends `held` where there is one."""
    halves, ones, weights = rng.spawn(3)
    half, one = halves.standard_gamma(0.5, (n_boot, 2)), ones.standard_exponential((n_draws, 2))
    out = Gaps([], [], [])
    for t in range(n_draws):
        e = weights.standard_exponential(len(own)).tolist()
        total = sum(e)
        real = sum(w * s for w, s in zip(e, own, strict=True))
        under = null([w / total for w in e])
        if t < n_boot:
            a, b = half[t].tolist()
            out.even.append(scale * ((real + b * top) / (total + a + b) - under))
        a, b = one[t].tolist()
        under = under if held is None else held
        out.low.append(scale * (real / (total + a) - under))
        out.high.append(scale * ((real + b * top) / (total + b) - under))
    return out


def paired_null(s: Mapping[tuple[str, str], float], some: Sequence[str]) -> Callable[[Sequence[float]], float]:
    """null_A(v) where all queries have gold: (v'Sv - sum v_i^2 S_ii)/(1 - sum v_i^2)."""

    def null(v: Sequence[float]) -> float:
        weight = dict(zip(some, v, strict=True))
        everything = sum(weight[i] * s[i, j] * weight[j] for i in some for j in some)
        same = sum(weight[i] ** 2 * s[i, i] for i in some)
        return (everything - same) / (1 - sum(w * w for w in v))

    return null


def weibull_quantile(values: Sequence[float], q: float) -> float:
    """Quantile by Weibull plotting positions, q (n + 1)."""
    ordered, place = sorted(values), q * (len(values) + 1)
    below = min(max(math.floor(place), 1), len(ordered))
    above = min(below + 1, len(ordered))
    share = min(max(place - below, 0.0), 1.0)
    return ordered[below - 1] * (1 - share) + ordered[above - 1] * share


# Random benches.

JUDGED = [f"d{n}" for n in range(6)]
UNJUDGED = [f"x{n}" for n in range(3)]


@st.composite
def benches(
    draw: st.DrawFn, most: int = 5, grades: st.SearchStrategy[int] | None = None, docs: int = 6, longest: int = 9
) -> tuple[dict[str, dict[str, int]], dict[str, list[list[str]]]]:
    """Small qrels and a run with ties: shared gold sets, queries without gold or without a list, negative grades."""
    names = [f"q{n}" for n in range(draw(st.integers(1, most)))]
    grade = st.sampled_from((-1, 0, 1, 1, 2, 3)) if grades is None else grades
    judged = st.dictionaries(st.sampled_from(JUDGED[:docs]), grade, min_size=1, max_size=4)
    some = draw(st.lists(judged, min_size=1, max_size=len(names)))
    qrels = {q: draw(st.sampled_from(some)) for q in names}
    run = {}
    for q in names:
        order = draw(st.permutations(JUDGED[:docs] + UNJUDGED))[: draw(st.integers(0, longest))]
        cuts = draw(st.lists(st.booleans(), min_size=len(order), max_size=len(order)))
        groups: list[list[str]] = []
        for d, cut in zip(order, cuts, strict=True):
            if cut and groups:
                groups[-1].append(d)
            else:
                groups.append([d])
        run[q] = groups
    return qrels, run


def spread(case: Case, **changes: object) -> Case:
    """The case with some fields replaced."""
    return replace(case, **changes)  # type: ignore[arg-type]
