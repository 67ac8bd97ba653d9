"""The four nulls against enumeration of everything that could be drawn, and the facts of SPEC 4."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference import (
    JUDGED,
    MEASURES,
    UNJUDGED,
    benches,
    enlist,
    gold,
    gold_set,
    in_single_file,
    judge,
    make_case,
    mean,
    null_a,
    null_b,
    null_c,
    null_d,
    permuted_scores,
    players,
    rbp,
)

from falsify_adapters.core import nulls, sampling
from falsify_adapters.core.case import Settings
from falsify_adapters.core.cross import CrossScores, cross_scores, gold_level, lowest_grade
from falsify_adapters.core.gate import examine, kernel_grade, own_values
from falsify_adapters.core.nulls import NullScores
from falsify_adapters.measures import Measure
from falsify_adapters.model import Pool

Bench = tuple[dict[str, dict[str, int]], dict[str, list[list[str]]]]


def crossed(measure: Measure, bench: Bench) -> tuple[CrossScores, nulls.GoldSets]:
    judgments, lists = judge(bench[0]), enlist(*bench)
    grade = kernel_grade(measure, judgments)
    own = own_values(measure, judgments, lists, grade)
    return cross_scores(measure, judgments, lists, grade, own), nulls.gold_sets(measure, judgments)


def dealt(measure: Measure, bench: Bench, name: str, n_draws: int = 20) -> NullScores:
    cross, sets = crossed(measure, bench)
    rng = np.random.default_rng(1)
    if name == "A":
        return nulls.dealt_gold(cross, sets, sampling.deal_queries(len(sets.rows), n_draws, rng), uniform_sets=False)
    draws = nulls.deal_sets(sets, n_draws, rng, uniform_sets=name == "B")
    return nulls.dealt_gold(cross, sets, draws, uniform_sets=name == "B")


def labelled(measure: Measure, bench: Bench, n_draws: int, seed: int = 0) -> NullScores:
    judgments, lists = judge(bench[0]), enlist(*bench)
    low, lowest = gold_level(measure), lowest_grade(measure)
    rng = np.random.default_rng(seed)
    drawn = sampling.label_draws(judgments, lists, low, n_draws, rng, keep_from=lowest if lowest < low else None)
    return nulls.drawn_labels(measure, judgments, lists, kernel_grade(measure, judgments), drawn, n_draws)


@settings(max_examples=50, deadline=None)
@given(benches())
def test_a_is_the_mean_over_all_lists_and_gold_sets(bench: Bench) -> None:
    for measure in MEASURES:
        found, expected = dealt(measure, bench, "A"), null_a(measure, *bench)
        np.testing.assert_allclose(found.per_query, list(expected.values()), rtol=0, atol=1e-13, err_msg=str(measure))
        assert found.mean == pytest.approx(mean(expected.values()), abs=1e-13)
        assert found.method == "exact"


@settings(max_examples=40, deadline=None)
@given(benches(most=6))
def test_a_is_the_mean_over_all_bijections(bench: Bench) -> None:
    for measure in (Measure("nDCG", 3), Measure("AP"), Measure("bpref"), Measure("RR", None, 2)):
        scores = permuted_scores(measure, *bench)
        found = dealt(measure, bench, "A")
        assert found.mean == pytest.approx(mean(scores), abs=1e-13)
        assert all(np.abs(np.array(scores) - drawn).min() < 1e-12 for drawn in found.draws)


@settings(max_examples=50, deadline=None)
@given(benches())
def test_b_counts_every_distinct_gold_set_once(bench: Bench) -> None:
    for measure in MEASURES:
        found, expected = dealt(measure, bench, "B"), null_b(measure, *bench)
        np.testing.assert_allclose(found.per_query, list(expected.values()), rtol=0, atol=1e-13, err_msg=str(measure))
        assert found.mean == pytest.approx(mean(expected.values()), abs=1e-13)


@settings(max_examples=50, deadline=None)
@given(benches())
def test_gold_sets_are_told_apart_by_documents_and_positive_grades(bench: Bench) -> None:
    for measure in (Measure("AP"), Measure("AP", None, 2), Measure("bpref")):
        found = nulls.gold_sets(measure, judge(bench[0]))
        some = players(measure, bench[0])
        assert [sorted(bench[0])[row] for row in found.rows] == some
        distinct = {gold_set(bench[0][q]) for q in some}
        assert found.n_sets == len(distinct)
        for a, first in zip(found.set_of, some, strict=True):
            for b, second in zip(found.set_of, some, strict=True):
                assert (a == b) == (gold_set(bench[0][first]) == gold_set(bench[0][second]))


def big_bench(seed: int, n: int = 40) -> Bench:
    rng = np.random.default_rng(seed)
    docs = [f"d{x:02d}" for x in range(25)]
    qrels, run = {}, {}
    for q in (f"q{x:02d}" for x in range(n)):
        chosen = rng.choice(docs, int(rng.integers(1, 5)), replace=False)
        qrels[q] = {str(d): int(rng.choice((-1, 0, 1, 1, 2, 3))) for d in chosen}
        run[q] = [[str(d)] for d in rng.permutation([*docs, *UNJUDGED])[: rng.integers(0, 20)]]
    for a, b in (("q01", "q02"), ("q05", "q02"), ("q06", "q07")):
        qrels[a] = qrels[b]
    return qrels, run


@pytest.mark.parametrize("name", ["A", "B", "D"])
def test_draws_of_gold_sets_have_the_mean_that_is_stated(name: str) -> None:
    for measure in (Measure("nDCG", 5), Measure("bpref"), Measure("AP", None, 2)):
        found = dealt(measure, big_bench(4), name, 4000)
        assert len(found.draws) == 4000
        assert abs(found.draws.mean() - found.mean) < 4 * found.draws.std() / np.sqrt(4000)


@pytest.mark.parametrize("name", ["A", "B"])
def test_draws_do_not_depend_on_how_s_is_held(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    full = dealt(Measure("nDCG", 5), big_bench(4), name, 200)
    monkeypatch.setattr(nulls, "DENSE", 10)
    np.testing.assert_allclose(dealt(Measure("nDCG", 5), big_bench(4), name, 200).draws, full.draws, rtol=0, atol=1e-15)


@settings(max_examples=50, deadline=None)
@given(benches())
def test_dealing_gives_a_gold_set_to_every_query_that_has_one(bench: Bench) -> None:
    sets = nulls.gold_sets(Measure("AP"), judge(bench[0]))
    for uniform in (True, False):
        found = nulls.deal_sets(sets, 7, np.random.default_rng(0), uniform_sets=uniform)
        assert found.shape == (len(sets.rows), 7)
        assert ((found >= 0) & (found < len(sets.rows))).all()


@settings(max_examples=40, deadline=None)
@given(benches())
def test_d_is_exact_for_single_gold_and_then_equals_a(bench: Bench) -> None:
    qrels, run = bench
    # One document graded 1 per query, or none; what else is judged stays.
    single = {}
    for q, judged in qrels.items():
        keep = next((d for d in sorted(judged) if judged[d] > 0), None)
        single[q] = {d: 1 if d == keep else min(g, 0) for d, g in judged.items()}
    for measure in (m for m in MEASURES if m.family != "bpref" and m.rel == 1):
        found, expected = labelled(measure, (single, run), 3), null_d(measure, single, run)
        np.testing.assert_allclose(found.per_query, list(expected.values()), rtol=0, atol=1e-13, err_msg=str(measure))
        assert found.se == 0
        assert found.mean == pytest.approx(mean(null_a(measure, single, run).values()), abs=1e-13)


def small_bench(seed: int) -> Bench:
    """Four queries with one to three gold documents of five, grades 1 to 3, judged non-relevant ones among them."""
    rng = np.random.default_rng(seed)
    qrels, run = {}, {}
    for n, q in enumerate("abcd"):
        chosen = [str(d) for d in rng.permutation(JUDGED[:5])]
        qrels[q] = {d: int(rng.integers(1, 4)) for d in chosen[: 1 + n % 3]} | {chosen[3]: 0, chosen[4]: -1}
        run[q] = [[str(d)] for d in rng.permutation(JUDGED[:5] + UNJUDGED)[: 4 + n]]
    qrels["e"], run["e"] = {"d1": 0}, [["d0"], ["d1"]]
    qrels["f"], run["f"] = {"d0": 1, "d1": 2}, []
    return qrels, run


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_d_equals_the_enumeration_of_successive_draws(measure: Measure) -> None:
    n_draws = 6000
    for seed in (0, 1):
        bench = small_bench(seed)
        found, expected = labelled(measure, bench, n_draws, seed), null_d(measure, *bench)
        truth = np.array(list(expected.values()))
        # Values lie in [0, 1]: their standard deviation is at most sqrt(m (1 - m)).
        error = np.sqrt(np.maximum(truth * (1 - truth), 0) / n_draws)
        assert (np.abs(found.per_query - truth) <= 4 * error + 1e-12).all(), (found.per_query, truth)
        assert found.method == ("simulated" if found.se > 0 else "exact")  # exact: no draw moves a simulated query
        assert abs(found.mean - truth.mean()) <= 4 * found.se + 1e-12
        # Queries with one gold document are exact: they move the draws, and not the stated mean or its error.
        drawn = found.draws.std(ddof=1) / n_draws**0.5
        assert found.se <= drawn + 1e-12
        assert abs(found.draws.mean() - truth.mean()) <= 4 * drawn
        single = [n for n, q in enumerate(sorted(bench[0])) if len(gold(measure, bench[0][q])) == 1]
        if measure.family != "bpref":
            np.testing.assert_allclose(found.per_query[single], truth[single], rtol=0, atol=1e-13)


def test_d_leaves_judged_non_relevant_documents_in_place() -> None:
    # Two queries, gold d0 and d1; d2 is judged non-relevant for both and heads the lists.
    qrels = {"a": {"d0": 1, "d2": 0}, "b": {"d1": 1, "d2": 0}}
    run = in_single_file({"a": ["d2", "d0"], "b": ["d2", "d1"]})
    found = labelled(Measure("bpref"), (qrels, run), 4000)
    # Any gold below d2 counts 1 - min(1, 1)/1 = 0, any gold that is not retrieved 0.
    assert found.per_query.tolist() == [0.0, 0.0]
    ahead = in_single_file({"a": ["d0", "d2"], "b": ["d0", "d2"]})
    found = labelled(Measure("bpref"), (qrels, ahead), 4000)
    np.testing.assert_allclose(found.per_query, 0.5, atol=4 * 0.5 / np.sqrt(4000))


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_c_draws_agree_with_the_closed_floor_and_with_enumeration(measure: Measure) -> None:
    qrels, run = small_bench(2)
    case, n_draws = make_case(measure, qrels, run, pool=8), 6000
    expected = np.array(list(null_c(measure, qrels, run, 8).values()))
    assert case.floor is not None
    np.testing.assert_allclose(case.floor, expected, rtol=0, atol=1e-12)
    per_query, per_draw = nulls.random_draws(
        measure, case.judgments, case.pool.size, case.lists.depth, None, case.grade, n_draws, np.random.default_rng(5)
    )
    error = np.sqrt(expected * (1 - expected) / n_draws)
    assert (np.abs(per_query - expected) <= 4 * error + 1e-12).all(), (per_query, expected)
    assert abs(per_draw.mean() - expected.mean()) <= 4 * per_draw.std() / np.sqrt(n_draws)
    assert per_draw.mean() == pytest.approx(per_query.mean(), abs=1e-12)


def test_c_leaves_out_gold_that_the_pool_does_not_hold() -> None:
    qrels, run = small_bench(3)
    inside = np.array([d != "d1" for q in sorted(qrels) for d in sorted(qrels[q])])
    pool = Pool(np.array([4, 5, 6, 7, 4, 6]), "file", True, inside)
    for measure in (Measure("nDCG", 3), Measure("AP"), Measure("RR"), Measure("bpref")):
        case = make_case(measure, qrels, run, pool)
        assert case.floor is not None
        per_query, _ = nulls.random_draws(
            measure, case.judgments, pool.size, case.lists.depth, inside, case.grade, 6000, np.random.default_rng(6)
        )
        error = np.sqrt(case.floor * (1 - case.floor) / 6000)
        assert (np.abs(per_query - case.floor) <= 4 * error + 1e-12).all()


# Facts of SPEC 4.


@settings(max_examples=40, deadline=None)
@given(benches(grades=st.sampled_from((0, 1, 1, 2, 3))), st.permutations(JUDGED + UNJUDGED), st.integers(1, 9))
def test_a_list_that_ignores_the_query_has_no_gap_to_a(bench: Bench, order: list[str], depth: int) -> None:
    qrels = bench[0]
    run = {q: [[d] for d in order[:depth]] for q in qrels}
    for measure in MEASURES:
        cross, _ = crossed(measure, (qrels, run))
        assert abs(cross.own.mean() - dealt(measure, (qrels, run), "A").mean) < 1e-12, measure


@settings(max_examples=40, deadline=None)
@given(benches())
def test_sets_drawn_by_frequency_have_the_expectation_of_a(bench: Bench) -> None:
    for measure in (Measure("nDCG", 3), Measure("bpref"), Measure("AP", None, 2)):
        np.testing.assert_array_equal(dealt(measure, bench, "D").per_query, dealt(measure, bench, "A").per_query)


@settings(max_examples=40, deadline=None)
@given(benches())
def test_b_has_the_expectation_of_a_where_no_gold_set_is_shared(bench: Bench) -> None:
    sets = [gold_set(judged) for judged in bench[0].values() if gold_set(judged)]
    assume(len(sets) == len(set(sets)))
    for measure in (Measure("nDCG", 3), Measure("bpref"), Measure("RR")):
        assert dealt(measure, bench, "B").mean == pytest.approx(dealt(measure, bench, "A").mean, abs=1e-13)


def test_b_alone_lets_the_popularity_cheat_through() -> None:
    # d0 is gold for 8 of 10 queries; the cheat answers d0 always. B sees three gold sets, one of them d0.
    qrels = {f"q{n}": {"d0": 1} for n in range(8)} | {"q8": {"d1": 1}, "q9": {"d2": 1}}
    case = make_case(Measure("RR", 1), qrels, in_single_file({q: ["d0"] for q in qrels}), pool=100)
    (found,) = examine([case], Settings(n_boot=50))
    assert found.nulls["A"].delta == 0
    assert found.nulls["D"].delta == pytest.approx(0, abs=1e-12)
    assert found.nulls["B"].delta == pytest.approx(0.8 - 1 / 3, abs=1e-12)
    assert found.verdict == "FAIL"


def test_random_orders_of_few_candidates_pass_every_label_null() -> None:
    """The gap to A of a random order of 8 candidates, 3 of them gold, is about its floor: only C sees through it."""
    rng = np.random.default_rng(8)
    qrels = {f"q{n:02d}": {f"q{n:02d}-{d}": 1 for d in range(3)} for n in range(40)}
    run = in_single_file({q: [f"{q}-{d}" for d in rng.permutation(8)] for q in qrels})
    (found,) = examine([make_case(Measure("nDCG", 10), qrels, run, candidates=True)], Settings(n_boot=100))
    # Another query's gold is never among the candidates: A holds nothing but its fixed points.
    assert found.nulls["A"].mean == pytest.approx(found.score / 40, abs=1e-12)
    assert found.nulls["A"].delta > 0.5
    assert found.nulls["A"].reach == pytest.approx(1 / 40, abs=1e-12)
    assert abs(found.nulls["C"].delta) < 0.1


# Draws depend on nothing else.


def results(
    measures: list[Measure], bench: Bench, null_d: str = "documents"
) -> dict[str, dict[str, tuple[float, ...]]]:
    cases = [make_case(m, *bench, pool=60) for m in measures]
    return {
        str(r.measure): {
            name: (null.mean, null.se, null.p, null.delta, *(null.ci or ()), *(null.ci95 or ()))
            for name, null in r.nulls.items()
        }
        for r in examine(cases, Settings(n_boot=60, null_d=null_d))
    }


@pytest.mark.parametrize("null_d", ["documents", "sets"])
def test_results_do_not_depend_on_what_else_is_computed(null_d: str) -> None:
    bench = big_bench(9)
    measures = [Measure("nDCG", 5), Measure("AP", None, 2), Measure("bpref"), rbp(0.8), Measure("ERR", 3)]
    together = results(measures, bench, null_d)
    assert results(measures[::-1], bench, null_d) == together
    for measure in measures:
        assert results([measure], bench, null_d) == {str(measure): together[str(measure)]}


def test_draws_of_a_query_do_not_depend_on_other_lists() -> None:
    qrels, run = big_bench(10)
    other = {q: groups if q == "q07" else groups[::-1][: len(groups) // 2] for q, groups in run.items()}
    for measure in (Measure("nDCG"), Measure("bpref"), Measure("AP", None, 2)):
        first, second = (labelled(measure, (qrels, r), 300) for r in (run, other))
        assert first.per_query[7] == second.per_query[7]
