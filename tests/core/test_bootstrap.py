"""Intervals against loops with the same random numbers, against closed forms, and in repeated sampling."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import (
    benches,
    cross,
    in_single_file,
    make_case,
    paired_null,
    players,
    resampled_gaps,
    weibull_quantile,
)
from scipy import stats

from falsify_adapters.core import bootstrap, nulls
from falsify_adapters.core.bootstrap import Resampled, Target, resample
from falsify_adapters.core.case import GateResult, Settings
from falsify_adapters.core.cross import CrossScores, cross_scores
from falsify_adapters.core.gate import examine
from falsify_adapters.measures import Measure
from falsify_adapters.model import Floats

NOTHING = np.zeros(0, np.int64)


def made_bench(n: int, seed: int, docs: int = 12) -> tuple[dict[str, dict[str, int]], dict[str, list[list[str]]]]:
    rng = np.random.default_rng(seed)
    names = [f"d{x:03d}" for x in range(docs)]
    qrels = {f"q{q:03d}": {str(d): int(rng.integers(1, 4)) for d in rng.choice(names, 2, False)} for q in range(n)}
    return qrels, in_single_file({q: rng.permutation(names)[:6].tolist() for q in qrels})


def target_of(measure: Measure, qrels: dict[str, dict[str, int]], run: dict[str, list[list[str]]]) -> Target:
    case = make_case(measure, qrels, run)
    s = cross_scores(measure, case.judgments, case.lists, case.grade, case.own)
    assert case.floor is not None
    fixed = {"C": case.floor, "Z": np.zeros(len(case.own))}
    return Target(case.own, float(case.ideal.max()), s, nulls.gold_sets(measure, case.judgments), fixed)


@pytest.mark.parametrize("dense", [2048, 0], ids=["dense", "sparse"])
def test_resampled_gaps_equal_the_loops(dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "MIN_DRAWS", 150)
    monkeypatch.setattr(bootstrap, "DENSE_CELLS", dense)
    monkeypatch.setattr(bootstrap, "DENSE_SHARE", 1.0)
    monkeypatch.setattr(bootstrap, "THREADS_FROM", dense)
    qrels, run = made_bench(7, 0)
    measures = [Measure("nDCG", 3), Measure("RR")]
    found = resample([target_of(m, qrels, run) for m in measures], 90, np.random.default_rng(5))
    for measure, gaps in zip(measures, found, strict=True):
        target, s = target_of(measure, qrels, run), cross(measure, qrels, run)
        own = [s[q, q] for q in sorted(qrels)]
        floor = target.fixed["C"].tolist()
        ways: dict[str, tuple[Callable[[list[float]], float], float | None, float]] = {
            "A": (paired_null(s, sorted(qrels)), None, 1 - 1 / 7),
            "C": (lambda v, floor=floor: sum(w * m for w, m in zip(v, floor, strict=True)), sum(floor) / 7, 1.0),
            "Z": (lambda _: 0.0, 0.0, 1.0),
        }
        assert set(gaps) == set(ways)
        for name, (null, held, scale) in ways.items():
            expected = resampled_gaps(own, target.top, null, held, scale, 90, 150, np.random.default_rng(5))
            np.testing.assert_allclose(gaps[name].even, expected.even, rtol=0, atol=1e-12)
            np.testing.assert_allclose(gaps[name].low, expected.low, rtol=0, atol=1e-12)
            np.testing.assert_allclose(gaps[name].high, expected.high, rtol=0, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(benches(), st.integers(0, 99))
def test_null_a_under_weights_never_pairs_a_query_with_itself(
    bench: tuple[dict[str, dict[str, int]], dict[str, list[list[str]]]], seed: int
) -> None:
    qrels, run = bench
    for measure in (Measure("nDCG", 3), Measure("AP", None, 2), Measure("bpref")):
        target, s = target_of(measure, qrels, run), cross(measure, qrels, run)
        names = sorted(qrels)
        some = [names[row] for row in target.gold.rows]
        e = np.random.default_rng(seed).standard_exponential((3, len(names)))
        pairing = bootstrap._Pairing(target)
        found = pairing.expectation(e, e.T, pairing.summed(e.T), e * e, e.sum(axis=1))
        for line, got in zip(e, found, strict=True):
            w = dict(zip(names, line.tolist(), strict=True))
            pairs = [(w[i] * w[j], s[i, j]) for i in some for j in some if i != j]
            share = sum(w[i] for i in some) / sum(w.values())
            expected = share * sum(p * x for p, x in pairs) / sum(p for p, _ in pairs) if pairs else 0.0
            assert got == pytest.approx(expected, abs=1e-12)


def test_at_equal_weights_the_scaled_gap_is_the_gap_to_all_permutations() -> None:
    target = target_of(Measure("nDCG"), *made_bench(9, 3))
    one = np.ones((1, 9))
    pairing = bootstrap._Pairing(target)
    gap = pairing.scale * (
        target.own.mean() - pairing.expectation(one, one.T, pairing.summed(one.T), one, one.sum(axis=1))[0]
    )
    assert gap == pytest.approx(target.own.mean() - target.cross.dense().mean(), abs=1e-14)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30), st.floats(0.001, 0.999))
def test_quantiles_are_weibull_s(values: list[float], q: float) -> None:
    assert bootstrap._quantile(np.array(values), q) == pytest.approx(weibull_quantile(values, q), abs=1e-12)


def of_binary(hits: int, n: int, n_boot: int) -> Resampled:
    own = np.r_[np.ones(hits), np.zeros(n - hits)]
    empty = CrossScores(n, NOTHING, NOTHING, np.zeros(0), own)
    sets = nulls.GoldSets(np.arange(n), np.arange(n), n)
    target = Target(own, 1.0, empty, sets, {"Z": np.zeros(n)})
    return resample([target], n_boot, np.random.default_rng(hits + 100 * n))[0]["Z"]


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (1, 10), (5, 10), (10, 10), (3, 28), (27, 28), (20, 200)])
def test_of_zeros_and_ones_the_intervals_are_jeffreys_and_clopper_pearson(hits: int, n: int) -> None:
    n_boot, level = 20_000, 1 - 0.05 / 4
    found = of_binary(hits, n, n_boot)

    def at(distribution: object, x: float, tail: float) -> None:
        reached = float(distribution.cdf(x))  # type: ignore[attr-defined]
        assert abs(reached - tail) < 4 * np.sqrt(tail * (1 - tail) / n_boot)

    low, high = found.ci95(hits / n)
    jeffreys = stats.beta(hits + 0.5, n - hits + 0.5)
    if hits:  # where nothing was hit, Jeffreys' lower end is above 0 and the point draws it in
        at(jeffreys, low, 0.025)
    else:
        assert low == 0
    if hits < n:
        at(jeffreys, high, 0.975)
    else:
        assert high == pytest.approx(1, abs=1e-15)
    low, high = found.ci(hits / n, level)
    tail = (1 - level) / 2
    if hits:
        at(stats.beta(hits, n - hits + 1), low, tail)
    else:
        assert low == 0
    if hits < n:
        at(stats.beta(hits + 1, n - hits), high, 1 - tail)
    else:
        assert high == pytest.approx(1, abs=1e-15)


def test_intervals_hold_the_point_and_grow_with_the_level() -> None:
    found = of_binary(3, 10, 500)
    for point in (-0.5, 0.3, 0.99):
        for low, high in (found.ci95(point), found.ci(point, 0.9), found.ci(point, 0.9875)):
            assert low <= point <= high
    narrow, wide = found.ci(0.3, 0.9), found.ci(0.3, 0.9875)
    assert wide[0] < narrow[0] < 0.3 < narrow[1] < wide[1]


def test_weights_depend_on_the_number_of_queries_alone() -> None:
    first, second = (target_of(Measure("RR"), *made_bench(8, seed)) for seed in (1, 2))
    alone = resample([second], 50, np.random.default_rng(0))[0]
    together = resample([first, second], 50, np.random.default_rng(0))[1]
    for name in ("A", "C"):
        np.testing.assert_array_equal(alone[name].low, together[name].low)
        np.testing.assert_array_equal(alone[name].even, together[name].even)


@settings(max_examples=25, deadline=None)
@given(benches(most=5).filter(lambda b: len(b[0]) == 5))
def test_no_interval_is_without_width_but_of_a_run_that_ignores_the_query(
    bench: tuple[dict[str, dict[str, int]], dict[str, list[list[str]]]],
) -> None:
    for measure in (Measure("nDCG", 3), Measure("Success", 2), Measure("bpref")):
        case = make_case(measure, *bench)
        (found,) = examine([case], Settings(n_boot=40))
        same = "query_independent" in {f.code for f in found.flags}
        dealt = len(players(measure, bench[0])) > 1
        for name, null in found.nulls.items():
            if name == "A" and same:
                assert null.delta == 0
                assert null.ci == null.ci95 == (0.0, 0.0)
            elif not case.ideal.max() or (name == "A" and not dealt):
                assert null.ci is None
                assert null.ci95 is None
                assert null.verdict == "under-ns"
            else:
                assert null.ci is not None
                assert null.ci95 is not None
                for low, high in (null.ci, null.ci95):
                    assert low <= null.delta <= high
                    assert low < high


# Repeated sampling. Benches are made at random and judged by the whole gate.


def random_benches(n: int, pool: int, gold: int, times: int, measure: Measure, seed: int) -> list[GateResult]:
    """Random retrievers: `gold` relevant documents of `pool` per query, a random list of 10."""
    rng = np.random.default_rng(seed)
    names = [f"d{x:03d}" for x in range(pool)]
    results = []
    for t in range(times):
        qrels = {f"q{q:03d}": {names[d]: 1 for d in rng.choice(pool, gold, False)} for q in range(n)}
        run = in_single_file({q: [names[d] for d in rng.permutation(pool)[:10]] for q in qrels})
        results += examine([make_case(measure, qrels, run, pool)], Settings(n_boot=40, seed=t))
    return results


def at_most(hits: int, times: int, rate: float) -> bool:
    """Whether so many hits are no surprise at this rate (binomial, level 0.001)."""
    return bool(stats.binom.sf(hits - 1, times, rate) > 1e-3)


@pytest.mark.parametrize(
    ("n", "pool", "gold", "measure", "times"),
    [
        (10, 20, 1, Measure("RR", 10), 120),
        (10, 100, 5, Measure("Success", 10), 120),
        (28, 218, 2, Measure("RR", 10), 80),
        (28, 40, 4, Measure("nDCG", 10), 80),
    ],
    ids=str,
)
def test_random_retrievers_hardly_ever_pass(n: int, pool: int, gold: int, measure: Measure, times: int) -> None:
    found = random_benches(n, pool, gold, times, measure, seed=n + pool)
    assert at_most(sum(r.verdict == "PASS" for r in found), times, 0.01)
    # The point rule alone passes them: what keeps them out is the interval.
    assert any(min(null.delta for null in r.nulls.values()) >= 0.05 for r in found)


def test_one_null_alone_passes_at_most_at_its_level() -> None:
    """Null C against random retrieval: nothing but its own interval stands between it and a false pass."""
    rng, passed, times = np.random.default_rng(11), 0, 4000
    for n, p in ((10, 0.1), (10, 0.5), (28, 0.05), (28, 0.3)):
        by_hits: dict[int, bool] = {}
        for hits in rng.binomial(n, p, times // 4).tolist():
            if hits not in by_hits:
                low, _ = of_binary(hits, n, 40).ci(hits / n, 1 - 0.05 / 4)
                by_hits[hits] = low > p and hits / n - p >= 0.05
            passed += by_hits[hits]
    assert at_most(passed, times, 0.00625)


def test_the_popularity_cheat_never_passes() -> None:
    rng = np.random.default_rng(4)
    for t in range(25):
        weight = 1 / np.arange(1, 61)
        names = [f"d{x:03d}" for x in range(60)]
        qrels = {f"q{q:02d}": {names[d]: 1 for d in rng.choice(60, 3, False, weight / weight.sum())} for q in range(28)}
        for measure in (Measure("RR", 10), Measure("nDCG", 10)):
            case = make_case(measure, qrels, in_single_file({q: names[:10] for q in qrels}), 500)
            (found,) = examine([case], Settings(n_boot=40, seed=t))
            assert found.nulls["A"].ci == found.nulls["A"].ci95 == (0.0, 0.0)
            assert found.nulls["A"].verdict == "fail"
            assert found.verdict == "FAIL"
        # The same cheat in a random order for each query: no list is like another, none knows its query.
        run = in_single_file({q: rng.permutation(names[:10]).tolist() for q in qrels})
        (found,) = examine([make_case(Measure("RR", 10), qrels, run, 500)], Settings(n_boot=40, seed=t))
        assert found.verdict != "PASS"


@pytest.mark.parametrize(("n", "strength"), [(10, 0.3), (28, 0.3), (28, 0.9), (50, 0.05)])
def test_ci95_covers(n: int, strength: float) -> None:
    """Reciprocal ranks of systems from weak to strong: the true mean lies inside nearly as often as stated."""
    rng = np.random.default_rng(n)
    values = np.r_[1 / np.arange(1.0, 11.0), 0.0]
    chance = strength * np.r_[0.5 ** np.arange(1, 11), 0.0]
    chance[-1] = 1 - chance.sum()
    truth, inside, times = float(values @ chance), 0, 300
    sets = nulls.GoldSets(np.arange(n), np.arange(n), n)
    targets = []
    for _ in range(times):
        own: Floats = rng.choice(values, n, p=chance)
        targets.append(Target(own, 1.0, CrossScores(n, NOTHING, NOTHING, np.zeros(0), own), sets, {"Z": np.zeros(n)}))
    for target, gaps in zip(targets, resample(targets, 1000, rng), strict=True):
        low, high = gaps["Z"].ci95(float(target.own.mean()))
        inside += low <= truth <= high
    assert stats.binom.cdf(inside, times, 0.94) > 1e-3


def test_resampling_a_large_bench_is_quick() -> None:
    n = 5000
    rng = np.random.default_rng(0)
    i, j = np.divmod(np.unique(rng.integers(0, n * n, 200_000)), n)
    own = rng.random(n)
    s = CrossScores(n, i, j, rng.random(len(i)), own)
    target = Target(own, 1.0, s, nulls.GoldSets(np.arange(n), np.arange(n), n), {"C": np.zeros(n)})
    start = time.perf_counter()
    (gaps,) = resample([target], 100, rng)
    assert time.perf_counter() - start < 20
    assert np.isfinite(gaps["A"].low).all()
