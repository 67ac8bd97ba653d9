"""Q against values worked out by hand, against average precision, and its floor against every possible list."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from statistics import mean

import pytest
from falsify_q_measure.measure import SPEC, floor, score

from falsify_adapters.measures import Measure
from falsify_adapters.offers import MeasureSpec


def q(cutoff: int | None = None, *, beta: float = 1.0, rel: int = 1) -> Measure:
    return Measure("Q", cutoff, rel, params=(("beta", beta),))


def test_the_spec_says_what_it_is() -> None:
    assert isinstance(SPEC, MeasureSpec)
    assert SPEC.name == "Q"
    assert SPEC.family.zero_without_gold


def test_by_hand() -> None:
    # Gold 3, 2, 1: cgI = 3, 5, 6, 6. Rank 1 holds the 1, rank 3 the 3: (1 + 1)/(1 + 3) and (2 + 4)/(3 + 6).
    expected = (Fraction(2, 4) + Fraction(6, 9)) / 3
    assert score(q(), [1, None, 3, 0], [3, 2, 1, 0]) == pytest.approx(float(expected), abs=1e-15)
    # Cut at 2, two gold documents could have been there.
    assert score(q(2), [1, None], [3, 2, 1, 0]) == pytest.approx(0.25, abs=1e-15)


@pytest.mark.parametrize("cutoff", [None, 1, 2, 3, 5])
@pytest.mark.parametrize("beta", [0.0, 1.0, 10.0])
def test_the_best_list_scores_1_and_an_empty_one_0(cutoff: int | None, beta: float) -> None:
    assert score(q(cutoff, beta=beta), [3, 2, 2, 1, 0][:cutoff], [3, 2, 2, 1, 0]) == pytest.approx(1.0, abs=1e-15)
    assert score(q(cutoff, beta=beta), [], [3, 2, 2, 1, 0]) == 0.0
    assert score(q(cutoff, beta=beta), [0, None], [0, 0]) == 0.0


def test_at_beta_0_it_is_average_precision() -> None:
    assert score(q(beta=0), [None, 2, 0, 1], [2, 1, 1, 0]) == pytest.approx((1 / 2 + 2 / 4) / 3, abs=1e-15)


def test_the_relevance_level_decides_what_is_gold() -> None:
    assert score(q(rel=2), [1, 2], [2, 1]) == pytest.approx((1 + 2) / (2 + 2), abs=1e-15)


@pytest.mark.parametrize("cutoff", [None, 1, 2, 4, 9])
@pytest.mark.parametrize("beta", [0.0, 1.0, 2.5])
@pytest.mark.parametrize(
    ("pool", "judged"),
    [
        ([3, 1, 0, None, None], [3, 1, 0]),
        ([2, 2, 1, None, None, None], [2, 2, 1]),
        ([1, None, None, None], [3, 1, 1, 0]),  # gold outside the pool
        ([-1, 2, 0, 0], [2, 0, 0, -1]),
        ([2], [2]),
        ([None, None], [1]),
    ],
)
def test_the_floor_is_the_mean_over_every_list(
    cutoff: int | None, beta: float, pool: list[int | None], judged: list[int]
) -> None:
    measure = q(cutoff, beta=beta)
    in_pool = sorted((grade for grade in pool if grade is not None), reverse=True)
    for depth in range(len(pool) + 1):
        lists = permutations(pool, depth)
        expected = mean(score(measure, list(ranked)[:cutoff], judged) for ranked in lists)
        assert floor(measure, len(pool), depth, in_pool, judged) == pytest.approx(expected, abs=1e-12)
