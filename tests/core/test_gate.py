"""The whole gate: what a case is judged to be, against the slow reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import (
    JUDGED,
    MEASURES,
    UNJUDGED,
    benches,
    in_single_file,
    make_case,
    mean,
    null_a,
    null_b,
    null_c,
    null_d,
    popularity,
    ranking,
    reach,
    spread,
    tie_span,
    value,
)

from falsify_adapters.core.case import GateResult, Settings
from falsify_adapters.core.cross import CrossScores
from falsify_adapters.core.gate import examine
from falsify_adapters.core.kernels import Hits
from falsify_adapters.core.nulls import NullScores
from falsify_adapters.measures import Measure
from falsify_adapters.model import Floats, Ints

Bench = tuple[dict[str, dict[str, int]], dict[str, list[list[str]]]]
QUICK = Settings(n_boot=60)


def judged(measure: Measure, bench: Bench, pool: int | None = None, given: Settings = QUICK) -> GateResult:
    (found,) = examine([make_case(measure, *bench, pool)], given)
    return found


@settings(max_examples=15, deadline=None)
@given(benches(most=4))
def test_the_numbers_of_a_small_case(bench: Bench) -> None:
    qrels, run = bench
    for measure in MEASURES[::2]:
        found = judged(measure, bench, 9)
        assert found.score == pytest.approx(mean(value(measure, ranking(run[q]), qrels[q]) for q in qrels), abs=1e-13)
        expected = {"A": null_a(measure, *bench), "B": null_b(measure, *bench), "C": null_c(measure, *bench, 9)}
        for name, per_query in expected.items():
            null = found.nulls[name]
            np.testing.assert_allclose(null.per_query, [per_query[q] for q in sorted(qrels)], rtol=0, atol=1e-12)
            assert null.mean == pytest.approx(mean(per_query.values()), abs=1e-12)
            assert null.delta == pytest.approx(found.score - null.mean, abs=1e-12)
            assert (null.se, null.method) == (0, "exact")
        assert found.floor == pytest.approx(found.nulls["C"].mean, abs=1e-15)
        assert found.popularity == pytest.approx(mean(popularity(measure, *bench).values()), abs=1e-13)
        assert list(found.nulls) == ["A", "B", "C", "D"]
        # Under five queries nothing is decided but what is certain without an interval.
        assert found.verdict in ("UNDER-NS", "FAIL")
        certain = {"nothing_judged", "query_independent", "no_signal_in_ties"} & {f.code for f in found.flags}
        assert found.verdict == "UNDER-NS" or certain
        assert found.queries_needed is None


@settings(max_examples=15, deadline=None)
@given(benches(most=3, longest=5))
def test_tie_span_and_tied_queries(bench: Bench) -> None:
    for measure in (Measure("nDCG", 3), Measure("RR"), Measure("bpref")):
        found, (low, high) = judged(measure, bench, 9), tie_span(measure, *bench)
        assert found.tie_span == (pytest.approx(low, abs=1e-12), pytest.approx(high, abs=1e-12))
        assert found.tie_span[0] <= found.score <= found.tie_span[1]
        k, tied = measure.cutoff or 99, 0
        for groups in bench[1].values():
            place = 1
            for group in groups:
                tied += len(group) > 1 and place <= k
                if len(group) > 1:
                    break
                place += len(group)
        assert found.tied_queries == tied


@settings(max_examples=20, deadline=None)
@given(benches(most=4))
def test_judged_at_k(bench: Bench) -> None:
    qrels, run = bench
    shares = []
    for q in qrels:
        docs = ranking(run[q])[:3]
        if docs:
            shares.append(sum(d in qrels[q] for d in docs) / len(docs))
    assert judged(Measure("nDCG", 3), bench).judged_at_k == pytest.approx(mean(shares) if shares else 0, abs=1e-12)


@settings(max_examples=12, deadline=None)
@given(benches(most=3, longest=4))
def test_reach_bounds_every_order_of_the_candidates(bench: Bench) -> None:
    for measure in MEASURES:
        (found,) = examine([make_case(measure, *bench, candidates=True)], Settings(n_boot=400))
        for name, null in (("A", null_a), ("B", null_b)):
            assert found.nulls[name].reach >= reach(measure, *bench, null) - 1e-12, (measure, name)
        slack = 4 * 0.5 / np.sqrt(400)
        assert found.nulls["D"].reach >= reach(measure, *bench, null_d) - slack
        assert found.nulls["C"].reach == pytest.approx(found.ceiling)


def test_reach_is_that_of_the_dealt_gold_sets_alone() -> None:
    """Both candidates of a are b's gold; the list of c, which has no gold, takes no part."""
    qrels = {"a": {"d0": 1}, "b": {"d1": 1, "d2": 1}, "c": {"d3": 0}}
    run = in_single_file({"a": ["d1", "d2"], "b": ["x0"], "c": ["d0", "d1"]})
    (found,) = examine([make_case(Measure("P", 2), qrels, run, candidates=True)], QUICK)
    assert found.nulls["A"].reach == found.nulls["B"].reach == pytest.approx(1.0 / 2 / 3)


