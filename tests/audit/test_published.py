"""Bounds of floors from statistics: against enumeration of every benchmark with those statistics, and closed forms."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest

from falsify_adapters.core import floors
from falsify_adapters.core.published import (
    Facts,
    Spread,
    ceiling_bound,
    chance_of,
    floor_bounds,
    sampling_error,
)
from falsify_adapters.errors import MeasureError
from falsify_adapters.measures import Measure, parse
from falsify_adapters.model import Judgments

MEASURES = ["P@3", "R@3", "RR", "RR@2", "AP", "AP@3", "nDCG@3", "nDCG", "Success@2", "Rprec"]


def fixed(n: int) -> Spread:
    return Spread(float(n), n, n)


def real_floor(measure: Measure, sizes: tuple[int, ...], golds: tuple[int, ...], grade: int = 1) -> float:
    """Of a benchmark with these pools and gold counts; the first gold document of each query has `grade`."""
    start = np.concatenate([[0], np.cumsum(golds)])
    grades = np.ones(start[-1], np.int32)
    grades[start[:-1]] = grade
    names = tuple(f"q{i}" for i in range(len(golds)))
    judgments = Judgments(names, int(start[-1]), start, np.arange(start[-1], dtype=np.int32), grades)
    size = np.array(sizes)
    return float(floors.expectation(measure, judgments, size, size).mean())


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("n", [6, 40])
def test_no_benchmark_lies_outside_and_the_ends_are_reached(name: str, n: int) -> None:
    measure = parse(name)
    for most, total in ((5, 9), (5, 6), (3, 5)):
        mean, found = total / 3, []
        for golds in combinations_with_replacement(range(1, most + 1), 3):
            if sum(golds) == total:
                found.append(real_floor(measure, (n,) * 3, golds))
                found += [real_floor(measure, (n,) * 3, golds, 9)] if measure.graded else []
        low, high = floor_bounds(measure, Facts(3, fixed(n), Spread(mean, 1, most)))
        assert low - 1e-12 <= min(found)
        assert max(found) <= high + 1e-12


@pytest.mark.parametrize("name", MEASURES)
def test_candidates_of_many_lengths(name: str) -> None:
    measure, found = parse(name), []
    for sizes in combinations_with_replacement((2, 3, 5, 8), 3):
        if sum(sizes) == 13:
            for a in range(1, 4):
                for b in range(1, 4):
                    golds = (a, b, 6 - a - b)
                    if golds[2] >= 1 and all(g <= n for g, n in zip(golds, sizes, strict=True)):
                        found.append(real_floor(measure, sizes, golds))
    low, high = floor_bounds(measure, Facts(3, Spread(13 / 3, 2, 8), Spread(2.0, 1, 8)))
    assert found
    assert low - 1e-9 <= min(found)
    assert max(found) <= high + 1e-9


@pytest.mark.parametrize("name", ["P@10", "AP", "R@10"])
def test_what_is_linear_in_gold_is_exact(name: str) -> None:
    facts = Facts(100, fixed(300), Spread(4.37, 1, 60))
    low, high = floor_bounds(parse(name), facts)
    assert low == pytest.approx(high, rel=1e-12)


def test_the_facts_of_mteb() -> None:
    nine = Facts(1500, fixed(9), Spread(1.0, 1, 1))
    assert floor_bounds(parse("map"), nine) == pytest.approx([sum(1 / i for i in range(1, 10)) / 9] * 2, abs=1e-12)
    two = Facts(2766, fixed(2), Spread(1.0, 1, 1))
    assert floor_bounds(parse("ndcg_at_10"), two) == pytest.approx([0.81546] * 2, abs=5e-6)
    assert floor_bounds(parse("RR"), two) == pytest.approx([0.75] * 2, abs=1e-12)
    wide = Facts(5908, Spread(16.4898, 2, 335), Spread(7.52268, 1, 335))
    assert floor_bounds(parse("map_at_1000"), wide) == pytest.approx([0.30, 0.97], abs=0.01)


def test_ceilings() -> None:
    facts = Facts(10, fixed(50), Spread(4.0, 4, 4))
    assert ceiling_bound(parse("P@10"), facts) == pytest.approx(0.4)
    assert ceiling_bound(parse("R@2"), facts) == pytest.approx(0.5)
    assert ceiling_bound(parse("AP@2"), facts) == pytest.approx(0.5)
    assert ceiling_bound(parse("nDCG@10"), facts) == 1.0


def test_the_chance_is_a_bound() -> None:
    rng = np.random.default_rng(1)
    for mean, n in ((0.05, 50), (0.5, 20), (0.9, 100)):
        low, high = sampling_error(mean, n, 0.01)
        means = rng.binomial(n, mean, 200_000) / n
        assert (means < mean - low).mean() <= 0.01
        assert (means > mean + high).mean() <= 0.01
        assert chance_of(mean + high, mean, n) == pytest.approx(0.01, rel=1e-6)
    assert chance_of(0.0, 0.0, 10) == 1.0
    assert chance_of(0.5, 0.0, 10) == 0.0
    assert sampling_error(0.5, 1, 0.001) == (0.5, 0.5)


def test_what_has_no_floor() -> None:
    with pytest.raises(MeasureError, match="no floor from published numbers"):
        floor_bounds(parse("bpref"), Facts(10, fixed(50), fixed(4)))
