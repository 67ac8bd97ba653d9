"""Queries in clusters: intervals that cover, null A without pairs of one cluster, and the flag for paraphrases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import falsify_adapters as fa
from falsify_adapters.core.bootstrap import Target, _Pairing, resample
from falsify_adapters.core.cross import CrossScores
from falsify_adapters.core.nulls import GoldSets
from falsify_adapters.errors import FalsifyError
from falsify_adapters.model import Ints


def target_of(own: np.ndarray, null: np.ndarray, cross: np.ndarray | None = None) -> Target:
    n = len(own)
    table = np.diag(own) if cross is None else cross
    i, j = np.nonzero(table)
    scores = CrossScores(n, i, j, table[i, j], np.diag(table).copy())
    return Target(own, 1.0, scores, GoldSets(np.arange(n), np.arange(n), n), {"Z": null})


def test_null_a_is_rebuilt_with_pairs_of_a_cluster_at_half_their_weight() -> None:
    rng = np.random.default_rng(2)
    clusters = np.array([0, 0, 0, 1, 1, 2, 3])
    table = rng.random((7, 7)) * (rng.random((7, 7)) < 0.6)
    target = target_of(np.diag(table).copy(), np.zeros(7), table)
    pairing = _Pairing(target, clusters)
    e = rng.standard_exponential((5, 4))[:, clusters]
    across = np.ascontiguousarray(e.T)
    found = pairing.expectation(e, across, pairing.summed(across), e * e, e.sum(axis=1))
    for row, value in zip(e, found, strict=True):
        weight = np.outer(row, row) * np.where(clusters[:, None] == clusters, 0.5, 1.0)
        np.fill_diagonal(weight, 0.0)
        expected = (weight * table).sum() / (row.sum() ** 2 - (row**2).sum() - _beside(row, clusters))
        assert value == pytest.approx(expected, rel=1e-12)


def _beside(row: np.ndarray, clusters: Ints) -> float:
    same = (clusters[:, None] == clusters) & ~np.eye(len(row), dtype=bool)
    return float((np.outer(row, row) * same).sum() / 2)


def test_a_cluster_of_one_each_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    table = rng.random((12, 12))
    target = target_of(np.diag(table).copy(), rng.random(12), table)
    plain = resample([target], 200, np.random.default_rng(1))[0]
    alone = resample([target], 200, np.random.default_rng(1), np.arange(12))[0]
    for name in ("A", "Z"):
        np.testing.assert_allclose(plain[name].even, alone[name].even, rtol=1e-12)
        np.testing.assert_allclose(plain[name].low, alone[name].low, rtol=1e-12)


def test_the_interval_covers_where_the_plain_one_does_not() -> None:
    """Ten paraphrases of each of 15 questions, all right or all wrong: the truth is the share of right ones."""
    n_clusters = 15
    rng, hits = np.random.default_rng(4), {"plain": 0, "clusters": 0}
    clusters, truth, times = np.repeat(np.arange(n_clusters), 10), 0.4, 80
    for _ in range(times):
        own = np.repeat((rng.random(n_clusters) < truth).astype(float), 10)
        target = target_of(own, np.zeros(len(own)))
        for name, given in (("plain", None), ("clusters", clusters)):
            found = resample([target], 400, np.random.default_rng(0), given)[0]["Z"].ci95(own.mean())
            hits[name] += found[0] <= truth <= found[1]
    assert hits["clusters"] >= 0.90 * times
    assert hits["plain"] <= 0.70 * times


N = 40
QRELS = {f"q{i}": {f"d{i // 10}": 1} for i in range(N)}
RUN = {f"q{i}": {f"d{i // 10}": 2.0, f"x{i}": 1.0} for i in range(N)}


@pytest.fixture
def file(tmp_path: Path) -> Any:
    def write(text: str) -> str:
        (tmp_path / "clusters.txt").write_text(text)
        return str(tmp_path / "clusters.txt")

    return write


def test_paraphrases_are_noticed_and_few_clusters_are_few(file: Any) -> None:
    plain = fa.gate(QRELS, RUN, "RR", pool=1000, n_boot=100)
    (flag,) = [flag for flag in plain["RR"].flags if flag.code == "queries_alike"]
    assert flag.message.startswith("40 of 40 queries")
    assert "in 4 groups" in flag.message
    of_ten = file("".join(f"q{i} c{i // 10}\n" for i in range(N)))
    given = fa.gate(QRELS, RUN, "RR", pool=1000, n_boot=100, clusters=of_ten)
    assert given.verdict == "UNDER-NS"
    assert {flag.code for flag in given["RR"].flags} >= {"few_queries"}
    assert "queries_alike" not in {flag.code for flag in given["RR"].flags}
    assert given["RR"].score == plain["RR"].score
    of_five = file("".join(f"q{i} c{i // 5}\n" for i in range(N)))
    wide = fa.gate(QRELS, RUN, "RR", pool=1000, n_boot=100, clusters=of_five)
    low, high = wide["RR"].nulls["C"].ci
    assert low < plain["RR"].nulls["C"].ci[0]
    assert high == plain["RR"].nulls["C"].ci[1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("q0 a b\n", "line 1: 3 fields"), ("q0 a\nq0 b\n", "line 2: query 'q0' belongs to 'a' and to 'b'"),
        ("q0 a\n", "39 of 40 judged queries have no cluster"),
    ],
)  # fmt: skip
def test_files_that_are_refused(file: Any, text: str, words: str) -> None:
    with pytest.raises(FalsifyError, match=words):
        fa.gate(QRELS, RUN, "RR", pool=1000, clusters=file(text))
