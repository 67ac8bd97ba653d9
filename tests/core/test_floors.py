"""Floors against every random ranking there is, by pytrec_eval and by the oracle; against exact fractions; in bulk."""

from __future__ import annotations

import csv
import gzip
import json
import math
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Grade, moments, moments_of, random_rankings, score

from falsify_adapters.core import draws, floor_err
from falsify_adapters.core.floors import expectation, variance
from falsify_adapters.core.kernels import discount
from falsify_adapters.errors import InputError, MeasureError
from falsify_adapters.measures import Measure
from falsify_adapters.model import Judgments

TIGHT = 1e-12


def judge(grades: Sequence[Sequence[int]]) -> Judgments:
    """Judgments of queries that share no document."""
    start = np.cumsum([0, *map(len, grades)]).astype(np.int64)
    n = int(start[-1])
    names = tuple(f"q{i:06d}" for i in range(len(grades)))
    flat = np.array([g for gs in grades for g in gs], dtype=np.int32)
    return Judgments(names, n, start, np.arange(n, dtype=np.int32), flat)


def one(measure: Measure, gold: Sequence[int], size: int, depth: int | None = None) -> float:
    k = size if depth is None else depth
    return float(expectation(measure, judge([gold]), np.array([size]), np.array([k]))[0])


def one_variance(measure: Measure, gold: Sequence[int], size: int, depth: int | None = None) -> float:
    k = size if depth is None else depth
    values = variance(measure, judge([gold]), np.array([size]), np.array([k]))
    assert values is not None
    return float(values[0])


def rbp(p: float, cutoff: int | None = None, rel: int = 1) -> Measure:
    return Measure("RBP", cutoff, rel, params=(("p", p),))


# --- every random ranking of small pools ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    pool: tuple[Grade, ...]
    outside: tuple[int, ...]
    depth: int

    @property
    def inside(self) -> list[int]:
        return [g for g in self.pool if g is not None]

    @property
    def judged(self) -> list[int]:
        return [*self.inside, *self.outside]


OUTSIDE: tuple[tuple[int, ...], ...] = ((), (1,), (2, 0), (), (3, -1, 0), (0, 0, 1))


def small_cases() -> Iterator[Case]:
    """Every pool of up to 5 documents with grades -1 to 3 or none; of 6 and 7 with fewer kinds; at every depth."""
    pools: list[tuple[Grade, ...]] = []
    for size in range(1, 6):
        pools += combinations_with_replacement((None, -1, 0, 1, 2, 3), size)
    for kinds in ((None, 0, 1), (None, 0, 2)):
        pools += combinations_with_replacement(kinds, 6)
    pools += combinations_with_replacement((None, 0, 1), 7)
    pools += [(None, -1, 0, 1, 2), (-1, 0, 0, 1, 3), (None, None, 1, 1, 2, 3), (0, 0, 0, 1, 2, 2, 3)]
    for i, pool in enumerate(pools):
        for depth in range(len(pool) + 1):
            yield Case(pool, OUTSIDE[i % len(OUTSIDE)], depth)


CASES = tuple(small_cases())


@cache
def drawn(case: Case) -> list[tuple[tuple[Grade, ...], Fraction]]:
    return list(random_rankings(Counter(case.pool), case.depth))


def inputs(cases: Sequence[Case]) -> tuple[Judgments, np.ndarray, np.ndarray, np.ndarray]:
    inside = np.array([i < len(c.inside) for c in cases for i in range(len(c.judged))], dtype=bool)
    sizes, depths = np.array([len(c.pool) for c in cases]), np.array([c.depth for c in cases])
    return judge([c.judged for c in cases]), sizes, depths, inside


def compare(measure: Measure, enumerated: Sequence[tuple[float, float]], cases: Sequence[Case] = CASES) -> None:
    arguments = inputs(cases)
    means, spreads = expectation(measure, *arguments), variance(measure, *arguments)
    np.testing.assert_allclose(means, [m for m, _ in enumerated], rtol=0, atol=TIGHT, err_msg=str(measure))
    if measure.family in ("ERR", "bpref"):
        assert spreads is None
    else:
        assert spreads is not None
        np.testing.assert_allclose(spreads, [v for _, v in enumerated], rtol=0, atol=TIGHT, err_msg=str(measure))


