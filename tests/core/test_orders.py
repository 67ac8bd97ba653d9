"""Other orders of the same documents against trying every order there is."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import score
from reference import (
    JUDGED,
    MEASURES,
    benches,
    enlist,
    in_single_file,
    judge,
    make_case,
    mean,
    popularity,
    ranking,
    tie_span,
    value,
)

from falsify_adapters.core import orders
from falsify_adapters.core.gate import ideal_values, kernel_grade
from falsify_adapters.core.kernels import Hits
from falsify_adapters.measures import Measure
from falsify_adapters.model import Floats, Pool

Bench = tuple[dict[str, dict[str, int]], dict[str, list[list[str]]]]


def graded(measure: Measure, bench: Bench, hits: Hits) -> Floats:
    """Each query's own list with these hits."""
    judgments, lists = judge(bench[0]), enlist(*bench)
    assert (np.diff(hits.pair) >= 0).all()
    assert (np.diff(hits.rank)[np.diff(hits.pair) == 0] > 0).all()
    return kernel_grade(measure, judgments)(hits, np.arange(len(bench[0])), lists.depth)


@settings(max_examples=60, deadline=None)
@given(benches(longest=6))
def test_ties_at_their_worst_and_at_their_best(bench: Bench) -> None:
    for measure in MEASURES:
        worst, best = orders.tie_extremes(measure, judge(bench[0]), enlist(*bench))
        low, high = tie_span(measure, *bench)
        assert graded(measure, bench, worst).mean() == pytest.approx(low, abs=1e-13), measure
        assert graded(measure, bench, best).mean() == pytest.approx(high, abs=1e-13), measure


@settings(max_examples=60, deadline=None)
@given(benches())
def test_without_ties_there_is_one_order(bench: Bench) -> None:
    qrels, run = bench
    single = {q: [[d] for d in ranking(groups)] for q, groups in run.items()}
    for measure in MEASURES:
        expected = [value(measure, ranking(run[q]), qrels[q]) for q in sorted(qrels)]
        for hits in orders.tie_extremes(measure, judge(qrels), enlist(qrels, single)):
            np.testing.assert_allclose(graded(measure, (qrels, single), hits), expected, rtol=0, atol=1e-13)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 3)), max_size=12))
def test_best_order_moves_the_hits_of_a_pair_to_the_front(rows: list[tuple[int, int]]) -> None:
    rows = sorted(rows, key=lambda r: r[0])
    pair, grade = np.array(rows, np.int64).reshape(-1, 2).T
    found = orders.best_order(Hits(pair, np.arange(len(rows)) + 5, grade))
    expected = []
    for p in range(4):
        mine = sorted((g for q, g in rows if q == p), reverse=True)
        expected += [(p, r, g) for r, g in enumerate(mine, 1)]
    assert list(zip(found.pair.tolist(), found.rank.tolist(), found.grade.tolist(), strict=True)) == expected


@settings(max_examples=40, deadline=None)
@given(benches(most=2, longest=5))
def test_no_order_of_a_list_beats_the_best_order(bench: Bench) -> None:
    """Every pair, every family: hits first, best grade first, is the most that any order scores."""
    qrels, run = bench
    for q in qrels:
        for j in qrels:
            for measure in MEASURES:
                docs = ranking(run[q])
                expected = max(value(measure, order, qrels[j]) for order in permutations(docs))
                judged = sorted((qrels[j][d] for d in docs if d in qrels[j]), reverse=True)
                best = [*(g for g in judged if g >= 0), *[None] * len(docs)][: len(docs)]
                assert score(measure, best, list(qrels[j].values())) == pytest.approx(expected, abs=1e-13)


@settings(max_examples=60, deadline=None)
@given(benches(), st.integers(1, 4))
def test_the_ideal_list_is_the_best_that_the_pool_and_the_depth_allow(bench: Bench, size: int) -> None:
    qrels, run = bench
    judgments, lists = judge(qrels), enlist(qrels, run)
    inside = np.arange(len(judgments.doc)) % 3 != 1
    n = len(qrels)
    for pool in (Pool(np.full(n, 20), "given"), Pool(np.full(n, size), "file", True, inside)):
        for measure in MEASURES:
            found = ideal_values(measure, judgments, lists, pool, kernel_grade(measure, judgments))
            limit, expected = min(int(pool.size[0]), int(lists.depth.max())), []
            flat = iter(range(len(judgments.doc)))
            for q in sorted(qrels):
                rows = {d: next(flat) for d in sorted(qrels[q])}
                docs = [d for d in qrels[q] if pool.inside is None or inside[rows[d]]]
                docs.sort(key=lambda d: -qrels[q][d])
                expected.append(value(measure, docs[:limit], qrels[q]))
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13, err_msg=str(measure))


