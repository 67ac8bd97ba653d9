"""The kernels against the oracle and pytrec_eval, many pairs in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import score

from falsify_adapters.core.kernels import Hits, evaluate, gold_stats
from falsify_adapters.errors import MeasureError
from falsify_adapters.measures import Measure
from falsify_adapters.model import Floats, Judgments


@dataclass(frozen=True)
class Pair:
    """A ranked list of grades, None where unjudged, and the grades of judged documents that were not retrieved."""

    ranking: tuple[int | None, ...]
    missed: tuple[int, ...]

    @property
    def judged(self) -> list[int]:
        return [*(g for g in self.ranking if g is not None), *self.missed]


GRADES = st.integers(-2, 4)
PAIRS = st.lists(
    st.builds(
        Pair,
        st.lists(st.one_of(st.none(), st.sampled_from((0, 0, 1, 1, -1)), GRADES), max_size=25).map(tuple),
        st.lists(st.one_of(st.sampled_from((0, 1)), GRADES), max_size=6).map(tuple),
    ),
    min_size=1,
    max_size=12,
)


def judge(pairs: Sequence[Pair]) -> Judgments:
    start = np.cumsum([0, *(len(p.judged) for p in pairs)]).astype(np.int64)
    n = int(start[-1])
    flat = np.array([g for p in pairs for g in p.judged], dtype=np.int32)
    names = tuple(f"q{i:03d}" for i in range(len(pairs)))
    return Judgments(names, n, start, np.arange(n, dtype=np.int32), flat)


def kernel(measure: Measure, pairs: Sequence[Pair], lowest: int | None = None) -> Floats:
    """Values of all pairs at once; hits graded below `lowest` are left out, None: nothing is."""
    rows = [
        (i, rank, g)
        for i, p in enumerate(pairs)
        for rank, g in enumerate(p.ranking, 1)
        if g is not None and (lowest is None or g >= lowest)
    ]
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return evaluate(measure, Hits(*columns), len(pairs), gold_stats(measure, judge(pairs)))


def rbp(p: float, cutoff: int | None = None, rel: int = 1) -> Measure:
    return Measure("RBP", cutoff, rel, params=(("p", p),))


CUTS = (None, 1, 3, 10, 100)
MEASURES = [
    Measure(family, cut, rel)
    for family in ("P", "R", "Success", "RR", "AP", "bpref")
    for cut in CUTS
    for rel in (1, 2)
    if not (family == "P" and cut is None)
]
MEASURES += [Measure("Rprec", None, rel) for rel in (1, 2)]
MEASURES += [rbp(p, cut, rel) for p, cut, rel in ((0.8, None, 1), (0.5, 5, 1), (0.95, 20, 2))]
MEASURES += [Measure("nDCG", cut, gain=gain) for cut in CUTS for gain in ("linear", "exp")]
MEASURES += [Measure("ERR", cut) for cut in CUTS]


@settings(max_examples=60, deadline=None)
@given(PAIRS)
def test_kernels_equal_the_definitions(pairs: list[Pair]) -> None:
    for measure in MEASURES:
        expected = [score(measure, p.ranking, p.judged) for p in pairs]
        np.testing.assert_allclose(kernel(measure, pairs), expected, rtol=0, atol=1e-13, err_msg=str(measure))


TREC = {
    "P": ("P.1,3,10,100", "P_{}"),
    "R": ("recall.1,3,10,100", "recall_{}"),
    "Success": ("success.1,3,10,100", "success_{}"),
    "AP": ("map_cut.1,3,10,100", "map_cut_{}"),
    "nDCG": ("ndcg_cut.1,3,10,100", "ndcg_cut_{}"),
}
TREC_UNCUT = {"RR": "recip_rank", "AP": "map", "nDCG": "ndcg", "Rprec": "Rprec"}


@settings(max_examples=60, deadline=None)
@given(PAIRS, st.sampled_from((1, 2, 3)))
def test_kernels_equal_trec_eval(pairs: list[Pair], level: int) -> None:
    # Without a relevant document every measure is 0 here; pytrec_eval crashes on some such queries.
    pairs = [p for p in pairs if p.ranking and max(p.judged, default=0) >= level]
    if not pairs:
        return
    qrels, run = {}, {}
    for i, p in enumerate(pairs):
        judged = {str(rank): g for rank, g in enumerate(p.ranking) if g is not None}
        qrels[str(i)] = judged | {str(1000 + j): g for j, g in enumerate(p.missed)}
        run[str(i)] = {str(rank): float(100 - rank) for rank in range(len(p.ranking))}
    asked = {name for name, _ in TREC.values()} | set(TREC_UNCUT.values())
    results = pytrec_eval.RelevanceEvaluator(qrels, asked, relevance_level=level).evaluate(run)
    bprefs = pytrec_eval.RelevanceEvaluator(qrels, {"bpref"}, relevance_level=level).evaluate(run)

    def check(measure: Measure, name: str, source: dict[str, dict[str, float]]) -> None:
        expected = [source[str(i)][name] for i in range(len(pairs))]
        np.testing.assert_allclose(kernel(measure, pairs), expected, rtol=0, atol=1e-12, err_msg=str(measure))

    for family, (_, pattern) in TREC.items():
        for cut in (1, 3, 10, 100):
            check(Measure(family, cut, level), pattern.format(cut), results)
    for family, name in TREC_UNCUT.items():
        check(Measure(family, None, level), name, results)
    check(Measure("bpref", None, level), "bpref", bprefs)


@settings(max_examples=40, deadline=None)
@given(PAIRS)
def test_values_are_scores_and_pairs_do_not_see_each_other(pairs: list[Pair]) -> None:
    for measure in MEASURES:
        together = kernel(measure, pairs)
        assert ((together >= 0) & (together <= 1 + 1e-12)).all(), measure
        np.testing.assert_array_equal(together[::-1], kernel(measure, pairs[::-1]))
        assert kernel(measure, pairs[:1])[0] == together[0]


@settings(max_examples=40, deadline=None)
@given(PAIRS)
def test_hits_that_a_measure_does_not_look_at_change_nothing(pairs: list[Pair]) -> None:
    for measure in MEASURES:
        lowest = 0 if measure.family == "bpref" else 1
        np.testing.assert_array_equal(kernel(measure, pairs), kernel(measure, pairs, lowest))


@settings(max_examples=40, deadline=None)
@given(PAIRS)
def test_what_holds_between_measures(pairs: list[Pair]) -> None:
    rr = kernel(Measure("RR"), pairs)
    assert (kernel(Measure("RR", 3), pairs) <= rr).all()
    np.testing.assert_array_equal(kernel(Measure("RR", 1), pairs), kernel(Measure("P", 1), pairs))
    np.testing.assert_array_equal(kernel(Measure("Success", 10), pairs), kernel(Measure("RR", 10), pairs) > 0)
    assert (kernel(Measure("AP", 3), pairs) <= kernel(Measure("AP"), pairs) + 1e-15).all()
    binary = [Pair(tuple(None if g is None else min(max(g, 0), 1) for g in p.ranking), p.missed) for p in pairs]
    binary = [Pair(p.ranking, tuple(min(max(g, 0), 1) for g in p.missed)) for p in binary]
    np.testing.assert_allclose(
        kernel(Measure("nDCG", 10), binary), kernel(Measure("nDCG", 10, gain="exp"), binary), rtol=1e-14
    )
    strict = kernel(Measure("R", 10, 2), pairs)
    raised = [
        Pair(tuple(None if g is None else g - 1 for g in p.ranking), tuple(g - 1 for g in p.missed)) for p in pairs
    ]
    np.testing.assert_array_equal(strict, kernel(Measure("R", 10, 1), raised))


@settings(max_examples=40, deadline=None)
@given(PAIRS)
def test_a_perfect_list_scores_one(pairs: list[Pair]) -> None:
    best = [Pair(tuple(sorted(p.judged, reverse=True)), ()) for p in pairs]
    has_gold = np.array([max(p.judged, default=0) > 0 for p in pairs])
    for measure in (Measure("AP"), Measure("R"), Measure("RR"), Measure("nDCG"), Measure("nDCG", 3), Measure("Rprec")):
        np.testing.assert_allclose(kernel(measure, best), has_gold, rtol=0, atol=1e-12, err_msg=str(measure))
    np.testing.assert_allclose(kernel(Measure("bpref"), best), has_gold, rtol=0, atol=1e-12)


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_no_pairs_and_no_hits(measure: Measure) -> None:
    assert kernel(measure, []).shape == (0,)
    empty = [Pair((), ()), Pair((), (1, 0)), Pair((None, None), (2, 3)), Pair((0, -1), ())]
    assert kernel(measure, empty).tolist() == [0.0] * 4


def test_long_lists_keep_their_digits() -> None:
    rng = np.random.default_rng(0)
    pairs = [Pair(tuple(rng.choice([0, 1, 2, 3, 4], 2000).tolist()), (1,) * 50) for _ in range(3)]
    for measure in (Measure("AP"), Measure("ERR"), Measure("nDCG"), Measure("bpref"), rbp(0.999)):
        expected = [score(measure, p.ranking, p.judged) for p in pairs]
        np.testing.assert_allclose(kernel(measure, pairs), expected, rtol=1e-12, err_msg=str(measure))


def test_statistics_can_be_taken_for_other_lists() -> None:
    measure = Measure("nDCG", 2)
    stats = gold_stats(measure, judge([Pair((), (2, 1, 1)), Pair((), (0, -1)), Pair((), (3,))]))
    assert stats.relevant.tolist() == [3, 0, 1]
    assert stats.nonrelevant.tolist() == [0, 1, 0]
    np.testing.assert_allclose(stats.ideal, [2 + 1 / np.log2(3), 0, 3], rtol=1e-15)
    taken = stats.take(np.array([2, 2, 0]))
    assert taken.relevant.tolist() == [1, 1, 3]
    np.testing.assert_array_equal(taken.ideal, stats.ideal[[2, 2, 0]])


def test_what_cannot_be_computed_says_so() -> None:
    with pytest.raises(MeasureError, match="infAP has no kernel"):
        kernel(Measure("infAP"), [Pair((1,), ())])
    with pytest.raises(MeasureError, match=r"P\(judged_only=True\)@5 has no kernel"):
        kernel(Measure("P", 5, params=(("judged_only", True),)), [Pair((1,), ())])
    with pytest.raises(MeasureError, match=r"P needs a cutoff\. Legal: P@1"):
        kernel(Measure("P"), [Pair((1,), ())])
    with pytest.raises(MeasureError, match="ERR@10 is defined for grades up to 4, and query 'q001' has grade 5"):
        kernel(Measure("ERR", 10), [Pair((4,), ()), Pair((), (5,))])
