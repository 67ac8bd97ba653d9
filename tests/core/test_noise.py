"""The noise floor checks: laws against enumeration, the benchmark of 28 queries, level and power by simulation."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import random_rankings, score
from scipy.stats import binom, hypergeom, norm

from falsify_adapters.core.floors import expectation, variance
from falsify_adapters.core.lattice import Law, mean_law
from falsify_adapters.core.noise import Check1, check1, check2, null_distribution, overlap
from falsify_adapters.errors import FalsifyError, InputError, MeasureError, OptionError
from falsify_adapters.measures import Measure, parse
from falsify_adapters.model import Judgments

RR10 = parse("RR@10")
GOLD_28 = [1] * 21 + [2, 2, 2, 3, 3, 3, 3]
FILES, CHUNKS = 218, 1052
UNITS = {"chunks": CHUNKS, "files": FILES}


def judge(grades: Sequence[Sequence[int]]) -> Judgments:
    """Judgments of queries that share no document."""
    start = np.cumsum([0, *map(len, grades)]).astype(np.int64)
    n = int(start[-1])
    names = tuple(f"q{i:06d}" for i in range(len(grades)))
    flat = np.array([g for gs in grades for g in gs], dtype=np.int32)
    return Judgments(names, n, start, np.arange(n, dtype=np.int32), flat)


def binary(gold: Sequence[int]) -> Judgments:
    return judge([[1] * g for g in gold])


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def check(measured: float, n: int, seeds: int, gold: Sequence[int] = GOLD_28, m: Measure = RR10, **more) -> Check1:
    size = np.full(len(gold), n)
    return check1(m, binary(gold), size, size, None, measured, seeds, rng(), **more)


# Laws


ATOMS = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 5)), min_size=1, max_size=4)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(ATOMS, st.integers(1, 3)), min_size=1, max_size=3), st.integers(1, 2), st.integers(0, 2))
def test_mean_law_is_the_convolution(parts: list, repeats: int, zeros: int) -> None:
    total, laws = {0: Fraction(1)}, []
    for atoms, count in parts:
        weight = sum(w for _, w in atoms)
        value, chance = np.array([v for v, _ in atoms]) / 12, np.array([w for _, w in atoms]) / weight
        laws.append((Law(value, chance, 12), count))
        for _ in range(count * repeats):
            grown: dict[int, Fraction] = defaultdict(Fraction)
            for (a, p), (v, w) in itertools.product(total.items(), atoms):
                grown[a + v] += p * Fraction(w, weight)
            total = grown
    size = sum(c for _, c in parts) + zeros
    law = mean_law(laws, size=size, repeats=repeats)
    n = size * repeats
    assert law.method == "exact"
    assert law.mean == pytest.approx(float(sum(a * p for a, p in total.items())) / 12 / n, abs=1e-14)
    for at in range(max(total) + 2):
        assert law.cdf(at / 12 / n) == pytest.approx(float(sum(p for a, p in total.items() if a <= at)), abs=1e-12)
        assert law.sf(at / 12 / n) == pytest.approx(float(sum(p for a, p in total.items() if a >= at)), abs=1e-12)
    for tail in (math.exp(-1), math.exp(-5)):  # no fractions: round-off would decide a tie
        rare = [a for a in sorted(total) if sum(p for b, p in total.items() if b >= a) <= tail]
        limit = law.exceeded_by(tail)
        if rare:
            assert limit is not None
            assert law.sf(limit) <= tail
            assert limit * 12 * n <= rare[0] + 1e-9
        else:
            assert limit is None or limit * 12 * n > max(total) + 0.5


SMALL = [
    "RR@3",
    "RR",
    "Success@2",
    "P@3",
    "R@2",
    "Rprec",
    "AP",
    "AP@2",
    "nDCG@3",
    "nDCG",
    "RBP(p=0.7)",
    "ERR@3",
    "bpref",
]


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize(("pool", "outside", "depth"), [((1, 2, 0, None, None), (1,), 4), ((2, 0, None, None), (), 4)])
def test_one_query_against_every_ranking(name: str, pool: tuple, outside: tuple, depth: int) -> None:
    measure = parse(name)
    judged = [*(g for g in pool if g is not None), *outside]
    every = [(score(measure, r, judged), float(p)) for r, p in random_rankings(Counter(pool), depth)]
    inside = np.array([True] * (len(judged) - len(outside)) + [False] * len(outside))
    law = null_distribution(measure, judge([judged]), np.array([len(pool)]), np.array([depth]), inside, 1, rng())
    mean = math.fsum(v * p for v, p in every)
    assert law.mean == pytest.approx(mean, abs=1e-12)
    assert law.sd == pytest.approx(math.sqrt(math.fsum((v - mean) ** 2 * p for v, p in every)), abs=2e-3)
    within = 1e-12 if law.method == "exact" else 2e-3 if law.method == "grid" else 1.5e-2
    for value in {v for v, _ in every}:
        assert law.cdf(value) == pytest.approx(math.fsum(p for v, p in every if v <= value + 1e-9), abs=within)
        assert law.sf(value) == pytest.approx(math.fsum(p for v, p in every if v >= value - 1e-9), abs=within)


@pytest.mark.parametrize(
    "name", ["RR@10", "RR@40", "RR", "P@5", "R@20", "Rprec", "AP", "nDCG@10", "RBP(p=0.8)", "AP@100"]
)
def test_mean_and_spread_are_those_of_the_floor(name: str) -> None:
    measure = parse(name)
    judgments = judge([[1, 2, 0], [1], [2, 2, 1, 1, 0, 0], [0], [1] * 12])
    size, depth = np.array([50, 40_000, 300, 10, 300]), np.array([50, 40_000, 100, 10, 300])
    law = null_distribution(measure, judgments, size, depth, None, 3, rng())
    spread = variance(measure, judgments, size, depth)
    assert spread is not None
    assert law.mean == pytest.approx(expectation(measure, judgments, size, depth).mean(), rel=1e-6)
    assert law.sd == pytest.approx(math.sqrt(spread.sum() / 3) / 5, rel=1e-5)


@pytest.mark.parametrize("name", ["AP", "nDCG@10", "ERR@20", "bpref", "R@10", "RR"])
def test_drawn_and_gridded_laws_against_simulation(name: str) -> None:
    measure, q, n, seeds, tries = parse(name), 6, 40, 2, 4000
    grades = [[1, 0], [1, 2, 0, 0], [1] * 5, [2, 1, 1], [1], [1, 0, 0, 1, 2]]
    law = null_distribution(measure, judge(grades), np.full(q, n), np.full(q, 30), None, seeds, rng())
    draw, means = rng(5), np.zeros(tries)
    for own in grades:
        pool = np.array([*own, *[-9] * (n - len(own))])
        for _ in range(seeds):
            lists = draw.permuted(np.tile(pool, (tries, 1)), axis=1)[:, :30]
            means += [score(measure, [None if g == -9 else int(g) for g in line], own) for line in lists]
    means = np.sort(means / (q * seeds))
    at = means[:: tries // 50]
    seen = np.searchsorted(means, at + 1e-9, side="right") / tries
    assert np.abs(np.array([law.cdf(x) for x in at]) - seen).max() < 1.95 / math.sqrt(tries)  # Kolmogorov, 0.1 %


def test_the_generator_decides_and_the_order_of_queries_does_not() -> None:
    grades = [[1, 2], [1] * 4, [2], [1, 2, 2]]
    size = np.array([30, 40, 50, 30])
    forward = null_distribution(parse("AP"), judge(grades), size, size, None, 2, rng(3))
    backward = null_distribution(parse("AP"), judge(grades[::-1]), size[::-1], size[::-1], None, 2, rng(3))
    np.testing.assert_array_equal(forward.at_most, backward.at_most)
    other = null_distribution(parse("AP"), judge(grades), size, size, None, 2, rng(4))
    assert (forward.at_most.shape != other.at_most.shape) or (forward.at_most != other.at_most).any()


# The benchmark of 28 queries


def test_units_bug_is_convicted_over_twenty_seeds() -> None:
    found = check(0.02246, CHUNKS, 20, candidates=UNITS)
    assert found.expected == pytest.approx(0.003871, abs=5e-7)
    assert found.ratio == pytest.approx(5.80, abs=0.005)
    assert found.verdict == "above"
    assert found.p == pytest.approx(1.36e-9, rel=0.01)
    assert found.implied_n is not None
    assert round(found.implied_n) == 180
    assert [(c.unit, c.fits) for c in found.candidates] == [("chunks", False), ("files", True)]
    assert found.implied_n_ci == (113, 323)
    assert found.ci is not None
    assert 1.0 < found.ci[0] < found.ratio < found.ci[1]


def test_right_unit_passes() -> None:
    found = check(0.02246, FILES, 20, candidates=UNITS)
    assert found.expected == pytest.approx(0.018555, abs=5e-7)
    assert found.ratio == pytest.approx(1.21, abs=0.005)
    assert (found.verdict, found.implied_n_ci) == ("pass", (113, 323))
    lower = check(0.0153, FILES, 20)
    assert lower.ratio == pytest.approx(0.82, abs=0.005)
    assert lower.verdict == "pass"


def test_one_seed_does_not_convict() -> None:
    found = check(0.02246, CHUNKS, 1)
    law = null_distribution(RR10, binary(GOLD_28), np.full(28, CHUNKS), np.full(28, CHUNKS), None, 1, rng())
    assert law.sf(0.02246) == pytest.approx(0.044, abs=5e-5)  # upper tail; the normal one says 0.0145
    assert norm.sf((0.02246 - law.mean) / law.sd) == pytest.approx(0.0145, abs=6e-5)
    assert found.p == pytest.approx(0.088, abs=5e-5)
    assert found.verdict == "pass"
    assert found.detectable_ratio == pytest.approx(22.6, abs=0.05)


def test_spread_of_noise_runs() -> None:
    size = np.full(28, FILES)
    for seeds, sd in ((1, 0.018), (20, 0.004)):
        assert null_distribution(RR10, binary(GOLD_28), size, size, None, seeds, rng()).sd == pytest.approx(
            sd, abs=5e-4
        )


@pytest.mark.parametrize(("seeds", "ratio"), [(1, 5.35), (5, 2.60), (20, 1.75), (50, 1.45)])
def test_noticed_in_8_of_10_tries(seeds: int, ratio: float) -> None:
    # The table of the specification: level 0.05, on a grid of 0.05.
    found = check(0.02, FILES, seeds, alpha=0.05, power=0.8).detectable_ratio
    assert found is not None
    assert ratio - 0.05 < found <= ratio


def test_every_whole_pool_of_the_interval_and_no_other() -> None:
    found = check(0.02246, FILES, 20)
    size = np.arange(100, 340)
    fits = [
        c.n
        for c in check(
            0.02246, FILES, 20, candidates={str(n): int(n) for n in (112, 113, 114, 322, 323, 324)}
        ).candidates
        if c.fits
    ]
    assert fits == [113, 114, 322, 323]
    assert found.implied_n_ci == (113, 323)
    mean = [expectation(RR10, binary(GOLD_28), np.full(28, n), np.full(28, n)).mean() for n in size]
    assert found.implied_n == pytest.approx(np.interp(-0.02246, -np.array(mean), size), abs=1e-6)


def test_eight_documents_of_which_five_are_gold() -> None:
    found = check(0.79, 8, 20, gold=[5] * 20)
    assert found.expected == pytest.approx(0.793, abs=5e-4)
    assert found.verdict == "pass"
    assert found.implied_n_ci == (8, 8)
    room = check2(None, 0.79, found.expected, 1.0)
    assert (room.verdict, room.assumed, room.score) == ("fail", True, 1.0)
    assert room.headroom == pytest.approx(0.207, abs=5e-4)


def test_check2_signals() -> None:
    found = check2(0.358, 0.0153, 0.018555, 1.0)
    assert found.signal == pytest.approx(23.4, abs=0.05)
    assert found.signal_over_floor == pytest.approx(19.3, abs=0.05)
    assert found.chance_corrected == pytest.approx((0.358 - 0.018555) / (1 - 0.018555))
    assert found.verdict == "pass"
    assert check2(0.03, None, 0.02, 1.0).verdict == "fail"
    assert check2(0.03, None, 0.02, 1.0, min_signal=1.5).verdict == "pass"
    assert check2(0.3, None, 0.02, 0.5).verdict == "fail"
    silent = check2(0.3, 0.0, 0.02, 1.0)
    assert (silent.signal, silent.verdict) == (None, "pass")
    assert check2(0.0, 0.0, 0.02, 1.0).verdict == "fail"
    assert check2(1.0, None, 1.0, 1.0).chance_corrected is None


# Edges of Check 1


def test_nothing_measured_has_no_largest_pool() -> None:
    found = check(0.0, FILES, 20)
    assert found.verdict == "below"
    assert found.implied_n is None
    assert found.implied_n_ci is not None
    assert found.implied_n_ci[0] > FILES
    assert found.implied_n_ci[1] is None
    assert found.ci is not None
    assert found.ci[0] == 0.0


def test_more_than_any_pool_gives() -> None:
    found = check(0.9, 20, 20, gold=[1, 2, 3] * 5)
    assert found.verdict == "above"
    assert found.implied_n_ci is None
    assert found.implied_n is None


def test_p_is_never_nought_nor_above_one() -> None:
    assert check(0.9, CHUNKS, 20).p == pytest.approx(2e-12)
    assert check(1.0, 8, 20, gold=[8] * 5).p == 1.0


def test_constant_measures_have_no_pool_to_tell() -> None:
    found = check(1.0, 50, 3, m=parse("R"))
    assert (found.p, found.verdict, found.implied_n, found.implied_n_ci, found.ci) == (1.0, "pass", None, None, None)
    assert found.detectable_ratio is None
    assert check(0.9, 50, 3, m=parse("R")).verdict == "below"


def test_ratio_beyond_the_ceiling_is_not_detectable() -> None:
    assert check(0.79, 8, 1, gold=[5] * 3).detectable_ratio is None
    assert check(0.02, FILES, 1, ceiling=0.05).detectable_ratio is None


def test_typed_digits() -> None:
    one = parse("Success@1")
    assert check(0.0357, 28, 1, gold=[1] * 28, m=one, rounding=5e-5).p == 1.0
    law = null_distribution(one, binary([1] * 28), np.full(28, 28), np.full(28, 28), None, 1, rng())
    assert check(0.0357, 28, 1, gold=[1] * 28, m=one).p == pytest.approx(2 * law.cdf(0.0))


def test_pools_of_their_own_have_no_single_n() -> None:
    size = np.array([100, 200, 300] * 8)
    found = check1(RR10, binary([1] * 24), size, size, None, 0.02, 20, rng(), candidates={"small": 50, "mid": 200})
    assert (found.implied_n, found.implied_n_ci) == (None, None)
    assert [c.fits for c in found.candidates] == [False, True]
    assert found.ci is not None
    assert found.detectable_ratio is not None


def test_queries_without_gold_count_as_nought() -> None:
    judgments = judge([[1], [0], [1, 0], []])
    size = np.full(4, 30)
    law = null_distribution(RR10, judgments, size, size, None, 1, rng())
    assert law.mean == pytest.approx(expectation(RR10, judgments, size, size).mean())


@pytest.mark.parametrize(
    ("make", "kind", "says"),
    [
        (lambda: check(-0.1, FILES, 1), OptionError, "measured noise is -0.1"),
        (lambda: check(1.1, FILES, 1), OptionError, "0 to 1"),
        (lambda: check(math.nan, FILES, 1), OptionError, "nan"),
        (lambda: check(0.1, FILES, 0), OptionError, "0 noise runs"),
        (lambda: check(0.1, FILES, 1, alpha=0.0), OptionError, "alpha"),
        (lambda: check(0.1, FILES, 1, power=1.0), OptionError, "power"),
        (lambda: check(0.1, FILES, 1, candidates={"files": 0}), OptionError, "files=0"),
        (lambda: check(0.1, 0, 1), OptionError, "holds 0 documents"),
        (lambda: check(0.1, 2, 1), InputError, "3 judged documents in a pool of 2"),
        (lambda: check(0.1, 5, 1, gold=[0, 0]), InputError, "no query has gold"),
        (lambda: check(0.1, 5, 1, m=Measure("IPrec")), MeasureError, "no formula"),
        (lambda: check2(math.nan, None, 0.1, 1.0), OptionError, "score is nan"),
        (lambda: check2(0.5, -1.0, 0.1, 1.0), OptionError, "measured noise"),
        (lambda: check2(0.5, None, 0.1, 1.0, min_signal=-1.0), OptionError, "least signal"),
        (lambda: check2(0.5, None, 0.1, 1.0, min_headroom=2.0), OptionError, "least headroom"),
    ],
)
def test_errors(make: Callable[[], object], kind: type[FalsifyError], says: str) -> None:
    with pytest.raises(kind, match=says):
        make()


# Level and power


def noise_scores(measure: Measure, gold: Sequence[int], n: float, runs: int, draw: np.random.Generator) -> np.ndarray:
    """(runs,) mean scores of random rankings of all n documents, written without the package: gold ranks by rejection.

    Between whole numbers the larger pool has the chance that the fraction says; a pool holds the gold at least."""
    total = np.zeros(runs)
    for g in sorted(set(gold)):
        rows = runs * list(gold).count(g)
        pool = np.maximum(math.floor(n) + (draw.random(rows) < n - math.floor(n)), g)
        rank = np.empty((rows, g), np.int64)
        todo = np.arange(rows)
        while len(todo):
            rank[todo] = np.sort(draw.integers(1, pool[todo, None] + 1, (len(todo), g)), axis=1)
            todo = todo[(np.diff(rank[todo], axis=1) == 0).any(axis=1)]
        k = measure.cutoff or int(n) + 1
        hit = rank <= k
        if measure.family == "RR":
            value = np.where(hit[:, 0], 1.0 / rank[:, 0], 0.0)
        elif measure.family == "Success":
            value = hit[:, 0].astype(float)
        elif measure.family in ("P", "R"):
            value = hit.sum(axis=1) / (k if measure.family == "P" else g)
        elif measure.family == "AP":
            value = (hit * np.arange(1, g + 1) / rank).sum(axis=1) / g
        else:
            ideal = (1 / np.log2(np.arange(2, min(g, k) + 2))).sum()
            value = (hit / np.log2(rank + 1)).sum(axis=1) / ideal
        total += value.reshape(runs, -1).sum(axis=1)
    return total / len(gold)


def honest_case(draw: np.random.Generator, most: int = 100) -> float:
    """The two-sided p of an honest noise benchmark, of any kind."""
    measure = parse(str(draw.choice(["RR@10", "RR@10", "Success@5", "P@10", "R@10", "nDCG@10", "AP@20"])))
    n = int(np.exp(draw.uniform(np.log(8), np.log(5000))))
    high = int(draw.integers(1, min(n, 6)))
    gold = draw.integers(1, high + 1, int(draw.integers(10, most))).tolist()
    seeds = int(draw.integers(1, 21))
    measured = noise_scores(measure, gold, n, seeds, draw).mean()
    size = np.full(len(gold), n)
    law = null_distribution(measure, binary(gold), size, size, None, seeds, draw)
    return min(1.0, 2 * min(law.cdf(measured), law.sf(measured)))


def test_level_on_honest_noise() -> None:
    draw = rng(20)
    p = np.array([honest_case(draw) for _ in range(300)])
    assert (p <= 0.01).sum() <= binom.ppf(0.999, 300, 0.01)
    assert (p <= 0.1).sum() <= binom.ppf(0.999, 300, 0.1)
    assert (p <= 0.1).sum() >= binom.ppf(0.001, 300, 0.04)  # discrete laws are careful, not deaf


@pytest.mark.parametrize(
    ("name", "n", "seeds"), [("RR@10", 218, 1), ("RR@10", 1052, 20), ("AP", 40, 1), ("P@10", 500, 5)]
)
def test_planted_factor_is_found(name: str, n: int, seeds: int) -> None:
    measure, gold, tries = parse(name), GOLD_28, 400
    found = check(0.02, n, seeds, m=measure)
    assert found.detectable_ratio is not None

    def mean(pool: int) -> float:
        size = np.maximum(pool, gold)
        return float(expectation(measure, binary(gold), size, size).mean())

    pools = np.arange(1, n + 1)
    planted = np.interp(-found.detectable_ratio * found.expected, [-mean(int(p)) for p in pools], pools)
    draw = rng(9)
    scores = noise_scores(measure, gold, float(planted), seeds * tries, draw).reshape(tries, seeds).mean(axis=1)
    assert scores.mean() == pytest.approx(found.detectable_ratio * found.expected, rel=0.1)
    size = np.full(28, n)
    law = null_distribution(measure, binary(gold), size, size, None, seeds, rng())
    noticed = np.mean([2 * law.sf(x) <= 0.01 for x in scores])
    assert 0.85 <= noticed <= 0.96


# Overlap


def test_overlap_against_every_pair_of_lists() -> None:
    k, n = (2, 3), (4, 5)
    counts: Counter[int] = Counter()
    for one, two in itertools.product(*(itertools.combinations(range(m), c) for m, c in zip(n, k, strict=True))):
        for other, more in itertools.product(*(itertools.combinations(range(m), c) for m, c in zip(n, k, strict=True))):
            counts[len({*one} & {*other}) + len({*two} & {*more})] += 1
    a = np.array([[0, 1, -1], [0, 1, 2]])
    b = np.array([[1, 3, -1], [2, 1, 4]])
    found = overlap(a, b, np.array(n), 10)
    assert found.observed == pytest.approx(3 / 5)
    assert found.p == pytest.approx(sum(c for s, c in counts.items() if s >= 3) / counts.total())
    assert found.expected == pytest.approx(sum(s * c for s, c in counts.items()) / counts.total() / 5)


def test_overlap_of_the_same_lists_and_of_others() -> None:
    draw = rng(2)
    a, b = (np.argsort(draw.random((28, FILES)), axis=1) for _ in range(2))
    size = np.full(28, FILES)
    assert overlap(a, b, size, 10).verdict == "pass"
    same = overlap(a, a, size, 10)
    assert (same.observed, same.verdict) == (1.0, "above")
    assert same.p == 1e-12
    half = np.where(np.arange(FILES) < 2, a, b + FILES)  # two of ten in common, everywhere
    found = overlap(a, half, np.full(28, 2 * FILES), 10)
    assert found.observed == pytest.approx(0.2)
    assert found.verdict == "above"
    single = overlap(a[:1], b[:1], size[:1], 100)
    shared = len({*a[0, :100].tolist()} & {*b[0, :100].tolist()})
    assert single.p == pytest.approx(hypergeom.sf(shared - 1, FILES, 100, 100))


def test_overlap_that_cannot_be_less_passes() -> None:
    a = np.tile(np.arange(8), (5, 1))
    found = overlap(a, a[:, ::-1], np.full(5, 8), 10)
    assert (found.observed, found.expected, found.verdict) == (1.0, 1.0, "pass")
    assert found.p == pytest.approx(1.0)


def test_overlap_errors() -> None:
    a = np.array([[0, 1, 2]])
    with pytest.raises(InputError, match="list of 3 documents from a pool of 2"):
        overlap(a, a, np.array([2]), 10)
    with pytest.raises(OptionError, match="k is 0"):
        overlap(a, a, np.array([5]), 0)
    with pytest.raises(InputError, match="no query has documents in both"):
        overlap(a, np.full((1, 3), -1), np.array([5]), 3)
    with pytest.raises(InputError, match="pools"):
        overlap(a, a, np.array([5, 5]), 3)
