"""Floors of chunk collections: against every order of the chunks, plain quadrature, random keys, the uniform floor."""

from __future__ import annotations

import gzip
import json
import math
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Grade, score

from falsify_adapters.core import draws, floors
from falsify_adapters.core.chunk_draws import draws_within
from falsify_adapters.core.chunk_floors import ChunkCounts, expectation, simulate
from falsify_adapters.core.kernels import Hits, discount, evaluate, gold_stats
from falsify_adapters.errors import InputError, MeasureError, OptionError
from falsify_adapters.measures import Measure, parse
from falsify_adapters.model import Floats, Ints, Judgments

TIGHT = 1e-12


def judge(grades: Sequence[Sequence[int]]) -> Judgments:
    """Judgments of queries that share no document."""
    start = np.cumsum([0, *map(len, grades)]).astype(np.int64)
    n = int(start[-1])
    names = tuple(f"q{i:06d}" for i in range(len(grades)))
    flat = np.array([g for gs in grades for g in gs], dtype=np.int32)
    return Judgments(names, n, start, np.arange(n, dtype=np.int32), flat)


def floor(measure: Measure, gold: Judgments, chunks: ChunkCounts, weight: Ints, depth: Ints | None = None) -> Floats:
    value = expectation(measure, gold, chunks, weight, depth)
    assert value is not None
    return value


def one(measure: Measure, weights: Sequence[int], chunks: ChunkCounts, grades: Sequence[int] | None = None) -> float:
    gold = judge([[1] * len(weights) if grades is None else grades])
    return float(floor(measure, gold, chunks, np.array(weights, np.int64))[0])


def grader(measure: Measure, gold: Judgments):  # type: ignore[no-untyped-def]
    stats = gold_stats(measure, gold)
    return lambda hits, owner, _: evaluate(measure, hits, len(owner), stats.take(owner))


def rbp(p: float, cutoff: int | None = None, rel: int = 1) -> Measure:
    return Measure("RBP", cutoff, rel, params=(("p", p),))


MEASURES = (
    *(Measure("P", k, rel) for k, rel in ((1, 1), (5, 2))),
    *(Measure("R", k, rel) for k, rel in ((None, 1), (2, 3))),
    *(Measure("Success", k, rel) for k, rel in ((None, 1), (2, 2))),
    *(Measure("RR", k, rel) for k, rel in ((None, 1), (2, 1), (None, 2))),
    *(Measure("AP", k, rel) for k, rel in ((None, 1), (2, 1), (3, 1), (None, 2))),
    *(Measure("nDCG", k, 1, gain) for k, gain in ((None, "linear"), (None, "exp"), (2, "linear"), (3, "exp"))),
    *(Measure("Rprec", k, rel) for k, rel in ((None, 1), (2, 2))),
    *(rbp(p, k, rel) for p, k, rel in ((0.8, None, 1), (0.9, 2, 2))),
    *(Measure("ERR", k) for k in (None, 2)),
)

# --- every order of the chunks ---------------------------------------------------------------------------------------

COLLECTIONS = ((3,), (1, 2), (2, 2, 3), (1, 1, 5), (1, 1, 1, 4), (1, 1, 2, 3), (2, 2, 2, 1))


@cache
def orders(collection: tuple[int, ...], depth: int | None = None) -> dict[tuple[int, ...], float]:
    """Chance of every order of documents, over all permutations of the chunks cut at `depth`."""
    chunk_ids = [d for d, w in enumerate(collection) for _ in range(w)]
    seen = Counter(tuple(dict.fromkeys(order[:depth])) for order in permutations(chunk_ids))
    return {order: n / math.factorial(len(chunk_ids)) for order, n in seen.items()}