def test_reach_under_whole_sets_is_the_same_for_a_and_d() -> None:
    rng = np.random.default_rng(0)
    qrels = {f"q{n}": {str(d): 1 for d in rng.choice(JUDGED, 2, False)} for n in range(6)}
    run = in_single_file({q: rng.permutation(JUDGED)[:4].tolist() for q in qrels})
    case = make_case(Measure("nDCG", 3), qrels, run, candidates=True)
    (found,) = examine([case], Settings(n_boot=60, null_d="sets"))
    assert found.nulls["D"].reach == found.nulls["A"].reach
    assert found.nulls["D"].mean == found.nulls["A"].mean
    assert found.nulls["D"].ci != found.nulls["A"].ci


def sound_bench(n: int, seed: int = 0, hits: float = 0.9) -> Bench:
    """Each query's own gold document first for most queries, in a pool of 200."""
    rng = np.random.default_rng(seed)
    qrels = {f"q{q:03d}": {f"d{q:03d}": 2, f"e{q:03d}": 1} for q in range(n)}
    others = [f"z{x}" for x in range(9)]
    lists = {}
    for q, gold in qrels.items():
        docs = [*gold, *others] if rng.random() < hits else others
        lists[q] = docs
    return qrels, in_single_file(lists)


def test_a_good_system_passes_with_its_paired_recall() -> None:
    found = judged(Measure("nDCG", 10), sound_bench(30), 200)
    assert found.verdict == "PASS"
    assert found.queries_needed is None
    assert found.paired is not None
    assert str(found.paired.measure) == "R@10(top1)"
    assert found.paired.verdict == "PASS"
    assert found.paired.paired is None
    assert found.paired.score == pytest.approx((found.own > 0).mean())
    for null in found.nulls.values():
        assert null.verdict == "pass"
        assert null.p == pytest.approx(1 / 61)
        assert null.ci is not None
        assert null.ci[0] > 0


def test_only_graded_measures_on_several_gold_documents_are_paired() -> None:
    qrels, run = sound_bench(6)
    single = {q: {d: g for d, g in judged.items() if g == 2} for q, judged in qrels.items()}
    assert judged(Measure("nDCG", 10), (single, run), 200).paired is None
    assert judged(Measure("AP"), (qrels, run), 200).paired is None
    for measure, k in ((Measure("nDCG"), 10), (Measure("nDCG", 3), 3), (Measure("ERR", 5), 5)):
        found = judged(measure, (qrels, run), 200)
        assert found.paired is not None
        assert found.paired.measure == Measure("R", k, top1=True)


def test_the_order_of_cases_and_their_number_change_nothing() -> None:
    bench = sound_bench(12, hits=0.5)
    measures = [Measure("nDCG", 10), Measure("AP"), Measure("ERR")]
    together = examine([make_case(m, *bench, 200) for m in measures], QUICK)
    for measure, found in zip(measures, together, strict=True):
        assert judged(measure, bench, 200) == found


def test_seeds_decide_and_nothing_else_does() -> None:
    bench = sound_bench(12, hits=0.5)
    first, again = judged(Measure("nDCG", 10), bench, 200), judged(Measure("nDCG", 10), bench, 200)
    other = judged(Measure("nDCG", 10), bench, 200, Settings(n_boot=60, seed=1))
    assert first == again
    assert first.nulls["A"].ci95 != other.nulls["A"].ci95
    assert first.nulls["A"].mean == other.nulls["A"].mean


def test_the_level_is_shared_out_among_the_nulls() -> None:
    def another(cross: CrossScores, n_draws: int, rng: np.random.Generator) -> NullScores:
        return NullScores(np.full(cross.n_queries, 0.1), 0.1, 0.0, rng.random(n_draws))

    bench = sound_bench(12, hits=0.5)
    four = judged(Measure("nDCG", 10), bench, 200)
    (five,) = examine([spread(make_case(Measure("nDCG", 10), *bench, 200), extra={"mine": another})], QUICK)
    assert list(five.nulls) == ["A", "B", "C", "D", "mine"]
    assert five.nulls["mine"].delta == pytest.approx(five.score - 0.1)
    for name in "ABCD":
        a, b = four.nulls[name].ci, five.nulls[name].ci
        assert a is not None
        assert b is not None
        assert b[0] < a[0] < a[1] < b[1]
        assert four.nulls[name].ci95 == five.nulls[name].ci95


def test_a_measure_without_a_formula_is_simulated_with_its_error() -> None:
    bench = sound_bench(10, hits=0.5)
    exact = judged(Measure("RR", 10), bench, 200, Settings(n_boot=1000))
    (drawn,) = examine([spread(make_case(Measure("RR", 10), *bench, 200), floor=None)], Settings(n_boot=1000))
    null = drawn.nulls["C"]
    assert null.method == "simulated"
    assert null.se > 0
    assert drawn.floor_se == null.se
    assert abs(null.mean - exact.nulls["C"].mean) < 4 * null.se


