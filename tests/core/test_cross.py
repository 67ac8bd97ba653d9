"""S[i,j] against the oracle, whatever the blocks; and its sampled form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import JUDGED, MEASURES, UNJUDGED, benches, cross, enlist, gold, in_single_file, judge, make_case

from falsify_adapters.core import cross as under_test
from falsify_adapters.core.cross import Grade, cross_scores, cross_scores_all, overlap_blocks, own_hits
from falsify_adapters.core.gate import kernel_grade, own_values
from falsify_adapters.core.kernels import Hits
from falsify_adapters.measures import Measure
from falsify_adapters.model import Floats, Ints, Judgments

Bench = tuple[dict[str, dict[str, int]], dict[str, list[list[str]]]]


def oracle_matrix(measure: Measure, bench: Bench) -> Floats:
    qrels, run = bench
    s, names = cross(measure, qrels, run), sorted(qrels)
    return np.array([[s[i, j] for j in names] for i in names])


@settings(max_examples=60, deadline=None)
@given(benches())
def test_every_pair_equals_the_oracle(bench: Bench) -> None:
    judgments, lists = judge(bench[0]), enlist(*bench)
    for measure in MEASURES:
        grade = kernel_grade(measure, judgments)
        own = own_values(measure, judgments, lists, grade)
        found = cross_scores(measure, judgments, lists, grade, own)
        expected = oracle_matrix(measure, bench)
        np.testing.assert_allclose(found.dense(), expected, rtol=0, atol=1e-13, err_msg=str(measure))
        np.testing.assert_allclose(own, np.diag(expected), rtol=0, atol=1e-13)
        assert found.se == 0
        pairs = found.i * found.n_queries + found.j
        assert (np.diff(pairs) > 0).all()
        weight = np.arange(1.0, len(own) + 1.0)
        np.testing.assert_allclose(found.row_means(weight), expected @ weight, rtol=0, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(benches(), st.integers(1, 12))
def test_blocks_change_nothing(bench: Bench, block: int) -> None:
    judgments, lists = judge(bench[0]), enlist(*bench)
    for measure in (Measure("AP"), Measure("nDCG", 3), Measure("bpref", None, 2), Measure("Unknown")):
        whole = _flat(measure, bench, 10**9)
        assert _flat(measure, bench, block) == whole
        sizes = [len(hits.pair) for _, _, hits in overlap_blocks(measure, judgments, lists, block)]
        alone = [len(hits.pair) for _, _, hits in overlap_blocks(measure, judgments, lists, 1)]
        assert max(sizes, default=0) <= max(block, max(alone, default=0))


def _flat(measure: Measure, bench: Bench, block: int) -> list[tuple[int, int, int, int]]:
    judgments, lists = judge(bench[0]), enlist(*bench)
    rows = []
    for i, j, hits in overlap_blocks(measure, judgments, lists, block):
        assert len(i)
        rows += zip(i[hits.pair].tolist(), j[hits.pair].tolist(), hits.rank.tolist(), hits.grade.tolist(), strict=True)
    assert rows == sorted(rows)
    return rows


@settings(max_examples=60, deadline=None)
@given(benches())
def test_own_hits_are_the_judged_documents_of_the_list(bench: Bench) -> None:
    qrels, run = bench
    for cutoff in (None, 1, 4):
        hits, rows = own_hits(Measure("AP", cutoff), judge(qrels), enlist(qrels, run))
        expected = [
            (n, rank, qrels[q][d])
            for n, q in enumerate(sorted(qrels))
            for rank, d in enumerate([d for group in run[q] for d in group], 1)
            if d in qrels[q] and (cutoff is None or rank <= cutoff)
        ]
        assert list(zip(hits.pair.tolist(), hits.rank.tolist(), hits.grade.tolist(), strict=True)) == expected
        assert enlist(qrels, run).rank[rows].tolist() == [rank for _, rank, _ in expected]


def never_zero(judgments: Judgments) -> Grade:
    """A measure that is not 0 without a gold hit: a tenth for any list, most for recall, less for long lists."""
    total = np.maximum(np.bincount(judgments.query[judgments.grade > 0], minlength=judgments.n_queries), 1)

    def grade(hits: Hits, owner: Ints, length: Ints) -> Floats:
        some = hits.grade > 0
        found = np.bincount(hits.pair[some], minlength=len(owner)) / total[owner]
        return np.asarray(0.1 + 0.8 * found + 0.1 / (1 + length))

    return grade


@settings(max_examples=40, deadline=None)
@given(benches())
def test_all_pairs_of_a_measure_that_is_never_zero(bench: Bench) -> None:
    qrels, run = bench
    judgments, lists = judge(qrels), enlist(qrels, run)
    grade = never_zero(judgments)
    own = own_values(Measure("Unknown"), judgments, lists, grade)
    found = cross_scores_all(Measure("Unknown"), judgments, lists, grade, own, np.random.default_rng(0))
    recall = oracle_matrix(Measure("R", 9), bench)
    expected = 0.1 + 0.8 * recall + 0.1 / (1 + lists.depth[:, None])
    # A query without gold has no gold set that others could be dealt; its own value is the backend's affair.
    expected[:, [not gold(Measure("R", 9), qrels[q]) for q in sorted(qrels)]] = 0
    np.fill_diagonal(expected, own)
    np.testing.assert_allclose(found.dense(), expected, rtol=0, atol=1e-14)
    assert found.se == 0


def test_a_sample_of_gold_sets_is_unbiased_and_its_error_honest(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    names = [f"q{n:02d}" for n in range(30)]
    qrels = {q: {str(d): int(rng.integers(1, 3)) for d in rng.choice(JUDGED, rng.integers(1, 4), False)} for q in names}
    qrels |= {q: {"d0": 0} for q in names[::5]}
    run = in_single_file({q: rng.permutation(JUDGED + UNJUDGED)[:4].tolist() for q in names})
    judgments, lists = judge(qrels), enlist(qrels, run)
    grade, measure = never_zero(judgments), Measure("Unknown")
    own = own_values(measure, judgments, lists, grade)
    truth = cross_scores_all(measure, judgments, lists, grade, own, rng)
    assert truth.se == 0
    monkeypatch.setattr(under_test, "ALL_PAIRS", 30 * 6)
    some = np.arange(30) % 5 > 0
    weight = some / 24
    rows, means, errors = [], [], []
    for _ in range(1500):
        found = cross_scores_all(measure, judgments, lists, grade, own, rng)
        assert len(np.unique(found.j[found.i != found.j])) == 6
        rows.append(found.row_means(weight))
        means.append(rows[-1][some].sum() / 30)
        errors.append(found.se)
    off = (np.mean(rows, axis=0) - truth.row_means(weight)) / (np.std(rows, axis=0, ddof=1) / np.sqrt(len(rows)))
    assert np.abs(off).max() < 4.5
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(means), rel=0.1)


def test_kernel_cases_take_the_matrix_from_their_own_values() -> None:
    case = make_case(Measure("AP"), {"a": {"d0": 1}, "b": {"d1": 1}}, in_single_file({"a": ["d1", "d0"], "b": ["d1"]}))
    own = case.own + 0.25
    found = cross_scores(case.measure, case.judgments, case.lists, case.grade, own)
    np.testing.assert_allclose(found.dense(), [[0.75, 1.0], [0.0, 1.25]])
