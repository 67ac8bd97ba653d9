"""Error rates of the whole gate on worlds with known truth: seeded, so wide that only a fault turns them red."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import falsify_adapters as fa


def candidates(lengths: list[int], right: float | None, rng: np.random.Generator) -> tuple[Any, Any]:
    """One gold document per query among its candidates, in random order, or first with the chance `right`."""
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for i, n in enumerate(lengths):
        docs = [f"d{i}-{j}" for j in range(n)]
        order = rng.permutation(n)
        if right is not None and rng.random() < right:
            order = np.append(0, order[order != 0])
        qrels[f"q{i}"] = {docs[0]: 1}
        run[f"q{i}"] = {docs[d]: float(n - place) for place, d in enumerate(order)}
    return qrels, run


def passed(lengths: list[int], right: float | None, measure: str, trials: int, seed: int) -> int:
    rng = np.random.default_rng(seed)
    verdicts = [
        fa.gate(*candidates(lengths, right, rng), measure, pool="run", backend="builtin", n_boot=100).verdict
        for _ in range(trials)
    ]
    return verdicts.count("PASS")


@pytest.mark.parametrize("lengths", [[2] * 3 + [100] * 7, [2] * 3 + [100] * 25, [2] * 10], ids=["10", "28", "alike"])
def test_random_orders_of_lists_of_unequal_length_do_not_pass(lengths: list[int]) -> None:
    """With the null weighed anew in every resample, 12 % of the first and 2.7 % of the second passed. At a true rate of
    1 % the chance of five or more in 120 is 0.7 %."""
    assert passed(lengths, None, "Success@1", 120, 1) < 5


def test_a_system_that_is_right_half_the_time_passes_although_one_list_is_short() -> None:
    """A bound that took the easiest query for all of them would let hardly any pass."""
    assert passed([2] + [100] * 27, 0.5, "Success@1", 40, 2) >= 36
