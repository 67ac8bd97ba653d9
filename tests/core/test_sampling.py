"""Draws against the distributions that they are drawn from, counted cell by cell."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from reference import successive
from scipy import stats

from falsify_adapters.core import sampling
from falsify_adapters.core.kernels import Hits
from falsify_adapters.model import Ints

# Level of each chi-square test. Seeds are fixed: a failure is a change of the code, and chance plays no part in it.
LEVEL = 1e-3


def agrees(observed: Mapping[Any, int], chance: Mapping[Any, float]) -> bool:
    """Chi-square of counts against probabilities, cells that expect less than five taken together."""
    total = sum(observed.values())
    assert set(observed) <= set(chance)
    assert math.fsum(chance.values()) == pytest.approx(1)
    cells = [(observed.get(key, 0), total * p) for key, p in chance.items()]
    if any(o and not e for o, e in cells):
        return False
    rare = [cell for cell in cells if cell[1] < 5]
    cells = [cell for cell in cells if cell[1] >= 5]
    if rare and sum(e for _, e in rare) >= 5:
        cells.append((sum(o for o, _ in rare), sum(e for _, e in rare)))
    if len(cells) == 1:
        return True
    statistic = sum((o - e) ** 2 / e for o, e in cells)
    return bool(stats.chi2.sf(statistic, len(cells) - 1) > LEVEL)


def tickets_of(frequency: Mapping[int, int]) -> np.ndarray[Any, np.dtype[np.int32]]:
    return np.repeat(np.array(list(frequency), np.int32), list(frequency.values()))


def unordered(frequency: Mapping[int, int], want: int) -> dict[tuple[int, ...], float]:
    out: dict[tuple[int, ...], float] = Counter()  # type: ignore[assignment]
    for labels, p in successive({str(k): v for k, v in frequency.items()}, want):
        out[tuple(sorted(map(int, labels)))] += p
    return out


def drawn(frequency: Mapping[int, int], want: int, n_draws: int = 20_000) -> Counter[tuple[int, ...]]:
    found = sampling.draw_labels(tickets_of(frequency), 40, want, n_draws, np.random.default_rng(want))
    assert found.shape == (n_draws, want)
    assert found.dtype == np.int32
    return Counter(tuple(sorted(row)) for row in found.tolist())


SKEWED = {0: 9, 3: 4, 5: 1, 8: 1, 9: 2}


@pytest.mark.parametrize("want", [1, 2, 3, 4, 5])
def test_labels_are_drawn_one_after_another_by_frequency(want: int) -> None:
    assert agrees(drawn(SKEWED, want), unordered(SKEWED, want))


def test_all_labels_wanted_is_all_labels() -> None:
    assert drawn(SKEWED, 5, 10) == {(0, 3, 5, 8, 9): 10}


@pytest.mark.parametrize("want", [2, 3])
def test_the_ticket_path_and_the_race_draw_alike(want: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many rare labels and a frequent one: tickets repeat, so some rows have to go on drawing."""
    frequency = {0: 12} | {n: 1 for n in range(1, 13)}
    chance = unordered(frequency, want)
    monkeypatch.setattr(sampling, "_tickets_needed", lambda _, want: want)
    assert agrees(drawn(frequency, want), chance)
    monkeypatch.setattr(sampling, "_tickets_needed", lambda share, _: len(share))
    assert agrees(drawn(frequency, want), chance)


def test_which_path_is_taken() -> None:
    even = np.full(1000, 1e-3)
    assert 5 <= sampling._tickets_needed(even, 5) < 20
    assert 2 * sampling._tickets_needed(even, 700) >= 1000
    steep = np.array([0.97] + [0.03 / 999] * 999)
    assert 2 * sampling._tickets_needed(steep, 30) >= 1000


@pytest.mark.parametrize(("n", "count"), [(4, 2), (5, 3), (30, 2), (3, 3), (7, 1)])
def test_distinct_draws_every_ordered_row_alike(n: int, count: int) -> None:
    rng = np.random.default_rng(n)
    found = sampling.distinct(n, count, 30_000, rng)
    assert found.shape == (30_000, count)
    every = list(permutations(range(n), count))
    assert agrees(Counter(map(tuple, found.tolist())), dict.fromkeys(every, 1 / len(every)))


def test_distinct_draws_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "BLOCK", 7)
    found = sampling.distinct(3, 2, 11, np.random.default_rng(0))
    assert found.shape == (11, 2)
    assert (found[:, 0] != found[:, 1]).all()


