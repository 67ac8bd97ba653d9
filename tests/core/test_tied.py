"""Ties by expectation: the closed forms against every order of the tied documents, and the all-tied run's floor."""

from __future__ import annotations

from itertools import pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from falsify_adapters.core import floors
from falsify_adapters.core.case import Settings
from falsify_adapters.core.gate import kernel_grade, own_values
from falsify_adapters.core.kernels import Hits, evaluate, gold_stats
from falsify_adapters.core.tied import evaluate_tied
from falsify_adapters.measures import Measure
from falsify_adapters.model import Judgments, Lists

FAMILIES = ("P", "R", "Success", "RR", "AP", "nDCG", "Rprec", "RBP", "bpref", "ERR")


def measure_of(family: str, cutoff: int | None, rel: int = 1) -> Measure:
    if family == "P":
        cutoff = cutoff or 3
    if family in ("Rprec", "bpref"):
        cutoff = None
    return Measure(family, cutoff, rel, params=(("p", 0.7),) if family == "RBP" else ())


def one_query(grades: list[int]) -> Judgments:
    n = len(grades)
    return Judgments(("q",), n, np.array([0, n]), np.arange(n, dtype=np.int32), np.array(grades, np.int32))


def mean_over_orders(measure: Measure, groups: list[list[int | None]], judgments: Judgments) -> float:
    """The kernel on every order of every group; None: a document that is not judged."""
    stats, values = gold_stats(measure, judgments), []
    for order in product(*(permutations(group) for group in groups)):
        listed = [grade for group in order for grade in group]
        hits = [(rank, grade) for rank, grade in enumerate(listed, 1) if grade is not None]
        rank, grade = np.array(hits, np.int64).reshape(-1, 2).T
        values.append(evaluate(measure, Hits(np.zeros(len(hits), np.int64), rank, grade), 1, stats)[0])
    return float(np.mean(values))


def tied_value(measure: Measure, groups: list[list[int | None]], judgments: Judgments) -> float:
    rows, above = [], 0
    for group in groups:
        place = above
        for grade in group:
            place += 1
            if grade is not None:
                rows.append((place, grade, above + 1, above + len(group)))
        above += len(group)
    rank, grade, first, last = np.array(rows, np.int64).reshape(-1, 4).T
    hits = Hits(np.zeros(len(rows), np.int64), rank, grade, first, last)
    return float(evaluate_tied(measure, hits, 1, gold_stats(measure, judgments))[0])


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=40, deadline=None)
@given(
    groups=st.lists(st.lists(st.sampled_from([None, None, -1, 0, 0, 1, 2, 4]), min_size=1, max_size=4), max_size=4)
    .filter(lambda g: sum(map(len, g)) <= 9),
    more=st.lists(st.sampled_from([0, 1, 2]), max_size=3),
    cutoff=st.sampled_from([None, 1, 2, 3, 5]),
    rel=st.sampled_from([1, 2]),
)  # fmt: skip
def test_it_is_the_mean_over_every_order(
    family: str, groups: list[list[int | None]], more: list[int], cutoff: int | None, rel: int
) -> None:
    judgments = one_query([g for group in groups for g in group if g is not None] + more)
    measure = measure_of(family, cutoff, rel)
    assert tied_value(measure, groups, judgments) == pytest.approx(
        mean_over_orders(measure, groups, judgments), abs=1e-12
    )


def lists_of(depth: list[int], doc: list[list[int]], rank: list[list[int]], *, averaged: bool = True) -> Lists:
    """Lists that are one single tie each."""
    sizes = np.array([len(d) for d in doc])
    last = np.repeat(depth, sizes).astype(np.int32)
    return Lists(
        np.array(depth), np.concatenate([[0], np.cumsum(sizes)]), np.concatenate(rank).astype(np.int32),
        np.concatenate(doc).astype(np.int32), np.ones_like(last), last, np.ones(len(depth), np.int32), True, averaged,
    )  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("cutoff", [None, 1, 10, 400])
def test_a_run_of_one_tie_over_the_pool_scores_the_floor(family: str, cutoff: int | None) -> None:
    rng = np.random.default_rng(5)
    size, judged = [30, 300, 2000], [8, 40, 120]
    start = np.concatenate([[0], np.cumsum(judged)])
    grade = rng.choice([-1, 0, 0, 1, 2, 3], start[-1]).astype(np.int32)
    doc = np.arange(start[-1], dtype=np.int32)
    judgments = Judgments(("a", "b", "c"), len(doc), start, doc, grade)
    docs = [list(doc[a:b]) for a, b in pairwise(start)]
    places = [list(range(1, len(d) + 1)) for d in docs]
    lists, measure = lists_of(size, docs, places), measure_of(family, cutoff)
    own = own_values(measure, judgments, lists, kernel_grade(measure, judgments))
    floor = floors.expectation(measure, judgments, np.array(size), np.array(size))
    assert own == pytest.approx(floor, abs=1e-12, rel=1e-12)


def orders_of(doc: list[int]) -> list[list[int]]:
    return [list(order) for order in permutations(doc)]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_null_is_the_mean_over_the_orders_too(family: str) -> None:
    """A, B (exact) and D (exact for single gold) of lists of up to three tied documents, against all 48 strict runs."""
    from falsify_adapters.core.case import Case
    from falsify_adapters.core.gate import examine, ideal_values
    from falsify_adapters.model import Pool

    measure = measure_of(family, 2)
    start, doc, grade = np.arange(6), np.array([0, 1, 2, 0, 3], np.int32), np.array([1, 2, 1, 1, 1], np.int32)
    judgments = Judgments(tuple("abcde"), 4, start, doc, grade)
    held = [[0, 1, 2], [1, 2], [2, 3], [0, 1], [3]]
    pool = Pool(np.full(5, 9), "given")

    def means(lists: Lists) -> np.ndarray:
        grader = kernel_grade(measure, judgments)
        own = own_values(measure, judgments, lists, grader)
        ideal = ideal_values(measure, judgments, lists, pool, grader)
        floor = floors.expectation(measure, judgments, pool.size, lists.depth)
        (result,) = examine([Case(measure, judgments, lists, pool, grader, own, ideal, floor)], Settings(n_boot=100))
        exact = "AB" if family == "bpref" else "ABD"
        assert all(result.nulls[name].se == 0 for name in exact)
        return np.array([result.score, *(result.nulls[name].mean for name in exact)])

    depth = [len(docs) for docs in held]
    places = [list(range(1, n + 1)) for n in depth]
    strict = [means(lists_of(depth, list(order), places, averaged=False)) for order in product(*map(orders_of, held))]
    assert means(lists_of(depth, held, places)) == pytest.approx(np.mean(strict, axis=0), abs=1e-12)