TREC = {
    "P_1": Measure("P", 1),
    "P_3": Measure("P", 3),
    "P_9": Measure("P", 9),
    "recall_2": Measure("R", 2),
    "recall_9": Measure("R"),
    "success_1": Measure("Success", 1),
    "success_3": Measure("Success", 3),
    "success_9": Measure("Success"),
    "recip_rank": Measure("RR"),
    "map": Measure("AP"),
    "map_cut_1": Measure("AP", 1),
    "map_cut_3": Measure("AP", 3),
    "ndcg": Measure("nDCG"),
    "ndcg_cut_2": Measure("nDCG", 2),
    "ndcg_cut_4": Measure("nDCG", 4),
    "Rprec": Measure("Rprec"),
    "bpref": Measure("bpref"),
}
TREC_ASKED = (
    "P.1,3,9",
    "recall.2,9",
    "success.1,3,9",
    "recip_rank",
    "map",
    "map_cut.1,3",
    "ndcg",
    "ndcg_cut.2,4",
    "Rprec",
)


@pytest.mark.parametrize("level", [1, 2])
def test_floors_equal_every_ranking_scored_by_trec_eval(level: int) -> None:
    # Queries without gold have a test of their own; on some of them bpref crashes pytrec_eval.
    cases = [c for c in CASES if c.depth > 0 and max(c.judged, default=0) >= level]
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for case in cases:
        ids: dict[Grade, list[str]] = defaultdict(list)
        for i, grade in enumerate(case.pool):
            ids[grade].append(str(i))
        judged = {d: g for g, docs in ids.items() if g is not None for d in docs}
        judged |= {str(100 + i): g for i, g in enumerate(case.outside)}
        for ranking, _ in drawn(case):
            used: Counter[Grade] = Counter()
            scores = {}
            for rank, grade in enumerate(ranking):
                scores[ids[grade][used[grade]]] = float(10 - rank)
                used[grade] += 1
            qrels[str(len(run))] = judged
            run[str(len(run))] = scores
    results = pytrec_eval.RelevanceEvaluator(qrels, set(TREC_ASKED), relevance_level=level).evaluate(run)
    bprefs = pytrec_eval.RelevanceEvaluator(qrels, {"bpref"}, relevance_level=level).evaluate(run)
    for name, plain in TREC.items():
        values = iter([(bprefs if name == "bpref" else results)[str(i)][name] for i in range(len(run))])
        found = [moments_of([(next(values), chance) for _, chance in drawn(case)]) for case in cases]
        compare(Measure(plain.family, plain.cutoff, level), found, cases)


@pytest.mark.parametrize(
    "measure",
    [
        rbp(0.8),
        rbp(0.5, 3),
        rbp(0.95, None, 2),
        Measure("ERR"),
        Measure("ERR", 3),
        Measure("nDCG", gain="exp"),
        Measure("nDCG", 3, gain="exp"),
        Measure("RR", 2),
        Measure("RR", 3, 2),
        Measure("RR", 10),
        Measure("bpref", 3),
        Measure("bpref", None, 3),
        Measure("AP", 4, 3),
    ],
    ids=str,
)
def test_floors_equal_every_ranking_scored_by_definition(measure: Measure) -> None:
    compare(measure, [moments_of([(score(measure, r, c.judged), p) for r, p in drawn(c)]) for c in CASES])


def test_the_enumeration_is_one() -> None:
    rankings = list(random_rankings(Counter({None: 2, 1: 1, 0: 1}), 3))
    assert sum(p for _, p in rankings) == 1
    assert len({r for r, _ in rankings}) == len(rankings)
    assert moments(Measure("RR"), Counter({None: 1, 1: 1}), [], 2) == (0.75, 0.0625)


# --- facts ---------------------------------------------------------------------------------------------------------