@pytest.mark.parametrize("block", [2_000_000, 40])
def test_random_lists_hold_hypergeometric_counts_at_uniform_ranks(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "BLOCK", block)
    grades = [np.array(g, np.int64) for g in ([1, 2, 2], [], [2, 1, 2], [1, 0, 1, 3], [1])]
    size, depth, n_draws = np.array([9, 9, 9, 6, 5]), np.array([4, 4, 4, 6, 0]), 3000 if block > 40 else 400
    # Queries 0 and 2 are of one kind and share their draws; what they get must be independent all the same.
    cells: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for cell, hits in sampling.random_lists(grades, size, depth, n_draws, np.random.default_rng(1)):
        for pair, rank, grade in zip(hits.pair.tolist(), hits.rank.tolist(), hits.grade.tolist(), strict=True):
            cells.setdefault(divmod(int(cell[pair]), 5), []).append((rank, grade))
    assert all(q in (0, 2, 3) and 0 <= t < n_draws for t, q in cells)
    for q in (0, 2, 3):
        rows = [cells.get((t, q), []) for t in range(n_draws)]
        n, m, judged = int(size[q]), int(depth[q]), len(grades[q])
        counts = Counter(map(len, rows))
        assert agrees(counts, {h: float(stats.hypergeom.pmf(h, n, judged, m)) for h in range(judged + 1)})
        for row in rows:
            assert [r for r, _ in row] == sorted({r for r, _ in row})
            assert not Counter(g for _, g in row) - Counter(grades[q].tolist())
        flat = Counter(pair for row in rows for pair in row)
        share = {g: (grades[q] == g).mean() for g in set(grades[q].tolist())}
        assert agrees(flat, {(r, g): share[g] / m for r in range(1, m + 1) for g in share})
    both = Counter((len(cells.get((t, 0), [])), len(cells.get((t, 2), []))) for t in range(n_draws))
    one = {h: float(stats.hypergeom.pmf(h, 9, 3, 4)) for h in range(4)}
    assert agrees(both, {(a, b): one[a] * one[b] for a in one for b in one})


def test_a_list_as_long_as_the_pool_holds_all_of_it() -> None:
    found = list(sampling.random_lists([np.array([1, 2])], np.array([2]), np.array([2]), 5, np.random.default_rng(0)))
    assert sum(len(hits.rank) for _, hits in found) == 10
    assert sum(len(cell) for cell, _ in found) == 5


@pytest.mark.parametrize("n", [1, 3, 4])
def test_dealing_is_a_bijection_and_every_bijection_alike(n: int) -> None:
    found = sampling.deal_queries(n, 6000, np.random.default_rng(n))
    assert found.shape == (n, 6000)
    every = list(permutations(range(n)))
    observed = Counter(map(tuple, found.T.tolist()))
    assert agrees(observed, dict.fromkeys(every, 1 / len(every))) if n > 1 else observed == {(0,): 6000}


def test_codes_are_held_in_the_smallest_type_that_fits() -> None:
    assert [sampling.narrow(n) for n in (10, 2**15 - 1, 2**15, 10**6)] == [np.int16, np.int16, np.int32, np.int32]


@pytest.mark.parametrize("block", [2_000_000, 1])
def test_matches_are_all_places_of_a_value(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "BLOCK", block)
    rng = np.random.default_rng(0)
    table = rng.integers(0, 4, (6, 9)).astype(np.int16)
    row, wanted = rng.integers(0, 6, 20), rng.integers(0, 5, 20)
    pair, draw = sampling.matches(table, row, wanted)
    expected = [(p, b) for p in range(20) for b in range(9) if table[row[p], b] == wanted[p]]
    assert list(zip(pair.tolist(), draw.tolist(), strict=True)) == expected
    nothing: Ints = np.zeros(0, np.int64)
    assert [x.shape for x in sampling.matches(table, nothing, nothing)] == [(0,), (0,)]


def test_blocks_with_different_cells_join_as_one() -> None:
    none: Ints = np.zeros(0, np.int64)
    first = np.array([4]), Hits(np.array([0, 0]), np.array([1, 2]), np.array([1, 1]))
    second = np.array([7, 9]), Hits(np.array([0, 1]), np.array([3, 1]), np.array([2, 1]))
    cells, hits = sampling._joined([first, (none, Hits(none, none, none)), second])
    assert cells.tolist() == [4, 7, 9]
    assert hits.pair.tolist() == [0, 0, 1, 2]
    assert hits.rank.tolist() == [1, 2, 3, 1]