def gradings(collection: tuple[int, ...]) -> list[tuple[Grade, ...]]:
    every: list[tuple[Grade, ...]] = list(product((None, 0, 1, 3), repeat=len(collection)))
    return every if len(every) <= 16 else every[:: len(every) // 32 + 1]


def enumerated(
    measure: Measure, grading: Sequence[Grade], outside: Sequence[int], chance: dict[tuple[int, ...], float], depth: int
) -> float:
    judged = [g for g in grading if g is not None] + list(outside)
    return math.fsum(p * score(measure, [grading[d] for d in order[:depth]], judged) for order, p in chance.items())


@pytest.mark.parametrize("collection", COLLECTIONS, ids=str)
def test_every_order_of_the_chunks(collection: tuple[int, ...]) -> None:
    chunks, chance = ChunkCounts.of(np.array(collection)), orders(collection)
    cases = [
        (grading, ((), (1,), (2, 0))[i % 3], i % (len(collection) + 2))
        for i, grading in enumerate(gradings(collection))
    ]
    gold = judge([[g for g in grading if g is not None] + list(outside) for grading, outside, _ in cases])
    weight = [[w for w, g in zip(collection, x, strict=True) if g is not None] + [0] * len(y) for x, y, _ in cases]
    flat = np.array([w for ws in weight for w in ws], np.int64)
    depth = np.array([d for *_, d in cases])
    for measure in MEASURES:
        expected = [enumerated(measure, x, y, chance, d) for x, y, d in cases]
        values = floor(measure, gold, chunks, flat, depth)
        np.testing.assert_allclose(values, expected, rtol=0, atol=TIGHT, err_msg=str(measure))
    whole = [enumerated(Measure("AP"), x, y, chance, 9) for x, y, _ in cases]
    np.testing.assert_allclose(floor(Measure("AP"), gold, chunks, flat), whole, rtol=0, atol=TIGHT)


# --- the integral by plain means: trapezoid in log s, one document convolved after the other -------------------------


def plain_places(rates: Sequence[int], which: int) -> Floats:
    """(N,) chance that document `which` stands at each rank."""
    step = 0.2 / math.sqrt(len(rates))
    s = np.exp(np.arange(math.log(1e-15 / sum(rates)), math.log(45.0 / rates[which]), step))
    ahead = np.zeros((len(s), len(rates)))
    ahead[:, 0] = 1.0
    for d, w in enumerate(rates):
        if d != which:
            p = -np.expm1(-w * s)[:, None]
            ahead[:, 1:] = ahead[:, 1:] * (1.0 - p) + ahead[:, :-1] * p
            ahead[:, 0] *= 1.0 - p[:, 0]
    return np.asarray((step * s * rates[which] * np.exp(-rates[which] * s)) @ ahead)


MADE = {
    "mixed": [1] * 12 + [2] * 9 + [3] * 7 + [5] * 3 + [9, 9, 14, 30],
    "two speeds": [1] * 25 + [40] * 15,
    "one slow": [1] + [20] * 39,
    "one fast": [200] + [1] * 39,
    "long tail": [1] * 60 + [2] * 20 + [7] * 8 + [60] * 2,
}


@pytest.mark.parametrize("name", MADE)
def test_places_at_every_cutoff(name: str) -> None:
    rates = MADE[name]
    chunks = ChunkCounts.of(np.array(rates))
    n = len(rates)
    # Every chunk count with every depth: all cutoffs at once.
    kinds, r = sorted(set(rates)), np.arange(1, n + 1)
    exact = np.array([plain_places(rates, rates.index(w)) for w in kinds])
    np.testing.assert_allclose(exact.sum(1), 1.0, rtol=1e-12)
    gold, weight, depth = judge([[1]] * n * len(kinds)), np.repeat(kinds, n), np.tile(r, len(kinds))
    for measure, h in (
        (Measure("R"), np.ones(n)),
        (Measure("RR"), 1.0 / r),
        (Measure("AP"), 1.0 / r),
        (Measure("nDCG"), 1.0 / np.log2(r + 1.0)),
        (rbp(0.9), 0.1 * 0.9 ** (r - 1.0)),
        (Measure("ERR"), 1.0 / (16.0 * r)),
    ):
        values = floor(measure, gold, chunks, weight, depth).reshape(len(kinds), n)
        np.testing.assert_allclose(values, np.cumsum(exact * h, axis=1), rtol=1e-11, atol=1e-15, err_msg=str(measure))


# --- random keys -----------------------------------------------------------------------------------------------------


def test_random_keys() -> None:
    rng = np.random.default_rng(7)
    rates = np.array(MADE["mixed"])
    n, draws = len(rates), 100_000
    chunks = ChunkCounts.of(rates)
    sets = [[0], [34], [0, 13, 34], [5, 6, 7, 8, 20, 21, 30, 31, 32]]
    grades = [[1], [2], [3, 1, 1], [0, 1, 1, 0, 2, 0, 1, 2, 1]]
    gold = judge(grades)
    weight = np.concatenate([rates[s] for s in sets])
    start = np.cumsum(rates) - rates
    best = np.minimum.reduceat(rng.random((draws, int(rates.sum()))), start, axis=1)
    rank = np.empty((draws, n), np.int64)
    np.put_along_axis(rank, np.argsort(best, axis=1), np.arange(1, n + 1)[None], axis=1)
    for name in ("P@5", "R@10", "Success@5", "RR", "RR@10", "AP", "AP@10", "nDCG@10", "Rprec", "RBP(p=0.8)", "ERR@20"):
        measure = parse(name)
        values = floor(measure, gold, chunks, weight)
        for q, (documents, grade) in enumerate(zip(sets, grades, strict=True)):
            place = rank[:, documents]
            order = np.argsort(place, axis=1)
            hits = Hits(
                np.repeat(np.arange(draws), len(documents)),
                np.take_along_axis(place, order, axis=1).ravel(),
                np.array(grade)[order].ravel(),
            )
            stats = gold_stats(measure, judge([grade])).take(np.zeros(draws, np.int64))
            drawn = evaluate(measure, hits, draws, stats)
            se = drawn.std() / math.sqrt(draws)
            assert abs(drawn.mean() - values[q]) <= 4.5 * se + 1e-12, (name, q)


# --- free tests ------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=12)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=40))
def test_what_is_certain(rates: list[int]) -> None:
    chunks, n = ChunkCounts.of(np.array(rates)), len(rates)
    weight, r = np.array(rates), np.arange(1, n + 1)
    # Everything gold: the places r = 1..k of all documents together have chance k.
    found = floor(Measure("R"), judge([[1] * n] * n), chunks, np.tile(weight, n), r)
    np.testing.assert_allclose(found, r / n, rtol=TIGHT)
    for measure in (Measure("AP"), Measure("nDCG"), Measure("RR"), Measure("Success", 1), Measure("Rprec")):
        assert one(measure, rates, chunks) == pytest.approx(1.0, abs=TIGHT)
    alone = floor(Measure("RR"), judge([[1]] * n), chunks, weight)
    assert alone.sum() == pytest.approx(math.fsum(1 / r for r in range(1, n + 1)), rel=TIGHT)


@pytest.mark.parametrize(("n", "count"), [(1, 1), (2, 7), (37, 3), (2000, 2), (5_000_000, 30)])
def test_equal_chunk_counts_give_the_uniform_floor(n: int, count: int) -> None:
    chunks = ChunkCounts(np.array([count]), np.array([n]))
    grades = [g for g in ([1], [1, 2], [3, 0, 1, 1, 2], [1] * 30, [2] * 200, [1] * 1500) if len(g) <= n] * 3
    gold = judge(grades)
    depth = np.array([min(n, d) for d in (n, 10, 1000) for _ in range(len(grades) // 3)])
    weight, size = np.full(len(gold.grade), count), np.full(len(grades), n)
    for name in (
        "P@5",
        "R",
        "Success@5",
        "RR",
        "RR@10",
        "AP",
        "AP@100",
        "nDCG",
        "nDCG@10",
        "Rprec",
        "RBP(p=0.8)",
        "ERR@20",
    ):
        measure = parse(name)
        uniform = floors.expectation(measure, gold, size, depth)
        np.testing.assert_allclose(
            floor(measure, gold, chunks, weight, depth),
            uniform,
            rtol=1e-11 if n > 2000 else TIGHT,
            err_msg=str(measure),
        )


def test_a_file_of_37_chunks_among_218() -> None:
    # SPEC: 1052 chunks in 218 files. The exact mix is not published; the two ends are what must come out near.
    rates = np.array([37, 30, 25] + [1] * 40 + [2] * 40 + [4] * 60 + [8] * 61 + [3] * 14)
    rates[-1] += 1052 - rates.sum()
    chunks = ChunkCounts.of(rates)
    assert (chunks.n_docs, chunks.n_chunks) == (218, 1052)
    uniform = one(Measure("RR", 10), [1], ChunkCounts(np.array([1]), np.array([218])))
    assert round(uniform, 6) == 0.013436
    assert one(Measure("RR", 10), [37], chunks) == pytest.approx(0.0964, abs=0.004)
    assert one(Measure("RR", 10), [1], chunks) == pytest.approx(0.0028, abs=0.0003)


# --- draws -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [0, 1, 2, 4, 6, None])
@pytest.mark.parametrize("collection", [(1, 1, 2, 3), (2, 2, 3)], ids=str)
def test_draws_have_the_mean_of_every_order(collection: tuple[int, ...], depth: int | None) -> None:
    chunks, chance = ChunkCounts.of(np.array(collection)), orders(collection, depth)
    chosen = gradings(collection)[1::3]
    gold = judge([[g for g in x if g is not None] for x in chosen])
    weight = np.array([w for x in chosen for w, g in zip(collection, x, strict=True) if g is not None], np.int64)
    n_draws = 1500
    for measure in (Measure("AP"), Measure("bpref"), Measure("ERR", 2), Measure("nDCG", 2), Measure("RR")):
        rng = np.random.default_rng(3)
        each, drawn = simulate(measure, gold, chunks, weight, depth, n_draws, rng, grader(measure, gold))
        exact = np.array([enumerated(measure, x, (), chance, 9) for x in chosen])
        assert drawn.shape == (n_draws,)
        assert drawn.mean() == pytest.approx(each.mean(), rel=1e-12)
        assert abs(drawn.mean() - exact.mean()) <= 4.5 * drawn.std() / math.sqrt(n_draws) + 1e-12, str(measure)
        assert np.abs(each - exact).max() < 4.5 * 0.5 / math.sqrt(n_draws), str(measure)


def test_draws_of_a_larger_collection() -> None:
    rng = np.random.default_rng(11)
    rates = np.array(MADE["long tail"])
    chunks = ChunkCounts.of(rates)
    gold = judge([[1, 2, 0, 1], [1] * 12, [0, 3]])
    weight = rng.choice(rates, len(gold.grade), replace=False)
    for name in ("RR@10", "AP", "R@50"):
        measure = parse(name)
        exact = floor(measure, gold, chunks, weight).mean()
        for depth in (None, 10**6):
            _, drawn = simulate(measure, gold, chunks, weight, depth, 1500, rng, grader(measure, gold))
            assert abs(drawn.mean() - exact) <= 4.5 * drawn.std() / math.sqrt(1500), (name, depth)


# --- contract --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("others", "n_draws"), [(2500, 200), (70_000, 200), (2500, 4000)])
def test_draws_to_a_depth_in_chunks(others: int, n_draws: int) -> None:
    """A document of as many chunks as all others have is among the first three chunks or not: small and large
    collections, documents looked up or searched for."""
    counts = ChunkCounts.of(np.array([others] + [1] * others))
    gold = judge([[1]] * 10)
    per_query, _ = simulate(
        parse("Success@3"), gold, counts, np.full(10, others), 3, n_draws, np.random.default_rng(4),
        grader(parse("Success@3"), gold),
    )  # fmt: skip
    p = 1 - math.comb(others, 3) / math.comb(2 * others, 3)
    assert per_query.mean() == pytest.approx(p, abs=4.5 * math.sqrt(p * (1 - p) / (10 * n_draws)))


def test_draws_are_as_many_as_their_length_allows() -> None:
    counts = ChunkCounts.of(np.full(1000, 10))
    for measure, n_queries, depth, wanted in (
        ("RR@10", 225, 1000, 1000),
        ("AP", 225, None, 200),
        ("AP", 225, 10_000, 200),
        ("AP", 52, 1000, 1000),
        ("AP", 225, 1000, 421),
        ("AP", 10_000, 1000, 200),
    ):
        assert draws_within(parse(measure), n_queries, counts, depth) == wanted


def test_nothing_to_find_is_zero() -> None:
    chunks = ChunkCounts.of(np.array([1, 2, 3, 0]))
    gold = judge([[0, -1], [], [1], [1], [2]])
    weight, depth = np.array([1, 2, 0, 3, 2]), np.array([3, 3, 3, 0, 3])
    for measure in MEASURES:
        values = floor(measure, gold, chunks, weight, depth)
        assert values[:4].tolist() == [0.0] * 4
    nobody = ChunkCounts(np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert floor(Measure("RR"), judge([[1], []]), nobody, np.array([0])).tolist() == [0.0, 0.0]
    assert floor(Measure("AP"), judge([]), chunks, np.zeros(0, np.int64)).shape == (0,)


def test_chunk_counts() -> None:
    chunks = ChunkCounts.of(np.array([3, 1, 0, 3]))
    assert (chunks.weights.tolist(), chunks.documents.tolist()) == ([1, 3], [1, 2])
    assert (chunks.n_docs, chunks.n_chunks) == (3, 7)
    with pytest.raises(InputError, match=r"`weights` has shape \(2,\) and `documents` \(1,\)"):
        ChunkCounts(np.array([1, 2]), np.array([1]))
    for weights, documents in (([2, 1], [1, 1]), ([0, 1], [1, 1]), ([1, 1], [1, 1]), ([1, 2], [1, 0])):
        with pytest.raises(InputError, match=r"chunk counts are not in order.*Use ChunkCounts\.of"):
            ChunkCounts(np.array(weights), np.array(documents))


def test_errors() -> None:
    chunks, gold = ChunkCounts.of(np.array([1, 2, 2])), judge([[1], [1, 0]])
    with pytest.raises(InputError, match=r"`weight` has shape \(2,\) and should have \(3,\)"):
        expectation(Measure("RR"), gold, chunks, np.array([1, 2]))
    with pytest.raises(InputError, match=r"`depth` has shape \(1,\) and should have \(2,\)"):
        expectation(Measure("RR"), gold, chunks, np.array([1, 2, 2]), np.array([3]))
    with pytest.raises(InputError, match=r"'q000001' judges 1 document\(s\) of 5 chunks, the collection has 0 of them"):
        expectation(Measure("RR"), gold, chunks, np.array([1, 5, 2]))
    with pytest.raises(InputError, match=r"'q000001' judges 2 document\(s\) of 1 chunks, the collection has 1 of them"):
        expectation(Measure("RR"), gold, chunks, np.array([1, 1, 1]))
    with pytest.raises(MeasureError, match="infAP has no formula"):
        expectation(Measure("infAP"), gold, chunks, np.array([1, 2, 2]))
    with pytest.raises(MeasureError, match="P needs a cutoff"):
        expectation(Measure("P"), gold, chunks, np.array([1, 2, 2]))
    assert expectation(Measure("bpref"), gold, chunks, np.array([1, 2, 2])) is None
    rng = np.random.default_rng(0)
    for depth, n_draws, name in ((None, 0, "n_draws"), (-1, 5, "depth_chunks")):
        with pytest.raises(OptionError, match=f"{name} is {min(depth or 0, n_draws)}"):
            simulate(Measure("RR"), gold, chunks, np.array([1, 2, 2]), depth, n_draws, rng, grader(Measure("RR"), gold))


@settings(deadline=None, max_examples=6)
@given(st.data())
def test_queries_do_not_see_each_other(data: st.DataObject) -> None:
    rates = data.draw(st.lists(st.integers(1, 9), min_size=3, max_size=30))
    chunks = ChunkCounts.of(np.array(rates))
    picks = data.draw(
        st.lists(st.lists(st.integers(0, len(rates) - 1), unique=True, max_size=6), min_size=1, max_size=5)
    )
    depth = np.array([data.draw(st.integers(1, len(rates))) for _ in picks])
    gold = judge([[1 + d % 4 for d in p] for p in picks])
    weight = np.array([rates[d] for p in picks for d in p], np.int64)
    for measure in (parse("AP"), parse("ERR"), parse("R")):
        together = floor(measure, gold, chunks, weight, depth)
        for q, pick in enumerate(picks):
            mine, single = np.array([rates[d] for d in pick], np.int64), judge([[1 + d % 4 for d in pick]])
            alone = floor(measure, single, chunks, mine, depth[q : q + 1])
            assert together[q] == pytest.approx(alone[0], rel=1e-11, abs=1e-14)


# --- speed -----------------------------------------------------------------------------------------------------------


WIDE = np.arange(1, 61)
MILLIONS = ChunkCounts(WIDE, np.maximum(1, 5_000_000 * 0.9**WIDE / (0.9**WIDE).sum()).astype(np.int64))


def test_sums_over_millions_of_documents() -> None:
    gold, n = judge([[1]] * len(WIDE)), MILLIONS.n_docs
    for name, total in (
        ("R@1", 1.0),
        ("R@10", 10.0),
        ("R@1000", 1000.0),
        ("R@4000000", 4e6),
        ("R", n),
        ("RR@10", math.fsum(1 / r for r in range(1, 11))),
        ("RR", draws.harmonic(np.array([n]))[0]),
        ("nDCG@100", math.fsum(1 / math.log2(r + 1) for r in range(1, 101))),
        ("nDCG", draws.sum_to(discount, np.array([n]))[0]),
    ):
        values = floor(parse(name), gold, MILLIONS, WIDE)
        assert values @ MILLIONS.documents == pytest.approx(total, rel=1e-11), name
        assert (np.diff(values) > 0).all() or name == "R"


def test_millions_of_documents_are_quick() -> None:
    rng = np.random.default_rng(0)
    gold = judge([[1] * int(g) + [2] * 3 for g in rng.integers(1, 200, 50)])
    weight = rng.integers(1, 61, len(gold.grade))
    begin = time.perf_counter()
    for name in ("RR@10", "P@10", "nDCG@10", "AP@1000", "AP", "nDCG", "RR", "R@1000", "Rprec", "RBP(p=0.8)", "ERR@20"):
        assert floor(parse(name), gold, MILLIONS, weight).min() > 0
    # About 2 s on two slow cores; the cost does not grow with the number of documents.
    assert time.perf_counter() - begin < 40


# --- real collections ------------------------------------------------------------------------------------------------


def load(folder: Path) -> tuple[Judgments, ChunkCounts, Ints]:
    with gzip.open(folder / "chunk_ids.txt.gz", "rt", encoding="utf-8") as lines:
        count = Counter(line.strip().rpartition("#")[0] for line in lines)
    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels.txt").read_text(encoding="utf-8").splitlines():
        query, _, document, grade = line.split()[:4]
        qrels[query][document] = int(grade)
    queries = sorted(qrels)
    weight = np.array([count[d] for q in queries for d in qrels[q]], np.int64)
    return judge([list(qrels[q].values()) for q in queries]), ChunkCounts.of(np.array([*count.values()])), weight


@pytest.mark.parametrize(
    ("corpus", "aware", "uniform", "unretrievable"),
    [("cranfield", 0.0151902, 0.0147518, 1), ("cacm", 0.0215195, 0.0137436, 0)],
)
def test_real_collections(shared: Path, corpus: str, aware: float, uniform: float, unretrievable: int) -> None:
    gold, chunks, weight = load(shared / "data" / "corpora" / corpus)
    assert (weight == 0).sum() == unretrievable
    size = np.full(gold.n_queries, chunks.n_docs)
    assert round(float(floor(Measure("RR", 10), gold, chunks, weight).mean()), 7) == aware
    # The uniform floor as it is usually given: every gold document taken to be in the pool.
    assert round(float(floors.expectation(Measure("RR", 10), gold, size, size).mean()), 7) == uniform
    rows = [r for r in json.loads((shared / "expected/chunk_floors.json").read_text()) if r["corpus"] == corpus]
    assert len(rows) == 6
    for row in rows:
        assert (row["n_docs"], row["n_chunks"]) == (chunks.n_docs, chunks.n_chunks)
        value = float(floor(parse(row["measure"]), gold, chunks, weight).mean())
        assert abs(value - row["mean"]) <= 4 * row["se"], row