def test_facts_of_the_noise_floor() -> None:
    assert draws.harmonic(np.array([10]))[0] == pytest.approx(2.9289682539682538, rel=1e-15)
    rr = Measure("RR", 10)
    assert one(rr, [1], 218) == pytest.approx(draws.harmonic(np.array([10]))[0] / 218, rel=1e-14)
    assert round(one(rr, [1], 218), 6) == 0.013436
    assert round(one(rr, [1] * 5, 8), 3) == 0.793
    gold = [[1]] * 21 + [[1] * g for g in (2, 2, 2, 3, 3, 3, 3)]
    for size, expected in ((218, 0.018555), (1052, 0.003871)):
        sizes = np.full(28, size)
        assert round(float(expectation(rr, judge(gold), sizes, sizes).mean()), 6) == expected
    spread = variance(rr, judge(gold), np.full(28, 218), np.full(28, 218))
    assert spread is not None
    assert round(math.sqrt(spread.sum()) / 28, 3) == 0.018
    assert round(math.sqrt(spread.sum() / 20) / 28, 3) == 0.004


@pytest.mark.parametrize(
    ("size", "gold", "expected"),
    [
        (2, 1, {"RR": 0.75, "nDCG": 0.8155, "AP": 0.75}),
        (5, 2, {"AP": 0.5925, "RR": 0.6417, "nDCG": 0.7231}),
        (9, 1, {"AP": 0.31433}),
    ],
)
def test_facts_of_small_candidate_pools(size: int, gold: int, expected: dict[str, float]) -> None:
    for family, value in expected.items():
        assert one(Measure(family), [1] * gold, size) == pytest.approx(value, abs=5e-5)
    assert one(Measure("P", 1), [1] * gold, size) == pytest.approx(gold / size, rel=1e-15)


# --- size: exact fractions, closed forms, the other way round --------------------------------------------------------


def exact_first_gold(size: int, gold: int, depth: int) -> list[Fraction]:
    return [Fraction(math.comb(size - r, gold - 1), math.comb(size, gold)) for r in range(1, depth + 1)]


@pytest.mark.parametrize(
    ("size", "gold", "depth"),
    [(8_841_823, 1, 1000), (8_841_823, 4, 1000), (500_000, 500, 1000), (5000, 4990, 10), (60, 30, 60), (3000, 1, 3000)],
)
def test_first_gold_is_exact_at_any_size(size: int, gold: int, depth: int) -> None:
    chance = exact_first_gold(size, gold, depth)
    mean = math.fsum(p / r for r, p in enumerate(chance, 1))
    square = math.fsum(p / r**2 for r, p in enumerate(chance, 1))
    gold_set = [1] * gold
    assert one(Measure("RR"), gold_set, size, depth) == pytest.approx(mean, rel=TIGHT)
    assert one_variance(Measure("RR"), gold_set, size, depth) == pytest.approx(square - mean**2, rel=1e-10)
    found = 1 - Fraction(math.comb(size - gold, depth), math.comb(size, depth))
    assert one(Measure("Success"), gold_set, size, depth) == pytest.approx(float(found), rel=TIGHT)
    np.testing.assert_allclose(draws.first_gold(size, gold, depth), [float(p) for p in chance], rtol=1e-13, atol=0)


@pytest.mark.parametrize(("size", "gold"), [(5_000_000, 500), (5_000_000, 1), (1000, 1000), (8, 5), (1052, 1)])
def test_uncut_reciprocal_rank_of_a_whole_pool_has_a_closed_form(size: int, gold: int) -> None:
    h_all, h_gold = draws.harmonic(np.array([size, max(gold - 1, 1)]))
    tail = h_all - (h_gold if gold > 1 else 0.0)
    assert one(Measure("RR"), [1] * gold, size) == pytest.approx(gold / (size - gold + 1) * tail, rel=1e-11)


@pytest.mark.parametrize("weight", [lambda r: 1 / r, lambda r: 1 / r**2, discount, lambda r: discount(r) ** 2])
def test_sums_over_long_lists_are_those_of_their_terms(weight) -> None:  # type: ignore[no-untyped-def]
    ends = [1, 1000, 2**20, 2**20 + 1, 3_000_000]
    terms = weight(np.arange(1.0, ends[-1] + 1))
    got = draws.sum_to(weight, np.array(ends[::-1]))[::-1]
    np.testing.assert_allclose(got, [math.fsum(terms[:end].tolist()) for end in ends], rtol=1e-14)


