"""p-values against scipy, against every assignment of signs, and Holm's by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from falsify_adapters.core.significance import EXACT, holm, least_p, p_values
from falsify_adapters.errors import OptionError


def made(runs: int, queries: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.clip(rng.random((runs, queries)) + np.linspace(0, 0.3, runs)[:, None], 0, 1)


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.mark.parametrize("queries", [2, 5, 50])
def test_student_is_scipys(queries: int) -> None:
    values = made(5, queries)
    p = p_values("student", values, 1, rng())
    for a, b in product(range(5), repeat=2):
        if a != b:
            assert p[a, b] == pytest.approx(stats.ttest_rel(values[a], values[b]).pvalue, rel=1e-10)
    assert np.isnan(np.diag(p)).all()


def test_tukey_is_scipys() -> None:
    values = made(4, 20)
    p, theirs = p_values("tukey", values, 1, rng()), stats.tukey_hsd(*values).pvalue
    off = ~np.eye(4, dtype=bool)
    assert p[off] == pytest.approx(theirs[off], abs=1e-12)


@pytest.mark.parametrize("queries", [3, 7, EXACT])
def test_fisher_looks_at_every_assignment_of_few_queries(queries: int) -> None:
    values = made(2, queries, seed=queries)
    d = values[1] - values[0]
    sums = [abs(np.dot(signs, d)) for signs in product((1, -1), repeat=queries)]
    expected = np.mean([s >= abs(d.sum()) - 1e-12 for s in sums])
    assert p_values("fisher", values, 10, rng())[0, 1] == expected


def test_fisher_draws_and_counts_the_run_itself() -> None:
    values = made(3, 40)
    p = p_values("fisher", values, 4000, rng())
    scipys = [
        stats.permutation_test(
            (values[a], values[b]), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=4000,
            rng=np.random.default_rng(1),
        ).pvalue
        for a, b in ((0, 1), (0, 2), (1, 2))
    ]  # fmt: skip
    assert p[0, 1] == pytest.approx(scipys[0], abs=0.03)
    assert p[1, 2] == pytest.approx(scipys[2], abs=0.03)
    assert p.min(where=~np.isnan(p), initial=1.0) >= 1 / 4001
    far = np.vstack([np.zeros(40), np.ones(40)])
    assert p_values("fisher", far, 999, rng())[0, 1] == 1 / 1000
    assert (p_values("fisher", values, 500, rng()) == p_values("fisher", values, 500, rng()))[
        ~np.eye(3, dtype=bool)
    ].all()


def test_a_pairs_p_does_not_depend_on_the_other_runs() -> None:
    values = made(6, 40)
    every, two = p_values("fisher", values, 2500, rng()), p_values("fisher", values[[1, 4]], 2500, rng())
    assert every[1, 4] == two[0, 1] == two[1, 0]


@pytest.mark.parametrize("queries", [3, EXACT, 30])
def test_the_smallest_p_is_that_of_runs_as_far_apart_as_can_be(queries: int) -> None:
    far = np.vstack([np.zeros(queries), np.ones(queries)])
    assert p_values("fisher", far, 99, rng())[0, 1] == least_p("fisher", queries, 99)
    assert least_p("student", queries, 99) == 0.0


@pytest.mark.parametrize("test", ["student", "fisher", "tukey"])
def test_runs_with_the_same_values_have_no_p(test: str) -> None:
    values = made(3, 20)
    values[2] = values[0]
    p = p_values(test, values, 100, rng())  # type: ignore[arg-type]
    assert np.isnan(p[0, 2])
    assert np.isnan(p[2, 0])
    assert not np.isnan([p[0, 1], p[1, 2]]).any()
    assert np.array_equal(p, p.T, equal_nan=True)


def test_a_constant_difference_is_certain() -> None:
    assert p_values("student", np.array([[0.25, 0.5, 0.75], [0.5, 0.75, 1.0]]), 1, rng())[0, 1] == 0.0


def test_holm_by_hand() -> None:
    assert np.array_equal(holm([np.nan, 0.01, 0.04]), [np.nan, 0.02, 0.04], equal_nan=True)
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.5, 0.6]) == pytest.approx([1.0, 1.0])
    assert holm([]).shape == (0,)
    assert np.isnan(holm([np.nan])).all()


@given(st.lists(st.one_of(st.just(float("nan")), st.floats(0, 1)), max_size=20))
def test_holm_rejects_no_more_and_keeps_the_order(p: list[float]) -> None:
    adjusted, given_ = holm(p), np.array(p)
    tests = ~np.isnan(given_)
    assert (np.isnan(adjusted) == ~tests).all()
    assert (adjusted[tests] >= given_[tests]).all()
    assert (adjusted[tests] <= 1).all()
    order = np.argsort(given_[tests], kind="stable")
    assert (np.diff(adjusted[tests][order]) >= 0).all()


def test_what_is_refused() -> None:
    with pytest.raises(OptionError, match="2 queries or more"):
        p_values("student", np.zeros((2, 1)), 10, rng())
    with pytest.raises(OptionError, match="0 permutations"):
        p_values("fisher", np.zeros((2, 5)), 0, rng())