@settings(max_examples=100, deadline=None)
@given(benches(longest=9))
def test_the_popularity_ranker(bench: Bench) -> None:
    for measure in MEASURES:
        found = graded(measure, bench, orders.popularity_hits(measure, judge(bench[0]), enlist(*bench)))
        expected = popularity(measure, *bench)
        np.testing.assert_allclose(found, list(expected.values()), rtol=0, atol=1e-13, err_msg=str(measure))


def test_the_popularity_ranker_leaves_each_query_out_of_its_own_counts() -> None:
    # d0 is gold for all three, d1 for a and b. Without its own vote, c still has d0 first; each single gold counts 0.
    qrels = {"a": {"d0": 1, "d1": 1}, "b": {"d0": 1, "d1": 1}, "c": {"d0": 1, "d2": 1}}
    run = in_single_file({"a": ["d5", "d6"], "b": ["d5"], "c": ["d5", "d6", "d7"]})
    found = graded(
        Measure("R", 5), (qrels, run), orders.popularity_hits(Measure("R", 5), judge(qrels), enlist(qrels, run))
    )
    assert found.tolist() == [1.0, 0.5, 0.5]
    alone = {"a": {"d0": 1}, "b": {"d1": 1}}
    run = in_single_file({q: JUDGED for q in alone})
    assert not len(orders.popularity_hits(Measure("AP"), judge(alone), enlist(alone, run)).pair)


def test_bpref_sees_the_popular_documents_that_are_not_relevant() -> None:
    # The others prefer d0, which a judged non-relevant, to d1: it stands above a's only gold document.
    qrels = {"a": {"d0": 0, "d1": 1}, "b": {"d0": 1}, "c": {"d0": 1, "d1": 1}}
    run = in_single_file(dict.fromkeys(qrels, ("x0", "x1")))
    measure = Measure("bpref")
    assert popularity(measure, qrels, run) == {"a": 0.0, "b": 1.0, "c": 1.0}
    hits = orders.popularity_hits(measure, judge(qrels), enlist(qrels, run))
    assert graded(measure, (qrels, run), hits).tolist() == [0.0, 1.0, 1.0]


@settings(max_examples=60, deadline=None)
@given(benches())
def test_top_one_keeps_the_best_graded_document(bench: Bench) -> None:
    judgments = judge(bench[0])
    names = sorted({d for judged in bench[0].values() for d in judged})
    one, kept = orders.top_one(judgments)
    flat = iter(range(len(judgments.doc)))
    expected, expected_rows = [], []
    for q in sorted(bench[0]):
        rows = {d: next(flat) for d in sorted(bench[0][q])}
        best = min((d for d in rows if bench[0][q][d] > 0), key=lambda d: (-bench[0][q][d], d), default=None)
        expected.append([best] if best else [])
        expected_rows += [rows[best]] if best else []
    found = [[names[d] for d in one.doc[a:b]] for a, b in zip(one.start[:-1], one.start[1:], strict=True)]
    assert found == expected
    assert kept.tolist() == expected_rows
    assert one.grade.tolist() == [1] * len(one.doc)
    assert one.queries == judgments.queries


def test_tie_span_of_cases_from_the_record() -> None:
    """A constant scorer with the positive among four: RR anywhere from 1/4 to 1."""
    qrels, run = {"q": {"d": 1}}, {"q": [["d", "e", "f", "g"]]}
    assert tie_span(Measure("RR"), qrels, run) == (0.25, 1.0)
    worst, best = orders.tie_extremes(Measure("RR"), judge(qrels), enlist(qrels, run))
    assert (worst.rank.tolist(), best.rank.tolist()) == ([4], [1])
    assert mean(make_case(Measure("RR"), qrels, run).floor) == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)  # type: ignore[arg-type]