@settings(deadline=None)
@given(st.integers(1, 60), st.data())
def test_hypergeometric_is_that_of_the_binomial_coefficients(size: int, data: st.DataObject) -> None:
    marked, drawn = data.draw(st.integers(0, size)), data.draw(st.integers(0, size))
    low, chance = draws.hypergeometric(size, marked, drawn)
    exact = {
        h: math.comb(marked, h) * math.comb(size - marked, drawn - h) / math.comb(size, drawn)
        for h in range(min(marked, drawn) + 1)
        if drawn - h <= size - marked
    }
    assert low == min(exact)
    np.testing.assert_allclose(chance, list(exact.values()), rtol=TIGHT)


def exact_bpref(size: int, depth: int, gold: int, bad: int) -> float:
    total = Fraction(0)
    for r in range(depth):
        ways = math.comb(size - 1, r)
        for h in range(min(bad, r) + 1):
            share = Fraction(min(h, gold), min(gold, bad)) if h else Fraction(0)
            total += Fraction(math.comb(bad, h) * math.comb(size - 1 - bad, r - h), ways) * (1 - share)
    return float(total / size)


@pytest.mark.parametrize(("size", "depth", "gold", "bad"), [(300, 100, 3, 20), (80, 80, 10, 60), (80, 50, 30, 10)])
def test_bpref_is_the_sum_over_ranks(size: int, depth: int, gold: int, bad: int) -> None:
    value = one(Measure("bpref"), [1] * gold + [0] * bad, size, depth)
    assert value == pytest.approx(exact_bpref(size, depth, gold, bad), rel=TIGHT)


def exact_err(size: int, depth: int, grades: Sequence[int]) -> float:
    """sum (A_{r-1} - A_r)/r with A_r from the elementary symmetric polynomials, in fractions."""
    e = [Fraction(1)]
    for grade in grades:
        q = 1 - Fraction(2**grade - 1, 16)
        e = [(e[j] if j < len(e) else 0) + (q * e[j - 1] if j else 0) for j in range(len(e) + 1)]
    n = len(grades)
    passed = [
        sum(
            (e[j] * Fraction(math.comb(size - n, r - j), math.comb(size, r)) for j in range(min(r, n) + 1)),
            start=Fraction(0),
        )
        for r in range(depth + 1)
    ]
    return float(sum((passed[r - 1] - passed[r]) / r for r in range(1, depth + 1)))