def test_a_measure_that_is_never_zero_is_graded_on_all_pairs() -> None:
    """Half the value for any list, half for recall: every null is half plus half its recall."""
    qrels, run = sound_bench(8, hits=0.5)
    recall = make_case(Measure("R", 10), qrels, run, 200)

    def grade(hits: Hits, owner: Ints, length: Ints) -> Floats:
        return np.asarray(0.5 + 0.5 * recall.grade(hits, owner, length))

    case = spread(
        recall, measure=Measure("Half", 10), grade=grade, own=0.5 + recall.own / 2, ideal=0.5 + recall.ideal / 2,
        floor=None, sparse=False,
    )  # fmt: skip
    (plain,), (found,) = examine([recall], QUICK), examine([case], QUICK)
    for name in "AB":
        assert found.nulls[name].mean == pytest.approx(0.5 + plain.nulls[name].mean / 2, abs=1e-12)
        np.testing.assert_allclose(found.nulls[name].per_query, 0.5 + plain.nulls[name].per_query / 2, atol=1e-12)
    for name in "CD":
        assert found.nulls[name].mean == pytest.approx(0.5 + plain.nulls[name].mean / 2, abs=0.02)
    assert found.popularity == pytest.approx(0.5 + plain.popularity / 2)


def test_candidate_lists_leave_a_measure_that_is_never_zero_its_teeth() -> None:
    qrels = {f"q{n}": {f"q{n}-0": 1} for n in range(6)}
    run = in_single_file({q: [f"{q}-1", f"{q}-0"] for q in qrels})
    case = make_case(Measure("RR"), qrels, run, candidates=True)
    half = spread(
        case, measure=Measure("Half"), grade=lambda *a: np.asarray(0.5 + 0.5 * case.grade(*a)), own=0.5 + case.own / 2,
        ideal=0.5 + case.ideal / 2, floor=None, sparse=False,
    )  # fmt: skip
    (plain,), (found,) = examine([case], Settings(n_boot=30)), examine([half], Settings(n_boot=30))
    assert "null_toothless" not in {f.code for f in found.flags}
    assert plain.nulls["A"].reach == pytest.approx(1 / 6)


@pytest.mark.parametrize("measure", [Measure("nDCG", 10), Measure("bpref"), Measure("ERR", 3)], ids=str)
def test_queries_without_gold_or_list_are_counted(measure: Measure) -> None:
    qrels, run = sound_bench(10)
    more = qrels | {"r1": {"d001": 0}, "r2": {"e002": -1}, "r3": {"d003": 1}}
    longer = run | {"r1": run["q001"]}
    first, second = judged(measure, (qrels, run), 200), judged(measure, (more, longer), 200)
    assert second.score == pytest.approx(first.score * 10 / 13, abs=1e-12)
    for name in "ABD":
        assert (second.nulls[name].per_query[[10, 11, 12]] == 0).all()
    assert second.nulls["C"].per_query[[10, 11, 12]].tolist() == [0, 0, 0]
    assert second.ceiling <= first.ceiling * 11 / 13 + 1e-12


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 60), st.integers(0, 10**6))
def test_p_values_count_the_draws_that_reach_the_score(n_boot: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    qrels = {f"q{n}": {str(rng.choice(JUDGED)): 1} for n in range(4)}
    run = in_single_file({q: rng.permutation(JUDGED + UNJUDGED).tolist() for q in qrels})
    found = judged(Measure("RR", 5), (qrels, run), 9, Settings(n_boot=n_boot, seed=seed))
    for null in found.nulls.values():
        hits = null.p * (1 + n_boot) - 1
        assert hits == pytest.approx(round(hits), abs=1e-9)
        assert 0 < null.p <= 1


def test_null_a_is_undecided_where_permuting_the_gold_does_as_well() -> None:
    """One query of six is answered, and no list holds gold of another: every resample of A lies above 0, and yet a
    permutation in six gives the same score."""
    import falsify_adapters as fa

    qrels = {f"q{i}": {f"d{i}": 1} for i in range(6)}
    made = fa.gate(qrels, {"q0": {"d0": 1.0}}, "RR", pool=100, backend="builtin")
    assert made["RR"].nulls["A"].p == pytest.approx(1 / 6, abs=0.05)
    assert {name: null.verdict for name, null in made["RR"].nulls.items()}["A"] == "under-ns"


def test_the_ceiling_of_a_set_measure_is_a_list_that_ends_in_time() -> None:
    import falsify_adapters as fa

    qrels = {f"q{i}": {f"d{i}": 1} for i in range(6)}
    run = {q: {d: 1.0 for d in docs} for q, docs in qrels.items()} | {"q5": {f"x{i}": float(-i) for i in range(50)}}
    for name, score in (("set_P", 5 / 6), ("set_F", 5 / 6)):
        (row,) = fa.gate(qrels, run, name, pool=1000, n_boot=100).to_dict()["results"]
        assert row["score"] == pytest.approx(score)
        assert row["ceiling"] == pytest.approx(1.0)