@pytest.mark.parametrize(
    ("size", "depth", "grades"),
    [
        (60, 60, [1] * 8 + [2] * 5 + [4] * 3),
        (120, 40, [1, 2, 3, 4] * 5),
        (30, 30, [1] * 20 + [3] * 10),
        (90, 7, [1] * 40),
    ],
)
def test_err_is_the_sum_over_ranks(size: int, depth: int, grades: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = exact_err(size, depth, grades)
    assert one(Measure("ERR"), grades, size, depth) == pytest.approx(expected, rel=TIGHT)
    # The way taken by lists of thousands of documents, on a list short enough for fractions.
    monkeypatch.setattr(floor_err, "_LONG", 1)
    assert one(Measure("ERR"), grades, size, depth) == pytest.approx(expected, rel=TIGHT)


def test_err_of_a_long_list_is_the_same_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    grades = [1] * 300 + [2] * 100 + [4] * 60
    long = [one(Measure("ERR"), grades, size, 5000) for size in (5000, 200_000)]
    monkeypatch.setattr(floor_err, "_LONG", 10**9)
    walked = [one(Measure("ERR"), grades, size, 5000) for size in (5000, 200_000)]
    assert long == pytest.approx(walked, rel=1e-11)


# --- contract --------------------------------------------------------------------------------------------------------

FAMILIES = [
    Measure("P", 5),
    Measure("R", 5),
    Measure("Success", 5),
    Measure("RR"),
    Measure("AP"),
    Measure("nDCG", 5),
    Measure("Rprec"),
    rbp(0.8),
    Measure("bpref"),
    Measure("ERR", 5),
]


@pytest.mark.parametrize("measure", FAMILIES, ids=str)
def test_nothing_to_find_or_nothing_retrieved_is_zero(measure: Measure) -> None:
    gold = judge([[0, -1], [], [1, 0], [1, 0], [-2], [2]])
    inside = np.array([True, True, True, True, True, True, True, False])
    for function in (expectation, variance):
        values = function(measure, gold, np.array([9, 9, 0, 9, 9, 9]), np.array([9, 9, 9, 0, 9, 9]), inside)
        if values is not None:
            assert values.tolist() == [0.0] * 6
    empty = expectation(measure, judge([]), np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert empty.shape == (0,)


@pytest.mark.parametrize("measure", FAMILIES, ids=str)
def test_whole_pools_of_gold(measure: Measure) -> None:
    # Whatever the order, a perfect list: value 1, variance 0 (ERR, RBP and P of short pools have lower ceilings).
    value = one(measure, [1] * 7, 7)
    if measure.family not in ("ERR", "RBP", "R"):
        assert value == pytest.approx(1.0, abs=TIGHT)
    if measure.family not in ("ERR", "bpref"):
        assert one_variance(measure, [1] * 7, 7) == pytest.approx(0.0, abs=TIGHT)


@settings(deadline=None)
@given(
    st.sampled_from(FAMILIES),
    st.lists(st.integers(-1, 4), max_size=12),
    st.integers(0, 40),
    st.integers(0, 60),
)
def test_floors_are_scores_and_grow_with_depth(measure: Measure, grades: list[int], more: int, depth: int) -> None:
    size = len(grades) + more
    value = one(measure, grades, size, depth)
    assert -TIGHT <= value <= 1 + TIGHT
    assert value <= one(measure, grades, size, depth + 1) + TIGHT
    cut = expectation(
        Measure(measure.family, 5, params=measure.params), judge([grades]), np.array([size]), np.array([depth])
    )
    if measure.cutoff is None and measure.family not in ("Success",):
        assert cut[0] <= value + TIGHT
    assert one(measure, grades, size, size) == one(measure, grades, size, size + 5)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(st.integers(-1, 4), max_size=6), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_queries_do_not_see_each_other(grades: list[list[int]], random) -> None:  # type: ignore[no-untyped-def]
    sizes, depths = np.array([len(g) + 3 for g in grades]), np.array([random.randrange(9) for _ in grades])
    order = random.sample(range(len(grades)), len(grades))
    shuffled = [random.sample(grades[i], len(grades[i])) for i in order]
    for measure in FAMILIES:
        together = expectation(measure, judge(grades), sizes, depths)
        again = expectation(measure, judge(shuffled), sizes[order], depths[order])
        np.testing.assert_allclose(again, together[order], rtol=1e-14, atol=1e-16)
        alone = [one(measure, g, int(n), int(k)) for g, n, k in zip(grades, sizes, depths, strict=True)]
        np.testing.assert_allclose(together, alone, rtol=1e-14, atol=1e-16)


def test_a_pool_smaller_than_its_judged_documents_is_an_error() -> None:
    gold = judge([[1], [1, 0, 1]])
    with pytest.raises(InputError, match=r"query 'q000001' has 3 judged documents in a pool of 2\."):
        expectation(Measure("RR"), gold, np.array([5, 2]), np.array([5, 2]))
    assert expectation(Measure("RR"), gold, np.array([5, 2]), np.array([5, 2]), np.array([1, 1, 1, 0], bool))[1] == 0.75


def test_wrong_shapes_are_an_error() -> None:
    with pytest.raises(InputError, match=r"`depth` has shape \(2,\) and should have \(1,\)"):
        expectation(Measure("RR"), judge([[1]]), np.array([5]), np.array([5, 5]))
    with pytest.raises(InputError, match=r"`inside` has shape \(3,\) and should have \(1,\)"):
        expectation(Measure("RR"), judge([[1]]), np.array([5]), np.array([5]), np.ones(3, bool))


def test_families_without_a_formula_say_so() -> None:
    for function in (expectation, variance):
        with pytest.raises(MeasureError, match="infAP has no formula"):
            function(Measure("infAP"), judge([[1]]), np.array([5]), np.array([5]))
        with pytest.raises(MeasureError, match=r"AP\(judged_only=True\) has no formula"):
            function(Measure("AP", params=(("judged_only", True),)), judge([[1]]), np.array([5]), np.array([5]))
        with pytest.raises(MeasureError, match="P needs a cutoff"):
            function(Measure("P"), judge([[1]]), np.array([5]), np.array([5]))
    with pytest.raises(MeasureError, match="grades up to 4, and query 'q000000' has grade 5"):
        expectation(Measure("ERR", 10), judge([[5]]), np.array([5]), np.array([5]))


# --- speed -----------------------------------------------------------------------------------------------------------


def test_large_benchmarks_are_quick() -> None:
    rng = np.random.default_rng(0)
    marco = judge([[1] * int(g) for g in rng.choice([1, 1, 1, 2, 3], 6980)])
    size, depth = np.full(6980, 8_841_823), np.full(6980, 1000)
    whole = judge([[1] * 300 + [2] * 200 + [0] * 1500])
    trec = judge([[1] * int(g) + [2] * 50 + [0] * 1500 for g in rng.integers(50, 450, 50)])
    begin = time.perf_counter()
    for measure in (*FAMILIES, Measure("RR", 10), Measure("nDCG", 10)):
        for function in (expectation, variance):
            function(measure, marco, size, depth)
            function(measure, whole, np.array([5_000_000]), np.array([5_000_000]))
            function(measure, trec, np.full(50, 500_000), rng.integers(500, 1001, 50))
    expectation(Measure("ERR"), whole, np.array([5_000_000]), np.array([5_000_000]))
    expectation(Measure("ERR"), trec, np.full(50, 500_000), np.full(50, 1000))
    # Generous: about 1.5 s on two slow cores. Summing rank by rank, or query by query, takes minutes.
    assert time.perf_counter() - begin < 15


# --- published runs --------------------------------------------------------------------------------------------------

SHARED = Path(os.environ.get("FALSIFY_SHARED", Path(__file__).parents[3] / "shared"))
RUNS = (
    "aplrob03a.run.gz",
    "NLPR03vb10.run.gz",
    "sab20.5.4.dfo.run.gz",
    "BM25.run.gz",
    "bm25-doc.run.gz",
    "bm25-doc-xml-numbers.run.gz",
    "bm25.run",
)
MEASURES = {
    "nDCG@10": Measure("nDCG", 10),
    "RR@10": Measure("RR", 10),
    "AP": Measure("AP"),
    "P@10": Measure("P", 10),
    "R@100": Measure("R", 100),
    "Success@5": Measure("Success", 5),
}


def fields(path: Path) -> Iterator[list[str]]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        yield from (row for row in csv.reader((" ".join(line.split()) for line in lines), delimiter=" "))


@pytest.mark.parametrize("run_name", RUNS)
def test_floors_of_real_runs(run_name: str) -> None:
    if not (SHARED / "expected" / "gate.json").exists():
        pytest.skip(f"reference data not found at {SHARED} (set FALSIFY_SHARED)")
    rows = [r for r in json.loads((SHARED / "expected/gate.json").read_text()) if r["run"].endswith("/" + run_name)]
    assert rows
    for qrels_name, run_path, pool in sorted({(r["qrels"], r["run"], str(r["pool"])) for r in rows}):
        qrels: dict[str, dict[str, int]] = defaultdict(dict)
        for q, _, d, grade in fields(SHARED / "data" / qrels_name):
            qrels[q][d] = int(grade)
        lists: dict[str, set[str]] = defaultdict(set)
        for q, _, d, *_ in fields(SHARED / "data" / run_path):
            lists[q].add(d)
        queries = sorted(qrels)
        gold = judge([list(qrels[q].values()) for q in queries])
        depth = np.array([len(lists[q]) for q in queries])
        size = depth if pool == "run" else np.full(len(queries), int(pool))
        inside = np.array([pool != "run" or d in lists[q] for q in queries for d in qrels[q]])
        for row in rows:
            if (row["qrels"], row["run"]) == (qrels_name, run_path):
                value = expectation(MEASURES[row["measure"]], gold, size, depth, inside).mean()
                assert value == pytest.approx(row["means"]["C"], rel=1e-9), row
